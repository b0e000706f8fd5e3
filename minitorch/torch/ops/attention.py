"""Attention: averages of values, weighted by how well their keys match each query."""

from __future__ import annotations

import math
import warnings
from typing import Any

from .. import dtypes
from ..formulas import attention as cpu
from ..interpreters import composite
from ..tensor import Array, Tensor
from .double_backward import second_gradients
from .dropout import dropout
from .joining import cat
from .linear import linear
from .padding import pad
from .precision import in_single, is_half, kind_name, require_floats
from .record import Op, bind
from .softmax import SOFTMAX_BACKWARD

# --- Records -----------------------------------------------------------------------------------------


def _shares_gradients(g: Any, query: Any, key: Any, out: Any, scale: float, needs: Any) -> Any:
    scores = bind(SOFTMAX_BACKWARD, (g, out), {"dim": out.ndim - 1})
    return (
        (scores @ key) * scale if needs[0] else None,
        (scores.transpose(-2, -1) @ query) * scale if needs[1] else None,
        scores if needs[2] else None,
    )


SHARES = Op(
    "scaled_dot_product_shares", ("query", "key", "mask"), in_single(cpu.attention_weights), _shares_gradients,
    doc="The attention weights: softmax(scale query keyᵀ + mask).",
)  # fmt: skip


def _attention_gradients(
    g: Any, query: Any, key: Any, value: Any, mask: Any, shares: Any, needs: Any, scale: float, causal: bool
) -> Any:  # fmt: skip
    params = {"scale": scale, "causal": causal, "with_mask": needs[3]}
    found = bind(ATTENTION_BACKWARD, (g, query, key, value, mask, shares), params)
    return found if needs[3] else [*found, None]


def _attention_backward(
    g: Array, query: Array, key: Array, value: Array, mask: Array | None, shares: Array,
    scale: float, causal: bool, with_mask: bool,
) -> tuple[Array, ...]:  # fmt: skip
    found = cpu.attention_backward(g, query, key, value, mask, shares, scale, causal)
    return found if with_mask else found[:3]


def _attention_again(
    g: Any, grad: Any, query: Any, key: Any, value: Any, mask: Any, scale: float, causal: bool, with_mask: bool
) -> Any:  # fmt: skip
    def compose(query: Any, key: Any, value: Any, mask: Any) -> list[Tensor]:
        return [bind(SHARES, (query, key, mask), {"scale": scale, "causal": causal}) @ value]

    inputs = (query, key, value, mask)
    return [*second_gradients(compose, (grad,), inputs, range(3 + with_mask), g), None]


ATTENTION = Op(
    "scaled_dot_product_attention", ("query", "key", "value", "mask"), in_single(cpu.attention),
    _attention_gradients, differentiable=1, outputs=("out", "shares"),
    doc="softmax(scale query keyᵀ + mask) value.",
)  # fmt: skip
ATTENTION_BACKWARD = Op(
    "scaled_dot_product_attention_backward", ("grad", "query", "key", "value", "mask", "shares"),
    in_single(_attention_backward), _attention_again,
)  # fmt: skip


# --- One head ------------------------------------------------------------------------------------


