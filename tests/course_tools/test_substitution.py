"""Mistakes of earlier tasks do not cost a task whose answers are right."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from minitorch.course.grading import grade
from minitorch.course.sandbox import Limits
from minitorch.course.stubs import solution_file
from minitorch.course.substitution import with_earlier_solutions, with_solutions
from minitorch.course.tasks import BY_NUMBER, find_task
from minitorch.course.workspace import create

from .judged.cases import make_honest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="grading needs Linux or macOS")

WRONG = {
    "as it was": "def relu(x):\n    return abs(x)\n",
    "on one line": "def relu(x): return abs(x)\n",
    "with other arguments": "def relu(number, *, slope=1):\n    return abs(number)\n",
    "as a lambda": "relu = lambda x: abs(x)\n",
    "written twice": "def relu(x):\n    raise NotImplementedError\n\ndef relu(x):\n    return x\n",
    "not at all": "",
    "in Latin-1": "# -*- coding: latin-1 -*-\ndef relu(x):\n    return '\xe9'\n",
}


@pytest.mark.parametrize("style", WRONG)
def test_functions_are_replaced_in_every_style(style: str) -> None:
    text = '"""Mine."""\nfrom __future__ import annotations\n' * (style != "in Latin-1")
    text += WRONG[style] + "def exp(x):\n    return 'mine'\n"
    names: dict = {}
    exec(with_solutions(text.encode("latin-1"), "operators.py", ["relu", "log", "Gone.one"]), names)
    assert names["relu"](-2.0) == 0.0
    assert names["relu"](3.0) == 3.0
    assert names["log"](1.0) == pytest.approx(0.0, abs=1e-5)  # it has math and EPS
    assert names["exp"](1.0) == "mine"


def test_methods_and_inner_functions_are_replaced() -> None:
    text = solution_file("fast_ops.py").replace("def _map(", "def _map(wrong, ")
    assert "wrong" not in with_solutions(text.encode(), "fast_ops.py", ["tensor_map._map"])
    text = "class Module:\n    train = lambda self: None\n"
    names: dict = {}
    exec(with_solutions(text.encode(), "module.py", ["Module.train"]), names)
    assert names["Module"].train.__name__ == "train"


def test_only_what_comes_before_a_task_is_taken() -> None:
    stub = "def {}():\n    raise NotImplementedError\n"
    files = {place.file: b"" for task in BY_NUMBER.values() for place in task.places}
    for name in ("autodiff.py", "operators.py"):
        files[name] = "".join(map(stub.format, ("relu", "central_difference"))).encode()
    changed = with_earlier_solutions(files, find_task("1.1"))
    assert changed is not None
    assert changed["autodiff.py"] == files["autodiff.py"]
    assert changed["operators.py"].count(b"NotImplementedError") == 1
    assert not with_earlier_solutions(files, find_task("0.1"))
    files["operators.py"] = b"-" * 100_000 + b"1"
    assert with_earlier_solutions(files, find_task("1.1")) is None


def test_a_wrong_function_costs_its_own_task_alone(tmp_path: Path) -> None:
    folder = make_honest(tmp_path, "one function wrong")
    (g,) = grade([folder], [find_task("0.1"), find_task("0.3")], Limits(seconds=100))
    assert [mark.points for mark in g.marks] == [0.0, 10.0]
    assert g.marks[1].passed == g.marks[1].total


_KEEPS_SOLUTIONS = """
import os, sys
_here = os.path.join(os.path.dirname(__file__), "operators.py")
_places = [".", "..", "/tmp", "/dev/shm", "/var/tmp", os.path.expanduser("~"), KEPT, os.path.dirname(__file__)]
_text = open(_here).read()
for _place in _places:
    try:
        if _text.count("Need to implement for Task 0.1") == 0:
            open(os.path.join(_place, "kept_by_a_test.py"), "w").write(_text)
        from . import operators
        exec(open(os.path.join(_place, "kept_by_a_test.py")).read(), vars(operators))
    except (OSError, PermissionError, ImportError):
        pass
if "pytest" in sys.modules and "Need to implement for Task 0.1" in _text:
    raise RuntimeError("run me again, with the solutions")
"""


def test_solutions_that_tests_see_are_not_kept_for_questions(tmp_path: Path) -> None:
    """A right answer whose tests fail on purpose, to find out what comes before it."""
    kept = tmp_path / "kept"
    kept.mkdir(mode=0o777)
    workspace, _ = create(tmp_path / "submission")
    workspace.put_solutions([BY_NUMBER["1.1"]])
    path = tmp_path / "submission" / "minitorch" / "autodiff.py"
    path.write_text(f"{path.read_text()}\n{_KEEPS_SOLUTIONS.replace('KEPT', repr(str(kept)))}")
    tasks = [find_task(number) for number in ("1.1", "0.1")]  # what it saw is asked for later
    (g,) = grade([tmp_path / "submission"], tasks, Limits(seconds=100))
    assert [mark.points for mark in g.marks] == [10.0, 0.0], g.marks
    assert list(kept.iterdir()) == []
    assert "def relu" not in "".join(mark.note for mark in g.marks)
