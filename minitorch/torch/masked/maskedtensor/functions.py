"""What functions of Torch do to masked tensors; all others are refused.

Functions of single elements compute on the data, with the mask as it is. Of two masked tensors the masks must be equal. Functions that move elements
do the same to data and mask. Reductions are those of `torch.masked`; their results are masked where no element counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ... import dtypes, environment
from ...autograd.backward import grad
from ...autograd.function import Function
from ...autograd.modes import enable_grad
from ...ops import FUNCTIONS
from ...tensor import Tensor
from .. import reductions
from .core import (
    SPARSE,
    MaskedTensor,
    Outwards,
    is_masked_tensor,
    masked,
    same_coordinates,
    same_masks,
)

Answer = Callable[..., Any]

ANSWERS: dict[str, Answer] = {}
"""What functions do, by their names."""

UNARY = frozenset(
    """
    abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh bitwise_not
    ceil clamp clip conj conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac
    isfinite isreal lgamma log log10 log1p log2 logit i0 isnan nan_to_num neg negative positive pow float_power
    rad2deg reciprocal round rsqrt sigmoid sign sgn signbit sin sinc sinh sqrt square tan tanh trunc resolve_conj
    resolve_neg
    """.split()  # noqa: SIM905
)
"""Functions of single elements of one tensor."""

BINARY = frozenset(
    """
    add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div divide
    floor_divide fmod logaddexp logaddexp2 mul multiply nextafter remainder sub subtract true_divide eq ne le ge
    greater greater_equal gt less_equal lt less maximum minimum fmax fmin not_equal isclose
    """.split()  # noqa: SIM905
)
"""Functions of single elements of two tensors."""

MOVING = frozenset(
    """
    getitem select narrow transpose swapaxes swapdims t mT mH adjoint split tensor_split chunk hsplit vsplit dsplit
    expand expand_as view view_as reshape reshape_as flatten ravel unflatten unsqueeze unfold cat concat
    concatenate stack repeat_interleave index
    """.split()  # noqa: SIM905
)
"""Functions that are done to data and mask."""

CASTS = frozenset(
    """
    to type type_as float double half int long short char bool cpu cuda clone detach
    """.split()  # noqa: SIM905
)

_OPERATORS = {
    "__add__": "add", "__radd__": "add", "__iadd__": "add_", "__sub__": "sub", "__isub__": "sub_", "__mul__": "mul", "__rmul__": "mul",
    "__imul__": "mul_", "__truediv__": "div", "__itruediv__": "div_", "__floordiv__": "floor_divide", "__mod__": "remainder",
    "__pow__": "pow", "__ipow__": "pow_", "__neg__": "neg", "__abs__": "abs", "__invert__": "bitwise_not", "__and__": "bitwise_and",
    "__or__": "bitwise_or", "__xor__": "bitwise_xor", "__lshift__": "bitwise_left_shift", "__rshift__": "bitwise_right_shift",
    "__eq__": "eq", "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge", "__getitem__": "getitem",
    "_matrix_transpose": "mT",
}  # fmt: skip


def answer(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """What a function gives for arguments of which some are masked."""
    name = getattr(func, "__name__", "")
    if name == "__get__":
        name = func.__self__.fget.__name__
    name = _OPERATORS.get(name, name)
    found = ANSWERS.get(name)
    if found is not None:
        return found(*args, **kwargs)
    plain, in_place = name.removesuffix("_"), name.endswith("_")
    if plain in MOVING:
        return _moved(_plain(plain), args, kwargs)
    if plain in CASTS:
        return _cast(plain, args, kwargs)
    if plain in UNARY:
        return _unary(_plain(plain), args, kwargs, in_place)
    if plain in BINARY:
        return _binary(_plain(plain), args, kwargs, in_place)
    raise _refusal(name)


def _refusal(name: str) -> TypeError:
    return TypeError(
        f"Multiple dispatch failed for 'torch._ops.aten.{name}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
        "  - tensor subclass <class 'torch.masked.maskedtensor.core.MaskedTensor'>"
    )


def _plain(name: str) -> Callable[..., Any]:
    """A function of plain tensors: a method of the first, which may be sparse, or a function of lists or numbers."""
    if name in ("mT", "mH"):
        return lambda x: getattr(x, name)
    method = "__getitem__" if name == "getitem" else name

    def call(first: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(first, Tensor):
            return getattr(first, method)(*args, **kwargs)
        return FUNCTIONS[name](first, *args, **kwargs)

    return call


def _answers(*names: str) -> Callable[[Answer], Answer]:
    def note(fn: Answer) -> Answer:
        ANSWERS.update(dict.fromkeys(names, fn))
        return fn

    return note


def _parts(value: Any, part: str) -> Any:
    """A value with its masked tensors, also those in lists, replaced by their data or mask."""
    if is_masked_tensor(value):
        return getattr(value, part)
    return type(value)(_parts(v, part) for v in value) if type(value) in (list, tuple) else value


# --- Single elements ------------------------------------------------------------------------------------------


def _unary(fn: Answer, args: Any, kwargs: dict[str, Any], in_place: bool) -> Any:
    input, *others = args
    if {"decimals", "out"} & kwargs.keys():
        raise ValueError(
            "MaskedTensor unary ops require that len(kwargs) == 0. If you need support for this, please open an issue on Github."
        )
    if any(isinstance(x, Tensor) for x in (*others, *kwargs.values())):
        raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
    return _result(input, _each(fn, input._masked_data, *others, **kwargs), in_place)


def _each(fn: Answer, data: Any, *others: Any, **kwargs: Any) -> Any:
    """A function of each element, or of each that is kept."""
    if data.layout in SPARSE:
        return data._with(fn(data._content, *others, **kwargs))
    return fn(data, *others, **kwargs)


def _binary(fn: Answer, args: Any, kwargs: dict[str, Any], in_place: bool) -> Any:
    if {"alpha", "rounding_mode", "out"} & kwargs.keys():
        raise ValueError("len(kwargs) must equal 0")
    first, second = (*args, *kwargs.values())[:2]
    if not same_masks(first, second):
        raise ValueError(
            "Input masks must match. If you need support for this, please open an issue on Github."
        )
    one, other = _parts(first, "_masked_data"), _parts(second, "_masked_data")
    layout = getattr(one, "layout", None)
    if layout in SPARSE and layout is getattr(other, "layout", None):
        _check_coordinates(one, other)
        other = other._content
    known = first if is_masked_tensor(first) else second
    return _result(known, _each(fn, one, other), in_place)


def _check_coordinates(one: Any, other: Any) -> None:
    kind = str(one.layout).removeprefix("torch.")
    if not same_coordinates(one, other):
        raise ValueError(f"{kind} indices must match. If you need support for this, please open an issue on Github.")  # fmt: skip
    if tuple(one.shape) != tuple(other.shape):
        raise ValueError("input1 and input2 must have the same size for binary functions.")


def _result(input: MaskedTensor, data: Any, in_place: bool) -> Any:
    """A masked tensor of a result, or the input with a result in it."""
    mask = input._masked_mask
    if in_place:
        if input.requires_grad and input.is_leaf:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")  # fmt: skip
        input._set_data_mask(data, mask)
        return input
    return masked(data, mask if data.layout in SPARSE else mask.expand_as(data))


@_answers("__rtruediv__")
def _divided_by(input: MaskedTensor, other: Any) -> Any:
    return answer(Tensor.mul, (answer(Tensor.reciprocal, (input,), {}), other), {})  # type: ignore[attr-defined]


@_answers("__rsub__")
def _subtracted_from(input: MaskedTensor, other: Any) -> Any:
    raise TypeError(
        f"unsupported operand type(s) for -: '{type(other).__name__}' and 'MaskedTensor'"
    )


@_answers("__rpow__")
def _power_of(input: MaskedTensor, other: Any) -> Any:
    raise TypeError(f"unsupported operand type(s) for ** or pow(): '{type(other).__name__}' and 'MaskedTensor'")  # fmt: skip


@_answers("max", "min")
def _larger(input: Any, other: Any = None) -> Any:
    if not isinstance(other, Tensor):
        raise _refusal("max")
    return _binary(_plain("max"), (input, other), {}, False)


# --- Choices ------------------------------------------------------------------------------------------------------


class _Where(Function):
    """Of two tensors, one or the other; the gradient of each is masked where the other was chosen."""

    @staticmethod
    def forward(ctx: Any, condition: Tensor, input: Tensor, other: Tensor) -> Tensor:
        ctx.condition = condition
        return FUNCTIONS["where"](condition, input, other)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        data, mask = gradient, None
        if is_masked_tensor(gradient):
            data, mask = gradient._masked_data, gradient._masked_mask
        chosen = ctx.condition.expand_as(data), ~ctx.condition.expand_as(data)
        return None, *(masked(data, c if mask is None else c & mask) for c in chosen)


@_answers("where")
def _where(condition: Tensor, input: Any, other: Any) -> Any:
    sides = [x if isinstance(x, Tensor) else FUNCTIONS["tensor"](x) for x in (input, other)]
    masks = [x._masked_mask if is_masked_tensor(x) else x.new_ones(x.shape, dtype=dtypes.bool_) for x in sides]  # fmt: skip
    data = _Where.apply(condition, *(_parts(x, "_masked_data") for x in sides))
    return masked(data, FUNCTIONS["where"](condition, *masks))


# --- Shapes, types and layouts --------------------------------------------------------------------------------------


def _moved(fn: Answer, args: Any, kwargs: dict[str, Any]) -> Any:
    """A function of data and of mask. Gradients and their masks take the same way back."""
    found: list[Any] = []
    _collect(args, found)
    data = fn(*_parts(args, "_masked_data"), **kwargs)
    mask = fn(*_parts(args, "_masked_mask"), **kwargs)
    if found[0].is_sparse or not any(x.requires_grad for x in found):
        return masked(data, mask)

    def move(*values: Tensor) -> Any:
        return fn(*_with(args, iter(values)), **kwargs)

    return masked(_Move.apply(move, *(x._masked_data for x in found)), mask)


def _collect(value: Any, found: list[Any]) -> None:
    """Note the masked tensors of a value."""
    if is_masked_tensor(value):
        found.append(value)
    elif type(value) in (list, tuple):
        for each in value:
            _collect(each, found)


def _with(value: Any, others: Iterator[Tensor]) -> Any:
    """A value with others in the place of its masked tensors."""
    if is_masked_tensor(value):
        return next(others)
    return type(value)(_with(v, others) for v in value) if type(value) in (list, tuple) else value


class _Move(Function):
    """A function that moves elements, done backward to gradients and to their masks."""

    @staticmethod
    def forward(ctx: Any, move: Answer, *inputs: Tensor) -> Any:
        ctx.set_materialize_grads(False)
        ctx.move, ctx.inputs = move, inputs
        moved = move(*inputs)
        return tuple(moved) if isinstance(moved, list) else moved

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        def back(part: Answer) -> Any:
            """What part of the gradients arrives at the inputs."""
            with enable_grad():
                starts = [x.detach().requires_grad_() for x in ctx.inputs]
                moved = ctx.move(*starts)
            ends = list(moved) if isinstance(moved, (list, tuple)) else [moved]
            arrived = [(e, part(g)) for e, g in zip(ends, gradients, strict=True) if g is not None]
            return grad(
                [e for e, _ in arrived], starts, [g for _, g in arrived], materialize_grads=True
            )

        data = back(_without_hidden)
        masks = back(lambda g: g._masked_mask.to(g.dtype))
        return None, *(masked(d, m != 0) for d, m in zip(data, masks, strict=True))


def _without_hidden(input: Any) -> Tensor:
    """Data with zeros where the mask is False."""
    return input._masked_data.masked_fill(~input._masked_mask, 0)


def _cast(name: str, args: Any, kwargs: dict[str, Any]) -> Any:
    input, *others = _parts(args, "_masked_data")
    made = getattr(input, name)(*others, **kwargs)
    return masked(made, args[0]._masked_mask) if isinstance(made, Tensor) else made


@_answers("ones_like")
def _ones_like(input: MaskedTensor, **kwargs: Any) -> Any:
    return masked(_each(FUNCTIONS["ones_like"], input._masked_data, **kwargs), input._masked_mask)


@_answers("contiguous")
def _contiguous(input: MaskedTensor, *_: Any, **__: Any) -> Any:
    if input.is_sparse:
        raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
    return masked(input._masked_data.contiguous(), input._masked_mask.contiguous())


@_answers("is_contiguous")
def _is_contiguous(input: MaskedTensor, *args: Any, **kwargs: Any) -> bool:
    if input.is_sparse:
        raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
    return input._masked_data.is_contiguous(*args, **kwargs)


@_answers("to_dense")
def _to_dense(input: MaskedTensor, *_: Any, **__: Any) -> Any:
    if not input.is_sparse:
        return input
    return masked(Outwards.apply(input._masked_data.to_dense()), input._masked_mask.to_dense())


def _to_layout(input: MaskedTensor, layout: Any) -> Any:
    """The same in a sparse layout, with the coordinates at which the mask is True."""
    if input.layout is layout:
        return input
    mask = input._masked_mask.to_dense().to_sparse().to_sparse(layout=layout)
    data = input._masked_data.to_dense() if input.is_sparse else input._masked_data
    return masked(data.sparse_mask(mask), mask)


@_answers("to_sparse", "to_sparse_coo")
def _to_sparse(input: MaskedTensor, *_: Any, layout: Any = None, **__: Any) -> Any:
    return _to_layout(input, layout or environment.sparse_coo)


@_answers("to_sparse_csr")
def _to_sparse_csr(input: MaskedTensor, *_: Any, **__: Any) -> Any:
    if input.ndim != 2:
        raise ValueError(f"Only 2D tensors can be converted to the SparseCsr layout but got shape: {input.shape}")  # fmt: skip
    return _to_layout(input, environment.sparse_csr)


@_answers("sparse_coo_tensor")
def _sparse_coo_tensor(indices: Any, values: MaskedTensor, *args: Any, **kwargs: Any) -> Any:
    """Elements at coordinates, all of which count."""
    data = FUNCTIONS["sparse_coo_tensor"](indices, values._masked_data, *args, **kwargs).coalesce()
    return masked(data, data._with(data._content.new_ones(data._nnz(), dtype=dtypes.bool_)))


@_answers("copy_")
def _copy(input: MaskedTensor, other: Any, non_blocking: bool = False) -> Any:
    return _result(input, _parts(other, "_masked_data").to(input.dtype).expand_as(input._masked_data).clone(), True)  # fmt: skip


@_answers("backward")
def _backward(input: MaskedTensor, gradient: Any = None, *args: Any, **kwargs: Any) -> Any:
    given = _ones_like(input.detach()) if gradient is None and input.numel() == 1 else gradient
    return input._masked_data.backward(given, *args, **kwargs)


# --- What is said of it ---------------------------------------------------------------------------------------------


@_answers("item", "__float__", "__int__", "__bool__")
def _item(input: MaskedTensor) -> Any:
    if input.numel() == 1 and not input._masked_mask.item():
        raise ValueError("__torch_dispatch__, aten._local_scalar_dense: expected a mask tensor")
    return input._masked_data.item()


ANSWERS["__bool__"] = lambda input: bool(_item(input))


_answers("is_same_size")(lambda input, other: tuple(input.shape) == tuple(other.shape))


def _declare_fact(name: str) -> None:
    def ask(input: MaskedTensor, *args: Any, **kwargs: Any) -> Any:
        found = getattr(input._masked_data, name)
        return found(*args, **kwargs) if callable(found) else found

    ANSWERS[name] = ask


_FACTS = """
    size numel nelement dim ndimension stride is_floating_point is_complex is_signed element_size get_device
    register_hook retain_grad retains_grad _version is_inference is_conj is_neg storage_offset is_cuda is_meta
    is_cpu is_quantized is_nested itemsize nbytes names
