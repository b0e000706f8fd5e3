"""Memory for time: forget what forward saved, and compute it again in backward."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.graph import saved_tensors_hooks
from ..autograd.modes import enable_grad
from ..generator import default_generator
from ..tensor import Tensor


class CheckpointError(RuntimeError):
    """The second forward did not do what the first did."""


_EITHER_WAY = (
    "use_reentrant=False is recommended, but if you need to preserve the current default behavior, you can pass "
    "use_reentrant=True. Refer to docs for more details on the differences between the two variants."
)


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    context_fn: Any = None,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Call a function, keeping its inputs alone; backward calls it once more for the rest.

    Random numbers are the same in both calls. `use_reentrant` is accepted for Torch's sake:
    there is one way here, which nests and differentiates twice.
    """
    if use_reentrant is None:
        warnings.warn(
            f"torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, "
            f"calling checkpoint without use_reentrant will raise an exception. {_EITHER_WAY}",
            stacklevel=2,
        )
    if use_reentrant is not False and not any(
        isinstance(x, Tensor) and x.requires_grad for x in args
    ):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2
        )
    state = default_generator.get_state() if preserve_rng_state else None
    memory = _Recomputed(function, args, kwargs, state)
    with saved_tensors_hooks(memory.forget, memory.recall):
        return function(*args, **kwargs)


class _Recomputed:
    """What a call saved, by number; computed again when backward first asks."""

    def __init__(self, function: Any, args: Any, kwargs: Any, state: Any) -> None:
        self.function, self.args, self.kwargs, self.state = function, args, kwargs, state
        self.layouts: list[Any] = []
        self.found: dict[int, Tensor] = {}

    def forget(self, tensor: Tensor) -> int:
        self.layouts.append((tensor._array.shape, tensor._array.dtype))
        return len(self.layouts) - 1

    def recall(self, number: int) -> Tensor:
        if number not in self.found:
            self._compute_again()
        if number not in self.found:
            raise CheckpointError(
                f"torch.utils.checkpoint: A different number of tensors was saved during the original "
                f"forward and recomputation. Number of tensors saved during forward: {len(self.layouts)}, "
                f"during recomputation: {len(self.found)}"
            )
        tensor = self.found.pop(number)
        if (tensor._array.shape, tensor._array.dtype) != self.layouts[number]:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different "
                f"metadata than during the forward pass: saved {self.layouts[number]}, recomputed "
                f"{(tensor._array.shape, tensor._array.dtype)}"
            )
        return tensor

    def _compute_again(self) -> None:
        now = default_generator.get_state()
        seen: list[Tensor] = []

        def keep(tensor: Tensor) -> Tensor:
            seen.append(tensor)
            return tensor

        try:
            if self.state is not None:
                default_generator.set_state(self.state)
            with enable_grad(), saved_tensors_hooks(keep, lambda kept: kept):
                self.function(*self.args, **self.kwargs)
        finally:
            default_generator.set_state(now)
        self.found = dict(enumerate(seen))


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """A chain of functions in `segments` checkpointed parts; the last part is not checkpointed."""
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In "
            f"version 2.9 we will raise an exception if use_reentrant is not passed. {_EITHER_WAY}",
            stacklevel=2,
        )
        use_reentrant = True
    steps: Sequence[Any] = (
        list(functions.children()) if hasattr(functions, "children") else list(functions)
    )

    def run(start: int, end: int) -> Callable[[Any], Any]:
        def segment(x: Any) -> Any:
            for step in steps[start:end]:
                x = step(x)
            return x

        return segment

    size = len(steps) // segments
    ends = [size * (i + 1) for i in range(segments - 1)]
    for start, end in itertools.pairwise([0, *ends]):
        input = checkpoint(run(start, end), input, use_reentrant=use_reentrant, **kwargs)
    return run(ends[-1] if ends else 0, len(steps))(input)


# --- Random numbers of devices ------------------------------------------------------------------------


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The GPUs on which tensors among some arguments are, and where their random numbers stand."""
    from ..cuda import get_rng_state
    from ._pytree import tree_leaves

    tensors = [each for each in tree_leaves(args) if isinstance(each, Tensor)]
    devices = [each.get_device() for each in tensors if each.device.type not in ("cpu", "meta")]
    return devices, [get_rng_state(number) for number in devices]


def set_device_states(
    devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None
) -> None:
    """Restore the states of GPUs' generators."""
    from ..cuda import set_rng_state

    if device_type != "meta":
        for number, state in zip(devices, states, strict=False):
            set_rng_state(state, number)
