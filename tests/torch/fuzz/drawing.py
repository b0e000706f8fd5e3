"""A random call from two numbers: right ones, almost right ones, wrong ones."""

from __future__ import annotations

import random
import re
import warnings
from functools import cache
from random import Random
from typing import Any

import numpy as np
import torch as real

from ..opinfo import _ORDER, all_operations, samples
from ..oracle import leaves
from .calls import Call, function
from .signatures import Argument, Signature, all_names, sample_names, signatures
from .tensors import (
    draw_layout,
    draw_number,
    draw_shape,
    draw_tensor,
    draw_type,
    odd_numbers,
    related_shape,
    wants_gradient,
)  # fmt: skip

SAMPLES = 12
"""How many of OpInfo's samples of each type are drawn from."""

WORDS: dict[str, tuple[Any, ...]] = {
    "reduction": ("mean", "sum", "none"),
    "mode": ("constant", "reflect", "replicate", "circular", "nearest", "bilinear", "linear", "bicubic", "area",
             "sum", "mean", "max", "reduced", "complete", "r", "fan_in", "fan_out", "trilinear"),
    "padding_mode": ("zeros", "border", "reflection"),
    "norm": ("forward", "backward", "ortho"),
    "rounding_mode": ("trunc", "floor"),
    "indexing": ("ij", "xy"),
    "side": ("left", "right"),
    "ord": ("fro", "nuc"),
    "p": ("fro", "nuc"),
    "UPLO": ("L", "U"),
    "driver": ("gels", "gelsd", "gelsy", "gelss"),
    "approximate": ("none", "tanh"),
    "reduce": ("sum", "prod", "mean", "amax", "amin", "add", "multiply"),
    "pad_mode": ("constant", "reflect", "replicate", "circular"),
    "padding": ("same", "valid"),
    "padding_side": ("left", "right"),
    "interpolation": ("linear", "lower", "higher", "midpoint", "nearest"),
    "nonlinearity": ("relu", "leaky_relu", "tanh", "linear"),
    "equation": ("ij,jk->ik", "...i,...i", "ii->i", "i,j->ij", "ij->ji"),
}  # fmt: skip
"""Words that arguments of a name take."""
_INDICES = "index indices target tensor_indices lengths target_lengths offsets segments values_lengths".split()
_MASKS = "mask condition where attn_mask".split()
_DIMS = (
    "dim dims dim0 dim1 dim2 axis axis0 axis1 source destination start_dim end_dim dim_self".split()
)
_SIZES = "size sizes shape output_size kernel_size".split()
WRONG = (None, "word", 1.5, -1, 7, 2**40, 2**63, -(2**63), True, (), [], [1, 2], (0, 0), [[1], [2]], 1j, object,
         float("nan"), float("inf"), {}, b"x", np.int64(1), np.float32(0.5), np.zeros(2), "float32")  # fmt: skip


def draw_call(seed: int, index: int, only: str | None = None) -> Call:
    """The call of some number."""
    draw = Random(f"{seed}/{index}")
    name = draw.choice(names(only))
    call = draw_call_of(draw, name)
    call.seed = draw.randint(0, 1000)
    if draw.random() < 0.22 and "__" not in name:
        spoil(draw, call)
    if "ctc_loss" in name:
        _keep_labels(call)
    if "ldl_solve" in name:
        _keep_pivots(call)
    if draw.random() < 0.6:
        ask_for_gradients(draw, call)
    if draw.random() < 0.08 and not name.endswith("_") and not name.startswith("nn."):
        add_out(draw, call)
    return call


def draw_call_of(draw: Random, name: str) -> Call:
    """A call of a function: a sample of PyTorch's, or arguments of the types that it takes."""
    sampled = sample_names(name)
    drawn = signatures(name)
    call = None
    if sampled and (not drawn or draw.random() < 0.55):
        call = from_sample(draw, name, draw.choice(sampled))
    if call is None:
        call = from_signature(draw, name, draw.choice(drawn) if drawn else [])
    return call


