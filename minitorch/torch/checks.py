"""Checks that programs make: conditions that must hold, and the errors if they do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .overriding import NOBODY, answer
from .tensor import Tensor

Message = Callable[[], object] | None


def _check_with(error_type: type[Exception], cond: Any, message: Message = None) -> None:
    """Raise an error of a class, with what `message()` says, if a condition does not hold."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type("Expected cond to be True, but got False.")
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _check(cond: Any, message: Message = None) -> None:
    """Raise RuntimeError if a condition does not hold."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: Message = None) -> None:
    """Raise IndexError if a condition does not hold."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Message = None) -> None:
    """Raise ValueError if a condition does not hold."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Message = None) -> None:
    """Raise TypeError if a condition does not hold."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Message = None) -> None:
    """Raise NotImplementedError if a condition does not hold."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    """Raise RuntimeError if a number cannot be a size."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all(cond: Tensor, message: Message = None) -> None:
    """Raise RuntimeError if an element of a tensor of truth values is False."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Message = None) -> None:
    """Raise an error of a class if an element of a tensor of truth values is False."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if str(cond.dtype) != "torch.bool":
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all().item()), message)


def _assert(condition: Any, message: str) -> None:
    """Raise AssertionError if a condition does not hold; a class of its own may answer for it."""
    if type(condition) is bool or answer(_assert, (condition, message), {}, (condition,)) is NOBODY:
        assert condition, message


def _assert_async(input: Tensor, assert_msg: str = "") -> None:
    """Raise RuntimeError if the one element of a tensor is zero."""
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


CHECKS = {
    name: value for name, value in globals().items() if name.startswith(("_check", "_assert"))
}
