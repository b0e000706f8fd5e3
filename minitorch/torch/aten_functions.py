"""Torch's own operations by their names, with PyTorch's arguments: for `torch.ops.aten`, and for the code of TorchScript files.

Most are functions and methods of this library; the others are in `FORMS`. Numbers stand for types, memory formats and reductions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from . import dtypes, environment, fft, linalg, special
from .nn import functional
from .ops import FUNCTIONS
from .ops.loss import NUMBERED, numbered
from .ops.record import REGISTRY
from .tensor import Tensor

_CODES = (
    "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64",
    "complex128", "bool", "qint8", "quint8", "qint32", "bfloat16",
)  # fmt: skip
FORMATS = (
    environment.contiguous_format, environment.preserve_format,
    environment.channels_last, environment.channels_last_3d,
)  # fmt: skip


def dtype_of(code: Any) -> Any:
    """The dtype that a number stands for in files."""
    return dtypes.NAMES[_CODES[code]] if isinstance(code, int) else code


def code_of(dtype: Any) -> int:
    """The number that stands for a dtype in files."""
    return _CODES.index(dtype.name)


def aten_function(name: str) -> Callable[..., Any] | None:
    """The function of this library that one of Torch's own operations is."""
    found = FORMS.get(name) or (getattr(Tensor, name, None) if name.endswith("_") else None)
    found = found or FUNCTIONS.get(name) or getattr(functional, name, None)
    family, _, rest = name.partition("_")
    if found is None and family in _FAMILIES and rest:
        found = getattr(_FAMILIES[family], rest, None)
    return found or getattr(Tensor, name, None)


_FAMILIES = {"linalg": linalg, "special": special, "fft": fft}


# --- Other names and arguments ---------------------------------------------------------------------------


