"""Hooks of modules: gradients that pass by them; handles, as Torch names them here."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.function import Function
from ..autograd.graph import Node, modes
from ..handles import RemovableHandle as RemovableHandle
from ..tensor import Tensor


def unserializable_hook(f: Callable[..., Any]) -> Callable[..., Any]:
    """Say of a hook that files need not have it."""
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


class BackwardHookFunction(Function):
    """The identity: a place in the graph where all gradients of a call pass together."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        """The same tensors."""
        ctx.mark_non_differentiable(*[a for a in args if not a.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The same gradients."""
        return grad_outputs


class BackwardHook:
    """One call of a module whose gradients hooks may see, and change.

    The inputs and the outputs each pass an identity. The one behind the outputs notes their
    gradients and calls the pre-hooks; the one before the inputs then calls the hooks.
    """

    def __init__(self, module: Any, user_hooks: Sequence[Any], user_pre_hooks: Sequence[Any]):
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.grad_outputs: Any = None
        self.inputs: list[int] | None = None  # which arguments are tensors; None: none is tracked
        self.count = 0

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of the call, through an identity."""
        self.count = len(args)
        args, self.inputs = _through_identity(args, self._watch_inputs)
        return args

    def setup_output_hook(self, outputs: Any) -> Any:
        """The outputs of the call, through an identity."""
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        places = [i for i, out in enumerate(several) if isinstance(out, Tensor)]

        def watch(node: Node) -> None:
            node.register_hook(lambda _, gs: self._see_outputs(places, len(several), gs))

        passed, _ = _through_identity(several, watch)
        return passed if isinstance(outputs, tuple) else passed[0]

    def _watch_inputs(self, node: Node) -> None:
        node.register_hook(lambda gradients, _: self._see_inputs(gradients))

    def _see_outputs(self, places: list[int], count: int, gradients: Sequence[Any]) -> Any:
        """Note the gradients of the outputs, after the pre-hooks."""
        self.grad_outputs = _spread(places, gradients, count)
        for hook in self.user_pre_hooks:
            changed = hook(self.module, self.grad_outputs)
            if changed is not None:
                _check_count("pre hook", "grad_output", changed, self.grad_outputs)
                self.grad_outputs = changed if isinstance(changed, tuple) else tuple(changed)
        result = tuple(self.grad_outputs[i] for i in places)
        if self.inputs is None:
            self._call_without_inputs()
        return result

    def _call_without_inputs(self) -> None:
        """Call the hooks at once: no gradient will reach the inputs."""
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module "
            "outputs since no inputs require gradients. See "
            "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
            "#torch.nn.Module.register_full_backward_hook for more details.",
            stacklevel=5,
        )
        for hook in self.user_hooks:
            changed = hook(self.module, (None,) * self.count, self.grad_outputs)
            if changed is not None and any(g is not None for g in changed):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )
        self.grad_outputs = None

    def _see_inputs(self, gradients: Sequence[Any]) -> Any:
        """Call the hooks with the gradients of the inputs and those of the outputs."""
        if self.grad_outputs is None or self.inputs is None:
            return None  # the gradient did not come through the outputs
        found = _spread(self.inputs, gradients, self.count)
        for hook in self.user_hooks:
            changed = hook(self.module, found, self.grad_outputs)
            if changed is not None:
                _check_count("hook", "grad_input", changed, found)
                found = changed
        self.grad_outputs = None
        return tuple(found[i] for i in self.inputs)


def _check_count(hook: str, what: str, changed: Any, known: Any) -> None:
    if len(changed) != len(known):
        raise RuntimeError(
            f"Backward {hook} returned an invalid number of {what}, got {len(changed)}, but "
            f"expected {len(known)}"
        )


def _spread(places: Sequence[int], values: Sequence[Any], count: int) -> tuple[Any, ...]:
    """Values at their places among as many as there are, None elsewhere."""
    at = dict(zip(places, values, strict=False))
    return tuple(at.get(i) for i in range(count))


def _through_identity(
    args: tuple[Any, ...], watch: Callable[[Node], None]
) -> tuple[tuple[Any, ...], list[int] | None]:
    """Arguments whose tensors have passed one identity, and which those are."""
    places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
    if not (modes.grad and any(args[i].requires_grad for i in places)):
        return args, None
    passed = list(args)
    for i, tensor in zip(
        places, BackwardHookFunction.apply(*(args[i] for i in places)), strict=True
    ):
        passed[i] = tensor
    nodes = [passed[i].grad_fn for i in places if passed[i] is not args[i]]
    watch(next(node for node in nodes if node is not None))
    kept = tuple(passed) if type(args) is tuple else type(args)(*passed)
    return kept, places