@composite
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(scale query keyᵀ + mask) value.

    Args:
        query: (..., L, E)
        key: (..., S, E)
        value: (..., S, Ev)
        attn_mask: (..., L, S), added to the scores; a boolean one is True where a query may attend to a key
        dropout_p: probability of dropping an attention weight, also when not training
        is_causal: whether a query attends only to keys up to its own position
        scale: by default 1 / sqrt(E)
        enable_gqa: whether groups of query heads share a key and value head
    """
    _check_attention(query, key, value, attn_mask, is_causal)
    require_floats("softmax_lastdim_kernel_impl", query._array)
    if enable_gqa:
        key, value = _shared_heads(query, key, value)
    factor = 1 / math.sqrt(query._array.shape[-1] or 1) if scale is None else scale
    params = {"scale": factor, "causal": is_causal}
    try:
        if not dropout_p:
            return bind(ATTENTION, (query, key, value, attn_mask), params)[0]
        if is_half(query._array):  # shares in half precision would lose digits of the gradients
            wide = [x.float() if is_half(x._array) else x for x in (query, key, value)]
            mask = (
                attn_mask.float()
                if attn_mask is not None and is_half(attn_mask._array)
                else attn_mask
            )
            return scaled_dot_product_attention(*wide, mask, dropout_p, is_causal, scale).to(
                query.dtype
            )
        shares = bind(SHARES, (query, key, attn_mask), params)
    except ValueError:
        given = {"query": query, "key": key, "attn_mask": attn_mask}
        shapes = {name: list(x.shape) for name, x in given.items() if x is not None}
        raise RuntimeError(f"scaled_dot_product_attention: {shapes} do not broadcast") from None
    return dropout(shares, dropout_p) @ value


def _shared_heads(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    heads = query.shape[-3]
    for x in (key, value):
        if heads % x.shape[-3]:
            raise RuntimeError(
                f"Number of heads in key and value must divide the number of heads in query, but got "
                f"{list(query.shape)}, {list(key.shape)} and {list(value.shape)}"
            )
    repeated = (x.repeat_interleave(heads // x.shape[-3], -3) for x in (key, value))
    return next(repeated), next(repeated)


def _check_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool
) -> None:
    if query.dtype.kind < dtypes.FLOATING:
        raise RuntimeError(f"expected scalar type Float but found {kind_name(query._array)}")
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{kind_name(query._array)} key.dtype: {kind_name(key._array)} and value.dtype: {kind_name(value._array)} instead."
        )
    fault = ""
    if min(query.ndim, key.ndim, value.ndim) < 2:
        fault = "Expected query, key, and value to all be at least 2 dimensional"
    elif query._array.shape[-1] != key._array.shape[-1]:
        fault = "query and key must have the same last size"
    if fault:
        shapes = f"query {list(query.shape)}, key {list(key.shape)}, value {list(value.shape)}"
        raise RuntimeError(f"{fault}, but got {shapes}.")
    if is_causal and mask is not None:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
        )
    if mask is not None and mask.dtype not in (dtypes.bool_, query.dtype, dtypes.float32):
        raise RuntimeError(
            f"Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{kind_name(mask._array)} and  query.dtype: {kind_name(query._array)} instead."
        )


# --- Many heads ----------------------------------------------------------------------------------


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Multi-head attention, as `nn.MultiheadAttention` computes it with these parameters.

    Inputs are (L, N, E) or (L, E). Returns the output, and the attention weights if `need_weights`.
    """
    batched = _check_heads(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query._array.shape
    _check_options(width, embed_dim_to_check, num_heads, is_causal and attn_mask is None)
    use_hint = is_causal and key_padding_mask is None and not need_weights
    padding = additive_mask(key_padding_mask, "key_padding_mask", query)
    mask = None if use_hint else additive_mask(attn_mask, "attn_mask", query)
    mask = _mask_of_heads(mask, (length, key._array.shape[0]), batch * num_heads)

    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias, weights)
    k, v = _followed_by(k, v, bias_k, bias_v)
    q = _split_heads(q, batch * num_heads)
    k = _split_heads(k, batch * num_heads) if static_k is None else _static("static_k", static_k, q)
    v = _split_heads(v, batch * num_heads) if static_v is None else _static("static_v", static_v, q)
    if add_zero_attn:
        k, v = (_joined([x, x.new_zeros((x.shape[0], 1, x.shape[2]))], 1) for x in (k, v))
    for _ in range((bias_k is not None) + bool(add_zero_attn)):
        mask, padding = _one_more(mask), _one_more(padding)
    mask = _merged(mask, padding, batch, num_heads, k._array.shape[1])
    out, shares = _attend(q, k, v, mask, dropout_p if training else 0.0, use_hint, need_weights)
    rows = out.transpose(0, 1).reshape(length * batch, width)
    out = linear(rows, out_proj_weight, out_proj_bias).view(length, batch, -1)
    shares = _averaged(shares, (batch, num_heads, length), average_attn_weights)
    if not batched:
        return out.squeeze(1), None if shares is None else shares.squeeze(0)
    return out, shares


def _check_options(width: int, expected: int, num_heads: int, lacks_mask: bool) -> None:
    """RuntimeError or AssertionError for `is_causal` without a mask, or an embedding size that does not fit."""
    if lacks_mask:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if width != expected:
        raise AssertionError(f"was expecting embedding dimension of {expected}, but got {width}")
    if width % num_heads:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")


def _followed_by(k: Tensor, v: Tensor, bias_k: Any, bias_v: Any) -> tuple[Tensor, Tensor]:
    """Keys and values (L, N, E), each with its bias appended, if there is one."""
    if (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k and bias_v must be given together")
    if bias_k is None:
        return k, v
    batch = k._array.shape[1]
    return _joined([k, bias_k.repeat(1, batch, 1)], 0), _joined([v, bias_v.repeat(1, batch, 1)], 0)


def _averaged(shares: Tensor | None, shape: tuple[int, int, int], average: bool) -> Tensor | None:
    """Attention weights as (batch, heads, length, keys), or their mean over the heads."""
    if shares is None:
        return None
    of_heads: Tensor = shares.view(*shape, -1)
    return of_heads.mean(1) if average else of_heads


def _attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Any,
    dropout_p: float,
    is_causal: bool,
    need_weights: bool,
) -> tuple[Tensor, Tensor | None]:
    """The output of each head, and the attention weights if wanted."""
    if not need_weights:
        return scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal), None
    if q.dtype is not k.dtype:
        raise RuntimeError(f"expected scalar type {q.dtype} but found {k.dtype}")
    scale = math.sqrt(1 / (q._array.shape[-1] or 1))
    shares = bind(SHARES, (q, k, mask), {"scale": scale, "causal": False})
    shares = dropout(shares, dropout_p) if dropout_p > 0 else shares
    return shares @ v, shares