def _slice(
    input: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Tensor:
    """A part of one dimension, as a view."""
    return input[(slice(None),) * (dim % input.ndim) + (slice(start, end, step),)]


def _upsample(name: str) -> Callable[..., Tensor]:
    """`upsample_bilinear2d` and its like: of a size, whether corners are kept, where that is a question, and factors."""
    mode = name.removeprefix("_").removeprefix("upsample_").removesuffix("_aa")[:-2]
    aligns = mode in ("linear", "bilinear", "bicubic", "trilinear")

    def upsample(input: Tensor, size: Any, *options: Any) -> Tensor:
        by = {"align_corners": options[0], "antialias": name.endswith("_aa")} if aligns else {}
        factors = options[aligns:]
        factors = factors[0] if factors and isinstance(factors[0], (list, tuple)) else factors
        if not factors or None in factors:
            return functional.interpolate(input, size, None, mode.replace("_", "-"), **by)
        return functional.interpolate(input, None, list(factors), mode.replace("_", "-"), **by)

    return upsample


def _fractional(pool: Callable[..., Any]) -> Callable[..., Any]:
    return lambda input, kernel, size, samples: pool(input, kernel, size, None, True, samples)


def _of_list(fn: Callable[..., Any]) -> Callable[..., Any]:
    return lambda tensors: fn(*tensors)


def _stft(input: Tensor, n_fft: int, hop: Any = None, win: Any = None, window: Any = None, *rest: Any, **named: Any) -> Tensor:  # fmt: skip
    """`stft`: of a signal as it is, unless whether it is centred, and how it is padded, follow the window."""
    centred = rest if len(rest) > 1 and isinstance(rest[1], str) else (False, "reflect", *rest[:3])
    return FUNCTIONS["stft"](input, n_fft, hop, win, window, *centred, **named)


def _embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, by_frequency: bool = False, mode: int = 0, sparse: bool = False,
    weights: Any = None, last_offset: bool = False, padding: int | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """The bags, and None for three tensors that only PyTorch's backward needs."""
    how = ("sum", "mean", "max")[mode]
    bags = functional.embedding_bag(
        indices, weight, offsets, None, 2.0, by_frequency, how, sparse, weights, last_offset, padding
    )  # fmt: skip
    return bags, None, None, None


def _normalized(name: str) -> Callable[..., Tensor]:
    return lambda input, dim, dtype=None: FUNCTIONS[name](input, dim, dtype=dtype_of(dtype))


def _attention(
    query: Any, key: Any, value: Any, embed_dim: int, num_heads: int, qkv_weight: Any, qkv_bias: Any, proj_weight: Any,
    proj_bias: Any, mask: Any = None, need_weights: bool = True, average: bool = True, mask_type: int | None = None,
) -> tuple[Tensor, Any]:  # fmt: skip
    """Attention of batches (B, L, E), as PyTorch's fused kernel is called; a mask of the type 0 is of queries, 1 of keys."""
    q, k, v = (t.transpose(0, 1) for t in (query, key, value))  # (L, B, E)
    masks = {"attn_mask": mask} if mask_type == 0 else {"key_padding_mask": mask}
    result, shares = functional.multi_head_attention_forward(
        q, k, v, embed_dim, num_heads, qkv_weight, qkv_bias, None, None, False, 0.0, proj_weight, proj_bias,
        training=False, need_weights=need_weights, average_attn_weights=average, **masks,
    )  # fmt: skip
    return result.transpose(0, 1), shares


def _encoder_layer(
    src: Any, embed_dim: int, num_heads: int, qkv_weight: Any, qkv_bias: Any, proj_weight: Any, proj_bias: Any,
    use_gelu: bool, norm_first: bool, eps: float, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, w4: Any, b4: Any,
    mask: Any = None, mask_type: int | None = None,
) -> Tensor:  # fmt: skip
    """A layer of a Transformer in evaluation: norms of w1 and w2, a network of w3 and w4 after the attention."""
    attend = lambda x: _attention(x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True, mask_type)[0]  # noqa: E731  # fmt: skip
    active = functional.gelu if use_gelu else functional.relu
    feed = lambda x: functional.linear(active(functional.linear(x, w3, b3)), w4, b4)  # noqa: E731
    norm = partial(functional.layer_norm, normalized_shape=(embed_dim,), eps=eps)
    if norm_first:
        x = src + attend(norm(src, weight=w1, bias=b1))
        return x + feed(norm(x, weight=w2, bias=b2))
    x = norm(src + attend(src), weight=w1, bias=b1)
    return norm(x + feed(x), weight=w2, bias=b2)


_PAIR = "input", "target"
_LOSSES = {
    **dict.fromkeys(("mse_loss", "l1_loss", "soft_margin_loss", "multilabel_margin_loss"), (*_PAIR, "reduction")),
    "smooth_l1_loss": (*_PAIR, "reduction", "beta"),
    "huber_loss": (*_PAIR, "reduction", "delta"),
    "binary_cross_entropy": (*_PAIR, "weight", "reduction"),
    "multi_margin_loss": (*_PAIR, "p", "margin", "weight", "reduction"),
    "nll_loss": (*_PAIR, "weight", "reduction", "ignore_index"),
}  # fmt: skip
_CROSS_ENTROPY = *_LOSSES["nll_loss"], "label_smoothing"
_UPSAMPLED = "linear1d bilinear2d trilinear3d bicubic2d nearest1d nearest2d nearest3d"
_UPSAMPLED_PRIVATELY = "nearest_exact1d nearest_exact2d nearest_exact3d bilinear2d_aa bicubic2d_aa"
FORMS: dict[str, Callable[..., Any]] = {
    "_conj": lambda input: input.conj(),
    "_local_scalar_dense": lambda input: input.item(),
    "_pin_memory": lambda input, device=None: input.pin_memory(),
    "_sparse_addmm": lambda input, a, b, beta=1, alpha=1: beta * input + alpha * (a @ b),
    "_to_copy": lambda input, layout=None, pin_memory=None, **options: input.to(**options, copy=True),
    "_unsafe_view": lambda input, size: input.reshape(size),
    "_prelu_kernel": REGISTRY["_prelu_kernel"],
    "alias": lambda input: input.view(input.shape),
    "index": lambda input, indices: input[tuple(slice(None) if i is None else i for i in indices)],
    "elu": lambda input, alpha=1.0, scale=1.0, input_scale=1.0: REGISTRY["elu"](
        input, constants=(float(alpha), float(scale), float(input_scale))
    ),
    "log_sigmoid": functional.logsigmoid,
    "slice": _slice,
    "sym_size": lambda input, *dim: input.size(*dim),
    "sym_stride": lambda input, *dim: input.stride(*dim),
    "sym_numel": lambda input: input.numel(),
    "_convolution": lambda *args: FUNCTIONS["convolution"](*args[:9]),  # choices of backends follow
    "_native_multi_head_attention": _attention,
    "_transformer_encoder_layer_fwd": _encoder_layer,
    "im2col": functional.unfold,
    "col2im": functional.fold,
    **{n: _normalized(n) for n in ("softmax", "log_softmax")},
    **{n: numbered(*each, 1) for n, each in NUMBERED.items()},
    **{n: numbered(getattr(functional, n), names, 1) for n, names in _LOSSES.items()},
    **dict.fromkeys(("nll_loss2d", "nll_loss_nd"), numbered(functional.nll_loss, _LOSSES["nll_loss"], 1)),
    "cross_entropy_loss": numbered(functional.cross_entropy, _CROSS_ENTROPY, 1),
    **{n: _upsample(n) for n in (*(f"upsample_{m}" for m in _UPSAMPLED.split()), *(f"_upsample_{m}" for m in _UPSAMPLED_PRIVATELY.split()))},
    **{n: partial(getattr(functional, n), return_indices=True) for n in ("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")},
    **{n: _fractional(getattr(functional, n)) for n in ("fractional_max_pool2d", "fractional_max_pool3d")},
    **{n: _of_list(FUNCTIONS[n]) for n in ("broadcast_tensors", "cartesian_prod", "block_diag")},
    "tensordot": lambda a, b, dims_a, dims_b: FUNCTIONS["tensordot"](a, b, (dims_a, dims_b)),
    "_unique2": lambda input, sorted=True, *_: FUNCTIONS["unique"](input, sorted, True, True),
    "stft": _stft,
    "embedding_bag": _embedding_bag,
    "numpy_T": lambda input: input.T,
    "unfold": lambda input, *window: input.unfold(*window),
    **{f"{n}_": partial(getattr(functional, n), inplace=True) for n in ("mish", "silu", "hardswish", "hardsigmoid")},
    **{f"{k}_pad{n}d": partial(functional.pad, mode=mode) for k, mode in (("reflection", "reflect"), ("replication", "replicate")) for n in (1, 2, 3)},
}  # fmt: skip
"""Operations that this library has under other names, or with other arguments."""
