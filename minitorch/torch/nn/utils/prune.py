"""Pruning: parameters with some elements masked to zero.

A pruned parameter `weight` is learned as `weight_orig`; `weight_mask`, a buffer, says what is
kept, and a hook multiplies the two before each call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from numbers import Integral, Real
from typing import Any

from ...ops.creation import ones_like, zeros_like
from ...ops.linalg.norms import vector_norm
from ...ops.random import rand, rand_like
from ...tensor import Tensor
from .convert_parameters import parameters_to_vector


class BasePruningMethod(ABC):
    """Chooses which elements of a parameter to keep; subclasses write `compute_mask`."""

    PRUNING_TYPE = ""
    _tensor_name: str = ""

    @property
    def name(self) -> str:
        """The parameter that is pruned."""
        return self._tensor_name

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The new mask for a tensor, given its present mask."""

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    def apply_mask(self, module: Any) -> Tensor:
        """The parameter times its mask."""
        original = getattr(module, f"{self._tensor_name}_orig")
        return getattr(module, f"{self._tensor_name}_mask").to(original.dtype) * original

    @classmethod
    def apply(
        cls,
        module: Any,
        name: str,
        *args: Any,
        importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> BasePruningMethod:
        """Prune a parameter, in addition to earlier pruning."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        return _apply(method, module, name, importance_scores)

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None
    ) -> Tensor:
        """A pruned copy of a tensor."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as tensor t, got {scores.shape} vs "
                f"{t.shape}"
            )
        kept = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=kept)

    def remove(self, module: Any) -> None:
        """Make the pruned parameter a plain one again, with its zeros."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        original.data = weight.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


def _apply(method: BasePruningMethod, module: Any, name: str, scores: Any) -> BasePruningMethod:
    """Prune a parameter by a method; restore everything if that fails."""
    before = _take_hook(module, name)
    if before is not None:
        container = before if isinstance(before, PruningContainer) else PruningContainer(before)
        container.add_pruning_method(method)
        method = container
    original = getattr(module, name)
    scores = original if scores is None else scores
    if scores.shape != original.shape:
        raise AssertionError(
            f"importance_scores should have the same shape as parameter {name} of {module}, got "
            f"{scores.shape} vs {original.shape}"
        )
    if before is None:
        module.register_parameter(f"{name}_orig", original)
        del module._parameters[name]
        mask = ones_like(original.detach())
    else:
        mask = getattr(module, f"{name}_mask").detach().clone()
    try:
        kept = method.compute_mask(scores, default_mask=mask)
        module.register_buffer(f"{name}_mask", kept)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
    except Exception:
        if before is None:
            module.register_parameter(name, module._parameters.pop(f"{name}_orig"))
        raise
    return method


def _take_hook(module: Any, name: str) -> BasePruningMethod | None:
    """Remove and return the method that prunes a parameter so far."""
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return module._forward_pre_hooks.pop(number)
    return None


class PruningContainer(BasePruningMethod):
    """A sequence of methods; each one prunes what the ones before have left."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a method for the same parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        method: Any = self._pruning_methods[-1]
        left = _left_by(method, t, default_mask)
        mask = default_mask.to(t.dtype, copy=True)
        mask[left] = method.compute_mask(t[left], default_mask=default_mask[left]).to(mask.dtype)
        return mask


