"""Random tensors with PyTorch's own numbers: from a seed, both libraries draw the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, sampling
from ..backends.interface import as_array, backend_for, backend_of
from ..device import CPU
from ..tensor import Array, Tensor
from .creation import made_by, made_like, memory_order_of
from .layout import in_memory_order, memory_order
from .movement import sizes_of
from .precision import kind_name, require_floats
from .promotion import broadcast_shapes, exact_number, plain_integer, plain_number
from .record import Op
from .surface import (
    FUNCTIONS,
    check_given_type,
    check_tensor,
    function,
    function_and_method,
    into,
    method,
    only_method,
    place_of,
)
from .writes import bind_in_place

# --- New tensors --------------------------------------------------------------------------------


def _creation(name: str, distribution: Callable[..., Array]) -> Op:
    """Declare a record of random numbers for a new tensor, with its dimensions in a given order in memory."""

    def draw(
        size: Any, dtype: Any, order: Any = None, device: Any = CPU, **params: Any
    ) -> Array:  # fmt: skip
        if order is None and device is CPU:
            return distribution(size, dtype, **params)
        backend = backend_for(device)
        if order is None:
            return backend.draw(distribution, size, dtype, device, **params)
        longer = [d for d in order if size[d] != 1]
        if distribution is sampling.normal and longer != sorted(longer):
            params["singly"] = True  # where memory does not follow the dimensions, one by one
        shape = tuple([size[d] for d in order])
        return backend.draw(distribution, shape, dtype, device, **params).transpose(
            np.argsort(order).tolist()
        )

    return Op(name, (), draw, {})


def _params(size: Any, kind: dtypes.dtype, generator: Any, **more: Any) -> dict[str, Any]:
    return {"size": size, "dtype": kind.numpy, "generator": generator, **more}


def _made(op: Op, params: dict[str, Any], device: Any, requires_grad: bool, out: Any) -> Tensor:
    """Random numbers in a new tensor or in `out`, drawn in memory order."""
    if isinstance(out, Tensor) and out._array.shape == params["size"]:
        params["order"] = memory_order_of(out._array, None)
    made = made_by(op, params, place_of(out, device), requires_grad)
    return made if out is None else into(out, made, op.name)


def _declare(op: Op, doc: str) -> None:
    """Declare `torch.rand(2, 3)` and `torch.rand_like(x)`."""
    name = op.name

    def call(
        *size: Any, generator: Any = None, names: Any = None, out: Tensor | None = None, dtype: Any = None,
        layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False, **named: Any,
    ) -> Tensor:  # fmt: skip
        shape = sizes_of(size or (named["size"],))
        _check_sizes(shape)
        check_given_type(dtype, out)
        kind = dtype or (out.dtype if out is not None else dtypes.get_default_dtype())
        _check_floating(name, kind, shape)
        return _made(op, _params(shape, kind, generator), device, requires_grad, out)

    def like(
        input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
        memory_format: Any = None, generator: Any = None, pin_memory: bool = False,
    ) -> Tensor:  # fmt: skip
        check_tensor(f"{name}_like", input)
        kind = dtype or input.dtype
        _check_floating(name, kind, input._array.shape)
        more = {"generator": generator}
        return made_like(op, input, kind, device, requires_grad, memory_format, **more)

    call.__name__, like.__name__ = name, f"{name}_like"
    call.__doc__, like.__doc__ = doc, f"`{name}` with another tensor's shape and dtype."
    FUNCTIONS[name], FUNCTIONS[f"{name}_like"] = call, like


def _check_sizes(shape: Any) -> None:
    if shape and min(shape) < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}"
        )


def _check_floating(name: str, kind: dtypes.dtype, shape: Any) -> None:
    if kind.kind < dtypes.FLOATING and not (name == "randn" and 0 in shape):
        raise NotImplementedError(
            f"\"{name}\" not implemented for '{kind.type_name.removesuffix('Tensor')}'"
        )


_RANDN = _creation("randn", sampling.normal)
_declare(_creation("rand", sampling.uniform), "Numbers drawn uniformly from [0, 1).")
_declare(_RANDN, "Numbers from the standard normal distribution.")


_RANDINT = _creation("randint", sampling.integers)


@function
def randint(
    *args: Any, low: int = 0, high: Any = None, size: Any = None, generator: Any = None, out: Any = None,
    dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Random integers in [low, high): `randint(high, size)` or `randint(low, high, size)`."""
    given = list(args)
    if size is None:
        size = given.pop()
    if len(given) == 2:
        low, high = given
    elif len(given) == 1:
        low, high = (0, given[0]) if high is None else (given[0], high)
    if isinstance(size, int):
        raise TypeError("randint(): argument 'size' must be tuple of ints, not int")
    if high is None:
        raise TypeError("randint() received an invalid combination of arguments: `high` is missing")
    check_given_type(dtype, out)
    bounds = _bounds(low, high)
    kind = dtype or (out.dtype if out is not None else dtypes.int64)
    shape = sizes_of((size,))
    _check_sizes(shape)
    params = _params(shape, kind, generator, **bounds)
    return _made(_RANDINT, params, device, requires_grad, out)


