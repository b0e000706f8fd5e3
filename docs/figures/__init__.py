"""The figures of the guides, drawn by code: `python -m docs.figures` draws them all."""
