"""Random tensors with PyTorch's own numbers: from a seed, both libraries draw the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, sampling
from ..device import resolve
from ..tensor import Array, Tensor
from .creation import check_given_type, new_tensor_of, same_layout
from .elementwise import kind_name
from .layout import in_memory_order
from .movement import sizes_of
from .promotion import broadcast_shapes, exact_number, plain_integer, plain_number
from .record import Op, without_derivative
from .surface import (
    FUNCTIONS,
    check_tensor,
    function,
    function_and_method,
    into,
    method,
    only_method,
)
from .writes import bind_in_place

# --- New tensors --------------------------------------------------------------------------------


def _declare(name: str, draw: Callable[..., Array], doc: str) -> None:
    """`torch.rand(2, 3)` and `torch.rand_like(x)`."""

    def call(
        *size: Any, generator: Any = None, names: Any = None, out: Tensor | None = None, dtype: Any = None,
        layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False, **named: Any,
    ) -> Tensor:  # fmt: skip
        resolve(device)
        shape = sizes_of(size or (named["size"],))
        _check_sizes(shape)
        check_given_type(dtype, out)
        kind = dtype or (out.dtype if out is not None else dtypes.get_default_dtype())
        _check_floating(name, kind)
        made = new_tensor_of(draw(shape, kind.numpy, generator=generator), requires_grad)
        return made if out is None else into(out, made, name)

    def like(
        input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
        memory_format: Any = None, generator: Any = None,
    ) -> Tensor:  # fmt: skip
        check_tensor(f"{name}_like", input)
        resolve(device)
        kind = dtype or input.dtype
        _check_floating(name, kind)
        lying = same_layout(np.empty(input._array.shape, kind.numpy), input._array, memory_format)
        array = _drawn_for(draw, lying, kind.numpy, generator=generator)
        return new_tensor_of(array, requires_grad)

    call.__name__, like.__name__ = name, f"{name}_like"
    call.__doc__, like.__doc__ = doc, f"`{name}` of another tensor's shape and type."
    FUNCTIONS[name], FUNCTIONS[f"{name}_like"] = call, like


def _check_sizes(shape: Any) -> None:
    if any(s < 0 for s in shape):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}"
        )


def _check_floating(name: str, kind: dtypes.dtype) -> None:
    if kind.kind < dtypes.FLOATING:
        raise NotImplementedError(
            f"\"{name}\" not implemented for '{kind.type_name.removesuffix('Tensor')}'"
        )


def _drawn_for(
    draw: Callable[..., Array], like: Array, kind: Any, *args: Any, **named: Any
) -> Array:
    """Numbers for memory that is laid out as an array's; where it has gaps, normal ones come singly."""
    if draw is sampling.normal and not like.flags.c_contiguous:
        named["singly"] = True
    return in_memory_order(draw(like.shape, kind, *args, **named), like)


_declare("rand", sampling.uniform, "Numbers from 0 to 1, evenly spread.")
_declare("randn", sampling.normal, "Numbers around 0, normally spread.")


