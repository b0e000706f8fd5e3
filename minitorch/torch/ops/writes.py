"""In-place operations and writes into views, and how the graph records them.

A write into a view is a write into its base. The base's history then passes through a
`CopySlices` node, which sends the overwritten part of the gradient through the write;
every other view of the base gets its new history from the base.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from .. import dtypes
from ..autograd.graph import Edge, Node, modes
from ..autograd.saved import FREED, Saved
from ..backends.interface import address_of, as_array, backend_of, implementation
from ..backends.interface import others as other_backends
from ..interpreters import installed, interpret
from ..numpy_warnings import SILENCE, are_errors_usual, silence
from ..tensor import Array, Tensor, bump_version, edge_of, offset_in, tracks, view_refusal
from .nodes import make_node
from .record import Op, in_torch_words

OVERLAP = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
    "single memory location. Please clone() the tensor before performing the operation."
)


def bind_in_place(
    op: Op, target: Tensor, others: Sequence[Any], params: dict[str, Any], asked: bool = False
) -> Tensor:
    """Perform an operation and write its result into the first argument's memory."""
    inputs = (target, *others)
    if installed and not asked:
        return interpret(InPlace.of(op), inputs, params)
    if are_errors_usual():
        return _write(op, inputs, params)
    with np.errstate(all="ignore"):
        return _write(op, inputs, params)


def _write(op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> Tensor:
    target, *others = inputs
    arrays = []
    tracked = False
    for x in inputs:
        if isinstance(x, Tensor):
            arrays.append(x._array)
            tracked = tracked or x._requires_grad or (x._base is not None and tracks(x))
        else:
            arrays.append(x)
    recording = tracked and modes.grad and arrays[0].dtype.kind in "fcV"
    check_writable(target, recording, op.overlapping)
    if target._counter is not None:
        for other in others:
            if isinstance(other, Tensor) and other._counter is target._counter:
                check_overlap(arrays[0], other._array)
    # What the derivative needs of the inputs is saved before the write, so that an overwritten
    # input is detected.
    filters = warnings.filters
    if not filters or filters[0] is not SILENCE:
        silence()
    node = make_node(op, inputs, params) if recording else None
    if node is not None and node.saved and 0 in node.plan.inputs:
        node.saved[0] = Saved.of(before_write(target))
    if op.write is not None:
        write = implementation(op, arrays, "write") if other_backends else op.write
        write(*arrays, **params)
        bump_version(target)
    elif op.ufunc is not None and _fits(arrays):
        op.ufunc(*arrays, out=arrays[0], **params)
        bump_version(target)
    else:
        compute = implementation(op, arrays) if other_backends else op.compute
        if compute is not op.compute and backend_of(arrays[0]).compute_into(op, arrays, params):
            bump_version(target)
        else:
            try:
                result = as_array(compute(*arrays, **params))
            except TypeError as error:
                raise in_torch_words(error, op, arrays) from None
            write_result(target, result, op.name + "_")
    if node is not None:
        node.layout = arrays[0].shape, arrays[0].dtype
        node.save_outputs((target,))
        rebase(target, node)
    return target


class InPlace:
    """The in-place version of an operation: it writes its result into its first input."""

    writes = (0,)

    def __init__(self, op: Op) -> None:
        self.op = op
        self.name = f"{op.name}_"

    @staticmethod
    @cache
    def of(op: Op) -> InPlace:
        """The in-place version of an operation, made once."""
        return InPlace(op)

    def perform(self, inputs: Sequence[Any], params: dict[str, Any]) -> Tensor:
        """Compute, write and record, bypassing interpreters."""
        return bind_in_place(self.op, inputs[0], inputs[1:], params, asked=True)

    def __repr__(self) -> str:
        return f"InPlace({self.op!r})"


def before_write(target: Tensor) -> Tensor:
    """A copy, with its history, of a tensor that is about to be overwritten."""
    copy = target.detach().clone()
    copy._edge, copy._requires_grad = target._edge, target._requires_grad
    return copy


def check_overlap(written: Array, read: Array, same_allowed: bool = True) -> None:
    """RuntimeError if the target partially overlaps an input in memory."""
    if not written.size or not (_is_dense(written) and _is_dense(read)):
        return
    a, b = _byte_bounds(written), _byte_bounds(read)
    same = same_allowed and a == b and written.strides == read.strides
    if not same and a[0] < b[1] and b[0] < a[1]:
        raise RuntimeError(OVERLAP)


def _is_dense(array: Array) -> bool:
    """Whether an array has no gaps between its first and last element in memory."""
    low, high = _byte_bounds(array)
    return high - low == array.nbytes


def _byte_bounds(array: Array) -> tuple[int, int]:
    """The address of an array's first byte, and the one after its last."""
    low = high = address_of(array)
    for size, stride in zip(array.shape, array.strides, strict=True):
        if stride < 0:
            low += (size - 1) * stride
        else:
            high += (size - 1) * stride
    return low, high + array.itemsize


def _fits(arrays: Sequence[Any]) -> bool:
    """Whether a ufunc can write directly into the first of its inputs."""
    target = arrays[0]
    if type(target) is not np.ndarray or target.dtype.kind != "f" or target.itemsize < 4:
        return False
    for other in arrays[1:]:
        if type(other) is np.ndarray:
            if other.dtype != target.dtype or other.shape != target.shape:
                return False
        elif type(other) not in (float, int):
            return False
    return True


def check_writable(target: Tensor, recording: bool, overlapping: bool = False) -> None:
    """RuntimeError where Torch refuses a write: leaves that require grad, overlapping memory."""
    array = target._array
    if (
        not overlapping
        and 0 in array.strides
        and array.size
        and any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True))
    ):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation."
        )
    if target._is_inference and not modes.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make "
            "a clone to get a normal tensor before doing inplace update."
        )
    if not modes.grad or not (recording or tracks(target)):
        return
    base = target._base
    if target._requires_grad and target._edge is None:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation."
        )
    if base is None:
        return
    # the leaf is the base, or a view of a base that is not recorded
    if base._edge is None and (base._requires_grad or target._requires_grad):
        raise RuntimeError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation."
        )
    if target._made_as:
        raise RuntimeError(view_refusal(target, "is being modified inplace"))


