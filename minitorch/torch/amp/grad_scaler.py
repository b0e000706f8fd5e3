"""GradScaler: losses times a large number, so that small gradients are not lost to rounding."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

import numpy as np

from .. import dtypes
from ..device import CPU
from ..interpreters import unless, update
from ..ops.creation import tensor
from ..tensor import Tensor, bump_versions


class OptState(Enum):
    """What was done with an optimizer since the last update."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _fresh() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Scales losses up and gradients down, and skips steps whose gradients are not finite.

    The scale grows after `growth_interval` good steps, and shrinks after a bad one.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if device == "cuda" and enabled:
            warnings.warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
                stacklevel=2,
            )
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Tensor | None = None
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker: Tensor | None = None
        self._per_optimizer_states: Any = defaultdict(_fresh)

    def _known(self, asker: str) -> tuple[Tensor, Tensor]:
        """The scale and the count of good steps; AssertionError before the first `scale`."""
        for name in ("_scale", "_growth_tracker"):
            if getattr(self, name) is None:
                raise AssertionError(
                    f"Attempted {asker} but {name} is None.  This may indicate your script did not "
                    "use scaler.scale(loss or outputs) earlier in the iteration."
                )
        assert self._scale is not None
        assert self._growth_tracker is not None
        return self._scale, self._growth_tracker

    def scale(self, outputs: Any) -> Any:
        """A loss, or several, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._scale = _number(self._init_scale, dtypes.float32)
                self._growth_tracker = _number(self._init_growth_tracker, dtypes.int32)
            return outputs * self._scale
        if isinstance(outputs, Iterable):
            scaled = (self.scale(each) for each in outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled  # type: ignore[call-arg]
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale."""
        if not self._enabled:
            return
        scale, _ = self._known("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        found = _number(0.0, dtypes.float32)
        _amp_foreach_non_finite_check_and_unscale_(_gradients(optimizer), found, scale)
        state["found_inf_per_device"] = {CPU: found}
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step()`, unless gradients are not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._known("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        (found,) = state["found_inf_per_device"].values()
        result = unless(found, lambda: optimizer.step(*args, **kwargs))
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale to what was found since the last update."""
        if not self._enabled:
            return
        scale, tracker = self._known("update")
        if new_scale is not None:
            self._set_scale(scale, new_scale)
        else:
            states = self._per_optimizer_states.values()
            found = [f for s in states for f in s["found_inf_per_device"].values()]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            _amp_update_scale_(
                scale, tracker, found, self._growth_factor, self._backoff_factor,
                self._growth_interval,
            )  # fmt: skip
        self._per_optimizer_states.clear()

    def _set_scale(self, scale: Tensor, value: Any) -> None:
        if isinstance(value, float):
            scale.fill_(value)
        elif value.device.type != self._device or value.numel() != 1 or value.requires_grad:
            raise AssertionError(
                "new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
                "torch.FloatTensor with requires_grad=False."
            )
        else:
            scale.copy_(value)

    # --- Settings and state --------------------------------------------------------------------

    def _get_scale_async(self) -> Tensor | None:
        return self._scale

    def get_scale(self) -> float:
        """The scale; 1 if nothing is scaled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by after good steps."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by after good steps."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after a bad step."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by after a bad step."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many good steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many good steps the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        tracker = self._growth_tracker
        return self._init_growth_tracker if tracker is None else tracker.item()

    def is_enabled(self) -> bool:
        """Whether anything is scaled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The scale and its settings."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self) -> dict[str, Any]:
        state = vars(self).copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, "
                    "or at the end after scaler.update()."
                )
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


def _number(value: float, dtype: Any) -> Tensor:
    return tensor(value, dtype=dtype)


def _gradients(optimizer: Any) -> list[Tensor]:
    """The gradients of an optimizer's parameters."""
    params = (p for group in optimizer.param_groups for p in group["params"])
    gradients = [p.grad for p in params if p.grad is not None]
    if any(g.dtype is dtypes.float16 for g in gradients):
        raise ValueError("Attempting to unscale FP16 gradients.")
    return gradients


@update(0, 1)
def _amp_foreach_non_finite_check_and_unscale_(
    gradients: list[Tensor], found_inf: Tensor, scale: Tensor
) -> None:
    """Divide gradients by a scale; note whether some were not finite."""
    factor = np.float32(1.0 / scale.item())
    for gradient in gradients:
        array = gradient._array
        if not np.isfinite(array).all():
            found_inf._array[...] = 1
        array *= factor.astype(array.real.dtype)
    bump_versions((*gradients, found_inf))


@update(0, 1)
def _amp_update_scale_(
    scale: Tensor,
    tracker: Tensor,
    found: list[Tensor],
    growth: float,
    backoff: float,
    interval: int,
) -> None:
    """Let a scale shrink after a bad step, or grow after so many good ones."""
    number, count = scale._array, tracker._array
    bad = any(each._array for each in found)
    grown = number * np.float32(growth)
    if bad:
        number *= backoff
    elif count + 1 >= interval and np.isfinite(grown):
        number[...] = grown
    count[...] = 0 if bad or count + 1 >= interval else count + 1
    bump_versions((scale, tracker))
