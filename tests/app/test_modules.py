"""The lessons of the page of modules, against counting by hand."""

from __future__ import annotations

from minitorch.app.inside import modules


def walk(tree):
    yield tree
    for child in tree["children"]:
        yield from walk(child)


def test_names_follow_the_tree() -> None:
    nodes = list(walk(modules.tree("nested", [])))
    expected = {f"{n['path']}.{p}".lstrip(".") for n in nodes for p in n["parameters"]}
    assert {name for name, _ in modules.names("nested")} == expected
    assert len(expected) == 19


def test_counts_add_up() -> None:
    counts = modules.counts("network")
    assert counts == {"": 9, "layer1": 3, "layer2": 4, "layer3": 2}
    for node in walk(modules.tree("nested", [])):
        below = sum(modules.counts("nested")[child["path"]] for child in node["children"])
        assert modules.counts("nested")[node["path"]] == below + len(node["parameters"])


def test_a_switch_reaches_all_below_and_nothing_else() -> None:
    tree = modules.tree("nested", [("", "eval"), ("left", "train"), ("left.right", "eval")])
    modes = {node["path"]: node["training"] for node in walk(tree)}
    assert modes["left"]
    assert modes["left.left.left"]
    assert not modes[""]
    assert not modes["left.right"]
    assert not modes["left.right.left"]
    assert not modes["right"]