def _bounds(low: Any, high: Any) -> dict[str, int]:
    if int(low) >= int(high):
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    return {"low": int(low), "high": int(high)}


@function
def randint_like(
    input: Tensor, *bounds: Any, low: int = 0, high: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, memory_format: Any = None, generator: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """`randint` with another tensor's shape and dtype."""
    if len(bounds) == 2 or (bounds and high is not None):
        low, high = *bounds, *([] if high is None else [high])
    elif bounds:
        high = bounds[0]
    if isinstance(high, Tensor) and high.ndim:
        raise RuntimeError("randint_like: high must be a scalar tensor and on CPU")
    more = {"generator": generator, **_bounds(low, high)}
    return made_like(_RANDINT, input, dtype, device, requires_grad, memory_format, **more)


_RANDPERM = Op(
    "randperm", (),
    lambda n, dtype, generator, device=CPU: backend_for(device).permutation(n, dtype, device, generator), {},
)  # fmt: skip


@function
def randperm(
    n: int, *, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A random permutation of the integers 0 to n - 1."""
    check_given_type(dtype, out)
    kind = dtype or (out.dtype if out is not None else dtypes.int64)
    if kind.is_complex or kind is dtypes.bool_ or kind.numpy in (np.uint16, np.uint32, np.uint64):
        name = kind.type_name.removesuffix("Tensor")
        raise NotImplementedError(f"\"randperm\" not implemented for '{name}'")
    params = {"n": plain_integer(n, "randperm", "n"), "dtype": kind.numpy, "generator": generator}
    made = made_by(_RANDPERM, params, place_of(out, device), requires_grad)
    return made if out is None else into(out, made, "randperm")


def _zeros(g: Any) -> Any:
    """The gradient of random draws: zeros."""
    return g.new_zeros(()).expand(g.shape)


_NORMAL = Op("normal", ("mean", "std"),
             lambda mean, std, generator: sampling.normal_around(mean, std, generator=generator),
             {"mean": _zeros, "std": _zeros}, doc="Normally distributed numbers.")  # fmt: skip


@function
def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Normally distributed numbers; `mean` and `std` may be tensors."""
    if size is not None:
        check_given_type(dtype, out)
        kind = dtype or (out.dtype if out is not None else dtypes.get_default_dtype())
        shape = sizes_of((size,))
        _check_sizes(shape)
        if kind.kind < dtypes.FLOATING and 0 not in shape:
            name = kind.type_name.removesuffix("Tensor")
            raise NotImplementedError(f"\"normal_kernel_cpu\" not implemented for '{name}'")
        params = _params(shape, kind, generator, mean=mean, std=std)
        return _made(_RANDN, params, device, requires_grad, out)
    shapes = [tuple(v.shape) for v in (mean, std) if isinstance(v, Tensor)]
    if not shapes:
        raise TypeError("normal() received two numbers, and no size")
    broadcast_shapes("normal", *shapes)
    drawn = next(t for t in (out, mean, std) if isinstance(t, Tensor))  # in its dtype
    require_floats("normal_kernel_cpu", drawn._array, "fcV")
    if not isinstance(mean, Tensor):
        exact_number(mean, std.dtype)
    if isinstance(std, Tensor) and std.dtype.is_complex:
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if out is not None:
        return _normal_into(out, mean, std, generator)
    return _NORMAL(mean, std, generator=generator)


def _normal_into(out: Tensor, mean: Any, std: Any, generator: Any) -> Tensor:
    """`normal` with `out=`, drawn in its dtype; if `std` is a number, `out`'s shape is broadcast, too."""
    given = (mean, std) if isinstance(std, Tensor) else (mean, out)
    shape = broadcast_shapes("normal", *(v.shape for v in given if isinstance(v, Tensor)))
    into(
        out,
        out.detach().new_empty(shape),
        "normal",
        *(v for v in (mean, std) if isinstance(v, Tensor)),
    )
    if isinstance(std, Tensor):
        if (std._array < 0).any():
            raise RuntimeError("normal expects all elements of std >= 0.0")
        return out.normal_(generator=generator).mul_(std).add_(mean)
    return out.normal_(0, std, generator=generator).add_(mean)


def drawn_for(input: Array, distribution: Callable[..., Array], *args: Any, **named: Any) -> Array:
    """Random numbers for an array's shape and layout, drawn in memory order on its device."""
    backend = backend_of(input)
    where = backend.device_of(input)
    numbers = backend.draw(distribution, input.shape, input.dtype, where, *args, **named)
    return in_memory_order(numbers, input)


def _are_probabilities(p: Any) -> bool:
    """Whether all numbers are from 0 to 1."""
    with np.errstate(invalid="ignore"):
        return bool(as_array((p >= 0) & (p <= 1)).all())


def _bernoulli(input: Array, p: Any, generator: Any, by_memory: bool = False) -> Array:
    """0 or 1, drawn in the order of the elements or in memory order."""
    if p is None and not _are_probabilities(input):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true")
    backend = backend_of(input)
    chances, where = input if p is None else p, backend.device_of(input)
    if not by_memory or input.flags.c_contiguous:
        return backend.draw(
            sampling.bernoulli, input.shape, input.dtype, where, chances, generator=generator
        )
    order, back = memory_order(input.shape, [input.strides])
    chances = chances.transpose(order) if isinstance(chances, type(input)) else chances
    shape = tuple([input.shape[d] for d in order])
    drawn = backend.draw(
        sampling.bernoulli, shape, input.dtype, where, chances, generator=generator
    )
    return drawn.transpose(back)


_BERNOULLI = Op("bernoulli", ("input", "p"), _bernoulli, {"input": _zeros, "p": _zeros})


@function_and_method
def bernoulli(input: Tensor, p: Any = None, *, generator: Any = None, out: Any = None) -> Tensor:
    """1 with the probability in each element, or `p`; else 0."""
    array = input._array
    if p is None and array.dtype.kind not in "fV" and array.size:
        raise NotImplementedError(
            f"\"bernoulli_tensor_cpu_p_\" not implemented for '{kind_name(array)}'"
        )
    if p is not None and array.size:
        require_floats("bernoulli_scalar_cpu_", array, "biufV")
    if p is None and isinstance(out, Tensor):
        same = out._array.shape == array.shape
        fresh = out.detach().clone() if same else out.new_empty(array.shape)
        return into(out, fresh.bernoulli_(input.detach(), generator=generator), "bernoulli", input)
    made = _BERNOULLI(input, p, generator=generator)
    return made if out is None else into(out, made, "bernoulli")


_MULTINOMIAL = Op(
    "multinomial", ("input",),
    lambda input, num_samples, replacement, generator: sampling.multinomial(input, num_samples, replacement, generator),
    {"input": None},
)  # fmt: skip
_BINOMIAL = Op(
    "binomial", ("count", "prob"), lambda count, prob, generator: sampling.binomial(count, prob, generator),
    {"count": None, "prob": None},
)  # fmt: skip


@function_and_method
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Any = None,
    out: Any = None,
) -> Tensor:
    """Indices drawn from each row, with the elements as weights."""
    if input.ndim not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, got {input.ndim}")
    if input.dtype.kind != dtypes.FLOATING:
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {kind_name(input._array)}"
        )
    if out is not None and out.dtype is not dtypes.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {kind_name(out._array)}")
    made = _MULTINOMIAL(
        input, num_samples=num_samples, replacement=replacement, generator=generator
    )
    return made if out is None else into(out, made, "multinomial")


