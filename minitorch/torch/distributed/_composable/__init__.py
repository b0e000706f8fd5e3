"""The old place of functions that change how modules work on ranks."""