def copied_call(call: Call) -> Call:
    """The same call, of copies of its tensors."""
    args, kwargs = _varied(Random(0), (call.args, call.kwargs), False, {})
    return Call(call.name, list(args), dict(kwargs))


@cache
def names(only: str | None) -> list[str]:
    """The functions to call: all, or those whose name matches, as a method's does without `Tensor.`."""
    found = [
        n
        for n in all_names()
        if only is None or any(re.fullmatch(only, m) for m in (n, n.removeprefix("Tensor.")))
    ]
    if not found:
        raise SystemExit(f"no function is called {only}")
    return found


# --- From PyTorch's samples ------------------------------------------------------------------


@cache
def _samples(entry: str, dtype: Any) -> list[Any]:
    """PyTorch's sample inputs of an operation for a type; none where there are none."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return list(samples(all_operations()[entry], dtype, False, SAMPLES))
        except Exception:
            return []


def from_sample(draw: Random, name: str, entry: str) -> Call | None:
    """A sample with other values, types and layouts."""
    info = all_operations()[entry]
    kinds = sorted(str(d) for d in info.supported_dtypes("cpu") if d is not real.complex32)
    kind = draw_type(draw)
    if str(kind) not in kinds and kinds:
        kind = getattr(real, draw.choice(kinds).removeprefix("torch."))
    found = _samples(entry, kind)
    if not found:
        return None
    sample = draw.choice(found)
    args = [sample.input, *sample.args]
    order = _ORDER.get(info.name)
    if order is not None:
        args = [*(args[i] for i in order), *args[len(order) :]]
    change = draw.random() < 0.5
    known: dict[int, Any] = {}
    args, kwargs = _varied(draw, (args, sample.kwargs), change, known)
    if any(t.layout is not real.strided or t.is_meta for t in leaves((args, kwargs))):
        return None
    return Call(name, list(args), dict(kwargs))


def _varied(draw: Random, value: Any, change: bool, known: dict[int, Any]) -> Any:
    """A copy of a value, its tensors in other places of memory and with some odd numbers."""
    if isinstance(value, real.Tensor):
        if id(value) not in known:
            known[id(value)] = _varied_tensor(draw, value) if change else _copied(value)
        return known[id(value)]
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return (
            type(value)(_varied(draw, v, change, known) for v in value)
            if not isinstance(value, real.Size)
            else value
        )
    if isinstance(value, dict):
        return {k: _varied(draw, v, change, known) for k, v in value.items()}
    return value


def _copied(t: Any) -> Any:
    plain = t.detach().resolve_conj().resolve_neg() if t.layout is real.strided else t.detach()
    return plain.clone()


def _varied_tensor(draw: Random, t: Any) -> Any:
    t = _copied(t)
    if t.layout is not real.strided or t.is_meta:
        return t
    if t.numel() and t.ndim and draw.random() < 0.2:
        floating = t.is_floating_point() or t.is_complex()
        flat = t.reshape(-1)
        for _ in range(1 + t.numel() // 4):
            odd = draw.choice(odd_numbers(t.dtype)) if floating else draw_number(draw, t.dtype)
            flat[draw.randrange(t.numel())] = odd
        t = flat.reshape(t.shape)
    if draw.random() < 0.1:
        t = t.to(draw_type(draw))
    size, strides, offset = draw_layout(draw, tuple(t.shape))
    if strides is None:
        return t.contiguous()
    moved = real.zeros(size, dtype=t.dtype).as_strided(t.shape, strides, offset)
    if 0 in strides:
        index = tuple(slice(0, 1) if s == 0 else slice(None) for s in strides)
        moved[index].copy_(t[index])
    else:
        moved.copy_(t)
    return moved


# --- From signatures ---------------------------------------------------------------------------


def from_signature(draw: Random, name: str, signature: Signature) -> Call:
    """Arguments of the types that a signature names."""
    base = draw_shape(draw)
    dtype = draw_type(draw)
    context = Context(draw, base, dtype)
    call = Call(name, [])
    by_name = False
    for argument in signature:
        if argument.name == "out":
            continue
        if not argument.required and draw.random() < 0.65:
            by_name = True
            continue
        value = context.draw(argument)
        if argument.keyword_only or by_name or (call.args and draw.random() < 0.1):
            by_name = True
            call.kwargs[argument.name] = value
        else:
            call.args.append(value)
    if "self" in call.kwargs:
        call.kwargs["input"] = call.kwargs.pop("self")
    return call


class Context:
    """What the arguments of one call have in common: a shape and a type."""

    def __init__(self, draw: Random, shape: tuple[int, ...], dtype: Any) -> None:
        self.random = draw
        self.shape = shape
        self.dtype = dtype
        self.first = True

    def draw(self, argument: Argument) -> Any:
        """A value for an argument."""
        kind = argument.type
        if kind.startswith("Optional["):
            if self.random.random() < 0.1:
                return None
            kind = kind[len("Optional[") : -1]
        if argument.name in WORDS and (kind == "str" or self.random.random() < 0.15):
            return self.random.choice(WORDS[argument.name])
        return self.value(kind, argument.name)

    def value(self, kind: str, name: str) -> Any:
        """A value of a type."""
        draw = self.random
        if kind.startswith("List["):
            return self.several(kind[5:-1], name)
        if kind.startswith("Optional["):
            return None if draw.random() < 0.2 else self.value(kind[9:-1], name)
        if kind == "Tensor":
            return self.tensor(name)
        if kind in ("number", "complex"):
            return self.number()
        if kind == "float":
            return draw.choice((0.5, 1.0, 2.0, 0.0, -1.0, 1e-5, 3, float("inf"), float("nan")))
        if kind == "bool":
            return draw.random() < 0.5
        if kind == "int":
            return self.whole(name)
        if kind == "ScalarType":
            return draw_type(draw)
        if kind == "MemoryFormat":
            return draw.choice((real.contiguous_format, real.preserve_format, real.channels_last))
        return {"Device": "cpu", "str": "word", "Layout": real.strided}.get(kind)

    def tensor(self, name: str) -> Any:
        """A tensor whose shape and type go with those before it, more or less."""
        draw, top = self.random, None
        shape = self.shape if self.first else related_shape(draw, self.shape)
        dtype = self.dtype if self.first or draw.random() < 0.8 else draw_type(draw)
        self.first = False
        if name in _INDICES and draw.random() < 0.85:
            dtype, top = real.int64, draw.choice((1, 2, max(self.shape, default=1), 3))
            shape = shape if draw.random() < 0.5 else shape[:1]
        elif name in _MASKS and draw.random() < 0.8:
            dtype = real.bool
        return draw_tensor(draw, shape, dtype, top)

    def number(self) -> Any:
        """A Python number."""
        draw = self.random
        common = (0, 1, 2, 3, -1, 0.5, 1.5, -2.5, 2.0, True, 1e-3)
        odd = (
            float("nan"),
            float("inf"),
            -float("inf"),
            -0.0,
            1e300,
            2**31,
            2**62,
            1 + 2j,
            300,
            -129,
        )
        return draw.choice(common if draw.random() < 0.85 else odd)

    def whole(self, name: str) -> int:
        """A whole number: a dimension where the name says so."""
        draw, n = self.random, len(self.shape)
        if name in _DIMS:
            return (
                draw.randrange(-n, n) if n and draw.random() < 0.9 else draw.randint(-n - 2, n + 1)
            )
        return draw.choice((0, 1, 1, 2, 2, 3, 4, 5, -1))

    def several(self, kind: str, name: str) -> Any:
        """A list of values of a type."""
        draw, n = self.random, len(self.shape)
        if kind == "int" and name in _SIZES and draw.random() < 0.4:
            return list(self.shape)
        if kind == "int" and name in _DIMS and n and draw.random() < 0.7:
            return draw.sample(
                range(-n, 0) if draw.random() < 0.3 else range(n), draw.randint(1, n)
            )
        count = draw.choices((0, 1, 2, 3, 4), (1, 4, 6, 4, 1))[0]
        if kind in ("int", "float") and draw.random() < 0.15:
            return self.value(kind, name)
        values = [self.value(kind, name) for _ in range(count)]
        return tuple(values) if draw.random() < 0.4 else values


def _keep_labels(call: Call) -> None:
    """Labels that there are: PyTorch's `ctc_loss` writes beyond its memory for others."""
    scores, labels = leaves(call.args[:1]), leaves(call.args[1:2])
    for t in labels:
        if not (t.dtype is real.bool or t.is_complex()) and scores:
            memory = real.empty(0, dtype=t.dtype).set_(t.untyped_storage())
            classes = max((*scores[0].shape[-1:], 1))
            memory.copy_(memory.double().nan_to_num(0).clamp(0, classes - 1))


