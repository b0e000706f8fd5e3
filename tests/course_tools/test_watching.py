"""What a student sees while writing: what passed and changed since, endless loops, prints, `watch`."""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from minitorch import cuda_device
from minitorch.cli import main
from minitorch.course import checking, watching
from minitorch.course.checking import check
from minitorch.course.inside.watchdog import SIMULATOR, Watchdog, describe, stacks_of_others
from minitorch.course.progress import account, next_task, standing
from minitorch.course.stubs import LIBRARY, with_body
from minitorch.course.tasks import TASKS, find_task
from minitorch.course.workspace import Workspace, create

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    made, _ = create(tmp_path / "w")
    monkeypatch.chdir(made.root)
    made.put_solutions([t for t in TASKS if t.module == 0])
    return made


def write(workspace: Workspace, file: str, name: str, body: str) -> None:
    path = workspace.file(file)
    path.write_text(with_body(path.read_text(), name, body))


def test_passed_is_passed_by_the_code_that_was_judged(
    workspace: Workspace, capsys: Captured
) -> None:
    task, path = find_task("0.4"), workspace.file("module.py")
    assert main(["course", "check", "0.4"]) == 0
    assert standing(workspace, task)[0] == "passed"
    judged = path.read_text()
    path.write_text("# A comment changes nothing.\n" + judged)
    assert standing(workspace, task)[0] == "passed"
    write(workspace, "operators.py", "neg", "return x")
    assert standing(workspace, task)[0] == "passed"  # judged by another task
    write(workspace, "module.py", "Module.parameters", "return []")
    assert standing(workspace, task)[0] == "changed"
    capsys.readouterr()
    assert main(["course", "status"]) == 0
    assert "changed since" in capsys.readouterr().out
    assert not any(t.number == "0.4" for t in [next_task(workspace)])  # 0.1 is first
    path.write_text(judged)
    assert standing(workspace, task)[0] == "passed"


