"""Parameters, buffers, and uninitialized ones without a shape."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..backends.interface import backend_for, resolve
from ..device import CPU, where_new
from ..ops.conversion import destination
from ..overriding import disabled
from ..tensor import Size, Tensor, counter_of

_ParameterMeta = type(Tensor)
"""The class of `Parameter`, for classes that derive from it."""


def _over(cls: type[Any], data: Tensor) -> Any:
    """A leaf of a class that shares another tensor's memory."""
    made = object.__new__(cls)
    made._array = data._array
    made._counter = counter_of(data)
    return made


def _empty(cls: type[Any]) -> Any:
    """A tensor of a class without elements."""
    made = object.__new__(cls)
    where = resolve(where_new())
    made._array = backend_for(where).empty((0,), dtypes.get_default_dtype().numpy, where)
    return made


class Parameter(Tensor):
    """A tensor that is trained; assigned to an attribute of a module, it is registered there."""

    __torch_function__ = disabled

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        """A parameter that shares the memory of `data`; a subclass of tensors may define its own class of parameters."""
        other = getattr(type(data), "parameter_class", None)
        if other is not None and cls is Parameter:
            return other(data, requires_grad)
        made = _empty(cls) if data is None else _over(cls, data.detach())
        if requires_grad:
            if made._array.dtype.kind not in "fcV":
                raise RuntimeError(
                    "Only Tensors of floating point and complex dtype can require gradients"
                )
            made._requires_grad = True
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        """A parameter with memory of its own, without a gradient."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self, **kwargs: Any) -> str:
        """The text of the tensor, after a title."""
        return "Parameter containing:\n" + super().__repr__(**kwargs)


class _MarkedAsBuffer(type):
    """Makes marked tensors instances of `Buffer`, whatever their class."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and "_is_buffer" in vars(instance)


class Buffer(Tensor, metaclass=_MarkedAsBuffer):
    """A tensor that a module keeps but that is not trained: a plain tensor with a mark."""

    __torch_function__ = disabled

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        """A buffer that shares the memory of `data`; `persistent`: state dicts include it."""
        made = _empty(Tensor) if data is None else data.detach()
        made._requires_grad = data is not None and data.requires_grad
        made.persistent, made._is_buffer = persistent, True
        return made


class UninitializedTensorMixin:
    """The base class of tensors whose shape is set by the module's first input."""

    cls_to_become: type[Tensor]
    _kind: dtypes.dtype
    _where: Any

    @property
    def _array(self) -> Any:
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {type(self).__name__}. This error "
            "happens when you are using a `LazyModule` or explicitly manipulating "
            f"`torch.nn.parameter.{type(self).__name__}` objects. When using LazyModules Call "
            "`forward` with a dummy batch to initialize the parameters before calling torch "
            "functions"
        )

    @property
    def shape(self) -> Size:
        """Raises an error: the shape is not known yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing "
            "their attributes."
        )

    @property
    def dtype(self) -> dtypes.dtype:
        """The dtype that the tensor will have."""
        return self._kind

    @property
    def device(self) -> Any:
        """The device that the tensor will be on."""
        return self._where

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Set the shape, and allocate uninitialized memory."""
        where = self._where if device is None else resolve(device)
        kind = self._kind if dtype is None else dtype
        self.__class__ = self.cls_to_become  # type: ignore[assignment]
        del self.__dict__["_kind"], self.__dict__["_where"]
        self._array = backend_for(where).empty(tuple(shape), kind.numpy, where)  # type: ignore[misc]

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """An uninitialized tensor of another dtype or on another device."""
        kind, where, *_ = destination(args, dict(kwargs))
        return self._again(kind, where)

    def cpu(self) -> Any:
        """An uninitialized tensor on the CPU."""
        return self._again(device=CPU)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Any:
        """An uninitialized tensor on a GPU."""
        return self._again(device=resolve("cuda" if device is None else device))

    def detach(self) -> Any:
        """The tensor itself: it has no history."""
        return self

    def copy_(self, src: Any, non_blocking: bool = False) -> Any:
        """The tensor itself, if the other is uninitialized, too; else an error."""
        return self if is_lazy(src) else self._array

    @property
    def data(self) -> Any:
        """The tensor itself: it has no memory."""
        return self

    @data.setter
    def data(self, other: Any) -> None:
        if isinstance(other, UninitializedTensorMixin):
            self._kind, self._where = other._kind, other._where
            return
        self.materialize((0,), CPU, other.dtype)
        self._array = other._array  # type: ignore[misc]

    def _set(self, requires_grad: bool, device: Any, dtype: Any) -> None:
        """Set the future dtype and device."""
        self._kind = dtypes.get_default_dtype() if dtype is None else dtype
        self._where = resolve(where_new(device))
        self._requires_grad = requires_grad

    def _again(self, dtype: Any = None, device: Any = None) -> Any:
        """Another uninitialized tensor of the same class."""
        make, args = self.__reduce_ex__(2)
        given = self._kind if dtype is None else dtype, self._where if device is None else device
        return make(args[0], given[1], given[0], *args[3:])

    def __reduce_ex__(self, protocol: Any) -> Any:
        """The pickle of an uninitialized tensor."""
        raise NotImplementedError

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Another uninitialized tensor."""
        if id(self) not in memo:
            memo[id(self)] = self._again()
        return memo[id(self)]

    def __repr__(self) -> str:
        """The class name."""
        return f"<{type(self).__name__}>"


for _name in ("float", "double", "half", "bfloat16"):

    def _cast(self: Any, *, _kind: dtypes.dtype = dtypes.NAMES[_name]) -> Any:
        return self._again(_kind)

    setattr(UninitializedTensorMixin, _name, _cast)
UninitializedTensorMixin.share_memory_ = lambda self: self  # type: ignore[attr-defined]


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet."""

    cls_to_become = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: Any = None, dtype: Any = None
    ) -> UninitializedParameter:
        made = object.__new__(cls)
        made._set(requires_grad, device, dtype)
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        return UninitializedParameter, (self._requires_grad, str(self._where), self._kind)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet."""

    __torch_function__ = disabled
    cls_to_become = Tensor
    persistent: bool
    _is_buffer: bool

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> UninitializedBuffer:
        made = object.__new__(cls)
        made._set(requires_grad, device, dtype)
        made.persistent, made._is_buffer = persistent, True
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        return UninitializedBuffer, (
            self._requires_grad,
            str(self._where),
            self._kind,
            self.persistent,
        )


def is_lazy(param: Any) -> bool:
    """Whether a tensor has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)
