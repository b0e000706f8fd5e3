"""Finding a pattern in a graph, and putting something else in its place."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

from ..nn.modules.module import Module
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _copy_attr
from .node import Node, map_arg


class Match(NamedTuple):
    """Where a pattern was found: the node of its result, and which node stands for which of the pattern's."""

    anchor: Node
    nodes_map: dict[Node, Node]


def replace_pattern(
    gm: GraphModule,
    pattern: Callable[..., Any] | GraphModule,
    replacement: Callable[..., Any] | GraphModule,
) -> list[Match]:
    """Replace every place in a module's graph that does what a pattern does.

    Args:
        gm: whose graph is changed
        pattern: a function or module; its arguments stand for any values
        replacement: what is done instead, with the same arguments

    Returns:
        the places, which do not overlap
    """
    wanted, instead = _graph_of(pattern), _graph_of(replacement)
    if isinstance(replacement, Module):
        for node in instead.nodes:
            if node.op in ("get_attr", "call_module"):
                _copy_attr(replacement, gm, node.target)
    matches = _find(gm.graph, wanted)
    moved: dict[Node, Node] = {}
    for match in matches:
        _put(gm.graph, match, wanted, instead, moved)
    gm.recompile()
    return matches


def _graph_of(given: Any) -> Graph:
    return given.graph if isinstance(given, GraphModule) else symbolic_trace(given).graph


def _results(graph: Graph) -> list[Node]:
    """The nodes that a graph returns."""
    found: list[Node] = []
    map_arg(graph.output_node().args, lambda n: found.append(n) or n)
    return found


def _find(graph: Graph, pattern: Graph) -> list[Match]:
    anchor, taken, matches = _results(pattern)[0], set(), []
    returned = set(_results(pattern))
    for node in reversed(graph.nodes):
        mapped: dict[Node, Node] = {}
        if not _matches(anchor, node, mapped) or not returned <= mapped.keys():
            continue
        inside = {v for k, v in mapped.items() if k.op not in ("placeholder", "output")}
        leaks = any(
            user not in inside
            for k, v in mapped.items()
            if k.op not in ("placeholder", "get_attr") and k not in returned
            for user in v.users
        )
        if leaks or inside & taken:
            continue
        taken |= inside
        matches.append(Match(node, mapped))
    return matches[::-1]


def _matches(pattern: Any, node: Any, mapped: dict[Node, Node]) -> bool:
    """Whether a node does what one of a pattern does; which stand for which is noted."""
    if isinstance(pattern, Node):
        if pattern in mapped:
            return mapped[pattern] is node
        if pattern.op == "placeholder":
            mapped[pattern] = node
            return True
        if not isinstance(node, Node) or node.op != pattern.op or node.target != pattern.target:
            return False
        mapped[pattern] = node
        return _matches(pattern.args, node.args, mapped) and _matches(
            pattern.kwargs, node.kwargs, mapped
        )
    if isinstance(pattern, (tuple, list)):
        if not isinstance(node, (tuple, list)) or len(node) != len(pattern):
            return False
        return all(_matches(p, n, mapped) for p, n in zip(pattern, node, strict=True))
    if isinstance(pattern, dict):
        if not isinstance(node, dict) or pattern.keys() != node.keys():
            return False
        return all(_matches(p, node[k], mapped) for k, p in pattern.items())
    return type(pattern) is type(node) and pattern == node


def _put(
    graph: Graph, match: Match, pattern: Graph, replacement: Graph, moved: dict[Node, Node]
) -> None:
    """Add the replacement's nodes, let users take their values, and erase what was matched."""
    inputs = [n for n in pattern.nodes if n.op == "placeholder"]
    own = [n for n in replacement.nodes if n.op == "placeholder"]
    values: dict[Node, Any] = {}
    for theirs, ours in zip(own, inputs, strict=True):
        value = match.nodes_map[ours]
        while value in moved:
            value = moved[value]
        values[theirs] = value
    with graph.inserting_before(match.anchor):
        result = graph.graph_copy(replacement, values)
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    for old, new in zip(_results(pattern), results, strict=True):
        match.nodes_map[old].replace_all_uses_with(new)
        moved[match.nodes_map[old]] = new
    for node in reversed(list(pattern.nodes)):
        if node.op not in ("placeholder", "output"):
            graph.erase_node(match.nodes_map[node])


def replace_pattern_with_filters(
    gm: GraphModule, pattern: Any, replacement: Any, match_filters: Any = None, **_: Any
) -> list[Match]:
    """`replace_pattern`, with a copy of the module untouched where a filter refuses any place."""
    tried = _find(gm.graph, _graph_of(pattern))
    if match_filters and not all(
        f(m, gm.graph, _graph_of(pattern)) for f in match_filters for m in tried
    ):
        return []
    return replace_pattern(gm, copy.copy(pattern), replacement)
