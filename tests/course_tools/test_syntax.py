"""Syntax trees made by several threads at once."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import minitorch
from minitorch.syntax import literal, parse

LIBRARY = Path(minitorch.__file__).parent

HAMMER = """
import ast, gc, sys, threading, time
from minitorch import syntax
from minitorch.app.inside import expression

source = open(ast.__file__, encoding="utf-8").read()
sys.setswitchinterval(1e-6)
gc.set_threshold(50)
gc.callbacks.append(lambda *_: time.sleep(0))  # as Hypothesis does, and objects with finalizers
failures = []

def work(number):
    try:
        for _ in range(6):
            {tree}
    except SystemError as error:
        failures.append(error)

threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit(f"{{failures[0]}}" if failures else 0)
"""

OURS = """
            if number:
                syntax.parse(source)
            with syntax.undisturbed():
                expression.parse("x * y + " * 20 + "1")
            syntax.literal("[[1, 2], " * 20 + "3" + "]" * 20)
"""


def hammer(tree: str) -> str:
    """What goes wrong when four threads make trees."""
    command = [sys.executable, "-c", HAMMER.format(tree=tree.strip())]
    return subprocess.run(command, capture_output=True, text=True, timeout=120).stderr


def test_several_threads_parse_at_once() -> None:
    assert hammer(OURS) == ""


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="CPython 3.11 fails without a lock")
def test_without_a_lock_threads_disturb_each_other() -> None:
    assert "recursion depth mismatch" in hammer("ast.parse(source)")


def test_nothing_else_parses() -> None:
    found = [
        path.relative_to(LIBRARY).as_posix()
        for path in LIBRARY.rglob("*.py")
        if re.search(r"\bast\.(parse|literal_eval)\(|ONLY_AST", path.read_text(encoding="utf-8"))
    ]
    inside = ["app/inside/cuda.py", "app/inside/expression.py"]  # which import no other file
    assert sorted(found) == [*inside, "syntax.py"]


def test_trees_are_those_of_ast() -> None:
    assert ast.dump(parse("x = 1")) == ast.dump(ast.parse("x = 1"))
    assert literal(" (1, [2.5])") == (1, [2.5])
    with pytest.raises(SyntaxError):
        parse("x =")