@function
def randint(
    *args: Any, low: int = 0, high: Any = None, size: Any = None, generator: Any = None, out: Any = None,
    dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Whole numbers from `low` to just below `high`: `randint(high, size)` or `randint(low, high, size)`."""
    resolve(device)
    given = list(args)
    if size is None:
        size = given.pop()
    if len(given) == 2:
        low, high = given
    elif len(given) == 1:
        high = given[0]
    if isinstance(size, int):
        raise TypeError("randint(): argument 'size' must be tuple of ints, not int")
    if high is None:
        raise TypeError("randint() received an invalid combination of arguments: `high` is missing")
    check_given_type(dtype, out)
    if int(low) >= int(high):
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    kind = dtype or (out.dtype if out is not None else dtypes.int64)
    shape = sizes_of((size,))
    _check_sizes(shape)
    array = sampling.integers(shape, kind.numpy, int(low), int(high), generator)
    made = new_tensor_of(array, requires_grad)
    return made if out is None else into(out, made, "randint")


@function
def randint_like(
    input: Tensor,
    *bounds: Any,
    low: int = 0,
    high: Any = None,
    dtype: Any = None,
    memory_format: Any = None,
    **kwargs: Any,
) -> Tensor:
    """`randint` of another tensor's shape and type."""
    if len(bounds) == 2 or (bounds and high is not None):
        low, high = *bounds, *([] if high is None else [high])
    elif bounds:
        high = bounds[0]
    kind = dtype or input.dtype
    made = randint(low, high, tuple(input._array.shape), dtype=kind, **kwargs)
    lying = same_layout(np.empty(input._array.shape, kind.numpy), input._array, memory_format)
    made._array = in_memory_order(made._array, lying)
    return made


@function
def randperm(
    n: int, *, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The numbers below n in a random order."""
    resolve(device)
    check_given_type(dtype, out)
    kind = dtype or (out.dtype if out is not None else dtypes.int64)
    if kind.is_complex:
        name = kind.type_name.removesuffix("Tensor")
        raise NotImplementedError(f"\"randperm\" not implemented for '{name}'")
    made = new_tensor_of(
        sampling.permutation(plain_integer(n, "randperm", "n"), kind.numpy, generator),
        requires_grad,
    )
    return made if out is None else into(out, made, "randperm")


def _zeros(g: Any) -> Any:
    """The derivative of what chance decides."""
    return g.new_zeros(()).expand(g.shape)


_NORMAL = Op("normal", ("mean", "std"),
             lambda mean, std, generator: sampling.normal_around(mean, std, generator=generator),
             {"mean": _zeros, "std": _zeros}, doc="Numbers normally spread around a mean.")  # fmt: skip


@function
def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    **kwargs: Any,
) -> Tensor:
    """Numbers normally spread around `mean`, which may be a tensor, as `std` may be."""
    if size is not None:
        kind = dtype or dtypes.get_default_dtype()
        shape = sizes_of((size,))
        _check_sizes(shape)
        made = new_tensor_of(sampling.normal(shape, kind.numpy, mean, std, generator))
    else:
        shapes = [tuple(v.shape) for v in (mean, std) if isinstance(v, Tensor)]
        if not shapes:
            raise TypeError("normal() received two numbers, and no size")
        broadcast_shapes("normal", *shapes)
        if not isinstance(mean, Tensor):
            exact_number(mean, std.dtype)
        made = _NORMAL(mean, std, generator=generator)
    return made if out is None else into(out, made, "normal")


def _bernoulli(input: Array, p: Any, generator: Any) -> Array:
    chances = input if p is None else p
    return in_memory_order(sampling.bernoulli(input.shape, input.dtype, chances, generator), input)


_BERNOULLI = Op("bernoulli", ("input",), _bernoulli, {"input": _zeros})


@function_and_method
def bernoulli(input: Tensor, p: Any = None, *, generator: Any = None, out: Any = None) -> Tensor:
    """1 with the probability that each element says, or `p`; else 0."""
    array = input._array
    if p is None:
        if array.dtype.kind not in "fV" and array.size:
            raise NotImplementedError(
                f"\"bernoulli_tensor_cpu_p_\" not implemented for '{kind_name(array)}'"
            )
        if ((array < 0) | (array > 1)).any():
            raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true")
    made = _BERNOULLI(input, p=p, generator=generator)
    return made if out is None else into(out, made, "bernoulli")


@function_and_method
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Any = None,
    out: Any = None,
) -> Tensor:
    """Places drawn by weight from each row."""
    if input.ndim not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, got {input.ndim}")
    if input.dtype.kind != dtypes.FLOATING:
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {kind_name(input._array)}"
        )
    if out is not None and out.dtype is not dtypes.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {kind_name(out._array)}")
    made = new_tensor_of(sampling.multinomial(input._array, num_samples, replacement, generator))
    return made if out is None else into(out, made, "multinomial")


def _drawn_from(name: str, draw: Callable[..., Array], doc: str) -> None:
    op = Op(name, ("input",), lambda input, generator: draw(input, generator),
            {"input": _zeros}, doc=doc)  # fmt: skip

    def call(input: Tensor, generator: Any = None) -> Tensor:
        return op(input, generator=generator)

    call.__name__, call.__doc__ = name, doc
    function(call)


_drawn_from("poisson", sampling.poisson, "Counts of events at the rate that each element says.")


@function
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """How many of `count` trials succeed."""
    broadcast_shapes("binomial", count._array.shape, prob._array.shape)
    for label, x in (("count", count), ("prob", prob)):
        if not x.dtype.is_floating_point:
            found = kind_name(x._array)
            raise ValueError(
                f"binomial only supports floating-point dtypes for {label}, got: {found}"
            )
    if count.dtype is not prob.dtype:
        names = kind_name(prob._array), kind_name(count._array)
        raise RuntimeError(f"Found dtype {names[0]} but expected {names[1]}")
    drawn = new_tensor_of(sampling.binomial(count._array, prob._array, generator))
    return without_derivative("binomial", drawn, count, prob)


# --- Filling ---------------------------------------------------------------------------------------

_DRAWN = Op("fill_random", ("input",), lambda input, drawn: drawn,
            {"input": _zeros})  # fmt: skip


def _fill(self: Tensor, drawn: Array, name: str) -> Tensor:
    """Write what was drawn; numbers fall in the order of the tensor's memory."""
    return bind_in_place(_DRAWN, self, (), {"drawn": drawn})


def _declare_fill(
    name: str, draw: Callable[..., Array], parameters: dict[str, Any], doc: str, refuse: Callable[[Array], None]
) -> None:  # fmt: skip
    """`x.normal_(mean, std)`: a method with parameters that have defaults, for types that `refuse` lets pass."""

    def call(self: Tensor, *args: Any, generator: Any = None, **named: Any) -> Tensor:
        values = dict(parameters)
        values.update(zip(parameters, args, strict=False))
        for key, value in named.items():
            if key not in parameters:
                raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
            values[key] = value
        values = {key: plain_number(value, name, key) for key, value in values.items()}
        array = self._array
        refuse(array)
        drawn = _drawn_for(draw, array, array.dtype, *values.values(), generator=generator)
        return _fill(self, drawn, name)

    call.__name__, call.__doc__ = name, doc
    method(name, call)


def _only(
    kinds: str, error: Callable[[str], Exception], also_empty: bool = False
) -> Callable[[Array], None]:
    """Refuses arrays that are not of some NumPy kinds, where there is something to fill or even if not."""

    def refuse(array: Array) -> None:
        if array.dtype.kind not in kinds and (also_empty or array.size):
            raise error(kind_name(array))

    return refuse


def _no_kernel(name: str) -> Callable[[str], Exception]:
    return lambda kind: NotImplementedError(f"\"{name}\" not implemented for '{kind}'")


def _no_continuum(name: str) -> Callable[[str], Exception]:
    return lambda kind: RuntimeError(
        f"{name} distribution is a continuous probability distribution. dtype must be a floating point but you "
        f"specified {kind}"
    )


_declare_fill("uniform_", sampling.uniform, {"from": 0.0, "to": 1.0}, "Fill with numbers evenly spread.",
              _only("fVc", _no_kernel("check_uniform_bounds"), True))  # fmt: skip
_declare_fill("normal_", sampling.normal, {"mean": 0.0, "std": 1.0}, "Fill with numbers normally spread.",
              _only("fVc", _no_kernel("normal_kernel_cpu")))  # fmt: skip
_declare_fill("log_normal_", sampling.log_normal, {"mean": 1.0, "std": 2.0}, "Fill with exp of normally spread numbers.",
              _only("fV", _no_kernel("log_normal_cpu")))  # fmt: skip
_declare_fill("exponential_", sampling.exponential, {"lambd": 1.0}, "Fill with waiting times.", _only("fV", _no_continuum("Exponential")))  # fmt: skip
_declare_fill("geometric_", sampling.geometric, {"p": 0.5}, "Fill with numbers of trials until a success.",
              _only("fViub", _no_kernel("geometric_cpu")))  # fmt: skip
_declare_fill("cauchy_", sampling.cauchy, {"median": 0.0, "sigma": 1.0}, "Fill with Cauchy-spread numbers.",
              _only("fV", _no_continuum("Cauchy"), True))  # fmt: skip


@only_method
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with 1 with a probability, else 0."""
    probability = p._array if isinstance(p, Tensor) else p
    if np.any(np.asarray(probability) < 0) or np.any(np.asarray(probability) > 1):
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    drawn = sampling.bernoulli(self._array.shape, self._array.dtype, probability, generator)
    return _fill(self, in_memory_order(drawn, self._array), "bernoulli_")


@only_method
def random_(self: Tensor, *bounds: Any, generator: Any = None) -> Tensor:
    """Fill with whole numbers: all that the type holds, below `to`, or from `from` to below `to`."""
    shape, kind = self._array.shape, self._array.dtype
    if not bounds:
        if kind.kind == "c":
            raise NotImplementedError(
                f"\"random_kernel_cpu\" not implemented for '{kind_name(self._array)}'"
            )
        drawn = sampling.integers_of_type(shape, kind, generator)
    else:
        low, high = (0, bounds[0]) if len(bounds) == 1 else bounds
        if high is not None and int(low) >= int(high):
            raise RuntimeError(
                f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
            )
        drawn = sampling.integers(
            shape, kind, int(low), None if high is None else int(high), generator
        )
    return _fill(self, in_memory_order(drawn, self._array), "random_")


rand, randn, rand_like, poisson = (
    FUNCTIONS[name] for name in ("rand", "randn", "rand_like", "poisson")
)
