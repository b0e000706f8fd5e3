"""A sparse tensor: coordinates, and the values that stand there.

The coordinates are a plain array; the values are a tensor with a history like any other,
and every operation is a composition on them. So gradients reach the values, and the dense
tensors that a sparse one meets.

A sparse tensor answers for itself (`__torch_function__`): a public function that is called
with one gets the method of that name here, and is refused where there is none. Since methods of all
tensors ask as soon as such a class exists, this module loads with the first sparse tensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from .. import dtypes, environment
from ..backends.interface import as_numpy
from ..ops.joining import cat
from ..ops.movement import wrap_dim, wrap_dims
from ..ops.promotion import NUMBERS
from ..printing import sparse_text
from ..serialization.rebuild import rebuild_sparse_tensor
from ..tensor import Array, Size, Tensor, wrap, wrap_beside
from .dense_first import BESIDE_DENSE

# Functions of one element that leave 0 at 0.
_MAPS = (
    "abs angle asin asinh atan atanh ceil deg2rad erf erfinv expm1 floor frac log1p neg rad2deg relu round sgn sign "
    "sin sinh sqrt square tan tanh trunc isnan isinf"
)

_FACTS = ("dtype", "device", "requires_grad", "grad_fn", "is_leaf", "_version")
"""What is true of a sparse tensor if it is of its values."""
_CASTS = ("float", "double", "half", "bfloat16", "int", "long", "bool", "cpu")


class SparseTensor(Tensor):
    """Values at coordinates; 0 everywhere else (Torch's layout `sparse_coo`).

    Attributes:
        _coordinates: (sparse dimensions, count) coordinates
        _content: (count, *dense sizes) values
        _sorted: whether coordinates are in order and none comes twice
    """

    is_sparse = True
    layout: Any = environment.sparse_coo
    __array_priority__ = 1001

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """As any object: there is no array to make."""
        return object.__new__(cls)

    def __init__(self, places: Array, content: Tensor, shape: Any, is_sorted: bool = False) -> None:
        self._coordinates = places
        self._content = content
        self._shape = Size(shape)
        self._sorted = is_sorted or places.shape[1] < 2

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """What a public function gives for sparse tensors, or that it has no form for them."""
        name = func.__name__
        if name == "__get__":
            name = func.__self__.fget.__name__  # type: ignore[attr-defined]
        if args and isinstance(args[0], SparseTensor):
            form = getattr(type(args[0]), name, None)
            form = None if form is getattr(Tensor, name, None) else form
        else:
            form = BESIDE_DENSE.get(name) if args else None
        if form is None:
            raise _no_form(name)
        return form(*args, **(kwargs or {}))

    @property
    def _array(self) -> Any:
        raise _no_form("this operation")

    # --- What it is -----------------------------------------------------------------------

    shape = property(lambda self: self._shape, doc="The size of each dimension.")
    ndim = property(lambda self: len(self._shape), doc="How many dimensions there are.")

    @property
    def grad(self) -> SparseTensor | None:
        """What backward has accumulated, where there are values."""
        gradient = self._content.grad
        return None if gradient is None else self._with(gradient)

    data = property(lambda self: self.detach(), doc="The same values, outside the graph.")

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension."""
        return self._shape if dim is None else self._shape[wrap_dim(dim, self.ndim)]

    def dim(self) -> int:
        """How many dimensions there are."""
        return self.ndim

    def numel(self) -> int:
        """How many elements a dense tensor of this shape has."""
        return self._shape.numel()

    def sparse_dim(self) -> int:
        """How many dimensions coordinates have."""
        return len(self._coordinates)

    def dense_dim(self) -> int:
        """How many dimensions each value has."""
        return self._content.ndim - 1

    def is_coalesced(self) -> bool:
        """Whether coordinates are in order and none comes twice."""
        return self._sorted

    def is_floating_point(self) -> bool:
        """Whether the values are floating point numbers."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the values are complex numbers."""
        return self.dtype.is_complex

    def _beside(self, places: Array) -> Tensor:
        """Coordinates as a tensor on the device of the values."""
        return wrap_beside(places, self._content)

    def _nnz(self) -> int:
        return self._coordinates.shape[1]

    def _indices(self) -> Tensor:
        return self._beside(self._coordinates)

    def _values(self) -> Tensor:
        return self._content

    def indices(self) -> Tensor:
        """The coordinates, one column each."""
        self._need_order("indices")
        return self._beside(self._coordinates)

    def values(self) -> Tensor:
        """The values."""
        self._need_order("values")
        return self._content

    def _need_order(self, name: str) -> None:
        if not self._sorted:
            raise RuntimeError(
                f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first"
            )

    def __len__(self) -> int:
        return self._shape[0]

    def __repr__(self) -> str:
        node = self.grad_fn
        return sparse_text(
            {"indices": self._coordinates, "values": as_numpy(self._content._array)}, self._shape,
            requires_grad=self.requires_grad, grad_fn_name=None if node is None else node.name(),
        )  # fmt: skip

    # --- The same coordinates, other values ----------------------------------------------------

    def _with(self, content: Tensor) -> SparseTensor:
        return SparseTensor(self._coordinates, content, self._shape, self._sorted)

    def detach(self) -> SparseTensor:
        """The same values, outside the graph."""
        return self._with(self._content.detach())

    def clone(self, *, memory_format: Any = None) -> SparseTensor:
        """A copy; its coordinates are shared, since nothing writes to coordinates."""
        return self._with(self._content.clone())

    def _own_copy(self) -> SparseTensor:
        return self.clone()

    def _owns_memory(self) -> bool:
        return False

    def zero_(self) -> SparseTensor:
        """Remove all values."""
        self._coordinates, self._content = self._coordinates[:, :0], self._content.detach()[:0]
        self._sorted = True
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> SparseTensor:
        copied = self._with(self._content.detach().clone())
        memo[id(self)] = copied.requires_grad_(self.requires_grad)
        return copied

    def __reduce_ex__(self, protocol: Any) -> Any:
        parts = (self._indices(), self._content.detach(), self._shape, self._sorted)
        return rebuild_sparse_tensor, (self.layout, parts)

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        """Record operations on the values from now on."""
        self._content.requires_grad_(requires_grad)
        return self

    def to(self, *args: Any, **kwargs: Any) -> SparseTensor:
        """The values in another type."""
        return self._with(self._content.to(*args, **kwargs))

    def cuda(self, device: Any = None) -> SparseTensor:
        """The values on a GPU."""
        return self._with(self._content.cuda(device))

    def pow(self, exponent: Any) -> SparseTensor:
        """Each element to a positive power."""
        if not isinstance(exponent, NUMBERS) or exponent <= 0:  # type: ignore[operator]
            raise NotImplementedError(
                f"sparse pow: only positive numbers as exponents, got {exponent!r}"
            )
        ordered = self._ordered()
        return ordered._with(ordered._content.pow(exponent))

    def __pow__(self, other: Any) -> SparseTensor:
        return self.pow(other)

    # --- Order ------------------------------------------------------------------------------------

    def _flat_coordinates(self) -> Array:
        """Each coordinate as one number, counted row by row."""
        sizes = self._shape[: len(self._coordinates)]
        if not sizes:
            return np.zeros(self._nnz(), np.int64)
        return np.ravel_multi_index(
            tuple(self._coordinates), tuple(max(s, 1) for s in sizes)
        ).astype(np.int64)

    def _ordered(self) -> SparseTensor:
        """With each coordinate once."""
        return self.coalesce()

    def coalesce(self) -> SparseTensor:
        """Coordinates in order, values at equal ones added up."""
        if self._sorted:
            return self
        _, first, group = np.unique(
            self._flat_coordinates(), return_index=True, return_inverse=True
        )
        content = self._content
        total = content.new_zeros((len(first), *content.shape[1:])).index_add(
            0, self._beside(group), content
        )
        return SparseTensor(self._coordinates[:, first], total, self._shape, is_sorted=True)

    def to_dense(self, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
        """All elements, zeros too."""
        content = self._content if dtype is None else self._content.to(dtype)
        sizes = self._shape[: len(self._coordinates)]
        rows = content.new_zeros((math.prod(sizes), *content.shape[1:]))
        return rows.index_add(0, self._beside(self._flat_coordinates()), content).reshape(
            self._shape
        )

    def to_sparse(
        self, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None,
        dense_dim: int | None = None,
    ) -> SparseTensor:  # fmt: skip
        """The tensor itself, or in another sparse layout."""
        if layout is None or layout is environment.sparse_coo:
            return self
        from .compressed import compress

        return compress(self.coalesce(), layout, blocksize)

    def to_sparse_coo(self) -> SparseTensor:
        """The tensor itself."""
        return self

    # --- Shapes --------------------------------------------------------------------------------------

    def transpose(self, dim0: int, dim1: int) -> SparseTensor:
        """Two dimensions swapped."""
        a, b = wrap_dim(dim0, self.ndim), wrap_dim(dim1, self.ndim)
        count = self.sparse_dim()
        shape = list(self._shape)
        shape[a], shape[b] = shape[b], shape[a]
        if a >= count and b >= count:
            return SparseTensor(
                self._coordinates,
                self._content.transpose(a - count + 1, b - count + 1),
                shape,
                self._sorted,
            )
        if a >= count or b >= count:
            raise RuntimeError(
                f"transpose of a sparse with a dense dimension is not supported: {dim0} and {dim1} of {self._shape}"
            )
        order = list(range(count))
        order[a], order[b] = order[b], order[a]
        return SparseTensor(
            self._coordinates[order], self._content, shape, is_sorted=a == b and self._sorted
        )

    def t(self) -> SparseTensor:
        """A matrix transposed."""
        if self.ndim > 2:
            raise RuntimeError(
                f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, got shape {list(self._shape)}"
            )
        return self.transpose(0, 1) if self.ndim == 2 else self

    T = property(t, doc="A matrix transposed.")

    def unsqueeze(self, dim: int) -> SparseTensor:
        """A new dimension of size 1."""
        d = wrap_dim(dim, self.ndim + 1)
        if d > self.sparse_dim():
            raise NotImplementedError(
                "unsqueeze of a sparse tensor among its dense dimensions is not supported"
            )
        shape = [*self._shape[:d], 1, *self._shape[d:]]
        return SparseTensor(
            np.insert(self._coordinates, d, 0, axis=0), self._content, shape, self._sorted
        )

    def index_select(self, dim: int, index: Tensor) -> SparseTensor:
        """Slices along a sparse dimension."""
        d = wrap_dim(dim, self.ndim)
        if d >= self.sparse_dim():
            raise NotImplementedError(
                "index_select of a sparse tensor along a dense dimension is not supported"
            )
        wanted = as_numpy(index._array)
        if wanted.size and not (wanted.min() >= 0 and wanted.max() < self._shape[d]):
            raise IndexError(
                f"index_select(): index out of range of dimension {d} with size {self._shape[d]}"
            )
        new, old = np.nonzero(wanted[:, None] == self._coordinates[d])
        places = self._coordinates[:, old].copy()
        places[d] = new
        shape = [*self._shape[:d], len(wanted), *self._shape[d + 1 :]]
        return SparseTensor(places, self._content.index_select(0, self._beside(old)), shape)

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, int):
            raise NotImplementedError(
                f"sparse tensors take one whole number as an index, not {key!r}; use to_dense()"
            )
        if self.ndim == 1:
            return self.to_dense()[key]
        one = self.index_select(0, wrap(np.array([range(self._shape[0])[key]])))
        return SparseTensor(one._coordinates[1:], one._content, self._shape[1:])

    # --- Arithmetic -------------------------------------------------------------------------------------

    def add(self, other: Any, *, alpha: Any = 1) -> SparseTensor:
        """The sum of two sparse tensors."""
        if not isinstance(other, SparseTensor):
            raise RuntimeError(
                "add(sparse, dense) is not supported. Use add(dense, sparse) instead."
            )
        self._same_shape("add", other)
        values = [self._content, other._content if alpha == 1 else other._content * alpha]
        kind = dtypes.promote_types(self.dtype, other.dtype)
        content = cat([v.to(kind) for v in values], 0)
        return SparseTensor(
            np.concatenate([self._coordinates, other._coordinates], 1), content, self._shape
        ).coalesce()

    def sub(self, other: Any, *, alpha: Any = 1) -> SparseTensor:
        """The difference of two sparse tensors."""
        return self.add(other, alpha=-alpha)

    def mul(self, other: Any) -> SparseTensor:
        """Each element times a number, a dense tensor's or a sparse tensor's element."""
        if isinstance(other, NUMBERS) or (isinstance(other, Tensor) and not other.ndim):
            return self._with(self._content * other)
        self._same_shape("mul", other)
        if not isinstance(other, SparseTensor):
            return self._with(self._content * other[tuple(map(self._beside, self._coordinates))])
        a, b = self.coalesce(), other.coalesce()
        _, left, right = np.intersect1d(
            a._flat_coordinates(), b._flat_coordinates(), assume_unique=True, return_indices=True
        )
        content = a._content.index_select(0, self._beside(left)) * b._content.index_select(
            0, self._beside(right)
        )
        return SparseTensor(a._coordinates[:, left], content, self._shape, is_sorted=True)

    def div(self, other: Any) -> SparseTensor:
        """Each element divided by a number."""
        if not isinstance(other, NUMBERS) and not (isinstance(other, Tensor) and not other.ndim):
            raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor")
        return self._with(self._content / other)

    def _same_shape(self, name: str, other: Any) -> None:
        if tuple(self._shape) != tuple(other.shape):
            raise RuntimeError(
                f"{name}: expected tensors of one shape, got {list(self._shape)} and {list(other.shape)}"
            )

    def mul_(self, other: Any) -> SparseTensor:
        """Multiply all values by a number."""
        self._content.mul_(other)
        return self

    def add_(self, other: Any, *, alpha: Any = 1) -> SparseTensor:
        """Become the sum of two sparse tensors."""
        total = self.add(other, alpha=alpha)
        self._coordinates, self._content, self._sorted = (
            total._coordinates,
            total._content,
            total._sorted,
        )
        return self

    __add__, __sub__, __mul__, __rmul__, __truediv__ = add, sub, mul, mul, div

    def sum(self, dim: Any = None, *, dtype: Any = None) -> Any:
        """The sum of all elements, or along dimensions: sparse as long as a coordinate is left."""
        content = self._content if dtype is None else self._content.to(dtype)
        if dim is None:
            return content.sum()
        dims = wrap_dims(dim, self.ndim)
        count = self.sparse_dim()
        dense = tuple(d - count + 1 for d in dims if d >= count)
        content = content.sum(dense) if dense else content
        kept = [d for d in range(count) if d not in dims]
        if not kept:
            return content.sum(0)
        shape = [s for d, s in enumerate(self._shape) if d not in dims]
        return SparseTensor(
            self._coordinates[kept], content, shape, is_sorted=len(kept) == count and self._sorted
        ).coalesce()

    def norm(self, p: Any = 2) -> Tensor:
        """The p-norm of all elements."""
        return self.coalesce()._content.norm(p)

    def matmul(self, other: Any) -> Any:
        """The product with a dense vector or matrix, or with a sparse matrix."""
        from .products import matmul

        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> Tensor:
        return self.t().matmul(other.mT).mT if other.ndim > 1 else self.t().matmul(other)

    mm = mv = spmm = __matmul__ = matmul

    def smm(self, mat2: Tensor) -> SparseTensor:
        """The product with a dense matrix, sparse again."""
        return self.matmul(mat2).to_sparse()

    def __eq__(self, other: object) -> Any:
        raise NotImplementedError(
            "sparse tensors have no elementwise comparison here; use to_dense()"
        )

    __hash__ = object.__hash__


def _no_form(name: str) -> NotImplementedError:
    return NotImplementedError(f"sparse tensors do not have '{name}' here; use to_dense()")


def _declare_fact(name: str) -> None:
    doc = getattr(Tensor, name).__doc__
    setattr(SparseTensor, name, property(lambda self: getattr(self._content, name), doc=doc))


def _declare_map(name: str, each_once: bool) -> None:
    def call(self: SparseTensor) -> SparseTensor:
        given = self._ordered() if each_once else self
        return given._with(getattr(given._content, name)())

    call.__name__, call.__doc__ = name, f"`{name}` of each value."
    setattr(SparseTensor, name, call)


def _declare_layout(name: str) -> None:
    def call(self: SparseTensor, blocksize: Any = None, dense_dim: int | None = None) -> Any:
        return self.to_sparse(layout=getattr(environment, f"sparse_{name}"), blocksize=blocksize)

    call.__name__, call.__doc__ = f"to_sparse_{name}", f"The same in the layout `sparse_{name}`."
    setattr(SparseTensor, call.__name__, call)


for _name in _FACTS:
    _declare_fact(_name)
for _name in (*_CASTS, *_MAPS.split()):
    _declare_map(_name, each_once=_name not in _CASTS)
for _name in ("csr", "csc", "bsr", "bsc"):
    _declare_layout(_name)
SparseTensor.__neg__ = SparseTensor.neg  # type: ignore[attr-defined]
SparseTensor.__abs__ = SparseTensor.abs  # type: ignore[attr-defined]