def write_result(target: Tensor, result: Array, name: str) -> None:
    """Copy a result into a tensor's memory, checking shape and dtype as Torch does."""
    array = target._array
    if result.shape != array.shape:
        raise RuntimeError(
            f"{name}: output with shape {list(array.shape)} doesn't match the broadcast shape "
            f"{list(result.shape)}"
        )
    if array.dtype != result.dtype:
        check_castable(dtypes.from_numpy_dtype(result.dtype), target.dtype)
    np.copyto(array, result, casting="unsafe")
    bump_version(target)


def check_castable(have: dtypes.dtype, want: dtypes.dtype) -> None:
    """RuntimeError if a cast would lose the kind: complex to real, floating point to integer, anything to bool."""
    if have.kind > want.kind:
        names = [d.type_name.removesuffix("Tensor") for d in (have, want)]
        raise RuntimeError(
            f"result type {names[0]} can't be cast to the desired output type {names[1]}"
        )


class CopySlices(Node):
    """A recorded write into a view, as a node of the base: it sends part of the gradient through the write."""

    def __init__(self, base_edge: Edge | None, inner: Node, base: Array, view: Array) -> None:
        super().__init__([base_edge, *inner.edges[1:]])
        self.inner: Node | None = inner
        self.layout = base.shape, base.dtype
        self.strides = [s // base.itemsize for s in base.strides]
        strides = [s // view.itemsize for s in view.strides]
        self.geometry = view.shape, strides, offset_in(view, base)

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    def release(self) -> None:
        self.inner = None

    def backward(self, gradients: list[Tensor | None]) -> list[Tensor | None]:
        if self.inner is None:
            raise RuntimeError(FREED)
        incoming: Any = gradients[0]
        result = incoming.clone()
        if list(result.stride()) != self.strides:
            result = incoming.new_empty_strided(incoming.shape, self.strides).copy_(incoming)
        part = result.as_strided(*self.geometry)
        inner = list(self.inner.backward([part.clone()]))
        if inner[0] is None:
            part.zero_()
        else:
            part.copy_(inner[0])
        return [result if self.edges[0] is not None else None, *inner[1:]]


def rebase(target: Tensor, node: Node) -> None:
    """Make a node the history of a tensor that it has just written into."""
    base = target._base
    if base is None:
        target._edge, target._requires_grad = (node, 0), True
        return
    outer = CopySlices(edge_of(base), node, base._array, target._array)
    base._edge, base._requires_grad = (outer, 0), True
    target._view_version = -1  # the view gets its new history from the base
