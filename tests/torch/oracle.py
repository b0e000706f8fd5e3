"""PyTorch as the oracle: the same call in both libraries, and everything about it compared.

With `MINITORCH_TEST_DEVICE=cuda` our tensors are made on the GPU (or the simulated one); PyTorch's stay on the CPU.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import torch as real

import minitorch.torch as ours
from minitorch.torch.backends.interface import as_numpy, backend_for, from_numpy, resolve
from minitorch.torch.generator import default_generator as our_generator
from minitorch.torch.tensor import wrap

DEVICE = os.environ.get("MINITORCH_TEST_DEVICE", "cpu")
"""Where our tensors are."""

# Relative and absolute difference allowed, in units of the type's precision.
ULPS = 64.0

FUSED = real.backends.cpu.get_cpu_capability() != "DEFAULT"
"""Whether PyTorch multiplies and adds in one step here. Else it rounds most random numbers twice."""

DRAWN_ULPS = 0.0 if FUSED else ULPS
"""The same for random numbers."""


class Mismatch(AssertionError):
    """Two libraries disagree."""


def to_ours(value: Any, memories: dict[Any, Any] | None = None) -> Any:
    """A value of PyTorch's as ours: tensors with their strides, types, devices, containers.

    Args:
        value: what to turn
        memories: copies of tensors and of their memory, so that what is shared still is
    """
    memories = {} if memories is None else memories
    if isinstance(value, real.Tensor):
        if id(value) not in memories:
            memories[id(value)] = tensor_to_ours(value, memories)
        return memories[id(value)]
    if isinstance(value, real.dtype):
        return getattr(ours, str(value).removeprefix("torch."))
    if isinstance(value, real.device):
        return ours.device(DEVICE if value.type == "cpu" else str(value))
    if isinstance(value, real.memory_format):
        return getattr(ours, str(value).removeprefix("torch."), None)
    if isinstance(value, real.layout):
        return getattr(ours, str(value).removeprefix("torch."), None)
    if isinstance(value, real.Size):
        return ours.Size(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(to_ours(v, memories) for v in value))
    if isinstance(value, (list, tuple)):
        return type(value)(to_ours(v, memories) for v in value)
    if isinstance(value, dict):
        named = {k: to_ours(v, memories) for k, v in value.items()}
        return named | {"device": DEVICE} if repr(named.get("device")) == "'cpu'" else named
    if isinstance(value, real.nn.PairwiseDistance):
        return lambda a, b: ours.nn.functional.pairwise_distance(
            a, b, value.norm, value.eps, value.keepdim
        )
    return value


def tensor_to_ours(t: Any, memories: dict[Any, Any]) -> Any:
    """A copy of a tensor with the same strides and `requires_grad`."""
    plain = t.detach().resolve_conj().resolve_neg()
    kind = to_ours(t.dtype).numpy
    array = array_like(plain, kind, memories)
    if DEVICE != "cpu":
        made = _on_device(plain, array, memories)
        return made.requires_grad_() if t.requires_grad else made
    made = ours.from_numpy(array)
    if plain.storage_offset() and plain.numel():  # a view of memory that begins earlier
        whole: Any = array.base
        whole = ours.from_numpy(whole[: len(whole) // kind.itemsize * kind.itemsize].view(kind))
        made = whole.as_strided(tuple(plain.shape), plain.stride(), plain.storage_offset())
    return made.requires_grad_() if t.requires_grad else made


def _on_device(plain: Any, array: np.ndarray, memories: dict[Any, Any]) -> Any:
    """A tensor on `DEVICE` like an array of the CPU: with its strides, and sharing memory as it does."""
    where = resolve(DEVICE)
    if not array.size:
        return wrap(from_numpy(array, where))
    start = plain.untyped_storage().data_ptr()
    whole = memories.setdefault((start, array.dtype), None)
    if whole is None:
        memory = memories[start][1]
        memory = memory[: len(memory) // array.itemsize * array.itemsize].view(array.dtype)
        whole = memories[start, array.dtype] = from_numpy(memory, where)
    if plain.storage_offset():  # a view of memory that begins earlier
        return wrap(whole).as_strided(tuple(plain.shape), plain.stride(), plain.storage_offset())
    return wrap(backend_for(where).strided(whole, array.shape, array.strides))


def array_like(plain: Any, kind: Any, memories: dict[Any, Any]) -> np.ndarray:
    """A NumPy copy that keeps strides, also those of 0 and with gaps."""
    if not plain.numel():
        return np.empty(tuple(plain.shape), kind)
    storage = plain.untyped_storage()
    if storage.data_ptr() not in memories:  # the storage is kept: its address stays taken
        copy = real.tensor([], dtype=real.uint8).set_(storage).numpy().copy()
        memories[storage.data_ptr()] = storage, copy
    memory = memories[storage.data_ptr()][1]
    size = plain.element_size()
    strides = tuple(s * size for s in plain.stride())
    return np.ndarray(tuple(plain.shape), kind, memory, plain.storage_offset() * size, strides)


def leaves(value: Any) -> list[Any]:
    """All tensors in nested containers, in order."""
    if isinstance(value, (real.Tensor, ours.Tensor)):
        return [value]
    if isinstance(value, dict):
        return [t for v in value.values() for t in leaves(v)]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in leaves(v)]
    return []


def numbers(t: Any) -> np.ndarray:
    """A tensor of either library as an array that can be compared."""
    if isinstance(t, ours.Tensor):
        array = as_numpy(t._array)
        return array.astype(np.float64) if array.dtype.kind == "V" else array
    t = t.detach().resolve_conj().resolve_neg()
    unknown = t.dtype is real.bfloat16 or (t.is_floating_point() and t.element_size() == 1)
    return (t.to(real.float64) if unknown else t).numpy(force=True)


def compare_tensors(
    mine: Any,
    theirs: Any,
    what: str,
    ulps: float = ULPS,
    strides: bool = False,
    scale: float = 0.0,
    eps: float = 0.0,
) -> None:
    """Raise `Mismatch` unless shape, type and values agree.

    Args:
        mine: a tensor of ours
        theirs: a tensor of PyTorch's
        what: begins the message
        ulps: how many units of precision they may differ by
        strides: whether strides count too
        scale: of numbers that went into these, if larger
        eps: the precision of numbers that went into these, if coarser
    """
    if not isinstance(mine, ours.Tensor):
        raise Mismatch(f"{what}: expected a tensor, got {type(mine).__name__}")
    if str(mine.dtype) != str(theirs.dtype):
        raise Mismatch(f"{what}: dtype {mine.dtype}, expected {theirs.dtype}")
    if tuple(mine.shape) != tuple(theirs.shape):
        raise Mismatch(f"{what}: shape {tuple(mine.shape)}, expected {tuple(theirs.shape)}")
    if strides and theirs.numel() > 1:
        used = [
            (a, b)
            for a, b, n in zip(mine.stride(), theirs.stride(), theirs.shape, strict=True)
            if n > 1
        ]
        if any(a != b for a, b in used):
            raise Mismatch(f"{what}: strides {mine.stride()}, expected {theirs.stride()}")
    a, b = numbers(mine), numbers(theirs)
    if not a.size:
        return
    if a.dtype.kind in "biu":
        if not np.array_equal(a, b):
            raise Mismatch(f"{what}: values differ, {_worst(a, b, a == b)}")
        return
    eps = max(eps, ours.finfo(mine.dtype).eps)
    with np.errstate(all="ignore"):
        # Sums of many numbers err in proportion to the largest: the scale of the whole counts too.
        finite = np.abs(b[np.isfinite(b)]) if np.isfinite(b).any() else np.zeros(1)
        scale = finite.max(initial=scale)
        least = 0.05 * scale + ours.finfo(mine.dtype).tiny
        same = _same(a, b, ulps * eps, least)
        if np.iscomplexobj(b):  # one part may be infinite
            parts = (_same(f(a), f(b), ulps * eps, least) for f in (np.real, np.imag))
            same |= np.logical_and(*parts)
    if not same.all():
        raise Mismatch(f"{what}: values differ, {_worst(a, b, same)}")


def _same(a: np.ndarray, b: np.ndarray, relative: float, least: float) -> np.ndarray:
    """Where numbers are equal, both NaN, or finite and near each other."""
    near = np.isfinite(b) & (np.abs(a - b) <= relative * (np.abs(b) + least))
    return (a == b) | (np.isnan(a) & np.isnan(b)) | near


def largest(array: np.ndarray) -> float:
    """The size of the largest finite number."""
    return float(np.abs(array[np.isfinite(array)]).max(initial=0.0))


def _worst(a: np.ndarray, b: np.ndarray, same: np.ndarray) -> str:
    """The two numbers that are farthest apart, of those that are not the same."""
    with np.errstate(all="ignore"):
        apart = np.abs(a.astype(np.complex128) - b.astype(np.complex128))
        apart = np.where(same, -1.0, np.where(np.isnan(apart), math.inf, apart))
    at = np.unravel_index(int(np.argmax(apart)), apart.shape)
    return f"worst at {tuple(int(i) for i in at)}: {a[at]!r}, expected {b[at]!r}"


def compare(
    mine: Callable[..., Any],
    theirs: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    what: str = "call",
    ulps: float = ULPS,
    strides: bool = False,
    gradients: bool = True,
    double: bool = False,
    seed: int = 0,
) -> None:
    """Call a function in both libraries on PyTorch's arguments, and compare all that comes out.

    Values, types, shapes; if the call raises, the class of the error; for inputs that require
    it, gradients, and gradients of gradients.
    """
    kwargs = kwargs or {}
    own_args, own_kwargs = to_ours((args, kwargs))
    real.default_generator.manual_seed(seed)
    our_generator.manual_seed(seed)
    try:
        expected = theirs(*args, **kwargs)
    except Exception as e:
        _compare_error(what, e, lambda: mine(*own_args, **own_kwargs))
        return
    got = mine(*own_args, **own_kwargs)
    compare_results(got, expected, what, ulps, strides)
    if not gradients:
        return
    real_inputs = [t for t in leaves((args, kwargs)) if t.requires_grad]
    our_inputs = [t for t in leaves((own_args, own_kwargs)) if t.requires_grad]
    real_outs = [t for t in leaves(expected) if t.requires_grad]
    our_outs = [t for t in leaves(got) if t.requires_grad]
    if len(real_outs) != len(our_outs):
        raise Mismatch(f"{what}: {len(our_outs)} outputs require grad, expected {len(real_outs)}")
    if not real_outs or not real_inputs:
        return
    _compare_gradients(what, ulps, double, seed, (real_outs, real_inputs), (our_outs, our_inputs))


def compare_errors(mine: Any, theirs: Any, args: Any, kwargs: Any, what: str) -> bool:
    """Call a function on wrong inputs in both libraries: if one raises, the other must too.

    Returns:
        whether PyTorch raised
    """
    try:  # first: what fails may change its inputs
        own_args, own_kwargs = to_ours((args, kwargs))
    except ValueError:
        return False  # changed so, by a failure before, that it lies outside its own memory
    try:
        theirs(*args, **kwargs)
    except Exception as e:
        _compare_error(what, e, lambda: mine(*own_args, **own_kwargs))
        return True
    return False


def _compare_error(what: str, expected: Exception, call: Callable[[], Any]) -> None:
    """Raise `Mismatch` unless a call raises the class of error that is expected."""
    wanted = f"{type(expected).__name__}({str(expected)[:200]})"
    try:
        call()
        if DEVICE != "cpu":
            ours.cuda.synchronize()  # what kernels have noted is raised at the latest here
    except Exception as e:
        same_name = type(e).__name__.lstrip("_") == type(expected).__name__.lstrip("_")
        if not (same_name or isinstance(e, type(expected)) or isinstance(expected, type(e))):
            raise Mismatch(f"{what}: raised {type(e).__name__}({e}), expected {wanted}") from e
        return
    raise Mismatch(f"{what}: did not raise, expected {wanted}")


def compare_results(
    got: Any, expected: Any, what: str, ulps: float = ULPS, strides: bool = False
) -> None:
    """Compare tensors, and whatever else was returned."""
    mine, theirs = leaves(got), leaves(expected)
    if len(mine) != len(theirs):
        raise Mismatch(f"{what}: {len(mine)} tensors returned, expected {len(theirs)}")
    for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        compare_tensors(a, b, f"{what}: output {i}", ulps, strides)
    if not theirs and not isinstance(expected, (list, tuple, dict)):
        same = got == to_ours(expected)
        if (
            not same
            and not (isinstance(expected, float) and math.isclose(got, expected, rel_tol=1e-6))
            and not (expected != expected and got != got)
        ):
            raise Mismatch(f"{what}: returned {got!r}, expected {expected!r}")


def _compare_gradients(
    what: str, ulps: float, double: bool, seed: int, theirs: Any, mine: Any
) -> None:
    (real_outs, real_inputs), (our_outs, our_inputs) = theirs, mine
    generator = real.Generator().manual_seed(seed)
    weights = [real.randn(t.shape, dtype=t.dtype, generator=generator) for t in real_outs]
    if double:
        weights = [w.requires_grad_() for w in weights]
    our_weights = [to_ours(w) for w in weights]
    try:
        expected = real.autograd.grad(
            real_outs, real_inputs, weights, allow_unused=True, create_graph=double
        )
    except Exception:
        return  # PyTorch has no derivative here
    got = ours.autograd.grad(
        our_outs, our_inputs, our_weights, allow_unused=True, create_graph=double
    )
    pairs = []
    size_in = max(largest(numbers(w)) for w in weights)  # what cancels leaves its rounding error
    # A view of a leaf that was made without recording says that it requires grad, and gets none.
    lost = [b is None and t._is_view() for b, t in zip(expected, real_inputs, strict=True)]
    for i, (a, b) in enumerate(zip(got, expected, strict=True)):
        if lost[i]:
            continue
        if b is None or a is None:
            if (a is None or not numbers(a).any()) and (b is None or not numbers(b).any()):
                continue
            raise Mismatch(
                f"{what}: gradient {i} is {'missing' if a is None else 'there'}, PyTorch's is {'missing' if b is None else 'there'}"
            )
        compare_tensors(a, b, f"{what}: gradient {i}", ulps * 4, scale=size_in)
        if double and b.requires_grad:
            if not a.requires_grad:
                raise Mismatch(f"{what}: gradient {i} cannot be differentiated again")
            pairs.append((a, b))
    if not pairs:
        return
    again = [real.randn(b.shape, dtype=b.dtype, generator=generator) for _, b in pairs]
    try:
        expected2 = real.autograd.grad(
            [b for _, b in pairs], [*real_inputs, *weights], again, allow_unused=True
        )
    except Exception:
        return
    got2 = ours.autograd.grad(
        [a for a, _ in pairs],
        [*our_inputs, *our_weights],
        [to_ours(w) for w in again],
        allow_unused=True,
    )
    scale = max(size_in, *(largest(numbers(b)) for _, b in pairs))
    for i, (a, b) in enumerate(zip(got2, expected2, strict=True)):
        if i < len(lost) and lost[i]:
            continue
        if a is None or b is None:
            if (a is None or not numbers(a).any()) and (b is None or not numbers(b).any()):
                continue
            raise Mismatch(
                f"{what}: second gradient {i} is {'missing' if a is None else 'there'}, PyTorch's is {'missing' if b is None else 'there'}"
            )
        compare_tensors(a, b, f"{what}: second gradient {i}", ulps * 16, scale=scale)
