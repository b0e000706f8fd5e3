"""A masked tensor: data, and a mask that says which of its elements count.

Functions compute on the data as a whole, under the mask, too; what they do to the mask is in `functions.py`. Data and mask are dense, or both sparse
with the same coordinates. The graph is that of the data. The gradients in it are masked tensors, so that each carries its own mask.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ... import dtypes, environment
from ...autograd.function import Function
from ...backends.interface import as_numpy
from ...size import Size
from ...tensor import Tensor

SPARSE = (environment.sparse_coo, environment.sparse_csr)
_TYPES = (
    dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bool_,
    dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64,
)  # fmt: skip


class MaskedTensor(Tensor):
    """A tensor of which only the elements where a mask is True count.

    Attributes:
        _masked_data: all elements, with their history
        _masked_mask: of truth values, in the shape and layout of the data
    """

    def __new__(cls, data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
        """One object, whose data and mask are copied by `__init__`."""
        for name, given in (("data", data), ("mask", mask)):
            if is_masked_tensor(given) or not isinstance(given, Tensor):
                raise TypeError(f"{name} must be a Tensor")
        warnings.warn(
            "The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. Please open a Github issue "
            "for features requests and see our documentation on the torch.masked module for further information about the project.",
            UserWarning, stacklevel=2,
        )  # fmt: skip
        if data.requires_grad:
            warnings.warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad. "
                "To avoid this, you can use data.detach().clone()", UserWarning, stacklevel=2,
            )  # fmt: skip
        return object.__new__(cls)

    def __init__(self, data: Tensor, mask: Tensor, requires_grad: bool = False) -> None:
        self._set_data_mask(*aligned(data.detach().clone(), mask.clone()))
        self._masked_data.requires_grad_(requires_grad)

    def _set_data_mask(self, data: Tensor, mask: Tensor) -> None:
        check(data, mask)
        self._masked_data, self._masked_mask = data, mask

    # --- What it is ------------------------------------------------------------------------------------------

    _array = property(lambda self: self._masked_data._array)
    shape = property(lambda self: Size(self._masked_data.shape), doc="The sizes of the data.")
    ndim = property(lambda self: self._masked_data.ndim, doc="How many dimensions there are.")
    dtype = property(lambda self: self._masked_data.dtype, doc="The type of the data.")
    device = property(lambda self: self._masked_data.device, doc="Where the data is.")
    layout = property(lambda self: self._masked_data.layout, doc="The layout of data and mask.")

    @property
    def requires_grad(self) -> bool:
        """Whether operations on it are recorded."""
        return self._masked_data.requires_grad

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self._masked_data.requires_grad = wanted

    @property
    def grad(self) -> MaskedTensor | None:
        """The gradient, which has a mask, too."""
        found: Any = self._masked_data.grad
        known = found is None or is_masked_tensor(found)
        return found if known else masked(found, self._masked_mask)

    @grad.setter
    def grad(self, gradient: Any) -> None:
        self._masked_data._grad = gradient

    grad_fn = property(lambda self: self._masked_data.grad_fn)
    is_leaf = property(lambda self: self._masked_data.is_leaf)

    @property
    def is_sparse(self) -> bool:
        """Whether data and mask are sparse."""
        return self.layout in SPARSE

    def is_sparse_coo(self) -> bool:
        """Whether data and mask are kept by coordinates."""
        return self.layout is environment.sparse_coo

    def is_sparse_csr(self) -> bool:
        """Whether data and mask are kept by rows."""
        return self.layout is environment.sparse_csr

    # --- Its parts --------------------------------------------------------------------------------------------

    def get_data(self) -> Tensor:
        """The data; its gradient gets the mask."""
        if not self.requires_grad or self.is_sparse:
            return self._masked_data.detach()
        return Inside.apply(self._masked_data, self._masked_mask)

    def get_mask(self) -> Tensor:
        """The mask."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> Tensor:
        """A plain tensor with a value where the mask is False."""
        return self.get_data().masked_fill(~self._masked_mask, value)

    def __repr__(self, **_: Any) -> str:
        data, mask = self._masked_data.detach(), self._masked_mask
        if self.is_sparse:
            data, mask = data.to_dense(), mask.to_dense()
        if self.ndim == 0:
            shown = _number(data.item()) if mask.item() else "--"
            return f"MaskedTensor({shown}, {mask.item()})"
        lines = _rows(data.tolist(), mask.tolist()).replace("\n", "\n  ")
        return f"MaskedTensor(\n  {lines}\n)"

    def __len__(self) -> int:
        return self.shape[0]

    # --- As a gradient of others --------------------------------------------------------------------------------

    def _owns_memory(self) -> bool:
        return False

    def _own_copy(self) -> MaskedTensor:
        return masked(self._masked_data.detach().clone(), self._masked_mask)

    def _add_in_place(self, other: Tensor) -> None:
        total = self + other
        self._set_data_mask(total._masked_data, total._masked_mask)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        from .functions import answer

        return answer(func, args, kwargs or {})


