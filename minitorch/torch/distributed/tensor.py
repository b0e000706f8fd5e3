"""Torch's tensors that are spread over ranks, to be asked about: no tensor is one."""


class DTensor:
    """A tensor that is spread over ranks: none is one."""
