"""The tensor: an array, its gradient, its place in the graph.

Almost all of its methods come from the records in `ops`; what is here is what a tensor
is: memory that views share, a version that counts writes, and the node that made it.
"""

from __future__ import annotations

import sys
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import dtypes
from .attributes import HasAttributes, attributes_property
from .autograd.graph import AccumulateGrad, Edge, Node, modes
from .backends.interface import address_of, backend_of, from_numpy, others
from .device import CPU, device
from .handles import Hooks, RemovableHandle, add_hook
from .notices import warn_of_no_leaf
from .overriding import DisableTorchFunctionSubclass, of_subclasses, register
from .size import Size as Size

Array = Any
"""A NumPy array."""


class Tensor(HasAttributes):
    """Numbers in a shape that remember how they were computed.

    Attributes are class-level until they are set, so that making a tensor is cheap.
    """

    _array: Array
    _grad: Tensor | None = None
    _requires_grad: bool = False
    _edge: tuple[Node, int] | None = None  # the node that made it, and which output it is
    _accumulator: weakref.ref[AccumulateGrad] | None = None  # of a leaf: itself as a node
    _counter: list[int] | None = None  # shared with views: how often the memory was written
    _base: Tensor | None = None  # of a view: the tensor whose memory it is
    _view_version: int = 0  # of a view: the version of the base that _edge knows
    _made_as: str = ""  # of a view: "one of several", "without grad"
    _is_inference: bool = False
    _lent: int = 0  # references to the array that a compiled program keeps, which uses it again only when no other is left
    _hooks: Hooks | None = None  # of a leaf
    _after_accumulate: Hooks | None = None
    __dict__ = attributes_property(lambda: Tensor.__annotations__)  # type: ignore[assignment]
    __array_priority__ = 1000  # NumPy leaves `array + tensor` to the tensor

    def __new__(cls, *args: Any, **kwargs: Any) -> Tensor:
        """`torch.Tensor(2, 3)` and `torch.Tensor([1, 2])`, as Torch keeps them for old programs."""
        kwargs.pop("device", None)
        if kwargs:
            raise TypeError(
                f"new() received an invalid combination of arguments - got {sorted(kwargs)}"
            )
        made = object.__new__(cls)
        kind = dtypes.get_default_dtype().numpy
        given = args[0] if len(args) == 1 else None
        if isinstance(given, Tensor):
            made._array = given._array
        elif isinstance(given, (list, tuple, np.ndarray)) and not isinstance(given, Size):
            made._array = np.array(given, dtype=kind)
        else:
            shape = args[0] if args and isinstance(args[0], Size) else args or (0,)
            made._array = np.empty(shape, dtype=kind)
        return made

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        register(cls, Tensor)
        if getattr(cls, "__torch_dispatch__", None) is not None:
            from .wrappers import register as register_class

            register_class(cls)

    @staticmethod
    def _make_wrapper_subclass(subclass: type[Tensor], size: Any, *args: Any, **kwargs: Any) -> Any:
        """A tensor of a class with `__torch_dispatch__` that has no memory; `wrappers.py` says which arguments there are."""
        from .wrappers import make_wrapper

        return make_wrapper(subclass, size, *args, **kwargs)

    @staticmethod
    def _make_subclass(subclass: Any, data: Tensor, require_grad: bool = False, **_: Any) -> Any:
        """A leaf of a subclass that has another tensor's memory."""
        with DisableTorchFunctionSubclass():
            made = data.detach().requires_grad_(require_grad)
        made.__class__ = subclass
        return made

    __torch_function__ = of_subclasses(lambda *call: _answer_of_subclass(*call))

    # --- What it is ------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return Size(self._array.shape)

    @property
    def dtype(self) -> dtypes.dtype:
        """The type of the elements."""
        return dtypes.from_numpy_dtype(self._array.dtype)

    @property
    def device(self) -> device:
        """Where the memory is."""
        return backend_of(self._array).device_of(self._array) if others else CPU

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return self._array.ndim

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made it."""
        return self._edge is None if self._base is None else self.grad_fn is None

    @property
    def grad_fn(self) -> Node | None:
        """The node that made it; None for a leaf."""
        if self._base is not None:
            _renew_view(self, self._base)
        return None if self._edge is None else self._edge[0].shown()

    @property
    def requires_grad(self) -> bool:
        """Whether operations on it are recorded."""
        return tracks(self)

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if tracks(self) and self._edge is not None and not wanted:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        if wanted and self.dtype.kind < dtypes.FLOATING:
            raise RuntimeError(
                "only Tensors of floating point and complex dtype can require gradients"
            )
        if wanted and self._is_inference and not modes.inference:
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
            )
        self._requires_grad = bool(wanted)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set `requires_grad`, and return the tensor."""
        if not isinstance(requires_grad, bool):
            raise TypeError(
                "requires_grad_(): argument 'requires_grad' must be bool, not "
                f"{type(requires_grad).__name__}"
            )
        self.requires_grad = requires_grad
        return self

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward has accumulated."""
        if self._grad is None and self._edge is not None and not self.retains_grad:
            warn_of_no_leaf()
        return self._grad

    @grad.setter
    def grad(self, gradient: Tensor | None) -> None:
        if gradient is not None:
            if not isinstance(gradient, Tensor):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got {type(gradient).__name__}"
                )
            if gradient is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if gradient.shape != self.shape:
                raise RuntimeError(
                    f"assigned grad has data of a different size: {list(gradient.shape)} "
                    f"for a tensor of {list(self.shape)}"
                )
            if gradient.dtype is not self.dtype:
                raise RuntimeError(
                    f"assigned grad has data of a different type: {gradient.dtype} for {self.dtype}"
                )
        self._grad = gradient

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def _version(self) -> int:
        """How often the memory was written."""
        return 0 if self._counter is None else self._counter[0]

    @property
    def output_nr(self) -> int:
        """Which output of its node it is."""
        return 0 if self._edge is None else self._edge[1]

    def _is_view(self) -> bool:
        return self._base is not None

    def is_inference(self) -> bool:
        """Whether it was made in inference mode."""
        return self._is_inference

    # --- Memory ------------------------------------------------------------------------

    @property
    def data(self) -> Tensor:
        """The same memory, outside the graph and with a version of its own."""
        return wrap(self._array)

    @data.setter
    def data(self, other: Tensor) -> None:
        if not isinstance(other, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(other).__name__}")
        self._array = other._array

    def detach(self) -> Tensor:
        """The same memory, outside the graph."""
        out = new_object(Tensor)
        out._array = self._array
        counter = self._counter
        if counter is None:
            counter = self._counter = [0]
        out._counter = counter
        if self._is_inference:
            out._is_inference = True
        return out

    def detach_(self) -> Tensor:
        """Leave the graph."""
        if self._base is not None:
            raise RuntimeError(
                "Can't detach views in-place; use detach() instead. If you are using "
                "DistributedDataParallel (DDP) for training, the gradients are views of buckets."
            )
        self._edge, self._requires_grad = None, False
        return self

    def _owns_memory(self) -> bool:
        """Whether nothing but this tensor holds its array, and the array all of its memory.

        The array may be another one in a new shape, if nothing else holds that.
        """
        array = self._array
        if sys.getrefcount(array) > 3 + self._lent:  # the tensor's, the one here, the argument
            return False
        if type(array) is not np.ndarray and not backend_of(array).is_alone(array):
            return False
        base = array.base
        if base is None:
            return True
        whole = type(base) is type(array) and base.base is None and base.nbytes == array.nbytes
        return whole and sys.getrefcount(base) == 3

    # --- Hooks -------------------------------------------------------------------------

    def register_hook(self, hook: Callable[[Tensor], Any]) -> RemovableHandle:
        """Call `hook(gradient)` when this tensor's gradient is known; it may return another."""
        if not tracks(self):
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self._edge is None:
            if self._hooks is None:
                self._hooks = OrderedDict()
            return add_hook(self._hooks, hook)
        node, output = self._edge
        if node.output_hooks is None:
            node.output_hooks = {}
        return add_hook(node.output_hooks.setdefault(output, OrderedDict()), hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], Any]) -> RemovableHandle:
        """Call `hook(self)` after backward has added to this leaf's gradient."""
        if not tracks(self):
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self._edge is not None:
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        if self._after_accumulate is None:
            self._after_accumulate = OrderedDict()
        return add_hook(self._after_accumulate, hook)

    def retain_grad(self) -> None:
        """Keep the gradient of this tensor too, although it is not a leaf."""
        if not tracks(self):
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self._edge is None:
            return
        node, output = self._edge
        if node.retained is None:
            node.retained = {}
        node.retained[output] = weakref.ref(self)

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was called on it."""
        if self._edge is None:
            return False
        node, output = self._edge
        return node.retained is not None and output in node.retained

    if TYPE_CHECKING:  # what the records add

        def __getattr__(self, name: str) -> Any: ...
        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __xor__(self, other: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __getitem__(self, key: Any) -> Tensor: ...
        def __setitem__(self, key: Any, value: Any) -> None: ...
        def __float__(self) -> float: ...
        def __int__(self) -> int: ...
        def __index__(self) -> int: ...
        def __len__(self) -> int: ...
        def __iter__(self) -> Any: ...


def _answer_of_subclass(
    cls: type[Tensor], func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    """What a subclass answers to a function: the same, with tensors of the subclass as results."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    unconverted = getattr(func, "__self__", None) is vars(Tensor)["grad"]
    return result if unconverted else _converted(result, cls)


