"""Torch's name for the printing of tensors."""

from __future__ import annotations

from .printing import OPTIONS as PRINT_OPTS
from .printing import contents_text, get_printoptions, printoptions, set_printoptions
from .printing import with_suffixes as _with_suffixes
from .tensor import Tensor


def _tensor_str(self: Tensor, indent: int) -> str:
    """The numbers of a tensor, in brackets."""
    return contents_text(self.detach().cpu().resolve_conj().numpy(), indent)


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """A text with what is said after it, and the last parenthesis."""
    return _with_suffixes(tensor_str, suffixes, indent, force_newline)


__all__ = [
    "PRINT_OPTS", "_add_suffixes", "_tensor_str", "get_printoptions", "printoptions",
    "set_printoptions",
]  # fmt: skip
