"""The scripts of `project/` in a student's workspace run the student's library, and say so."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from numba import NumbaPerformanceWarning

from minitorch.course.workspace import Workspace, create, material

SCRIPTS = sorted(path.name for path in material("project").glob("*.py"))
RUN = [name for name in SCRIPTS if name not in ("app.py", "which_library.py")]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return create(tmp_path_factory.mktemp("w") / "mine")[0]


def run_script(workspace: Workspace, name: str, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(workspace.root / "project" / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=workspace.root.parent)


@pytest.mark.parametrize("name", ["run_scalar.py", "run_fast_tensor.py", "show_expression.py"])
def test_a_script_meets_the_students_open_places(workspace: Workspace, name: str) -> None:
    done = run_script(workspace, name)
    assert done.stderr.splitlines()[0] == f"minitorch: your library, {workspace.root / 'minitorch'}"
    assert "NotImplementedError: Need to implement for Task" in done.stderr
    assert done.returncode == 1


@pytest.mark.parametrize("name", RUN)
def test_every_script_looks_beside_its_folder_first(name: str) -> None:
    """`which_library` comes before `minitorch`, and is asked which one it is."""
    tree = ast.parse((material("project") / name).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom | ast.Import)]
    modules = [getattr(node, "module", None) or node.names[0].name for node in imports]
    own = next(i for i, module in enumerate(modules) if module.startswith("minitorch"))
    assert "which_library" in modules[:own]
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert any(isinstance(call, ast.Name) and call.id == "say_which" for call in calls)


def test_a_script_of_the_reference_says_so() -> None:
    script = material("project") / "show_expression.py"
    command = [sys.executable, str(script), "scalar", "--dot"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.startswith("minitorch: the reference, ")
    assert done.stdout.startswith("digraph")


def test_the_report_on_an_unwritten_kernel_is_its_task(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def kernel() -> None:
        warnings.warn(NumbaPerformanceWarning("nothing is parallel"), stacklevel=1)
        raise NotImplementedError("Need to implement for Task 3.1")

    monkeypatch.syspath_prepend(material("project"))
    script = importlib.import_module("parallel_check")
    monkeypatch.setattr(script, "KERNELS", {"map": lambda: (kernel, [])})
    monkeypatch.setattr(sys, "argv", ["parallel_check.py"])
    with warnings.catch_warnings(record=True) as caught:
        script.main()
    assert capsys.readouterr().out == "\nMAP\n\nNeed to implement for Task 3.1\n"
    assert not caught


COMMAND = "import sys; from minitorch_command import main; sys.exit(main())"


def run_command(workspace: Workspace, *words: str) -> subprocess.CompletedProcess:
    """A `minitorch` command as a student runs it whose PYTHONPATH names the workspace."""
    command = [sys.executable, "-P", "-c", COMMAND, *words]
    variables = os.environ | {"PYTHONPATH": str(workspace.root)}
    return subprocess.run(
        command, capture_output=True, text=True, cwd=workspace.root, env=variables
    )


def test_the_command_is_the_installed_librarys(workspace: Workspace) -> None:
    done = run_command(workspace, "course", "status")
    assert done.returncode == 0, done.stderr
    assert "0.1" in done.stdout


def test_training_says_whose_library_it_is(workspace: Workspace, tmp_path: Path) -> None:
    words = ["train", "simple", "--epochs", "1", "--plain", "--no-picture", "--out", str(tmp_path)]
    done = run_command(workspace, *words)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("minitorch: the installed library, ")
    assert str(workspace.root / "project") in done.stderr.splitlines()[0]
