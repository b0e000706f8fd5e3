"""The graph behind tensors, and the walk back through it.

A `Node` is one operation that was recorded: what it saved, and edges to the nodes that
made its inputs, or to leaves: tensors that no node made, where the walk ends. Nodes are
numbered as they are made, so a node's inputs always have lower numbers, and walking the
reachable nodes from the highest number down is a topological order: the lesson's
backpropagation, with the sort taken from time itself.
"""

from __future__ import annotations

import itertools
import math
import sys
import threading
import traceback
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ..dtypes import from_numpy_dtype
from ..handles import Hooks, RemovableHandle, add_hook
from ..interpreters import installed, interpret_backward

if TYPE_CHECKING:
    from ..tensor import Tensor

Edge = tuple["Node | Tensor", int]
"""The node that made an input, and which of its outputs it was; or a leaf, and 0."""

Layout = tuple[tuple[int, ...], Any]
"""A shape and a NumPy dtype."""

numbers = itertools.count(1)
"""The number of the next node."""


class _Modes(threading.local):
    """What this thread does with operations."""

    grad = True
    inference = False
    anomaly = False
    check_nan = True
    saving: tuple[Callable[..., Any], Callable[..., Any]] | None = None  # pack and unpack
    hooks_refused: str | None = None  # why a program may not set the above
    at_end: list[Callable[[], None]] | None = None  # of the outermost backward pass


modes = _Modes()

inferring: list[bool] = []
"""Holds something once a thread has entered inference mode: until then, operations do not ask for it."""