def _converted(result: Any, cls: type[Tensor]) -> Any:
    """A result with its tensors, also those in tuples and lists, as ones of a class."""
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        values = [_converted(r, cls) for r in result]
        return type(result)(*values) if hasattr(result, "_fields") else type(result)(values)
    return result


new_object: Callable[..., Any] = object.__new__
"""An object before its attributes are set: sooner than a constructor that sets them."""


def wrap(array: Array) -> Tensor:
    """An array as a tensor without history."""
    out = new_object(Tensor)
    out._array = array
    return out


def wrap_beside(array: Array, tensor: Tensor) -> Tensor:
    """An array that was made on the CPU as a tensor without history, on another tensor's device."""
    return wrap(
        from_numpy(array, tensor.device) if others and isinstance(array, np.ndarray) else array
    )


def mark_inference(tensor: Tensor) -> None:
    """Note that a tensor was made in inference mode."""
    tensor._is_inference = True


def counter_of(tensor: Tensor) -> list[int]:
    """The version of a tensor's memory, to be shared with another tensor."""
    if tensor._counter is None:
        tensor._counter = [0]
    return tensor._counter


def bump_version(tensor: Tensor) -> None:
    """Note that the memory was written."""
    if tensor._counter is None:
        tensor._counter = [1]
    else:
        tensor._counter[0] += 1


