"""Lesson 0: a tree of modules that finds every parameter below it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from minitorch import Module, Parameter

from .strategies import med_ints, small_floats

pytestmark = pytest.mark.task0_4


class Leaf(Module):
    def __init__(self, size: float = 5.0) -> None:
        super().__init__()
        self.a = Parameter(size)
        self.b = Parameter(-size)
        self.note = "user data"

    def forward(self, x: float, scale: float = 1.0) -> float:
        return x * self.a.value * scale


class Middle(Module):
    def __init__(self, size: float = 5.0) -> None:
        super().__init__()
        self.left = Leaf(size)
        self.w = Parameter(size + 1)
        self.right = Leaf(size + 2)


class Root(Module):
    def __init__(self, size: float = 5.0) -> None:
        super().__init__()
        self.p = Parameter(0.0)
        self.middle = Middle(size)
        self.leaf = Leaf(size + 3)


NAMES = [
    "p",
    "middle.w",
    "middle.left.a",
    "middle.left.b",
    "middle.right.a",
    "middle.right.b",
    "leaf.a",
    "leaf.b",
]


def test_names_and_order() -> None:
    assert [name for name, _ in Root().named_parameters()] == NAMES


@given(small_floats)
def test_values(size: float) -> None:
    root = Root(size)
    values = {name: p.value for name, p in root.named_parameters()}
    assert values == {
        "p": 0.0,
        "middle.w": size + 1,
        "middle.left.a": size,
        "middle.left.b": -size,
        "middle.right.a": size + 2,
        "middle.right.b": -size - 2,
        "leaf.a": size + 3,
        "leaf.b": -size - 3,
    }
    assert all(isinstance(p, Parameter) for p in root.parameters())


def test_parameters_are_those_of_named_parameters() -> None:
    root = Root()
    got, named = root.parameters(), root.named_parameters()
    assert len(got) == len(NAMES)
    assert all(p is q for p, (_, q) in zip(got, named, strict=True))
    assert root.middle.left.a in got
    assert isinstance(got, list)
    assert isinstance(named, list)


def test_modules_are_the_direct_children() -> None:
    root = Root()
    assert root.modules() == [root.middle, root.leaf]
    assert Leaf().modules() == []


def test_train_and_eval_reach_every_descendant() -> None:
    root = Root()
    everyone = [root, root.middle, root.leaf, root.middle.left, root.middle.right]
    assert all(m.training for m in everyone)
    root.eval()
    assert not any(m.training for m in everyone)
    root.train()
    assert all(m.training for m in everyone)


def test_mode_of_a_child_alone() -> None:
    root = Root()
    root.middle.eval()
    assert root.training
    assert root.leaf.training
    assert not root.middle.right.training


@given(med_ints, med_ints)
def test_stacked(children: int, own: int) -> None:
    class Stack(Module):
        def __init__(self) -> None:
            super().__init__()
            for i in range(own):
                self.add_parameter(f"own{i}", i)
            for i in range(children):
                setattr(self, f"child{i}", Leaf(i))

    stack = Stack()
    assert len(stack.parameters()) == own + 2 * children
    assert [name for name, _ in stack.named_parameters()][:own] == [f"own{i}" for i in range(own)]
    assert len(stack.modules()) == children


def test_filed_by_type() -> None:
    root = Root()
    assert set(root._parameters) == {"p"}
    assert set(root._modules) == {"middle", "leaf"}
    leaf = root.leaf
    assert set(leaf._parameters) == {"a", "b"}
    assert leaf.note == "user data"
    assert leaf.__dict__["note"] == "user data"
    assert root.p is root._parameters["p"]
    assert root.middle is root._modules["middle"]


def test_add_parameter() -> None:
    module = Module()
    made = module.add_parameter("weight", 3.0)
    assert isinstance(made, Parameter)
    assert made.value == 3.0
    assert made.name == "weight"
    assert module.weight is made
    assert module.named_parameters() == [("weight", made)]


def test_unknown_attribute() -> None:
    root = Root()
    with pytest.raises(AttributeError, match="missing"):
        root.missing  # noqa: B018
    assert not hasattr(root, "missing")
    assert getattr(root, "missing", "default") == "default"


def test_assigning_again() -> None:
    module: Any = Root()
    module.p = Parameter(4.0)
    assert module.p.value == 4.0
    assert len(module.named_parameters()) == len(NAMES)
    module.p = 12
    assert module.p == 12
    assert "p" not in dict(module.named_parameters())
    module.p = Leaf()
    assert "p.a" in dict(module.named_parameters())


def test_two_instances_share_nothing() -> None:
    one, other = Leaf(), Leaf()
    one.c = Parameter(1.0)
    assert not hasattr(other, "c")
    one.a.update(9.0)
    assert other.a.value == 5.0


def test_call_runs_forward() -> None:
    assert Leaf(5.0)(2.0) == 10.0
    assert Leaf(5.0)(2.0, scale=3.0) == 30.0
    with pytest.raises(NotImplementedError):
        Root()(1.0)


def test_repr_is_nested() -> None:
    assert repr(Root()) == "\n".join(
        [
            "Root(",
            "  (middle): Middle(",
            "    (left): Leaf()",
            "    (right): Leaf()",
            "  )",
            "  (leaf): Leaf()",
            ")",
        ]
    )


def test_forgetting_super_init_says_so() -> None:
    class Forgetful(Module):
        def __init__(self) -> None:
            self.p = Parameter(1.0)

    with pytest.raises(AttributeError, match="super"):
        Forgetful()


class Watched:
    """A value that knows about gradients."""

    def __init__(self) -> None:
        self.asked: list[bool] = []

    def requires_grad_(self, x: bool) -> None:
        self.asked.append(x)


def test_parameter() -> None:
    p = Parameter(10, name="ten")
    assert p.name == "ten"
    assert p.value == 10
    assert repr(p) == "10"
    assert str(p) == "10"
    p.update(20)
    assert p.value == 20
    assert Parameter(1).name is None


def test_parameter_asks_for_gradients() -> None:
    first, second = Watched(), Watched()
    p: Any = Parameter(first)
    assert first.asked == [True]
    p.update(second)
    assert second.asked == [True]
    assert p.value is second
