"""The tasks of module 0: numbers, functions, trees of parameters."""

from __future__ import annotations

from .record import Task, places

_OPERATORS = places(
    "operators.py",
    ("mul", "One line of Python.", "return x * y"),
    ("id", "Gives back what it got.", "return x"),
    ("add", "One line of Python.", "return x + y"),
    ("neg", "The sign changes, nothing else.", "return -x"),
    ("lt", "Not a bool: 1.0 or 0.0, so that tensors can hold it.", "return 1.0 if x < y else 0.0"),
    ("eq", "Exactly equal, and 1.0 or 0.0, not a bool.", "return 1.0 if x == y else 0.0"),
    ("max", "Compare the two; Python's own max is shadowed here.", "return x if x > y else y"),
    ("is_close", "The distance has no sign: abs.", "return 1.0 if abs(x - y) < 1e-2 else 0.0"),
    (
        "sigmoid",
        "math.exp overflows for large arguments, so exp must only ever see numbers below 0. "
        "Two formulas give the same value: 1 / (1 + e^-x) and e^x / (1 + e^x).",
        "Where x >= 0 take the first formula, else the second, both with math.exp: "
        "a call of this file's own exp cannot be compiled in module 3.",
    ),
    ("relu", "Positive numbers pass, all others become 0.0.", "return x if x > 0 else 0.0"),
    ("log", "The logarithm of 0 must be finite: add EPS first.", "return math.log(x + EPS)"),
    ("exp", "math has it.", "return math.exp(x)"),
    ("inv", "One divided by x.", "return 1.0 / x"),
    ("log_back", "The derivative of log(x + EPS) is 1 / (x + EPS).", "return d / (x + EPS)"),
    ("inv_back", "The derivative of 1/x is -1/x².", "return -d / (x * x)"),
    (
        "relu_back",
        "The slope is 1 right of 0 and 0 elsewhere, at 0 too.",
        "return d if x > 0 else 0.0",
    ),
)

_FUNCTIONAL = places(
    "operators.py",
    (
        "map",
        "It does not compute anything yet: it returns a function, which will be given the list.",
        "Define a function inside that takes ls and returns [fn(x) for x in ls]; return it.",
    ),
    (
        "zipWith",
        "As map, with the elements of two lists in pairs; Python's zip stops at the shorter.",
        "Inside: [fn(x, y) for x, y in zip(ls1, ls2)].",
    ),
    (
        "reduce",
        "Keep a total. It begins with start, and fn combines it with each element in order.",
        "Inside: total = start; for each x: total = fn(total, x); return total.",
    ),
    ("negList", "There are map and neg already.", "return map(neg)(ls)"),
    ("addLists", "There are zipWith and add already.", "return zipWith(add)(ls1, ls2)"),
    ("sum", "A reduction with add; what must it start from?", "return reduce(add, 0.0)(ls)"),
    (
        "prod",
        "A reduction with mul; 0 times anything is 0, so what must it start from?",
        "return reduce(mul, 1.0)(ls)",
    ),
)

_MODULES = places(
    "module.py",
    (
        "Module.train",
        "A module's children are modules too: ask them to do the same.",
        "Set self.training, then call train() of every module of self.modules().",
    ),
    (
        "Module.eval",
        "As train, with False.",
        "Set self.training, then call eval() of every module of self.modules().",
    ),
    (
        "Module.named_parameters",
        "Own parameters first. A child's list comes from the child, and every name in it gets "
        "the child's name and a dot in front.",
        "Begin with list(self._parameters.items()); for child_name, child in "
        "self._modules.items() add (f'{child_name}.{name}', p) for each of the child's pairs.",
    ),
    (
        "Module.parameters",
        "The same, without the names.",
        "return [p for _, p in self.named_parameters()]",
    ),
)