def bump_versions(tensors: Iterable[Tensor]) -> None:
    """Note that the memory of several tensors was written."""
    for tensor in tensors:
        counter = tensor._counter
        if counter is None:
            tensor._counter = [1]
        else:
            counter[0] += 1


def tracks(tensor: Tensor) -> bool:
    """Whether operations on a tensor are recorded.

    A view does when its base does: a write into the base may have brought history to both.
    """
    base = tensor._base
    if base is None:
        return tensor._requires_grad
    _renew_view(tensor, base)
    return tensor._requires_grad or base._requires_grad


def edge_of(tensor: Tensor) -> Edge | None:
    """Where a tensor's gradient goes."""
    if tensor._base is not None:
        _renew_view(tensor, tensor._base)
    edge = tensor._edge
    return (tensor, 0) if edge is None and tensor._requires_grad else edge


def make_view(array: Array, of: Tensor, one_of_several: bool = False) -> Tensor:
    """A tensor over part of another's memory."""
    out = new_object(Tensor)
    out._array = array
    base = of._base
    if base is None:
        base = of
    out._base = base
    counter = base._counter
    if counter is None:
        counter = base._counter = [0]
    out._counter = counter
    if counter[0]:
        out._view_version = counter[0]
    if of._is_inference:
        out._is_inference = True
    if one_of_several:
        out._made_as = "one of several"
    elif of._made_as:
        out._made_as = of._made_as
    elif base._requires_grad and not modes.grad:
        out._made_as = "without grad"
    return out


def offset_in(view: Array, base: Array) -> int:
    """How many elements into the memory of a base a view begins; one without elements may be anywhere."""
    return (address_of(view) - address_of(base)) // view.itemsize if view.size else 0


def _renew_view(view: Tensor, base: Tensor) -> None:
    """If the base was written since, make the view's history anew from the base's."""
    counter = view._counter
    if counter is None or view._view_version == counter[0]:
        return
    if view._made_as and (base._requires_grad or view._requires_grad):
        raise RuntimeError(
            view_refusal(view, "its base or another view of its base has been modified inplace")
        )
    view._view_version = counter[0]
    if base._edge is None:
        return
    array = view._array
    strides = [s // array.itemsize for s in array.strides]
    before, modes.grad = modes.grad, True
    try:
        same = base.as_strided(array.shape, strides, offset_in(array, base._array))
    finally:
        modes.grad = before
    view._edge, view._requires_grad = same._edge, True


_WHY_NOT = {
    "one of several": "This view is the output of a function that returns multiple views. Such "
    "functions do not allow the output views to be modified inplace. You should replace the "
    "inplace operation by an out-of-place one.",
    "without grad": "This view was created in no_grad mode; what a write with grad mode enabled "
    "would mean for its history is not clear, so it is not allowed.",
}


def view_refusal(view: Tensor, event: str) -> str:
    """Why a view cannot have a new history."""
    maker = "a function" if view._edge is None else view._edge[0].name()
    output = 0 if view._edge is None else view._edge[1]
    return f"Output {output} of {maker} is a view and {event}. {_WHY_NOT[view._made_as]}"
