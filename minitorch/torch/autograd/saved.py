"""What nodes keep of tensors until backward: each with its version, to notice when it is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tensor import Tensor, new_object, wrap
from .graph import Edge, Node, modes


class Saved:
    """A tensor that a derivative will need, and its version when it was saved."""

    __slots__ = ("tensor", "version")
    tensor: Any
    version: int

    @staticmethod
    def of(tensor: Tensor) -> Saved:
        """Keep a tensor as it is now."""
        if tensor._is_inference:
            raise RuntimeError(
                "Inference tensors cannot be saved for backward. Please make a clone to get a normal "
                "tensor and use it in autograd."
            )
        counter = tensor._counter
        made = new_object(Saved)
        made.tensor = tensor
        made.version = 0 if counter is None else counter[0]
        return made

    def unpack(self, node: Node) -> Tensor:
        """The tensor as it was saved; RuntimeError if its memory was written since."""
        tensor = self.tensor
        counter = tensor._counter
        if counter is not None and counter[0] != self.version:
            raise RuntimeError(written_since(tensor, tensor._edge, self.version))
        return tensor


class SavedOutput(Saved):
    """An output is saved without its node, since the node would hold itself."""

    __slots__ = ("array", "counter", "output")
    array: Any
    counter: list[int]
    output: int

    @staticmethod
    def of(tensor: Tensor, output: int = 0) -> SavedOutput:
        """Keep an output as it is now."""
        counter = tensor._counter
        if counter is None:
            counter = tensor._counter = [0]
        made = new_object(SavedOutput)
        made.array = tensor._array
        made.counter = counter
        made.version = counter[0]
        made.output = output
        return made

    def unpack(self, node: Node) -> Tensor:
        """The output, with its node again."""
        made = wrap(self.array)
        made._counter = self.counter
        if self.counter[0] != self.version:
            raise RuntimeError(written_since(made, (node, self.output), self.version))
        made._edge, made._requires_grad = (node, self.output), True
        return made


class SavedOutputs(Sequence[Tensor]):
    """Several outputs; each is unpacked, and checked, when a derivative looks at it."""

    def __init__(self, saved: Sequence[Any], node: Node | None = None) -> None:
        self.saved = saved
        self.node = node

    def of(self, node: Node) -> SavedOutputs:
        """The same with the node that they belong to."""
        return SavedOutputs(self.saved, node)

    def __len__(self) -> int:
        return len(self.saved)

    def __getitem__(self, i: Any) -> Any:
        return self.saved[i].unpack(self.node)


def attached(tensor: Tensor, node: Node, output: int) -> Tensor:
    """A tensor's memory as the output of a node."""
    alias = wrap(tensor._array)
    alias._counter = tensor._counter
    alias._edge, alias._requires_grad = (node, output), True
    return alias


class Packed(Saved):
    """A saved tensor that hooks of the program keep in their own way."""

    __slots__ = ("output", "unpack_hook")

    def __init__(self, tensor: Tensor, output: int | None, hooks: Any) -> None:
        pack, self.unpack_hook = hooks
        self.tensor = pack(tensor.detach() if output is not None else tensor)
        self.output = output

    def unpack(self, node: Node) -> Tensor:
        """What the second hook makes of what the first one kept."""
        tensor = self.unpack_hook(self.tensor)
        return tensor if self.output is None else attached(tensor, node, self.output)


class SavedTensor:
    """What a node saved, before it is looked at: a program may give it hooks of its own."""

    def __init__(self, node: Any, place: int) -> None:
        self.node, self.place = node, place

    def register_hooks(self, pack_hook: Any, unpack_hook: Any) -> None:
        """Keep it as `pack_hook(tensor)` from now on, and as `unpack_hook` of that in backward."""
        kept = self.node.saved[self.place]
        if isinstance(kept, Packed):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set."
            )
        output = kept.output if isinstance(kept, SavedOutput) else None
        hooks = pack_hook, unpack_hook
        self.node.saved[self.place] = Packed(kept.unpack(self.node), output, hooks)


def save(tensor: Any, output: int | None = None) -> Any:
    """Keep a tensor for backward, or an output by its number; anything else as it is."""
    if not isinstance(tensor, Tensor):
        return tensor
    if modes.saving is not None:
        return Packed(tensor, output, modes.saving)
    return Saved.of(tensor) if output is None else SavedOutput.of(tensor, output)


def written_since(tensor: Tensor, edge: Edge | None, version: int) -> str:
    """The error where what was saved is not there any more."""
    source = "" if edge is None else f", which is output {edge[1]} of {edge[0].name()},"
    return (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [torch.{tensor.dtype.type_name} {list(tensor._array.shape)}]{source} is at "
        f"version {tensor._version}; expected version {version} instead. Hint: enable anomaly "
        "detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True)."
    )


FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)