_PROPERTIES = places(
    "properties.py",
    (
        "arithmetic_properties",
        "What does one operator undo of another, and which number changes nothing?",
        "assert ops.add(x, y) == ops.add(y, x)\n"
        "assert ops.add(x, 0.0) == x\n"
        "assert ops.add(x, ops.neg(x)) == 0.0\n"
        "assert ops.mul(x, y) == ops.mul(y, x)\n"
        "assert ops.mul(x, 1.0) == x\n"
        "assert abs(ops.mul(z, ops.add(x, y)) - ops.add(ops.mul(z, x), ops.mul(z, y))) < 1e-6\n"
        "if x != 0.0:\n"
        "    assert abs(ops.mul(x, ops.inv(x)) - 1.0) < 1e-6",
    ),
    (
        "comparison_properties",
        "Symmetry alone also holds of a minimum. Ask for what only the right function has, and try "
        "numbers that are equal, and numbers that are just close enough or not.",
        "Of lt(x, y), lt(y, x) and eq(x, y) one is 1.0; lt is transitive, and lt(x, x + 1) is 1.0; "
        "max is one of both and not smaller than either; is_close(x, x + 0.005) is 1.0 both ways "
        "round, is_close(x, x + 0.02) and is_close(x + 1, x) are 0.0.",
    ),
    (
        "sigmoid_properties",
        "Many curves lie between 0 and 1. Which side does yours rise to, and what is it at 0?",
        "assert 0.0 <= ops.sigmoid(x) <= 1.0\n"
        "assert ops.sigmoid(0.0) == 0.5\n"
        "assert abs(ops.sigmoid(-x) - (1.0 - ops.sigmoid(x))) < 1e-6\n"
        "if x < y:\n"
        "    assert ops.sigmoid(x) <= ops.sigmoid(y)\n"
        "assert ops.sigmoid(1.0) > 0.7 and ops.sigmoid(20.0) > 0.999",
    ),
    (
        "relu_properties",
        "Make a positive and a negative number of x: what must relu, and relu_back, give for each?",
        "assert ops.relu(abs(x)) == abs(x)\n"
        "assert ops.relu(-abs(x)) == 0.0\n"
        "assert ops.relu_back(abs(x) + 1.0, d) == d\n"
        "assert ops.relu_back(-abs(x), d) == 0.0",
    ),
)

_BY_HAND = places(
    "training/manual_points.py",
    (
        "Linear.forward",
        "The parameters are self.w1, self.w2 and self.bias; a parameter's number is its value.",
        "return self.w1.value * x1 + self.w2.value * x2 + self.bias.value",
    ),
    (
        "Network.forward",
        "A module is called like a function: self.linear(x1, x2).",
        "return operators.sigmoid(self.linear(x[0], x[1]))",
    ),
    (
        "simple_line",
        "The label depends on x1 alone, and falls from 1 to 0 as x1 grows.",
        "return -1.0, 0.0, 0.5",
    ),
    (
        "diag_line",
        "Where is x1 + x2 - 0.5 negative, and what is its sign on the side of label 1?",
        "return -1.0, -1.0, 0.5",
    ),
)

TASKS: tuple[Task, ...] = (
    Task(
        "0.1",
        "Operators",
        _OPERATORS,
        ("test_operators.py",),
        "Functions of one and two numbers. Each uses only math, takes and returns floats, and "
        "calls no other function of the file: later, each is compiled into a kernel.",
    ),
    Task(
        "0.2",
        "Testing and debugging",
        _PROPERTIES,
        ("test_operators.py", "test_properties.py"),
        "Tests that say what holds for all numbers. They run on right operators, on which they "
        "must pass, and on wrong ones, on which they must fail.",
    ),
    Task(
        "0.3",
        "Functional Python",
        _FUNCTIONAL,
        ("test_operators.py", "test_examples.py"),
        "map, zipWith and reduce take a function and return a function of lists. The rest is "
        "built from them, without loops.",
    ),
    Task(
        "0.4",
        "Modules",
        _MODULES,
        ("test_module.py", "test_examples.py"),
        "A module is a node of a tree. Whatever it is asked, it answers for itself and passes "
        "the question on to its children.",
    ),
    Task(
        "0.5",
        "Train by hand",
        _BY_HAND,
        ("test_networks.py",),
        "A line with three parameters separates the points. You choose the parameters yourself.",
        points=5,
    ),
)