def test_what_was_saved_during_a_check_is_not_what_it_judged(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = find_task("0.4")
    ask = checking.Server.ask

    def saved_meanwhile(self, *arguments):
        result = ask(self, *arguments)
        write(workspace, "module.py", "Module.parameters", "return []")
        return result

    monkeypatch.setattr(checking.Server, "ask", saved_meanwhile)
    result = check(workspace.root, task, quick=True)
    assert result.passed
    account(workspace, result)
    assert standing(workspace, task)[0] == "changed"


def test_an_endless_loop_ends_and_is_named(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "ENDLESS", 1)
    loop = "total = 1.0\nprint('prod', 1.0)\nwhile True:\n    total = total * 1.0\n"
    write(workspace, "operators.py", "prod", loop)
    lines = workspace.text("operators.py").splitlines()
    began = time.process_time()
    result = check(workspace.root, find_task("0.3"))
    assert time.process_time() - began < 20
    said = "\n".join(account(workspace, result))
    assert "prod in minitorch/operators.py still runs after 1 s, at line" in said
    line = int(said.split("at line ")[1].split(".")[0])
    assert "while True" in lines[line - 1] or "total * 1.0" in lines[line - 1]
    assert "Your code printed:\n    prod 1.0" in said


def test_looking_is_no_endless_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a process gets little time, looking at hundreds of stacks may be most of what it does."""
    looks: list[float] = []

    def look(self: Watchdog, stacks: object) -> str:
        looks.append(self.clock)
        until = time.thread_time() + 0.2
        while time.thread_time() < until:
            pass
        return "enough" if len(looks) == 3 else ""

    monkeypatch.setattr(Watchdog, "_look", look)
    monkeypatch.setattr("signal.setitimer", lambda *_: None)
    Watchdog(".", 1.0, lambda where: None).run()
    assert looks[2] - looks[1] < 0.15


def test_an_endless_loop_in_compiled_code_ends_and_is_named(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "ENDLESS", 1)
    workspace.put_solutions(TASKS)
    body = "i = 0\nwhile i < 1:\n    out[0] = f(in_storage[0])\n    i = 0\n"
    write(workspace, "fast_ops.py", "tensor_map._map", body)
    result = check(workspace.root, find_task("3.1"), first=True)
    said = "\n".join(account(workspace, result))
    assert "in minitorch/fast_ops.py still runs after 1 s" in said


LOOKS = """
import faulthandler, gc, sys, threading
sys.path.insert(0, sys.argv[1])
import watchdog

class Knot:
    def __init__(self):
        self.own, self.local = self, threading.local()

faulthandler.dump_traceback_later(30, exit=True)
for n in range(3000):
    gc.set_threshold(n % 40 + 1)
    Knot()
    watchdog.stacks_of_others()
"""


def test_looking_and_collecting_garbage_do_not_wait_for_each_other() -> None:
    """What is thread-local takes the lock under which stacks are looked at."""
    inside = str(LIBRARY / "course" / "inside")
    run = subprocess.run([sys.executable, "-c", LOOKS, inside], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_no_garbage_is_collected_while_stacks_are_walked() -> None:
    """A finalizer may let the thread go on whose frames are looked at."""
    collected: list[str] = []
    end = threading.Event()

    def deep(calls: int) -> None:
        deep(calls - 1) if calls else end.wait()

    def note(phase: str, info: object) -> None:
        collected.append(sys._getframe(1).f_code.co_name)

    thread = threading.Thread(target=deep, args=(100,))
    thread.start()
    before = gc.get_threshold()
    gc.callbacks.append(note)
    gc.set_threshold(5)
    try:
        for _ in range(20):
            stacks_of_others()
            [[] for _ in range(9)]
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(note)
        end.set()
        thread.join()
    assert collected
    assert "_stack" not in collected


KERNEL = """
def launch(jit, look):
    jit(kernel)[1, 3](look)

def kernel(look):
    cuda.syncthreads()
    if cuda.threadIdx.x == 1:
        look()
    cuda.syncthreads()
"""


@pytest.mark.skipif(not cuda_device.SIMULATED, reason="there is a GPU")
def test_an_endless_loop_in_a_simulated_kernel_is_named() -> None:
    """By the kernel's own line, not by that of one who waits for it."""
    watchdog = Watchdog(str(LIBRARY.parent), 20, lambda where: None)
    found: list[str] = []

    def of_the_launch(stack: list[FrameType]) -> bool:  # threads of other tests may wait meanwhile
        return any(f.f_code.co_filename.endswith((SIMULATOR, "kernels.py")) for f in stack)

    def look() -> None:
        for _ in range(2):
            found.append(watchdog._look(list(filter(of_the_launch, stacks_of_others()))))
            watchdog.clock += 20

    def look_from_outside() -> None:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()

    scope: dict[str, Any] = {"cuda": cuda_device.cuda}
    exec(compile(KERNEL, LIBRARY / "kernels.py", "exec"), scope)
    scope["launch"](cuda_device.jit, look_from_outside)
    assert found == ["", describe("kernel", "kernels.py", 8, 20)]


def test_what_functions_print_is_shown(workspace: Workspace) -> None:
    write(workspace, "operators.py", "prod", 'print("prod of", ls)\nreturn 0.0\n')
    said = "\n".join(account(workspace, check(workspace.root, find_task("0.3"), quick=True)))
    assert "Your code printed" in said
    assert "prod of [" in said
    write(workspace, "operators.py", "mul", 'print("mul of", x)\nreturn x * y\n')
    said = "\n".join(account(workspace, check(workspace.root, find_task("0.1"), quick=True)))
    assert "mul calls Python's {'print'}" in said  # that check itself calls nothing
    assert "mul of " in said


def test_what_is_gone_is_named_with_the_remedy(workspace: Workspace) -> None:
    path = workspace.file("operators.py")
    path.write_text(path.read_text().replace("def addLists(", "def add_lists("))
    (workspace.root / "tests/course/test_examples.py").unlink()
    tests = workspace.root / "tests/course/test_operators.py"
    name = "test_eps"
    assert f"def {name}(" in tests.read_text()
    tests.write_text(tests.read_text().replace(f"def {name}(", "def no_test("))
    said = "\n".join(account(workspace, check(workspace.root, find_task("0.3"))))
    assert "addLists is missing from minitorch/operators.py" in said
    assert "`def addLists(" in said
    assert "`minitorch course reset minitorch/operators.py`" in said
    assert "tests/course/test_examples.py is missing" in said
    assert f"tests/course/test_operators.py lacks {name}" in said
    assert "`minitorch course reset tests/course/test_operators.py`" in said
    workspace.file("module.py").unlink()
    said = "\n".join(account(workspace, check(workspace.root, find_task("0.1"))))
    assert "minitorch/module.py is missing" in said


# --- watch ---------------------------------------------------------------------------------------


def watched(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, *saves, task=None) -> str:
    """What `watch` says, with a save each time it waits; after the last it is interrupted."""
    said: list[str] = []
    coming = iter(saves)

    def sleep(_: float) -> None:
        try:
            next(coming)()
        except StopIteration:
            raise KeyboardInterrupt from None

    with monkeypatch.context() as patch:
        patch.setattr(watching.time, "sleep", sleep)
        assert watching.watch(workspace, task, said.append) == 0
    return "\n".join(said)


def test_watch_follows_the_file_that_was_saved(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def save() -> None:
        write(workspace, "module.py", "Module.parameters", "return []")

    said = watched(workspace, monkeypatch, save)
    first, then = said.split("] Task ")[1:3]
    assert first.startswith("0.1")
    assert then.startswith("0.4")
    assert "Task 0.4, Modules: not yet" in then
    assert said.rstrip().endswith("shows how far you are.")


def test_watch_leaves_an_endless_loop_once_it_is_mended(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that the first questions meet."""
    mended, begun = workspace.text("operators.py"), workspace.root / "begun"
    write(workspace, "operators.py", "mul", f"open({str(begun)!r}, 'w')\nwhile True:\n    pass")

    def save() -> None:
        while not begun.exists():
            threading.Event().wait(0.05)
        workspace.file("operators.py").write_text(mended)

    saving = threading.Thread(target=save)
    saving.start()
    said = watched(workspace, monkeypatch, task=find_task("0.1"))
    saving.join()
    assert "still runs after" not in said
    assert "Task 0.1, Operators: passed" in said


def test_watch_says_all_that_check_says(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    write(workspace, "operators.py", "lt", "return x < y")
    write(workspace, "operators.py", "relu", "return abs(x)")
    write(workspace, "operators.py", "inv_back", "return d / (x * x)")
    write(workspace, "operators.py", "neg", "return 1.0 - x")  # no mistake that is known
    said = watched(workspace, monkeypatch, task=find_task("0.1"))
    assert main(["course", "check", "0.1"]) == 1
    out = capsys.readouterr().out.splitlines()
    named = list(itertools.takewhile(str.strip, out[1:]))
    assert len(named) == 4
    assert named[-1] == "  neg(2.0) gives -1.0, expected -2.0."
    for line in named:
        assert said.count(line) == 1


def test_watch_ends_with_a_word(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "is_passed", lambda *_: True)
    said: list[str] = []
    workspace.note(module=0)
    monkeypatch.setattr(watching, "next_task", lambda _: find_task("0.4"))
    assert watching.watch(workspace, None, said.append) == 0
    assert "All tasks are passed" in said[-1]
