"""A nested tensor: tensors of different sizes as one, for batches of sequences without padding.

Its elements lie one component after the other in one tensor, `packed`. In the jagged layout the components differ in their first
dimension only, and `packed` has the others: elementwise functions, linear layers and norms are one call. Else it is flat.
What looks at a component as a whole (attention, softmax along it, products) goes from component to component. Gradients are those of
`packed`. What is not here is an error that says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import environment
from ..dtypes import int64
from ..ops import FUNCTIONS
from ..overriding import DisableTorchFunctionSubclass
from ..size import Size
from ..tensor import Tensor

Shape = tuple[int, ...]


class JaggedSize(int):
    """The size of a dimension in which components differ; as a size to view by, it is what is left."""

    def __new__(cls) -> JaggedSize:
        """It stands for no number: -1."""
        return super().__new__(cls, -1)

    def __repr__(self) -> str:
        return "j1"

    __str__ = __repr__


class NestedTensor(Tensor):
    """Tensors of different sizes as one.

    Attributes:
        packed: the elements of all components: (total, ...) in the jagged layout, else flat
        shapes: of the components
        layout: torch.jagged or torch.strided
    """

    packed: Tensor
    shapes: list[Shape]
    layout: Any

    def __new__(cls, packed: Tensor, shapes: Sequence[Shape], layout: Any) -> NestedTensor:
        """One over elements that lie as the class says."""
        made = object.__new__(cls)
        made._array = np.empty(0, packed._array.dtype)  # no function looks at it
        made.packed, made.shapes, made.layout = packed, [tuple(s) for s in shapes], layout
        return made

    # --- What it is ------------------------------------------------------------------------------------------

    @property
    def is_jagged(self) -> bool:
        """Whether all components lie one after the other along one dimension."""
        return self.layout is environment.jagged and self.packed.ndim == len(self.shapes[0])

    @property
    def shape(self) -> Size:
        """The sizes; that in which components differ is a `JaggedSize`. An error in the strided layout."""
        if self.layout is environment.strided:
            raise RuntimeError(
                "Internal error: NestedTensorImpl doesn't support sizes. Please file an issue."
            )
        return self._sizes()

    def _sizes(self) -> Size:
        columns = zip(*self.shapes, strict=True)
        sizes = [column[0] if len(set(column)) == 1 else JaggedSize() for column in columns]
        if self.layout is environment.jagged and self.is_jagged:
            sizes[0] = JaggedSize()
        return Size([len(self.shapes), *sizes])

    ndim = property(lambda self: len(self.shapes[0]) + 1, doc="One more than components have.")
    dtype = property(lambda self: self.packed.dtype, doc="The type of the elements.")
    device = property(lambda self: self.packed.device, doc="Where the memory is.")

    @property
    def requires_grad(self) -> bool:
        """Whether operations on it are recorded."""
        return self.packed.requires_grad

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.packed.requires_grad = wanted

    @property
    def grad(self) -> Any:
        """The gradient, of the same structure."""
        return None if self.packed.grad is None else self.like(self.packed.grad)

    grad_fn = property(lambda self: self.packed.grad_fn)
    is_leaf = property(lambda self: self.packed.is_leaf)

    is_nested = True

    def __len__(self) -> int:
        return len(self.shapes)

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.parts())

    def __repr__(self, **_: Any) -> str:
        if self.layout is environment.jagged:
            return (
                f"NestedTensor(size={tuple(self.shape)}, offsets={self.offsets()}, contiguous=True)"
            )
        inside = ",\n".join("  " + repr(p).replace("\n", "\n  ") for p in self.parts())
        return f"nested_tensor([\n{inside}\n])"

    # --- Components ------------------------------------------------------------------------------------------

    def parts(self) -> list[Tensor]:
        """The components, as views."""
        counts = [s[0] if self.is_jagged else math.prod(s) for s in self.shapes]
        split = self.packed.split(counts)
        return [p if self.is_jagged else p.view(s) for p, s in zip(split, self.shapes, strict=True)]

    def like(self, packed: Tensor) -> NestedTensor:
        """Other elements in the same structure; trailing sizes may differ in the jagged layout."""
        if self.is_jagged:
            return NestedTensor(
                packed, [(s[0], *packed.shape[1:]) for s in self.shapes], self.layout
            )
        return NestedTensor(packed, self.shapes, self.layout)

    def map(self, fn: Callable[..., Tensor], *others: Any) -> NestedTensor:
        """What a function gives for each component, with components of others that are nested."""
        columns = [parts_of(other, len(self)) for other in others]
        return pack([fn(*each) for each in zip(self.parts(), *columns, strict=True)], self.layout)

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        """The components."""
        if dim != 0:
            raise RuntimeError("NestedTensor can only be unbound along dimension 0")
        return tuple(self.parts())

    def values(self) -> Tensor:
        """The elements of all components, one after the other."""
        return self.packed

    def offsets(self) -> Tensor:
        """Where components begin, and where the last one ends."""
        ends = np.cumsum([0] + [s[0] for s in self.shapes])
        return FUNCTIONS["as_tensor"](ends, dtype=int64)

    def lengths(self) -> None:
        """None: there are no holes between components."""

    def size(self, dim: int | None = None) -> Any:
        """The sizes, or one of them; RuntimeError where components differ in the strided layout."""
        if dim is None:
            return self.shape
        found = self._sizes()[dim]
        if isinstance(found, JaggedSize) and self.layout is environment.strided:
            raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
        return found

    def numel(self) -> int:
        """How many elements all components have."""
        return self.packed.numel()

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Tensor:
        """One tensor of the largest sizes, filled up with a number."""
        sizes = [max(column) for column in zip(*self.shapes, strict=True)]
        wanted = list(output_size)[1:] if output_size is not None else sizes
        if any(w < s for w, s in zip(wanted, sizes, strict=True)):
            raise RuntimeError("Value in output_size is less than NestedTensor padded size. Truncation is not supported.")  # fmt: skip
        pad = FUNCTIONS["constant_pad_nd"]
        padded = []
        for part in self.parts():
            widths: list[int] = []
            for have, want in zip(reversed(part.shape), reversed(wanted), strict=True):
                widths += [0, want - have]
            padded.append(pad(part, widths, padding))
        return FUNCTIONS["stack"](padded)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        from .functions import answer

        with DisableTorchFunctionSubclass():
            return answer(func, args, kwargs or {})


def parts_of(value: Any, count: int) -> list[Any]:
    """What a value is for each component: its component, its row, or itself."""
    if isinstance(value, NestedTensor):
        if len(value) != count:
            raise RuntimeError(f"nested tensors of {count} and {len(value)} components do not go together")  # fmt: skip
        return value.parts()
    return [value] * count


def pack(parts: Sequence[Tensor], layout: Any) -> NestedTensor:
    """Components as one nested tensor; gradients go to each of them."""
    if not parts:
        raise RuntimeError("a nested tensor needs at least one component")
    if len({p.ndim for p in parts}) > 1:
        raise RuntimeError(
            "All Tensors given to nested_tensor must have the same dimension. Found dimension "
            f"{parts[0].ndim} for Tensor at index 0 and another one further on."
        )
    cat = FUNCTIONS["cat"]
    shapes = [tuple(p.shape) for p in parts]
    if layout is environment.jagged and len({s[1:] for s in shapes}) == 1:
        return NestedTensor(cat(list(parts)), shapes, layout)
    return NestedTensor(cat([p.reshape(-1) for p in parts]), shapes, layout)