def _keep_pivots(call: Call) -> None:
    """Pivots of rows one by one: PyTorch's `ldl_solve` writes beyond its memory where pairs are torn or there is no row."""
    matrices, pivots = leaves(call.args[:1]), leaves((call.args[1:2], call.kwargs.get("pivots")))
    for t in pivots:
        if t.dtype is not real.bool and not t.is_complex() and matrices:
            memory = real.empty(0, dtype=t.dtype).set_(t.untyped_storage())
            rows = max((*matrices[0].shape[-1:], 1))
            memory.copy_(memory.double().nan_to_num(0).clamp(1, rows))


# --- Wrong calls, gradients, out= -----------------------------------------------------------------


def spoil(draw: Random, call: Call) -> None:
    """Make one argument a wrong one."""
    first = 1 if call.name.startswith("Tensor.") else 0  # a method is called on a tensor
    places = [*range(first, len(call.args)), *call.kwargs]
    how = draw.choice(
        ("replace", "replace", "drop", "add", "keyword", "tensor", "tensor", "tensor")
    )
    if how == "add":
        call.args.append(draw.choice(WRONG[:16]))
    elif how == "keyword":
        call.kwargs[draw.choice(("dim", "keepdim", "nothing", "dtype", "out", "input"))] = (
            draw.choice(WRONG[:16])
        )
    elif places:
        place = draw.choice(places)
        held: Any = call.args if isinstance(place, int) else call.kwargs
        if how == "drop":
            del held[place]
        elif how == "replace":
            held[place] = draw.choice(WRONG)
        else:
            held[place] = draw_tensor(draw, draw_shape(draw), draw_type(draw))


