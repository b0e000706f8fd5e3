"""From records to what programs call: functions, methods, in-place twins, `out=`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..autograd.graph import modes
from ..device import device
from ..dtypes import dtype, given_type
from ..interpreters import update
from ..overriding import NOBODY, answer, asking, is_plain, is_watched, watched
from ..tensor import Tensor, bump_version, tracks, wrap
from .promotion import NUMBERS
from .record import Op, bind
from .writes import before_write, bind_in_place, check_castable, check_writable

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""The functions of `minitorch.torch`, by name."""

_ACCEPTED = (Tensor, *NUMBERS)

EXACT_OUT = frozenset(
    """abs addbmm addmm addmv amax amin argmax argmin argsort baddbmm bitwise_not bmm ceil conj_physical cross cummax
    cummin diag dot float_power floor frac frexp gelu hash_tensor hardshrink heaviside histc histogram index_add index_copy
    index_reduce inner isin isneginf isposinf kthvalue log_softmax logcumsumexp logsigmoid lu_solve lu_unpack matmul matrix_power max
    min mm mode msort multi_dot mv nan_to_num nanquantile narrow_copy neg nonzero norm ormqr qr quantile renorm
    round scatter scatter_add scatter_reduce sgn sign signbit slice_scatter softmax softplus softshrink sort svd tensordot topk triangular_solve
    tril triu trunc vdot where alias_copy as_strided_copy detach_copy diagonal_copy expand_copy permute_copy select_copy slice_copy view_as_complex_copy view_as_real_copy squeeze_copy t_copy
    transpose_copy unfold_copy unsqueeze_copy view_copy unbind_copy split_with_sizes_copy cholesky cholesky_ex
    det eigh eigvalsh inv inv_ex ldl_factor ldl_factor_ex ldl_solve lu lu_factor lu_factor_ex matrix_norm
    slogdet solve solve_ex solve_triangular svdvals vecdot vector_norm ifft ihfft""".split()  # noqa: SIM905
)
"""Functions whose `out=` must have the result's dtype; others cast to it."""
_TO_REAL = re.compile("irfft|hfft")
"""Functions whose `out=` must not be complex."""


