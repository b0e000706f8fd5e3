"""Mistakes of module 0."""

from __future__ import annotations

from .record import Mistake, in_file

MISTAKES: list[Mistake] = [
    *in_file(
        "task0_1",
        "operators.py",
        (
            "sigmoid overflows far to the left",
            "math.exp overflows above 709. Left of 0 use e^x / (1 + e^x).",
            "    if x >= 0:\n        return 1.0 / (1.0 + math.exp(-x))\n"
            "    e = math.exp(x)\n    return e / (1.0 + e)",
            "    return 1.0 / (1.0 + math.exp(-x))",
        ),
        (
            "sigmoid without the minus",
            "It falls where it should rise. Is it exp(-x) in the denominator?",
            "return 1.0 / (1.0 + math.exp(-x))",
            "return 1.0 / (1.0 + math.exp(x))",
        ),
        (
            "sigmoid calls exp of this file",
            "operators.sigmoid calls operators.exp; Numba (module 3) cannot compile that. Use math.exp.",
            "    e = math.exp(x)\n",
            "    e = exp(x)\n",
        ),
        (
            "relu is abs",
            "Negative numbers become 0, not positive.",
            "return 0.0 if x <= 0 else float(x)",
            "return abs(float(x))",
        ),
        (
            "relu_back lets 0 through",
            "At 0 the derivative is taken to be 0: x > 0, not x >= 0.",
            "return float(d) if x > 0 else 0.0",
            "return float(d) if x >= 0 else 0.0",
        ),
        (
            "relu_back forgets d",
            "Right when d is 1, wrong otherwise. Is d multiplied in?",
            "return float(d) if x > 0 else 0.0",
            "return 1.0 if x > 0 else 0.0",
        ),
        (
            "relu_back looks at d",
            "Whether the gradient passes depends on x, not on d.",
            "return float(d) if x > 0 else 0.0",
            "return float(d) if d > 0 else 0.0",
        ),
        (
            "inv_back without the minus",
            "The sign is wrong: 1/x falls, so its derivative is negative.",
            "return -d / (x * x)",
            "return d / (x * x)",
        ),
        (
            "inv_back divides by x once",
            "The derivative of 1/x is -1/x²; x appears squared.",
            "return -d / (x * x)",
            "return -d / x",
        ),
        (
            "log without EPS",
            "log(0) must be finite: math.log(x + EPS).",
            "return math.log(x + EPS)",
            "return math.log(x)",
        ),
        (
            "log_back forgets d",
            "Right when d is 1, wrong otherwise. Is d multiplied in?",
            "return d / (x + EPS)",
            "return 1.0 / (x + EPS)",
        ),
        (
            "log_back without EPS",
            "log is log(x + EPS), so its derivative is 1 / (x + EPS), finite at 0.",
            "return d / (x + EPS)",
            "return d / x",
        ),
        (
            "is_close without abs",
            "Far apart in one direction counts as close. The distance is abs(x - y).",
            "abs(x - y) < 1e-2",
            "(x - y) < 1e-2",
        ),
        (
            "is_close too wide",
            "Close means less than 0.01 apart: 1e-2.",
            "abs(x - y) < 1e-2",
            "abs(x - y) < 1e-1",
        ),
        (
            "eq is close",
            "eq is exact equality; being near is is_close's business.",
            "1.0 if x == y else 0.0",
            "1.0 if abs(x - y) < 1e-2 else 0.0",
        ),
        (
            "lt is at most",
            "A number is not less than itself: x < y, not x <= y.",
            "1.0 if x < y else 0.0",
            "1.0 if x <= y else 0.0",
        ),
        (
            "lt gives a bool",
            "Comparisons return 1.0 or 0.0, not True or False: tensors hold floats.",
            "return 1.0 if x < y else 0.0",
            "return x < y",
        ),
    ),
    *in_file(
        "task0_1",
        "operators.py",
        (
            "max is min",
            "The smaller one came out. Look at the comparison.",
            "float(x) if x > y else float(y)",
            "float(x) if x < y else float(y)",
        ),
        (
            "add subtracts",
            "The sign of the second number is wrong.",
            "return float(x + y)",
            "return float(x - y)",
        ),
        (
            "inv is neg",
            "inv is one divided by x; minus x is neg.",
            "return 1.0 / x\n",
            "return -x\n",
        ),
    ),
    *in_file(
        "task0_3",
        "operators.py",
        (
            "zipWith swaps its arguments",
            "fn gets the element of the first list first: fn(x, y).",
            "[fn(x, y) for x, y",
            "[fn(y, x) for x, y",
        ),
        (
            "zipWith pairs everything",
            "Walk the two lists side by side (zip), not every x with every y.",
            "in zip(ls1, ls2, strict=False)",
            "in [(x, y) for x in ls1 for y in ls2]",
        ),
        (
            "reduce ignores its start",
            "The total begins with start, not with 0.",
            "total = float(start)",
            "total = 0.0",
        ),
        (
            "reduce folds the wrong way round",
            "The total is fn's first argument: total = fn(total, x).",
            "total = fn(total, x)",
            "total = fn(x, total)",
        ),
        (
            "prod starts at 0",
            "0 times anything is 0: a product starts from 1.",
            "reduce(mul, 1.0)(ls)",
            "reduce(mul, 0.0)(ls)",
        ),
        (
            "sum starts at 1",
            "A sum starts from 0, which changes nothing.",
            "reduce(add, 0.0)(ls)",
            "reduce(add, 1.0)(ls)",
        ),
        (
            "addLists multiplies",
            "Pass add to zipWith, not mul.",
            "return zipWith(add)(ls1, ls2)",
            "return zipWith(mul)(ls1, ls2)",
        ),
        (
            "map drops the last",
            "The last element is missing. Look at where the loop ends.",
            "return [fn(x) for x in ls]",
            "return [fn(x) for x in list(ls)[:-1]]",
        ),
    ),
    *in_file(
        "task0_4",
        "module.py",
        (
            "train and eval stop at the module itself",
            "The mode must reach the children: call train() or eval() of each.",
            "        for child in self.modules():\n            child._set_training(training)\n",
            "",
        ),
        (
            "train and eval reach only the children",
            "Grandchildren keep their mode. Let the children pass it on: call their train() or eval().",
            "            child._set_training(training)\n",
            "            child.training = training\n",
        ),
        (
            "names without a prefix",
            "A child's parameters are named child.name; prefix and dot are missing.",
            '(f"{child_name}.{name}", p)',
            "(name, p)",
        ),
        (
            "parameters of the children only",
            "Only one level down was searched. Ask each child for its named_parameters().",
            "for name, p in child.named_parameters()]",
            "for name, p in child._parameters.items()]",
        ),
        (
            "own parameters only",
            "parameters() must include those of all modules below.",
            "return [p for _, p in self.named_parameters()]",
            "return list(self._parameters.values())",
        ),
        (
            "unknown attributes are None",
            "Unknown names must raise AttributeError, or typing errors go unnoticed.",
            'raise AttributeError(f"{type(self).__name__!r} object has no attribute {key!r}")',
            "return None",
        ),
        (
            "add_parameter returns nothing",
            "add_parameter returns the Parameter it made.",
            "        return parameter\n",
            "        return None  # type: ignore\n",
        ),
        (
            "an old parameter stays behind",
            "An attribute that is assigned another value is no longer a parameter: remove it from _parameters.",
            "            place.pop(key, None)\n",
            "            pass\n",
        ),
        (
            "no gradient asked for",
            "A Parameter tells its value to keep a gradient: x.requires_grad_(True).",
            "            x.requires_grad_(True)\n",
            "",
        ),
    ),
]
