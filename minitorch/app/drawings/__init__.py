"""Pictures for the pages: `picture` has the shapes, the others what is drawn with them."""
