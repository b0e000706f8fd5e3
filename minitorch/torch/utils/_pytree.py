"""Trees of containers: their leaves in a row, and back.

    >>> leaves, spec = tree_flatten({"a": [1, 2], "b": 3})
    >>> leaves, tree_unflatten([x * 10 for x in leaves], spec)
    ([1, 2, 3], {'a': [10, 20], 'b': 30})

Containers are tuples, lists, dicts, named tuples, deques, and the classes that were registered;
everything else is a leaf, None too.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from .pytree_keys import GetAttrKey as GetAttrKey
from .pytree_keys import KeyPath as KeyPath
from .pytree_keys import MappingKey as MappingKey
from .pytree_keys import SequenceKey as SequenceKey
from .pytree_keys import key_get as key_get
from .pytree_keys import keystr as keystr

PyTree = Any
Context = Any
FlattenFunc = Callable[[Any], tuple[list[Any], Context]]
UnflattenFunc = Callable[[Iterable[Any], Context], Any]


# --- The classes that are containers --------------------------------------------------------------


class NodeDef(NamedTuple):
    """How containers of a class come apart and together."""

    type: Any
    flatten_fn: FlattenFunc
    unflatten_fn: UnflattenFunc
    keys: Callable[[Any, Context], list[Any]] | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}


def register_pytree_node(
    cls: type,
    flatten_fn: FlattenFunc,
    unflatten_fn: UnflattenFunc,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Any = None,
    from_dumpable_context: Any = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Context]] | None = None,
) -> None:
    """Make a class a container.

    Args:
        cls: the class
        flatten_fn: its children, and what else is needed to build it again
        unflatten_fn: the container of given children and that
        serialized_type_name: unused, as the next two
        to_dumpable_context: unused
        from_dumpable_context: unused
        flatten_with_keys_fn: pairs of keys and children, and that
    """
    keys = None
    if flatten_with_keys_fn is not None:
        with_keys = flatten_with_keys_fn
        keys = lambda tree, _: [key for key, _ in with_keys(tree)[0]]  # noqa: E731
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, keys)


_register_pytree_node = register_pytree_node


def register_dataclass(
    cls: type, *, field_names: list[str] | None = None, drop_field_names: list[str] | None = None
) -> None:
    """Make a dataclass a container of its fields."""
    names = field_names or [f.name for f in dataclasses.fields(cls) if f.init]
    names = [name for name in names if name not in (drop_field_names or ())]
    SUPPORTED_NODES[cls] = NodeDef(
        cls,
        lambda tree: ([getattr(tree, name) for name in names], None),
        lambda children, _: cls(**dict(zip(names, children, strict=True))),
        lambda *_: [GetAttrKey(name) for name in names],
    )


def register_constant(cls: type) -> None:
    """Make values of a class a part of the structure: containers of nothing."""
    register_pytree_node(cls, lambda value: ([], value), lambda _, value: value)


def _positions(tree: Any, _: Context) -> list[Any]:
    return [SequenceKey(i) for i in range(len(tree))]


def _mapping(cls: type, build: Callable[[Any, Any], Any]) -> NodeDef:
    """A mapping, which is rebuilt from its context and pairs."""

    def flatten(tree: Any) -> tuple[list[Any], Context]:
        keys = list(tree)
        extra = tree.default_factory if cls is defaultdict else None
        return list(tree.values()), [extra, keys] if cls is defaultdict else keys

    def unflatten(children: Iterable[Any], context: Context) -> Any:
        extra, keys = context if cls is defaultdict else (None, context)
        return build(extra, zip(keys, children, strict=True))

    return NodeDef(cls, flatten, unflatten, lambda tree, _: [MappingKey(key) for key in tree])


SUPPORTED_NODES.update(
    {
        tuple: NodeDef(tuple, lambda t: (list(t), None), lambda c, _: tuple(c), _positions),
        list: NodeDef(list, lambda t: (t, None), lambda c, _: list(c), _positions),
        deque: NodeDef(deque, lambda t: (list(t), t.maxlen), deque, _positions),
        dict: _mapping(dict, lambda _, pairs: dict(pairs)),
        OrderedDict: _mapping(OrderedDict, lambda _, pairs: OrderedDict(pairs)),
        defaultdict: _mapping(defaultdict, defaultdict),
        namedtuple: NodeDef(
            namedtuple,
            lambda t: (list(t), type(t)),
            lambda children, cls: cls(*children),
            lambda t, _: [GetAttrKey(name) for name in t._fields],
        ),
    }
)


def _list_flatten(d: list[Any]) -> tuple[list[Any], Context]:
    """The items of a list, for classes that are registered as lists are."""
    return d, None


def _list_flatten_with_keys(d: list[Any]) -> tuple[list[tuple[Any, Any]], Context]:
    """The items of a list with the ways to them."""
    return [(SequenceKey(i), value) for i, value in enumerate(d)], None


def _list_unflatten(values: Iterable[Any], context: Context) -> list[Any]:
    """The list of items."""
    return list(values)


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], Context]:
    """A dict's values and its keys, for classes that are registered as dicts are."""
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], Context]:
    """A dict's values with the ways to them, and its keys."""
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    """The dict of keys and values."""
    return dict(zip(context, values, strict=True))