def _number(value: Any) -> str:
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _rows(data: Any, mask: Any) -> str:
    """Nested lists of numbers as text, with dashes where the mask is False."""
    if not mask or not isinstance(mask[0], list):
        shown = [_number(x) for x in data]
        width = max((len(t) if seen else 8 for t, seen in zip(shown, mask, strict=True)), default=0)
        return f"[{', '.join(t if seen else '--'.rjust(width) for t, seen in zip(shown, mask, strict=True))}]"
    inside = ["  " + _rows(*row).replace("\n", "\n  ") for row in zip(data, mask, strict=True)]
    return "[\n" + ",\n".join(inside) + "\n]"


class Inside(Function):
    """What is inside of a masked tensor, as a plain one; the gradient gets the mask."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, mask: Tensor) -> Tensor:
        ctx.mask = mask
        return data

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        known = is_masked_tensor(gradient)
        return gradient if known else masked(gradient, ctx.mask), None


class Filled(Inside):
    """The same with a value where the mask is False."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, mask: Tensor, value: Any) -> Tensor:
        ctx.mask = mask
        return data.masked_fill(~mask, value)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return *Inside.backward(ctx, gradient), None


class Outwards(Function):
    """Data of a result; its gradient loses the mask."""

    @staticmethod
    def forward(ctx: Any, data: Tensor) -> Tensor:
        return data.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient._masked_data if is_masked_tensor(gradient) else gradient


def is_masked_tensor(obj: Any, /) -> bool:
    """Whether a value is a masked tensor."""
    return isinstance(obj, MaskedTensor)


def masked(data: Any, mask: Any) -> Any:
    """Data with its history, and a mask, as a masked tensor; of lists of both, one for each."""
    if isinstance(data, (list, tuple)):
        return type(data)(masked(d, m) for d, m in zip(data, mask, strict=True))
    made = object.__new__(MaskedTensor)
    made._set_data_mask(data, mask)
    return made


# --- Data and masks that fit --------------------------------------------------------------------------------


def aligned(data: Any, mask: Any) -> tuple[Any, Any]:
    """Data and mask in order; sparse data gets the coordinates at which the mask is True."""
    if data.layout is not mask.layout:
        raise TypeError("data and mask must have the same layout.")
    if data.layout is environment.sparse_coo:
        data, mask = data.coalesce(), mask.coalesce()
    if data.layout in SPARSE and data._nnz() != mask._nnz():
        seen = mask.to_dense().nonzero().t()
        data = sparse_of(seen, data.to_dense()[tuple(seen)], data.shape, data.layout)
    return data, mask


def sparse_of(indices: Tensor, values: Tensor, size: Any, layout: Any) -> Any:
    """A sparse tensor of coordinates in order."""
    from ...sparse.coo import SparseTensor

    made = SparseTensor(as_numpy(indices._array), values, size, is_sorted=True)
    return made.to_sparse(layout=layout)


def check(data: Any, mask: Any) -> None:
    """TypeError or ValueError unless data and mask make a masked tensor."""
    if type(data) is not type(mask):
        raise TypeError(f"data and mask must have the same type. Got {type(data)} and {type(mask)}")
    if data.layout not in (environment.strided, *SPARSE):
        raise TypeError(f"data layout of {data.layout} is not supported.")
    if data.layout in SPARSE and not same_coordinates(data, mask):
        raise ValueError(
            "data and mask are both sparse COO tensors but do not have the same indices."
            if data.layout is environment.sparse_coo
            else "data and mask are both sparse CSR tensors but do not share either crow or col indices."
        )
    if mask.dtype is not dtypes.bool_:
        raise TypeError("mask must have dtype bool.")
    if data.dtype not in _TYPES:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.ndim != mask.ndim:
        raise ValueError("data.dim() must equal mask.dim()")
    if tuple(data.shape) != tuple(mask.shape):
        raise ValueError("data.size() must equal mask.size()")


def same_coordinates(a: Any, b: Any) -> bool:
    """Whether two sparse tensors have the same coordinates."""
    return np.array_equal(a._coordinates, b._coordinates)


def same_masks(a: Any, b: Any) -> bool:
    """Whether the masks of two values are equal; where one has none, they are."""
    if not (is_masked_tensor(a) and is_masked_tensor(b)):
        return True
    one, other = a._masked_mask, b._masked_mask
    if one.layout is not other.layout:
        raise ValueError(
            f"`a` and `b` must have the same layout. Got {one.layout} and {other.layout}"
        )
    if one.layout in SPARSE:
        return same_coordinates(one, other) and np.array_equal(one._content._array, other._content._array)  # fmt: skip
    return one.ndim == other.ndim and bool((one == other).all())