"""

for _name in _FACTS.split():
    _declare_fact(_name)


@_answers("requires_grad_")
def _requires_grad(input: MaskedTensor, requires_grad: bool = True) -> Any:
    input._masked_data.requires_grad_(requires_grad)
    return input


for _name, _what in (("tolist", ".tolist() is not supported for tensor subclasses, got MaskedTensor"),
                     ("numpy", ".numpy() is not supported for tensor subclasses.")):  # fmt: skip

    def _refuse(input: MaskedTensor, *_: Any, text: str = _what, **__: Any) -> Any:
        raise RuntimeError(text)

    ANSWERS[_name] = _refuse


# --- Reductions -------------------------------------------------------------------------------------------------------


def _all(data: Any, dim: Any = None, keepdim: bool = False, mask: Any = None, **_: Any) -> Any:
    plain = _parts(data, "_masked_data")
    filled = plain if mask is None else plain.masked_fill(~mask, True)
    return filled.all() if dim is None else filled.all(dim, keepdim)


def _reduction(name: str) -> Answer:
    fn = _all if name == "all" else getattr(reductions, name)

    def whole(input: MaskedTensor) -> Any:
        """Over all elements; where they are sparse, over those that are kept."""
        data, mask = input._masked_data, input._masked_mask
        if not input.is_sparse:
            return masked(Outwards.apply(fn(input, mask=mask)), mask.any())
        at = fn(data._content.detach(), mask=mask._content)
        if name.startswith("arg") and input.is_sparse_coo():
            at = _flat_coordinate(data, int(at.item()))
        return masked(at, mask._content.any())

    def along(input: MaskedTensor, dim: Any, keepdim: bool = False, dtype: Any = None) -> Any:
        if input.is_sparse:
            raise TypeError(
                f"Multiple dispatch failed for 'torch.Tensor.{name}'; all __torch_function__ handlers returned NotImplemented:\n\n"
                "  - tensor subclass <class 'torch.masked.maskedtensor.core.MaskedTensor'>"
            )
        mask = input._masked_mask
        found = fn(input, dim=dim, keepdim=keepdim, dtype=dtype, mask=mask)
        return masked(Outwards.apply(found), _any(mask, dim, keepdim))

    def reduce(*args: Any, **kwargs: Any) -> Any:
        return whole(*args) if len(args) == 1 and not kwargs else along(*args, **kwargs)

    return reduce


def _any(mask: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """Where along dimensions the mask is True anywhere."""
    dims = [dim] if isinstance(dim, int) else list(dim)
    for d in sorted((d % max(mask.ndim, 1) for d in dims), reverse=True):
        mask = mask.any(d, keepdim)
    return mask


def _flat_coordinate(data: Any, at: int) -> Tensor:
    """The place of an element that is kept, counted row by row."""
    return FUNCTIONS["tensor"](float(data._flat_coordinates()[at]))


for _name in ["sum", "mean", "amin", "amax", "argmin", "argmax", "prod", "all", "var", "std"]:
    ANSWERS[_name] = _reduction(_name)


@_answers("sum_to_size")
def _sum_to_size(input: MaskedTensor, *size: Any) -> Any:
    sizes = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    more = input.ndim - len(sizes)
    dims = [d for d in range(input.ndim) if d < more or sizes[d - more] != input.shape[d]]
    kept = ANSWERS["sum"](input, dims, True) if dims else input
    return _moved(_plain("reshape"), (kept, sizes), {})


@_answers("softmax")
def _softmax(input: MaskedTensor, dim: int, *_: Any, **__: Any) -> Any:
    mask = input._masked_mask
    return masked(Outwards.apply(reductions.softmax(input, dim, mask=mask)), mask)