def is_namedtuple_class(cls: type) -> bool:
    """Whether a class is a named tuple."""
    return issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def is_namedtuple(obj: Any) -> bool:
    """Whether a value, or a class, is a named tuple."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


is_namedtuple_instance = is_namedtuple


def _get_node_type(tree: Any) -> Any:
    """The key of a value's class among the containers; of all named tuples it is one."""
    cls = type(tree)
    return namedtuple if cls not in SUPPORTED_NODES and is_namedtuple_class(cls) else cls


def _node(tree: Any, is_leaf: Callable[[Any], bool] | None) -> NodeDef | None:
    """How a container comes apart; None for a leaf."""
    if is_leaf is not None and is_leaf(tree):
        return None
    return SUPPORTED_NODES.get(_get_node_type(tree))


def tree_is_leaf(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> bool:
    """Whether a value is a leaf."""
    return _node(tree, is_leaf) is None


# --- Structures ---------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class TreeSpec:
    """The structure of a tree without its leaves."""

    type: Any
    context: Context
    children_specs: list[TreeSpec]

    @property
    def num_leaves(self) -> int:
        """How many leaves such a tree has."""
        return 1 if self.is_leaf() else sum(child.num_leaves for child in self.children_specs)

    @property
    def num_nodes(self) -> int:
        """How many containers and leaves such a tree has."""
        return 1 + sum(child.num_nodes for child in self.children_specs)

    @property
    def num_children(self) -> int:
        """How many children the outermost container has."""
        return len(self.children_specs)

    def is_leaf(self) -> bool:
        """Whether such a tree is one leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The structures of the children."""
        return self.children_specs

    def child(self, index: int) -> TreeSpec:
        """The structure of one child."""
        return self.children_specs[index]

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The tree of this structure with given leaves."""
        given = list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(given)} but the spec refers "
                f"to a pytree that holds {self.num_leaves} items ({self})."
            )
        return self._built(iter(given))

    def _built(self, leaves: Iterator[Any]) -> PyTree:
        if self.is_leaf():
            return next(leaves)
        children = [child._built(leaves) for child in self.children_specs]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self.context)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """What stands in another tree where this structure has leaves."""
        if self.is_leaf():
            return [tree]
        node = _node(tree, None)
        if node is None or node.type is not self.type:
            raise ValueError(f"Type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        children = node.flatten_fn(tree)[0]
        if len(children) != self.num_children:
            raise ValueError(
                f"Node arity mismatch; expected {self.num_children}, but got {len(children)}."
            )
        pairs = zip(self.children_specs, children, strict=True)
        return [subtree for spec, child in pairs for subtree in spec.flatten_up_to(child)]

    def __str__(self) -> str:
        if self.is_leaf():
            return "*"
        name = getattr(self.type, "__name__", self.type)
        return f"TreeSpec({name}, {self.context}, [{', '.join(map(str, self.children_specs))}])"


class LeafSpec(TreeSpec):
    """The structure of one leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


_LEAF = LeafSpec()


# --- Apart and together -----------------------------------------------------------------------------


def tree_flatten(
    tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, and its structure.

    Args:
        tree: the tree
        is_leaf: which containers to leave whole
    """
    leaves: list[Any] = []

    def visit(part: PyTree) -> TreeSpec:
        node = _node(part, is_leaf)
        if node is None:
            leaves.append(part)
            return _LEAF
        children, context = node.flatten_fn(part)
        return TreeSpec(node.type, context, [visit(child) for child in children])

    return leaves, visit(tree)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree of a structure with given leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of "
            f"TreeSpec but got item of type {type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_leaves(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> list[Any]:
    """The leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> Iterator[Any]:
    """The leaves of a tree, one by one."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_flatten_with_path(
    tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves of a tree with the ways to them, and its structure."""
    found: list[tuple[KeyPath, Any]] = []

    def visit(part: PyTree, path: KeyPath) -> None:
        node = _node(part, is_leaf)
        if node is None:
            found.append((path, part))
            return
        if node.keys is None:
            raise ValueError(
                f"Did not find a flatten_with_keys_fn for type: {type(part)}. "
                "Please pass a flatten_with_keys_fn argument to register_pytree_node."
            )
        children, context = node.flatten_fn(part)
        for key, child in zip(node.keys(part, context), children, strict=True):
            visit(child, (*path, key))

    visit(tree, ())
    return found, tree_structure(tree, is_leaf)


def tree_leaves_with_path(
    tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> list[tuple[KeyPath, Any]]:
    """The leaves of a tree with the ways to them."""
    return tree_flatten_with_path(tree, is_leaf)[0]


def tree_map(
    func: Callable[..., Any],
    tree: PyTree,
    *rests: PyTree,
    is_leaf: Callable[[PyTree], bool] | None = None,
) -> PyTree:
    """A tree whose leaves are what a function makes of the leaves of others.

    Args:
        func: of as many leaves as there are trees
        tree: gives the structure
        rests: more trees, at least of that structure
        is_leaf: which containers of the first to leave whole
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(rest) for rest in rests)]
    return spec.unflatten(map(func, *columns))


def tree_map_(
    func: Callable[..., Any],
    tree: PyTree,
    *rests: PyTree,
    is_leaf: Callable[[PyTree], bool] | None = None,
) -> PyTree:
    """Call a function with the leaves of trees; the first comes back as it is."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_with_path(
    func: Callable[..., Any],
    tree: PyTree,
    *rests: PyTree,
    is_leaf: Callable[[PyTree], bool] | None = None,
) -> PyTree:
    """As `tree_map`, of a function that is handed the way to the leaf first."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [list(column) for column in zip(*found, strict=True)] or [[], []]
    return spec.unflatten(map(func, *columns, *(spec.flatten_up_to(rest) for rest in rests)))


# --- Some leaves only ------------------------------------------------------------------------------


def map_only(type_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Let a function change only values of some types, or those a predicate picks."""
    picks = _predicate(type_or_pred)
    return lambda func: lambda value: func(value) if picks(value) else value


def _predicate(given: Any) -> Callable[[Any], bool]:
    if isinstance(given, (type, tuple)) or hasattr(given, "__args__"):
        return lambda value: isinstance(value, given)
    if callable(given):
        return lambda value: bool(given(value))
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def tree_map_only(
    type_or_pred: Any,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: Callable[[PyTree], bool] | None = None,
) -> PyTree:
    """As `tree_map`, of leaves of some types only."""
    return tree_map(map_only(type_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_pred: Any,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: Callable[[PyTree], bool] | None = None,
) -> PyTree:
    """As `tree_map_`, of leaves of some types only."""
    return tree_map_(map_only(type_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(
    pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> bool:
    """Whether a predicate holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(
    pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> bool:
    """Whether a predicate holds for a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(
    type_or_pred: Any, pred: Callable[[Any], bool], tree: PyTree, is_leaf: Any = None
) -> bool:
    """Whether a predicate holds for all leaves of some types."""
    picks = _predicate(type_or_pred)
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if picks(leaf))


def tree_any_only(
    type_or_pred: Any, pred: Callable[[Any], bool], tree: PyTree, is_leaf: Any = None
) -> bool:
    """Whether a predicate holds for a leaf of some types."""
    picks = _predicate(type_or_pred)
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if picks(leaf))


def _broadcast_to_and_flatten(
    tree: PyTree, treespec: TreeSpec, is_leaf: Callable[[PyTree], bool] | None = None
) -> list[Any] | None:
    """The leaves of a tree, each as often as the structure has leaves below it; None if they do not fit."""
    if treespec.is_leaf():
        return [tree] if _node(tree, is_leaf) is None else None
    node = _node(tree, is_leaf)
    if node is None:
        return [tree] * treespec.num_leaves
    children, context = node.flatten_fn(tree)
    if node.type is not treespec.type or context != treespec.context:
        return None
    if len(children) != treespec.num_children:
        return None
    found: list[Any] = []
    for child, spec in zip(children, treespec.children_specs, strict=True):
        below = _broadcast_to_and_flatten(child, spec, is_leaf)
        if below is None:
            return None
        found += below
    return found


def is_structseq(_: Any) -> bool:
    """Whether a value is one of the tuples with names that C code makes: none is."""
    return False
