"""Submissions that are right, or partly right, in styles that a grader might stumble over.

Each begins with a finished workspace; what it earns and what it loses is said task by task.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from minitorch.course.plain_answers import plain_answers
from minitorch.course.stubs import stub_file, with_body
from minitorch.course.tasks import BY_NUMBER

Change = Callable[[Path], None]


@dataclass(frozen=True)
class Honest:
    """A submission, made by a change of a finished library, and the tasks to grade."""

    change: Change
    earns: str
    loses: str = ""
    solved: tuple[str, ...] = field(default_factory=lambda: tuple(BY_NUMBER))


def bodies(file: str, **new: str) -> Change:
    """Other bodies for functions; `__` in a name stands for a dot."""

    def change(library: Path) -> None:
        text = (library / file).read_text()
        for name, body in new.items():
            text = with_body(text, name.replace("__", "."), body.strip("\n") + "\n")
        (library / file).write_text(text)

    return change


def texts(**edits: Callable[[str], str]) -> Change:
    """Whole files, changed as texts."""

    def change(library: Path) -> None:
        for file, edit in edits.items():
            path = library / f"{file}.py"
            path.write_text(edit(path.read_text()), newline="")

    return change


def both(*changes: Change) -> Change:
    """One change after the other."""

    def change(library: Path) -> None:
        for one in changes:
            one(library)

    return change


def raw(file: str, edit: Callable[[bytes], bytes]) -> Change:
    """A file, changed as bytes."""

    def change(library: Path) -> None:
        (library / file).write_bytes(edit((library / file).read_bytes()))

    return change


def _after_imports(code: str) -> Callable[[str], str]:
    def edit(text: str) -> str:
        body = ast.parse(text).body
        last = [n for n in body if isinstance(n, (ast.Import, ast.ImportFrom))][-1].end_lineno or 0
        lines = text.splitlines(keepends=True)
        return "".join([*lines[:last], "\n", code.strip("\n"), "\n", *lines[last:]])

    return edit


def _at_end(code: str) -> Callable[[str], str]:
    return lambda text: text + "\n\n" + code.strip("\n") + "\n"


def _without_hints(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for a in [*node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]:
                if a is not None:
                    a.annotation = None
    return ast.unparse(tree)


def _remove(*names: str) -> Change:
    def change(library: Path) -> None:
        for name in names:
            (library / name).unlink()

    return change


def _stubs(*files: str, tasks: tuple[str, ...]) -> Change:
    """Files in which only some tasks are still to be written."""

    def change(library: Path) -> None:
        for file in files:
            (library / file).write_text(stub_file(file, [BY_NUMBER[t] for t in tasks]))

    return change


def _nothing(library: Path) -> None:
    pass


def _write(name: str, text: str) -> Change:
    def change(library: Path) -> None:
        (library / name).parent.mkdir(parents=True, exist_ok=True)
        (library / name).write_text(text)

    return change


_LAMBDAS = """
mul = lambda x, y: float(x * y)
id = lambda x: float(x)
add = lambda x, y: float(x + y)
neg = lambda x: -float(x)
lt = lambda x, y: 1.0 if x < y else 0.0
eq = lambda x, y: float(x == y)
relu = lambda x: float(x) * (x > 0) + 0.0
map = lambda fn: lambda ls: [fn(x) for x in ls]
zipWith = lambda fn: lambda a, b: [fn(x, y) for x, y in zip(a, b)]
negList = lambda ls: map(neg)(ls)
addLists = lambda a, b: zipWith(add)(a, b)
"""

_KAHN = """
from collections import Counter, deque
below, queue = {}, [variable]
uses = Counter()
while queue:
    node = queue.pop()
    if node.unique_id in below or node.is_constant():
        continue
    below[node.unique_id] = node
    for parent in node.parents:
        uses[parent.unique_id] += 1
        queue.append(parent)
ready, found = deque([variable] if below else []), []
while ready:
    node = ready.popleft()
    found.append(node)
    for parent in node.parents:
        uses[parent.unique_id] -= 1
        if uses[parent.unique_id] == 0 and not parent.is_constant():
            ready.append(parent)