def _projected(
    query: Tensor, key: Tensor, value: Tensor, packed: Any, bias: Any, separate: Any
) -> list[Tensor]:
    """Queries, keys and values, projected by one weight for all three or by one for each."""
    if separate is None:
        if packed is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        if query is key and key is value:
            return list(linear(query, packed, bias).chunk(3, -1))
        separate = packed.chunk(3)
    elif key.shape[:2] != value.shape[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
        )
    if any(w is None for w in separate):
        raise AssertionError("use_separate_proj_weight is True but a projection weight is None")
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return [linear(x, w, b) for x, w, b in zip((query, key, value), separate, biases, strict=True)]


def _split_heads(x: Tensor, count: int) -> Tensor:
    """(L, N, E) as (N heads, L, E / heads)."""
    length, batch, width = x._array.shape
    return x.reshape(length, count, width * batch // count).transpose(0, 1)


def _static(name: str, x: Tensor, q: Tensor) -> Tensor:
    if x.shape[0] != q.shape[0] or x.shape[2] != q.shape[2]:
        raise AssertionError(
            f"expecting {name} of size ({q.shape[0]}, S, {q.shape[2]}), but got {list(x.shape)}"
        )
    return x


def _joined(tensors: list[Tensor], dim: int) -> Tensor:
    return cat(tensors, dim)


def additive_mask(mask: Tensor | None, name: str, query: Tensor) -> Tensor | None:
    """A boolean or float mask as numbers to add to scores."""
    if mask is None or mask.dtype.is_floating_point:
        return mask
    if mask.dtype is not dtypes.bool_:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return query.new_zeros(mask.shape).masked_fill(mask, -math.inf)


def _mask_of_heads(mask: Tensor | None, shape: tuple[int, int], heads: int) -> Tensor | None:
    if mask is None:
        return None
    want = shape if mask.ndim == 2 else (heads, *shape)
    if mask._array.shape != want:
        raise RuntimeError(
            f"The shape of the {mask.ndim}D attn_mask is {mask.shape}, but should be {want}."
        )
    return mask.unsqueeze(0) if mask.ndim == 2 else mask


def _one_more(mask: Tensor | None) -> Tensor | None:
    """A mask with one more key, which every query may attend to."""
    return None if mask is None else pad(mask, (0, 1))


def _merged(
    mask: Tensor | None, padding: Tensor | None, batch: int, heads: int, keys: int
) -> Tensor | None:
    """The attention mask and the key padding mask as one."""
    if padding is None:
        return mask
    if padding._array.shape != (batch, keys):
        raise AssertionError(
            f"Expected key_padded_mask.shape to be {(batch, keys)}, but got {tuple(padding.shape)}"
        )
    spread = (
        padding.view(batch, 1, 1, keys).expand(-1, heads, -1, -1).reshape(batch * heads, 1, keys)
    )
    return spread if mask is None else mask + spread


def _check_heads(
    query: Tensor, key: Tensor, value: Tensor, padding: Any, mask: Any, heads: int
) -> bool:
    """Whether the inputs are batched; AssertionError, as in Torch, if their shapes do not match."""
    if query.ndim not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query tensor"
        )
    ranks = {"key": (key, (query.ndim,)), "value": (value, (query.ndim,)), "key_padding_mask": (padding, (query.ndim - 1,)),
             "attn_mask": (mask, (2, 3))}  # fmt: skip
    for name, (x, expected) in ranks.items():
        if x is not None and x.ndim not in expected:
            raise AssertionError(
                f"For {query.ndim}-D `query`, expected `{name}` to be {expected}-D but found {x.ndim}-D"
            )
    if query.ndim == 2 and mask is not None and mask.ndim == 3:
        want = (heads, query.shape[0], key.shape[0])
        if tuple(mask.shape) != want:
            raise AssertionError(f"Expected `attn_mask` shape to be {want} but got {mask.shape}")
    warn_of_two_kinds(padding, "key_padding_mask", mask, "attn_mask")
    return query.ndim == 3


def warn_of_two_kinds(a: Tensor | None, name: str, b: Tensor | None, other: str) -> None:
    """Warn if two masks are of different types."""
    if a is not None and b is not None and a.dtype is not b.dtype:
        warnings.warn(
            f"Support for mismatched {name} and {other} is deprecated. Use same type for both instead.",
            stacklevel=4,
        )