def _drawn_from(name: str, draw: Callable[..., Array], doc: str) -> None:
    op = Op(name, ("input",), lambda input, generator: draw(input, generator),
            {"input": _zeros}, doc=doc)  # fmt: skip

    def call(input: Tensor, generator: Any = None) -> Tensor:
        return op(input, generator=generator)

    call.__name__, call.__doc__ = name, doc
    function(call)


_drawn_from("poisson", sampling.poisson, "Poisson counts with each element as the rate.")


@function
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Numbers of the binomial distribution: successes of `count` trials with probability `prob`."""
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
    return _BINOMIAL(count, prob, generator=generator)


# --- Filling ---------------------------------------------------------------------------------------


def _fill(name: str, distribution: Callable[..., Array]) -> Op:
    """Declare a record that fills a tensor with random numbers, drawn in memory order."""

    def draw(input: Array, args: tuple[Any, ...], **named: Any) -> Array:
        if distribution is sampling.normal and not input.flags.c_contiguous:
            named["singly"] = True
        return drawn_for(input, distribution, *args, **named)

    return Op(name, ("input",), draw, {"input": _zeros})


def _declare_fill(
    op: Op, defaults: dict[str, Any], doc: str, refuse: Callable[[Array], None], name: str = ""
) -> None:
    """Declare `x.normal_(mean, std)`; `refuse` raises an error for unsupported dtypes."""
    name = name or f"{op.name}_"

    def call(self: Tensor, *args: Any, generator: Any = None, **named: Any) -> Tensor:
        values = dict(defaults)
        values.update(zip(defaults, args, strict=False))
        for key, value in named.items():
            if key not in defaults:
                raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
            values[key] = value
        plain = tuple(plain_number(value, name, key) for key, value in values.items())
        refuse(self._array)
        return bind_in_place(op, self, (), {"args": plain, "generator": generator})

    call.__name__, call.__doc__ = name, doc
    method(name, call)


def _only(
    kinds: str, error: Callable[[str], Exception], also_empty: bool = False
) -> Callable[[Array], None]:
    """A check that refuses arrays of other NumPy kinds; with `also_empty`, even if they are empty."""

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


_declare_fill(_fill("uniform", sampling.uniform), {"from": 0.0, "to": 1.0}, "Fill with uniformly distributed numbers.",
              _only("fVc", _no_kernel("check_uniform_bounds"), True))  # fmt: skip
_declare_fill(_fill("normal_functional", sampling.normal), {"mean": 0.0, "std": 1.0}, "Fill with normally distributed numbers.",
              _only("fVc", _no_kernel("normal_kernel_cpu")), "normal_")  # fmt: skip
_declare_fill(_fill("log_normal", sampling.log_normal), {"mean": 1.0, "std": 2.0},
              "Fill with exp of normally distributed numbers.", _only("fV", _no_kernel("log_normal_cpu")))  # fmt: skip
_declare_fill(_fill("exponential", sampling.exponential), {"lambd": 1.0}, "Fill with exponentially distributed numbers.",
              _only("fV", _no_continuum("Exponential")))  # fmt: skip
_declare_fill(_fill("geometric", sampling.geometric), {"p": 0.5}, "Fill with geometrically distributed numbers of trials.",
              _only("fViu", _no_kernel("geometric_cpu")))  # fmt: skip
_declare_fill(_fill("cauchy", sampling.cauchy), {"median": 0.0, "sigma": 1.0}, "Fill with Cauchy-distributed numbers.",
              _only("fV", _no_continuum("Cauchy"), True))  # fmt: skip


@only_method
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with 1 with probability `p`, else 0."""
    if isinstance(p, Tensor) and self._array.size:
        p = p.expand(self._array.shape)
        require_floats("bernoulli_tensor_cpu_p_", p._array)
    probability = p._array if isinstance(p, Tensor) else p
    if not _are_probabilities(probability):
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    require_floats("bernoulli_scalar_cpu_", self._array, "biufV")
    if not self._array.size:
        p = 0.5  # empty, of any shape
    return bind_in_place(_BERNOULLI, self, (p,), {"generator": generator, "by_memory": True})


_RANDOM = _fill("random", sampling.integers)
_RANDOM_OF_TYPE = _fill("random_of_type", sampling.integers_of_type)


@only_method
def random_(self: Tensor, *bounds: Any, generator: Any = None) -> Tensor:
    """Fill with integers: any that the dtype represents exactly, or in [0, to), or in [from, to)."""
    if not bounds:
        if not self._array.size:
            return self
        if self._array.dtype.kind == "c" or self._array.dtype in (np.uint16, np.uint32, np.uint64):
            raise NotImplementedError(
                f"\"random_kernel_cpu\" not implemented for '{kind_name(self._array)}'"
            )
        return bind_in_place(_RANDOM_OF_TYPE, self, (), {"args": (), "generator": generator})
    low, high = (0, bounds[0]) if len(bounds) == 1 else bounds
    args = (int(low), None) if high is None else tuple(_bounds(low, high).values())
    return bind_in_place(_RANDOM, self, (), {"args": args, "generator": generator})


rand, randn, rand_like, poisson = (
    FUNCTIONS[name] for name in ("rand", "randn", "rand_like", "poisson")
)