def ask_for_gradients(draw: Random, call: Call) -> None:
    """Let floating point arguments want gradients; what is written into is a copy of one that does."""
    for t in leaves((call.args, call.kwargs)):
        if t.layout is real.strided and draw.random() < 0.85:
            wants_gradient(t)
    first = call.args[0] if call.args else None
    writes = (call.name.endswith("_") and not call.name.endswith("__")) or "__i" in call.name
    if writes and isinstance(first, real.Tensor) and draw.random() < 0.9:
        call.written = True


def add_out(draw: Random, call: Call) -> None:
    """Ask for the result in a given tensor: of the right shape and type, or of others."""
    right = draw.random() < 0.6
    try:
        with real.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(real, call.name)(*call.args, **call.kwargs)
    except Exception:
        right = False
        result = None
    if any(t.dtype is real.complex32 for t in leaves(result)):  # which we have not
        return
    if right and isinstance(result, real.Tensor) and result.layout is real.strided:
        call.kwargs["out"] = draw_tensor(draw, tuple(result.shape), result.dtype)
    elif right and isinstance(result, tuple) and all(isinstance(r, real.Tensor) for r in result):
        call.kwargs["out"] = tuple(draw_tensor(draw, tuple(r.shape), r.dtype) for r in result)
    else:
        call.kwargs["out"] = draw_tensor(draw, draw_shape(draw), draw_type(draw))
