"""The lessons of the page of modules, against counting by hand."""

from __future__ import annotations

from minitorch.app.inside import modules
from minitorch.app.opening import app_on, end_libraries
from minitorch.course.tasks import find_task
from minitorch.course.workspace import Workspace, create


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


OWN = """
import minitorch
from minitorch import Module

class Mine(Module):
    def __init__(self, size=2):
        super().__init__()
        self.scale = minitorch.Parameter(0.5)
        self.part = Part(size)

class Part(Module):
    def __init__(self, size):
        super().__init__()
        self.table = minitorch.Parameter(minitorch.zeros((size, 3)))
"""


def test_a_module_of_ones_own(tmp_path) -> None:
    file = tmp_path / "my_module.py"
    file.write_text(OWN)
    assert modules.own_classes(str(file)) == ["Mine", "Part"]
    own = {"file": str(file), "name": "Mine", "arguments": [4]}
    assert modules.names("own", own) == [("scale", 0.5), ("part.table", "tensor (4, 3)")]
    assert modules.counts("own", own) == {"": 2, "part": 1}
    tree = modules.tree("own", [("part", "eval")], own)
    assert (tree["training"], tree["children"][0]["training"]) == (True, False)
    file.write_text(OWN.replace("0.5", "0.75"))
    assert modules.names("own", own)[0] == ("scale", 0.75)


def test_the_page_draws_a_module_of_ones_own(tmp_path) -> None:
    Workspace(create(tmp_path)[0].root).put_solutions([find_task("0.4")])
    with app_on(tmp_path, "modules", example="A module of yours") as app:
        assert "There is no `my_module.py`" in app.info[0].value
        (tmp_path / "my_module.py").write_text(OWN.replace("minitorch.zeros((size, 3))", "1.0"))
        app.run()
        words = "".join(part.value for part in app.markdown)
        assert "gives 2 names and values" in words
        (tmp_path / "my_module.py").write_text("class Mine(:")
        app.run()
        assert "In `my_module.py, line 1`." in [part.value for part in app.markdown]
    end_libraries()


def test_a_switch_reaches_all_below_and_nothing_else() -> None:
    tree = modules.tree("nested", [("", "eval"), ("left", "train"), ("left.right", "eval")])
    modes = {node["path"]: node["training"] for node in walk(tree)}
    assert modes["left"]
    assert modes["left.left.left"]
    assert not modes[""]
    assert not modes["left.right"]
    assert not modes["left.right.left"]
    assert not modes["right"]