def function(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Offer a function as `torch.name`."""
    FUNCTIONS[fn.__name__] = fn
    return fn


def method(name: str, fn: Any) -> None:
    """Offer a function, or a property, as a method of tensors."""
    if getattr(fn, "__name__", "") == "<lambda>":
        fn.__name__ = name
    setattr(Tensor, name, fn)


def as_functions(*names: str) -> None:
    """Offer methods as functions too: `torch.clamp_(x)` for `x.clamp_()`."""
    for name in names:
        FUNCTIONS[name] = getattr(Tensor, name)


def only_method(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Offer a function as `input.name(...)`."""
    method(fn.__name__, fn)
    return fn


def function_and_method(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Offer a function as `torch.name(input, ...)` and as `input.name(...)`."""
    method(fn.__name__, fn)
    return function(fn)


def alias(new: str, old: str) -> None:
    """Offer a function, its method and their in-place twins under a second name."""
    for suffix in ("", "_"):
        if old + suffix in FUNCTIONS:
            FUNCTIONS[new + suffix] = FUNCTIONS[old + suffix]
        if hasattr(Tensor, old + suffix):
            method(new + suffix, getattr(Tensor, old + suffix))


def with_out(fn: Callable[..., Any], of_type: bool = True) -> Callable[..., Any]:
    """Give a function the keyword `out=`; `of_type`: its `dtype=`, if any, is the result's dtype."""

    def call(*args: Any, out: Tensor | None = None, **kwargs: Any) -> Any:
        if of_type:
            check_given_type(kwargs.get("dtype"), out)
        result = fn(*args, **kwargs)
        if out is None:
            return result
        given = [v for v in (*args, *kwargs.values()) if isinstance(v, Tensor)]
        return into(out, result, fn.__name__, *given)

    call.__name__, call.__doc__, call.__wrapped__ = fn.__name__, fn.__doc__, fn  # type: ignore[attr-defined]
    return call


def into(out: Any, result: Any, name: str, *inputs: Tensor, casts: bool = False) -> Any:
    """Write one or several results into `out`.

    Args:
        out: a tensor, or a tuple of them
        result: the function's result
        name: of the function
        inputs: tensors that must not require grad, if the result may not be recorded
        casts: whether the result is cast to `out`'s dtype although `EXACT_OUT` has the name
    """
    if isinstance(result, (tuple, list)):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise TypeError(f"{name}(): argument 'out' must be a tuple of {len(result)} Tensors")
        for o, r in zip(out, result, strict=True):
            into(o, r, name)
        return type(result)(*out) if hasattr(result, "_fields") else tuple(out)
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if modes.grad and any(map(tracks, (result, out, *inputs))):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad."
        )
    check_writable(out, False)
    if type(out._array) is not type(result._array):
        raise RuntimeError(
            f"Expected out tensor to have device {result.device}, but got {out.device} instead"
        )
    if out.dtype is not result.dtype:
        (check_castable if casts else partial(_check_type, name))(result.dtype, out.dtype)
    copy_out(out, result)
    return out


def place_of(out: Any, place: Any) -> Any:
    """The device of a result: that of `out`, if it is given; RuntimeError if another one is asked for."""
    if not isinstance(out, Tensor):
        return place
    if place is not None and device(place).type != out.device.type:
        raise RuntimeError(
            f"device type {device(place).type} does not match device type of out parameter ({out.device.type})"
        )
    return out.device


@update(0)
def copy_out(out: Tensor, result: Tensor) -> None:
    """Copy a result into `out`, which is resized to the result's shape."""
    if out._array.shape != result._array.shape:
        out._array = np.empty_like(result._array, out._array.dtype, order="C")
    np.copyto(out._array, result._array, casting="unsafe")
    bump_version(out)


def check_given_type(dtype: Any, out: Any) -> None:
    """RuntimeError if the given dtype is not `out`'s."""
    if dtype is not None and isinstance(out, Tensor) and given_type(dtype) is not out.dtype:
        names = [d.type_name.removesuffix("Tensor") for d in (given_type(dtype), out.dtype)]
        raise RuntimeError(f"dtype {names[0]} does not match dtype of out parameter ({names[1]})")


def _check_type(name: str, have: dtype, want: dtype) -> None:
    """RuntimeError if a function does not cast its result to `out`'s dtype."""
    check_castable(have, want)
    if name.rpartition(".")[2] in EXACT_OUT or (want.is_complex and _TO_REAL.match(name)):
        raise RuntimeError(
            f"{name}(): Expected out tensor to have dtype {have.c_name}, but got {want.c_name} instead"
        )


def in_place(name: str, fn: Callable[..., Any]) -> None:
    """Give a composite function `fn(input, ...)` the in-place version `input.name_(...)`.

    The result is computed, then copied: the graph records the copy.
    """

    def call(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        # What derivatives save of the input must survive the write.
        given = (self, *args, *kwargs.values())
        recorded = modes.grad and any(isinstance(x, Tensor) and tracks(x) for x in given)
        source = before_write(self) if recorded else self
        return assign(self, fn(source, *args, **kwargs), name)

    call.__name__ = name
    call.__doc__ = f"`{name.removesuffix('_')}`, in place."
    method(name, call)


def assign(target: Tensor, result: Tensor, name: str) -> Tensor:
    """Copy a result of the same shape into a tensor; errors name the function."""
    check_castable(result.dtype, target.dtype)
    if result._array.shape != target._array.shape:
        raise RuntimeError(
            f"{name}: output with shape {list(target.shape)} doesn't match the broadcast shape "
            f"{list(result.shape)}"
        )
    return target.copy_(result)


def check_no_gradient(name: str, **arguments: Any) -> None:
    """RuntimeError if an argument requires a gradient that Torch does not compute."""
    for argument, value in arguments.items():
        if not isinstance(value, Tensor) or not (value._requires_grad or value._base is not None):
            continue
        if modes.grad and tracks(value):
            raise RuntimeError(
                f"The function '{name}' is not differentiable with respect to argument '{argument}'. "
                "This input cannot have requires_grad True."
            )


def check_tensor(name: str, value: Any, argument: str = "input") -> None:
    """Torch's TypeError if an argument is not a tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{name}(): argument '{argument}' must be Tensor, not {type(value).__name__}"
        )


_NUMBERS_AS = {
    "any": (_ACCEPTED, _ACCEPTED),
    "one": (_ACCEPTED, _ACCEPTED),
    "other": (Tensor, _ACCEPTED),
    "none": (Tensor, Tensor),
}
"""The accepted classes of two operands: plain numbers may be any, one of the two, the second, none."""


def _check_operands(name: str, numbers: str, *values: Any) -> None:
    """TypeError unless the operands are tensors, or numbers where those are allowed."""
    allowed = _NUMBERS_AS[numbers][-len(values) :]
    wrong = [v for v, kinds in zip(values, allowed, strict=True) if not isinstance(v, kinds)]
    if numbers == "one" and len(values) == 2 and not any(isinstance(v, Tensor) for v in values):
        wrong = [values[0]]
    if wrong:
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got "
            f"({', '.join(type(v).__name__ for v in values)}) where it takes tensors"
            f"{'' if numbers == 'none' else ' and numbers'}"
        )


def expose_unary(op: Op, has_twin: bool = True) -> None:
    """`torch.name(input, out=None)`, `input.name()`, `input.name_()`."""
    name = op.name

    def call(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        check_tensor(name, input)
        result = bind(op, (input,), {})
        return result if out is None else into(out, result, name)

    def call_method(self: Tensor) -> Tensor:
        if watched and is_watched(self):
            result = answer(call_method, (self,), {})
            if result is not NOBODY:
                return result
        return bind(op, (self,), {})

    @asking
    def call_in_place(input: Tensor) -> Tensor:
        return bind_in_place(op, input, (), {})

    call_method.asks = True  # type: ignore[attr-defined]
    _publish(op, call, call_method, call_in_place if has_twin else None)


def expose_binary(op: Op, has_twin: bool = True, numbers: str = "any") -> None:
    """`torch.name(input, other, out=None)`, `input.name(other)`, `input.name_(other)`."""
    name = op.name
    accepted = _NUMBERS_AS[numbers][1]

    def call(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
        _check_operands(name, numbers, input, other)
        result = bind(op, (input, other), {})
        return result if out is None else into(out, result, name)

    def call_method(self: Tensor, other: Any) -> Tensor:
        if not isinstance(other, accepted):
            _check_operands(name, numbers, other)
        return bind(op, (self, other), {})

    def call_in_place(self: Tensor, other: Any) -> Tensor:
        if not isinstance(other, accepted):
            _check_operands(name, numbers, other)
        return bind_in_place(op, self, (other,), {})

    _publish(op, call, call_method, call_in_place if has_twin else None)


def _publish(op: Op, call: Any, call_method: Any, twin: Any) -> None:
    name = op.name
    call.__name__ = call_method.__name__ = name
    call.__doc__ = call_method.__doc__ = op.doc
    FUNCTIONS[name] = call
    method(name, call_method)
    if twin is not None:
        twin.__name__ = f"{name}_"
        twin.__doc__ = f"`{name}`, in place."
        method(f"{name}_", twin)
        FUNCTIONS[f"{name}_"] = twin


def operator(symbol: str, op: Op, reflected: bool = True, has_twin: bool = True) -> None:
    """Make a binary operation a Python operator: `__add__`, `__radd__`, `__iadd__`."""

    def forward(self: Tensor, other: Any) -> Any:
        if type(other) not in PLAIN_OPERANDS or (watched and is_watched(self, other)):
            shown = getattr(Tensor, op.name) if symbol in _NAMED else forward
            result = answer_operator(shown, forward, self, other)
            if result is not NOBODY:
                return result
        return bind(op, (self, other), {})

    def backward(self: Tensor, other: Any) -> Any:
        if type(other) not in PLAIN_OPERANDS or (watched and is_watched(self, other)):
            if not isinstance(self, Tensor):
                raise TypeError(f"'__r{symbol}__' requires a Tensor, not {type(self).__name__}")
            result = answer_operator(backward, backward, self, other)
            if result is not NOBODY:
                return result
        return bind(op, (other, self), {})

    def augmented(self: Tensor, other: Any) -> Any:
        if type(other) not in PLAIN_OPERANDS or (watched and is_watched(self, other)):
            result = answer_operator(getattr(Tensor, f"{op.name}_"), None, self, other)
            if result is not NOBODY:
                return result
        return bind_in_place(op, self, (other,), {})

    for each, prefix in ((forward, ""), (backward, "r"), (augmented, "i")):
        each.__name__, each.asks = f"__{prefix}{symbol}__", True  # type: ignore[attr-defined]
    method(f"__{symbol}__", forward)
    if reflected:
        method(f"__r{symbol}__", backward)
    if has_twin:
        method(f"__i{symbol}__", augmented)


_NAMED = frozenset(["add", "sub", "mul", "truediv", "mod", "pow", "lt", "le", "gt", "ge", "ne"])
"""Operators that overrides get as a method: `Tensor.add` for `+`."""

PLAIN_OPERANDS: set[type] = {Tensor, float, int, bool, complex}
"""Accepted classes of an operator's other operand that have no overrides."""


def answer_operator(shown: Any, again: Any, self: Tensor, other: Any) -> Any:
    """The result of an override of an operator, or of one with a NumPy array; `NOBODY`: compute it."""
    result = answer(shown, (self, other), {})
    if result is not NOBODY:
        return result
    if not isinstance(other, _ACCEPTED):
        return _foreign(self, other, again) if again else NotImplemented
    if is_plain((other,)):
        PLAIN_OPERANDS.add(type(other))
    return NOBODY


def _foreign(self: Tensor, other: Any, again: Callable[[Tensor, Any], Any]) -> Any:
    """An operator with a NumPy array, as a tensor; NotImplemented for anything else."""
    if isinstance(other, np.ndarray):
        return again(self, wrap(other))
    return NotImplemented