class Node:
    """One recorded operation. `next_functions`, `name()` and hooks are as in Torch."""

    edges: Sequence[Edge | None] = ()
    number: float  # a whole one, unless it was made later than it stands for
    layout: Layout | None = None  # of its output; None where it has several, or any
    layouts: Any = None  # a list, of several outputs
    last_leaf: int | None = None  # the input that, as a leaf, is reached after the others
    # Class-level until they are set, so that making a node is cheap.
    hooks: dict[str, Hooks] | None = None
    output_hooks: dict[int, Hooks] | None = None
    retained: dict[int, Any] | None = None
    metadata: dict[str, Any] | None = None

    def __init__(self, edges: Sequence[Edge | None]) -> None:
        self.edges = edges
        self.number = next(numbers)
        if modes.anomaly:
            self.remember_call()

    def remember_call(self) -> None:
        """Note where the program is, for the message of an error in backward."""
        self.metadata = {"traceback": traceback.format_stack()[:-3]}

    def layout_of(self, output: int) -> Layout | None:
        """The shape and type of an output, which its gradient must have."""
        return self.layout if self.layouts is None else self.layouts[output]

    def name(self) -> str:
        """The name that Torch gives this operation."""
        return type(self).__name__

    def shown(self) -> Node:
        """The node, as a program sees it."""
        return self

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes behind the inputs."""
        return as_nodes(self.edges)

    def backward(self, gradients: list[Tensor | None]) -> Sequence[Tensor | None]:
        """From the gradients of the outputs, one for each edge."""
        raise NotImplementedError

    def keeps_tensors(self) -> bool:
        """Whether `release` forgets something, so that the node cannot be walked again."""
        return True

    def release(self) -> None:
        """Forget what was saved: the graph has been walked."""

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` after this node's backward."""
        return self._register("after", hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_outputs)` before this node's backward."""
        return self._register("before", hook)

    def _register(self, when: str, hook: Callable[..., Any]) -> RemovableHandle:
        if self.hooks is None:
            self.hooks = {"before": OrderedDict(), "after": OrderedDict()}
        return add_hook(self.hooks[when], hook)

    def __repr__(self) -> str:
        return f"<{self.name().split('::')[-1]} object at {id(self):#x}>"


class saved_tensors_hooks:  # noqa: N801
    """Let a program keep what operations save: `pack(tensor)` now, `unpack(kept)` in backward."""

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.hooks = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if modes.hooks_refused is not None:
            raise RuntimeError(modes.hooks_refused)
        self.before, modes.saving = modes.saving, self.hooks

    def __exit__(self, *_: object) -> None:
        modes.saving = self.before


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Within `with`, asking for `saved_tensors_hooks` is an error with this message."""
    before, modes.hooks_refused = modes.hooks_refused, error_message
    try:
        yield
    finally:
        modes.hooks_refused = before


class save_on_cpu(saved_tensors_hooks):  # noqa: N801
    """Within `with`, what backward needs waits in the CPU's memory, and goes back when it is needed."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> tuple[Any, Tensor]:
            return tensor.device, tensor.cpu().pin_memory() if pin_memory else tensor.cpu()

        super().__init__(pack, lambda packed: packed[1].to(packed[0]))


class GradientEdge(NamedTuple):
    """A node and which of its outputs: what can stand for a tensor in `autograd.grad`."""

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where a tensor's gradient goes."""
    from ..tensor import edge_of

    edge = edge_of(tensor)
    if edge is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        )
    return GradientEdge(*_as_nodes(edge))


class ShownNode(Node):
    """A node that is there for programs that look at the graph: part of what one of ours does, and Torch in two steps."""

    def __init__(self, name: str, edges: Sequence[Edge | None]) -> None:
        self.edges = edges
        self._name = name
        self.__class__ = type(name, (ShownNode,), {"__module__": "builtins"})  # type: ignore[assignment]

    def name(self) -> str:
        return self._name


class AccumulateGrad(Node):
    """A leaf as a node, for programs that look at the graph."""

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def backward(self, gradients: list[Tensor | None]) -> list[Tensor | None]:
        _accumulate(self.variable, list(gradients))
        return []


def as_nodes(edges: Sequence[Edge | None]) -> tuple[tuple[Node | None, int], ...]:
    """Edges as programs see them."""
    return tuple((None, 0) if edge is None else _as_nodes(edge) for edge in edges)


def _as_nodes(edge: Edge) -> tuple[Node, int]:
    """An edge with a node at its end, as Torch has it: that of a leaf is made when it is asked for."""
    end, output = edge
    if isinstance(end, Node):
        return end.shown(), output
    node = None if end._accumulator is None else end._accumulator()
    if node is None:
        node = AccumulateGrad(end)
        end._accumulator = weakref.ref(node)
    return node, 0


def edge_behind(given: GradientEdge) -> Edge:
    """What a program's edge means in the graph."""
    node = given.node
    return (node.variable, 0) if isinstance(node, AccumulateGrad) else (node, given.output_nr)


def layout_at(edge: Edge) -> Layout | None:
    """The shape and type of what an edge leads to, which its gradient must have."""
    end, output = edge
    return end.layout_of(output) if isinstance(end, Node) else (end._array.shape, end._array.dtype)


def _reach(leaf: Tensor, arrived: list[Any]) -> None:
    """Bring a gradient to a leaf, past its hooks, and those of the leaf as a node."""
    if leaf._hooks:
        arrived[0] = _after_hooks(leaf._hooks, arrived[0])
    node = None if leaf._accumulator is None else leaf._accumulator()
    if node is None or node.hooks is None:
        _accumulate(leaf, arrived)
    else:
        _step(node, arrived)


def _accumulate(leaf: Tensor, arrived: list[Any]) -> None:
    """Add the gradient that arrived to a leaf's."""
    gradient = arrived.pop()
    if not leaf._requires_grad:  # any longer
        return
    old = leaf._grad
    if old is None:
        # Held by this call and by nobody else: the leaf may keep it without a copy.
        unshared = sys.getrefcount(gradient) == 2 and gradient._edge is None
        if not modes.grad and not (unshared and gradient._owns_memory()):
            gradient = gradient._own_copy()
        leaf._grad = gradient
    elif old.is_sparse or gradient.is_sparse:
        leaf._grad = gradient + old if old.is_sparse else old + gradient
    elif modes.grad:
        leaf._grad = old + gradient
    else:
        old._add_in_place(gradient)
    if leaf._after_accumulate:
        for hook in list(leaf._after_accumulate.values()):
            hook(leaf)


def at_end_of_backward(callback: Callable[[], None]) -> None:
    """Let something be called when the backward pass that is under way, and those around it, are over."""
    if modes.at_end is None:
        raise RuntimeError("no backward pass is under way")
    modes.at_end.append(callback)


def backward_pass(
    roots: Sequence[tuple[Node | Tensor, int, Tensor]],
    targets: Sequence[Edge] | None,
    retain_graph: bool,
    create_graph: bool,
    leaves: bool = False,
) -> list[Tensor | None]:
    """Send gradients from the roots through the graph.

    Args:
        roots: where edges lead to, and the gradient to start with
        targets: collect the gradients that arrive here; if None, walk to every leaf
        retain_graph: keep what nodes saved, so that the graph can be walked again
        create_graph: record this walk, so that it can itself be differentiated
        leaves: whether leaves among the targets accumulate rather than collect

    Returns:
        the gradient of each target, None where nothing arrived
    """
    order, wanted, waiting = _beginning(roots, targets)
    collected: dict[Edge, Tensor] = {}
    targeted = set() if targets is None or leaves else set(targets)

    before, modes.grad = modes.grad, create_graph
    at_end: list[Callable[[], None]] = []
    inner = modes.at_end is not None
    if not inner:
        modes.at_end = at_end
    try:
        for node in order:
            arrived = waiting.pop(node, None)
            if arrived is None:
                continue
            if not isinstance(node, Node):
                if targets is None or leaves:
                    _reach(node, arrived)
                else:
                    collected[node, 0] = _after_hooks(node._hooks, arrived[0])
                continue
            if node.output_hooks is not None or node.retained is not None:
                _run_output_hooks(node, arrived)
            if targeted:
                for output, gradient in enumerate(arrived):
                    if gradient is not None and (node, output) in targeted:
                        collected[node, output] = gradient
            if wanted is not None and not any(e and e[0] in wanted for e in node.edges):
                continue
            gradients = _step(node, arrived)
            del arrived
            if not retain_graph:
                node.release()
            _send(waiting, node.edges, gradients, wanted)
            gradients = None
    finally:
        modes.grad = before
        if not inner:
            modes.at_end = None
    for callback in at_end:
        callback()
    return [] if targets is None else [collected.get(t) for t in targets]


def _beginning(
    roots: Sequence[tuple[Node | Tensor, int, Tensor]], targets: Sequence[Edge] | None
) -> tuple[list[Any], set[Any] | None, dict[Any, list[Any]]]:
    """What is walked, in order; the same as a set if that is not everything; and what waits there, by output."""
    order = reachable([node for node, _, _ in roots])
    wanted = None
    if targets is not None:
        order = _leading_to({node for node, _ in targets}, order)
        wanted = set(order)
    waiting: dict[Node | Tensor, list[Any]] = {}
    for node, output, gradient in roots:
        if wanted is None or node in wanted:
            _add(waiting, node, output, gradient)
    return order, wanted, waiting


def _send(
    waiting: dict[Node | Tensor, list[Any]], edges: Sequence[Edge | None],
    gradients: Sequence[Tensor | None], wanted: set[Node | Tensor] | None,
) -> None:  # fmt: skip
    """Let gradients wait where edges lead to, if that is wanted."""
    for edge, gradient in zip(edges, gradients, strict=True):
        if edge is None or gradient is None:
            continue
        end, output = edge
        if wanted and end not in wanted:
            continue
        if isinstance(end, Node):
            layout = end.layout if end.layouts is None else end.layouts[output]
        else:
            layout = end._array.shape, end._array.dtype
        if layout is not None:
            gradient = _fit(gradient, *layout)
        if output or end in waiting:
            _add(waiting, end, output, gradient)
        else:
            waiting[end] = [gradient]


def _step(node: Node, outputs: list[Tensor | None]) -> Sequence[Tensor | None]:
    """One node's backward with its hooks; with anomaly detection, errors name where it was made."""
    if node.hooks is None and not installed and not modes.anomaly:
        return node.backward(outputs)  # type: ignore[arg-type]
    if node.hooks is not None:
        for hook in list(node.hooks["before"].values()):
            outputs = list(hook(tuple(outputs)) or outputs)
    try:
        gradients = interpret_backward(node, outputs) if installed else node.backward(outputs)
        if modes.anomaly and modes.check_nan:
            for i, gradient in enumerate(gradients):
                if gradient is not None and gradient.isnan().any():
                    raise RuntimeError(
                        f"Function '{node.name()}' returned nan values in its {i}th output."
                    )
    except Exception:  # whatever it was goes on, with a word on where that node was made
        if modes.anomaly:
            made = "".join((node.metadata or {}).get("traceback", ["(not recorded)"]))
            warnings.warn(
                f"Error detected in {node.name()}. Traceback of forward call that caused the "
                f"error:\n{made}",
                stacklevel=2,
            )
        raise
    if node.hooks is not None:
        for hook in list(node.hooks["after"].values()):
            changed = hook(tuple(gradients), tuple(outputs))
            gradients = gradients if changed is None else changed
    return gradients


def _run_output_hooks(node: Node, arrived: list[Any]) -> None:
    """Let hooks of the tensors that this node made see, and change, their gradients."""
    there = [output for output, gradient in enumerate(arrived) if gradient is not None]
    for output, hooks in (node.output_hooks or {}).items():
        if output in there:
            arrived[output] = _after_hooks(hooks, arrived[output])
    for output, reference in (node.retained or {}).items():
        tensor = reference()
        if tensor is not None and output in there:
            tensor._grad = arrived[output]


def _after_hooks(hooks: Hooks | None, gradient: Tensor) -> Tensor:
    """A gradient, or what the hooks of its tensor put in its place."""
    for hook in list((hooks or {}).values()):
        changed = hook(gradient)
        gradient = gradient if changed is None else _checked(changed, gradient)
    return gradient


def _checked(changed: Any, gradient: Tensor) -> Tensor:
    """What a hook made of a gradient, if it can stand for it."""
    if not isinstance(changed, type(gradient)):
        raise TypeError(f"expected Variable, but hook returned '{type(changed).__name__}'")
    if changed._array.shape != gradient._array.shape:
        raise RuntimeError(
            f"a hook has changed the size of a gradient: {list(gradient.shape)} became "
            f"{list(changed.shape)}"
        )
    return changed


def _fit(gradient: Tensor, shape: tuple[int, ...], kind: Any) -> Tensor:
    """Undo broadcasting: sum where forward copied; and give the input's type back."""
    if gradient.is_sparse:
        return gradient
    array = gradient._array
    if array.shape != shape:
        gradient = gradient.sum_to_size(shape)
    if array.dtype is not kind and array.dtype != kind:
        if array.dtype.kind == "c" and kind.kind != "c":
            gradient = gradient.real
        gradient = gradient.to(from_numpy_dtype(kind))
    return gradient


def _add(waiting: dict[Any, list[Any]], end: Any, output: int, gradient: Tensor) -> None:
    """Let a gradient wait for the others of the same output."""
    arrived = waiting.get(end)
    if arrived is None:
        waiting[end] = [None] * output + [gradient] if output else [gradient]
        return
    arrived += [None] * (output + 1 - len(arrived))
    known = arrived[output]
    if known is not None:  # a sparse one is added to a dense one, not the reverse
        gradient = gradient + known if known.is_sparse else known + gradient
    arrived[output] = gradient


def reachable(roots: Sequence[Node | Tensor]) -> list[Node | Tensor]:
    """All that the roots lead to, the newest first; a leaf follows the last node that leads to it."""
    places: dict[Node | Tensor, float] = {}
    for root in roots:
        places[root] = root.number if isinstance(root, Node) else math.inf
    stack = [root for root in places if isinstance(root, Node)]
    while stack:
        node = stack.pop()
        for i, edge in enumerate(node.edges):
            if edge is None:
                continue
            end = edge[0]
            known = places.get(end)
            if not isinstance(end, Node):
                place = node.number - (0.5 if i != node.last_leaf else 0.6)
                if known is None or place < known:
                    places[end] = place
            elif known is None:
                places[end] = end.number
                stack.append(end)
    return sorted(places, key=places.__getitem__, reverse=True)


def _leading_to(targets: set[Node | Tensor], order: list[Node | Tensor]) -> list[Node | Tensor]:
    """The nodes of an order from which a target can be reached."""
    leading = set(targets)
    for node in reversed(order):  # oldest first: inputs come before what was made of them
        if isinstance(node, Node) and any(e is not None and e[0] in leading for e in node.edges):
            leading.add(node)
    return [node for node in order if node in leading]