def _left_by(method: Any, t: Tensor, mask: Tensor) -> Any:
    """The part of a tensor that a method may prune."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE == "global":
        return (slice(None),) * t.ndim
    if method.PRUNING_TYPE != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    dim = method.dim % t.ndim
    channels = mask.sum(dim=[d for d in range(t.ndim) if d != dim]) != 0
    return tuple(channels if d == dim else slice(None) for d in range(t.ndim))


# --- Methods -------------------------------------------------------------------------------------


class Identity(BasePruningMethod):
    """Keeps everything."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class _Amount(BasePruningMethod):
    """The base class of methods that prune a number, or a fraction, of elements or channels."""

    def __init__(self, amount: float) -> None:
        if not isinstance(amount, Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        if amount < 0 or (not isinstance(amount, Integral) and amount > 1):
            raise ValueError(
                f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
                "integer"
            )
        self.amount = amount

    def count_of(self, size: int) -> int:
        """The number of elements or channels to prune."""
        count = int(self.amount) if isinstance(self.amount, Integral) else round(self.amount * size)
        if count > size:
            raise ValueError(
                f"amount={count} should be smaller than the number of parameters to prune={size}"
            )
        return count


class _Unstructured(_Amount):
    """The base class of methods that prune single elements."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = self.count_of(t.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[self.chosen(t, count)] = 0
        return mask

    def chosen(self, t: Tensor, count: int) -> Tensor:
        """The indices of elements to prune."""
        raise NotImplementedError


class RandomUnstructured(_Unstructured):
    """Prunes random elements."""

    def chosen(self, t: Tensor, count: int) -> Tensor:
        return rand_like(t).view(-1).topk(count)[1]


class L1Unstructured(_Unstructured):
    """Prunes the elements with the smallest absolute values."""

    def chosen(self, t: Tensor, count: int) -> Tensor:
        return t.abs().view(-1).topk(count, largest=False)[1]


class _Structured(_Amount):
    """The base class of methods that prune whole channels."""

    PRUNING_TYPE = "structured"
    dim: int

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.ndim <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor "
                f"of shape {t.shape} with {t.ndim} dims"
            )
        if self.dim >= t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        count = self.count_of(t.shape[self.dim])
        if not count:
            return default_mask
        mask = zeros_like(t.detach())
        places: list[Any] = [slice(None)] * t.ndim
        places[self.dim] = self.kept(t, count)
        mask[tuple(places)] = 1
        return mask * default_mask.to(mask.dtype)

    def kept(self, t: Tensor, count: int) -> Tensor:
        """The indices of channels to keep."""
        raise NotImplementedError


class RandomStructured(_Structured):
    """Prunes random channels."""

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def kept(self, t: Tensor, count: int) -> Tensor:
        drawn = rand(t.shape[self.dim])
        return drawn > drawn.kthvalue(count)[0]


class LnStructured(_Structured):
    """Prunes the channels with the smallest norms."""

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n = n
        self.dim = dim

    def kept(self, t: Tensor, count: int) -> Tensor:
        others = [d for d in range(t.ndim) if d != self.dim % t.ndim]
        norms = vector_norm(t, 2 if self.n == "fro" else self.n, others)
        return norms.topk(t.shape[self.dim] - count)[1]


class CustomFromMask(BasePruningMethod):
    """Keeps what a given mask keeps."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape "
                f"{self.mask.shape}"
            )
        return default_mask * self.mask.to(default_mask.dtype)


# --- Functions -----------------------------------------------------------------------------------


def identity(module: Any, name: str) -> Any:
    """Prune nothing, but make a parameter a pruned one."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: float) -> Any:
    """Prune random elements of a parameter."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Any, name: str, amount: float, importance_scores: Tensor | None = None
) -> Any:
    """Prune the elements of a parameter with the smallest absolute values."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: float, dim: int) -> Any:
    """Prune random channels of a parameter."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Any, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Any:
    """Prune the channels of a parameter with the smallest norms."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prune a parameter by a given mask."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Any, str]],
    pruning_method: Any,
    importance_scores: dict[tuple[Any, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune elements of several parameters as if they were one tensor."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    if not isinstance(importance_scores or {}, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    pairs = list(parameters)
    tensors = [getattr(module, name) for module, name in pairs]
    given: Any = importance_scores or {}
    scores = [given.get(pair, tensor) for pair, tensor in zip(pairs, tensors, strict=True)]
    masks = [
        getattr(module, f"{name}_mask", ones_like(tensor))
        for (module, name), tensor in zip(pairs, tensors, strict=True)
    ]
    container = PruningContainer(method)
    joint = container.compute_mask(parameters_to_vector(scores), parameters_to_vector(masks))
    parts = joint.split([tensor.numel() for tensor in tensors])
    for (module, name), tensor, part in zip(pairs, tensors, parts, strict=True):
        custom_from_mask(module, name, mask=part.view_as(tensor))


def remove(module: Any, name: str) -> Any:
    """Make a pruned parameter a plain one again, with its zeros."""
    hook = _take_hook(module, name)
    if hook is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    hook.remove(module)
    return module


def is_pruned(module: Any) -> bool:
    """Whether some parameter of a module or its submodules is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for each in module.modules()
        for hook in each._forward_pre_hooks.values()
    )
