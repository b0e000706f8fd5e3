"""Torch's name for a way to index by numbers in `vmap`: here they are tensors with one element, which index as they are."""

from contextlib import nullcontext


class TransformGetItemToIndex(nullcontext[None]):
    """Within `with`, indexing is as outside."""