return found
"""

_COURSE_MAP = """
for i in range(len(out)):
    out_index = np.zeros(len(out_shape), dtype=np.int32)
    in_index = np.zeros(len(in_shape), dtype=np.int32)
    to_index(i, out_shape, out_index)
    broadcast_index(out_index, out_shape, in_shape, in_index)
    o = index_to_position(out_index, out_strides)
    j = index_to_position(in_index, in_strides)
    out[o] = fn(in_storage[j])
"""

_FAST_COURSE_MAP = """
for i in prange(len(out)):
    o, j, rest = 0, 0, np.int64(i)
    for d in range(len(out_shape) - 1, -1, -1):
        at = rest % out_shape[d]
        rest = rest // out_shape[d]
        o += at * out_strides[d]
        e = d - (len(out_shape) - len(in_shape))
        if e >= 0 and in_shape[e] > 1:
            j += at * in_strides[e]
    out[o] = f(in_storage[j])
"""


def _plainly(library: Path) -> None:
    """The answers of a student who read the guide, and nothing else."""
    for (file, name), body in plain_answers().items():
        path = library / file
        path.write_text(with_body(path.read_text(), name, body))


_NUMBERS = "0.1 0.2 0.3 0.4 0.5 1.1 1.2 1.3 1.4 1.5 2.1 2.2 2.3 2.4 2.5"
_KERNELS = "3.1 3.2 3.3 3.4 3.5 4.1 4.2 4.3 4.4 4.4b 4.5"

HONEST: dict[str, Honest] = {
    "plain answers": Honest(_plainly, _NUMBERS),
    "plain kernels": Honest(_plainly, _KERNELS),
    "plain transformers": Honest(_plainly, "5.1 5.2 5.3 5.4 5.5"),
    # --- All, nothing, some ------------------------------------------------------------------
    "finished": Honest(_nothing, _NUMBERS),
    "kernels finished": Honest(_nothing, _KERNELS),
    "transformers finished": Honest(_nothing, "5.1 5.2 5.3 5.4 5.5"),
    "nothing written": Honest(_nothing, "", "0.1 0.2 0.4 1.1 1.4 2.1 4.4", solved=()),
    "the first lesson written": Honest(
        _nothing, "0.1 0.2 0.3 0.4", "1.1 1.2", solved=("0.1", "0.2", "0.3", "0.4")
    ),
    "one task left out": Honest(
        _stubs("autodiff.py", tasks=("1.1",)), "0.3 1.2 1.4", "1.1", solved=tuple(BY_NUMBER)
    ),
    "one function wrong": Honest(
        bodies("operators.py", relu="return abs(float(x))"), "0.3 0.4 1.1", "0.1"
    ),
    "a later task wrong": Honest(
        bodies("scalar_functions.py", Exp__backward="return d_output"), "1.1 1.2 1.3", "1.4"
    ),
    # --- Files that are broken or missing ------------------------------------------------------
    "nn.py does not parse": Honest(
        texts(nn=lambda t: t + "\ndef broken(:\n"), "0.1 1.4 2.3", "4.3 4.4"
    ),
    "scalar.py does not parse": Honest(
        texts(scalar=lambda t: t.replace("class Scalar", "clas Scalar")), "0.1 0.4 1.1", "1.2"
    ),
    "fast_ops.py does not parse": Honest(
        texts(fast_ops=lambda t: t + "\n  odd indent\n"), "0.3 2.2 2.4", "3.2"
    ),
    "nn.py raises when imported": Honest(texts(nn=_at_end("1 / 0")), "0.1 1.1 2.2", "4.4"),
    "nn.py is missing": Honest(_remove("nn.py"), "0.1 1.1 2.2", "4.4"),
    "datasets.py is missing": Honest(_remove("datasets.py"), "0.1 1.1"),
    "__init__.py is missing": Honest(_remove("__init__.py"), "0.1 1.1"),
    # --- Texts and line ends -------------------------------------------------------------------
    "lines end in CR LF": Honest(
        raw("autodiff.py", lambda b: b.replace(b"\n", b"\r\n")), "1.1 1.4"
    ),
    "begins with a byte order mark": Honest(
        raw("operators.py", lambda b: b"\xef\xbb\xbf" + b), "0.1 0.3"
    ),
    "indented by tabs": Honest(
        texts(module=lambda t: re.sub(r"(?m)^( {4})+", lambda m: "\t" * (len(m[0]) // 4), t)), "0.4"
    ),
    "in Latin-1": Honest(
        raw("autodiff.py", lambda b: b"# -*- coding: latin-1 -*-\n# na\xefve \xe9\n" + b), "1.1"
    ),
    "no line end at the end": Honest(raw("autodiff.py", lambda b: b.rstrip() + b"\n# end"), "1.1"),
    "a form feed between functions": Honest(
        texts(operators=lambda t: t.replace("\ndef exp(", "\n\x0c\ndef exp(")), "0.1"
    ),
    # --- Styles ----------------------------------------------------------------------------------
    "lambdas": Honest(texts(operators=_at_end(_LAMBDAS)), "0.1 0.2 0.3"),
    "recursion": Honest(
        bodies(
            "operators.py",
            map="def apply(ls):\n    ls = list(ls)\n    return [fn(ls[0]), *apply(ls[1:])] if ls else []\nreturn apply",
            reduce=(
                "def apply(ls):\n    ls = list(ls)\n"
                "    return fn(apply(ls[:-1]), ls[-1]) if ls else float(start)\nreturn apply"
            ),
        ),
        "0.3",
    ),
    "generators": Honest(
        bodies(
            "operators.py",
            map="def apply(ls):\n    for x in ls:\n        yield fn(x)\nreturn apply",
            zipWith="def apply(a, b):\n    yield from (fn(x, y) for x, y in zip(a, b))\nreturn apply",
        ),
        "0.3",
    ),
    "tools of the standard library": Honest(
        both(
            texts(operators=_after_imports("import functools as ft\nimport itertools as it")),
            bodies(
                "operators.py",
                reduce="return lambda ls: ft.reduce(fn, ls, float(start))",
                zipWith="return lambda a, b: list(it.starmap(fn, zip(a, b)))",
            ),
        ),
        "0.3",
    ),
    "a class that is called": Honest(
        texts(
            operators=_at_end(
                "class reduce:\n"
                "    def __init__(self, fn, start):\n        self.fn, self.start = fn, start\n"
                "    def __call__(self, ls):\n        total = float(self.start)\n"
                "        for x in ls:\n            total = self.fn(total, x)\n        return total\n"
            )
        ),
        "0.3",
    ),
    "one-liners": Honest(
        bodies(
            "autodiff.py",
            central_difference=(
                "g = lambda s: f(*[v + s * epsilon * (i == arg) for i, v in enumerate(vals)]); "
                "return (g(1) - g(-1)) / (2 * epsilon)"
            ),
        ),
        "1.1",
    ),
    "no type hints": Honest(
        texts(autodiff=_without_hints, module=_without_hints, scalar=_without_hints),
        "0.4 1.1 1.3 1.4",
    ),
    "old type hints": Honest(
        both(
            texts(module=_after_imports("from typing import Dict, List, Optional, Tuple")),
            texts(module=lambda t: t.replace("-> list[Parameter]", "-> 'List[Parameter]'")),
        ),
        "0.4",
    ),
    "prints everywhere": Honest(
        bodies(
            "autodiff.py",
            central_difference=(
                "import sys\nprint('called with', vals, '\\x1b[31m', flush=True)\n"
                "print('{\"tests\": []}', file=sys.stderr)\nr, l = list(vals), list(vals)\n"
                "r[arg] += epsilon\nl[arg] -= epsilon\nprint(r, l)\n"
                "return (f(*r) - f(*l)) / (2 * epsilon)"
            ),
        ),
        "1.1",
    ),
    "unusual names": Honest(
        bodies(
            "autodiff.py",
            central_difference=(
                "größe, ε, _ = list(vals), epsilon, None\ndef φ(δ):\n    x = größe[:]\n"
                "    x[arg] += δ\n    return f(*x)\nreturn (φ(ε) - φ(-ε)) / (ε + ε)"
            ),
        ),
        "1.1",
    ),
    "NumPy's numbers": Honest(
        bodies(
            "autodiff.py",
            central_difference=(
                "import numpy as np\nstep = np.zeros(len(vals))\nstep[arg] = epsilon\n"
                "return (f(*(np.array(vals) + step)) - f(*(np.array(vals) - step))) / (2 * epsilon)"
            ),
        ),
        "1.1",
    ),
    "slow": Honest(
        bodies(
            "autodiff.py",
            central_difference=(
                "import time\ntime.sleep(0.02)\nr, l = list(vals), list(vals)\n"
                "r[arg] += epsilon\nl[arg] -= epsilon\nreturn (f(*r) - f(*l)) / (2 * epsilon)"
            ),
        ),
        "1.1",
    ),
    "a helper module": Honest(
        both(
            _write(
                "my_helpers.py",
                "def both(vals, arg, e):\n    for s in (e, -e):\n        x = list(vals)\n        x[arg] += s\n        yield x\n",
            ),
            bodies(
                "autodiff.py",
                central_difference=(
                    "from .my_helpers import both\na, b = both(vals, arg, epsilon)\n"
                    "return (f(*a) - f(*b)) / (2 * epsilon)"
                ),
            ),
        ),
        "1.1",
    ),
    "a helper package, imported absolutely": Honest(
        both(
            _write("mine/__init__.py", "from minitorch.mine.deep import half\n"),
            _write("mine/deep.py", "def half(x):\n    return x / 2\n"),
            bodies(
                "autodiff.py",
                central_difference=(
                    "from minitorch.mine import half\nr, l = list(vals), list(vals)\n"
                    "r[arg] += epsilon\nl[arg] -= epsilon\nreturn half(f(*r) - f(*l)) / epsilon"
                ),
            ),
        ),
        "1.1",
    ),
    "names of the drivers": Honest(
        texts(
            operators=_at_end(
                "def numbers(*a): raise RuntimeError\ndef kind(*a): raise RuntimeError\n"
                "def order(*a): raise RuntimeError\ndef text(*a): raise RuntimeError\n"
            )
        ),
        "0.1 0.3 1.4",
    ),
    "tests itself when imported": Honest(
        texts(
            autodiff=_at_end("assert abs(central_difference(lambda x: x * x, 2.0) - 4.0) < 1e-3")
        ),
        "1.1",
    ),
    "seeds, logs and warns when imported": Honest(
        texts(
            autodiff=_after_imports(
                "import logging, random, warnings\nrandom.seed(1)\nlogging.basicConfig(level=0)\n"
                "logging.warning('hello')\nwarnings.warn('careful')"
            )
        ),
        "1.1 1.4",
    ),
    "an import that may be missing": Honest(
        texts(
            autodiff=_after_imports(
                "try:\n    import matplotlib_of_mine\nexcept ImportError:\n    pass"
            )
        ),
        "1.1",
    ),
    "a decorator of its own": Honest(
        texts(
            autodiff=lambda t: t.replace(
                "def central_difference(",
                "import functools\n\n\ndef counted(fn):\n    @functools.wraps(fn)\n"
                "    def inner(*a, **k):\n        inner.calls += 1\n        return fn(*a, **k)\n"
                "    inner.calls = 0\n    return inner\n\n\n@counted\ndef central_difference(",
            )
        ),
        "1.1",
    ),
    # --- Other ways that are right -------------------------------------------------------------
    "modules walked with a stack": Honest(
        bodies(
            "module.py",
            Module__train="stack = [self]\nwhile stack:\n    m = stack.pop()\n    m.training = True\n    stack.extend(m.modules())",
            Module__eval="stack = [self]\nwhile stack:\n    m = stack.pop()\n    m.training = False\n    stack.extend(m.modules())",
            Module__named_parameters=(
                "def walk(m, start):\n    for k, v in m._parameters.items():\n        yield start + k, v\n"
                "    for k, v in m._modules.items():\n        yield from walk(v, f'{start}{k}.')\n"
                "return list(walk(self, ''))"
            ),
        ),
        "0.4",
    ),
    "another topological order": Honest(bodies("autodiff.py", topological_sort=_KAHN), "1.4"),
    "derivatives in lists of a defaultdict": Honest(
        bodies(
            "autodiff.py",
            backpropagate=(
                "from collections import defaultdict\nfrom functools import reduce\nd = defaultdict(list)\n"
                "d[variable.unique_id] = [deriv]\nfor node in topological_sort(variable):\n"
                "    if not d[node.unique_id]:\n        continue\n"
                "    total = reduce(lambda a, b: a + b, d[node.unique_id])\n"
                "    if node.is_leaf():\n        node.accumulate_derivative(total)\n"
                "    else:\n        for p, v in node.chain_rule(total):\n"
                "            d[p.unique_id].append(v)"
            ),
        ),
        "1.4",
    ),
    "the chain rule as a comprehension": Honest(
        bodies(
            "scalar.py",
            Scalar__chain_rule=(
                "h = self.history\nassert h is not None and h.last_fn is not None\n"
                "d = h.last_fn._backward(h.ctx, d_output)\n"
                "return [(x, d[i]) for i, x in enumerate(h.inputs) if not x.is_constant()]"
            ),
        ),
        "1.3 1.4",
    ),
    "an exception of its own": Honest(
        both(
            texts(tensor_data=_at_end("class MyError(IndexingError):\n    '''Mine.'''\n")),
            bodies(
                "tensor_data.py",
                shape_broadcast=(
                    "n = max(len(shape1), len(shape2))\n"
                    "a = (1,) * (n - len(shape1)) + tuple(shape1)\n"
                    "b = (1,) * (n - len(shape2)) + tuple(shape2)\n"
                    "for x, y in zip(a, b):\n    if x != y and 1 not in (x, y):\n"
                    "        raise MyError(f'{shape1} and {shape2} do not broadcast')\n"
                    "return tuple(y if x == 1 else x for x, y in zip(a, b))"
                ),
            ),
        ),
        "2.2",
    ),
    "loops as in the course": Honest(
        bodies("tensor_ops.py", tensor_map___map=_COURSE_MAP.replace("    ", "    ")), "2.3"
    ),
    "sums in another order": Honest(
        bodies(
            "tensor_ops.py",
            tensor_reduce___reduce=(
                "for i in range(len(out)):\n    index = np.zeros(len(out_shape), np.int32)\n"
                "    to_index(i, out_shape, index)\n    o = index_to_position(index, out_strides)\n"
                "    values = []\n    for k in range(a_shape[reduce_dim]):\n        index[reduce_dim] = k\n"
                "        values.append(float(a_storage[index_to_position(index, a_strides)]))\n"
                "    total = float(out[o])\n    for v in values[::-1]:\n        total = fn(total, v)\n"
                "    out[o] = total"
            ),
        ),
        "2.3",
    ),
    "a compiled map as in the course": Honest(
        bodies("fast_ops.py", tensor_map___map=_FAST_COURSE_MAP), "3.1"
    ),
    "pooling by another order of tiles": Honest(
        bodies(
            "nn.py",
            tile=(
                "b, c, h, w = input.shape\nkh, kw = kernel\n"
                "if kh < 1 or kw < 1 or h % kh or w % kw:\n"
                "    raise IndexingError(f'tile: {kernel} does not divide {input.shape}')\n"
                "t = input.contiguous().view(b, c, h // kh, kh, w // kw, kw)\n"
                "t = t.permute(0, 1, 2, 4, 5, 3).contiguous()\n"
                "return t.view(b, c, h // kh, w // kw, kh * kw), h // kh, w // kw"
            ),
        ),
        "4.3",
    ),
}
"""Name: submission."""
