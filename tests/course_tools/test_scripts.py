"""The scripts of `project/` in a student's workspace run the student's library, and say so."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from minitorch.course.stubs import replace_body
from minitorch.course.tasks import TASKS
from minitorch.course.workspace import Workspace, create, material

SCRIPTS = sorted(path.name for path in material("project").glob("*.py"))
RUN = [name for name in SCRIPTS if name not in ("app.py", "which_library.py")]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return create(tmp_path_factory.mktemp("w") / "mine")[0]


def run_script(workspace: Workspace, name: str, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(workspace.root / "project" / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=workspace.root.parent)


@pytest.mark.parametrize("name", ["run_scalar.py", "parallel_check.py", "show_expression.py"])
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


def test_a_mistake_in_the_workspace_shows_in_its_script(tmp_path: Path) -> None:
    workspace = create(tmp_path / "mine")[0]
    workspace.put_solutions(task for task in TASKS if task.module == 0)
    right = run_script(workspace, "run_manual.py", "--seed", "1")
    path = workspace.file("operators.py")
    text = path.read_text()
    path.write_text(text + "\n\ndef sigmoid(x: float) -> float:\n    return 0.25\n")
    wrong = run_script(workspace, "run_manual.py", "--seed", "1")
    assert "correct 50/50" in right.stdout
    assert "correct 50/50" not in wrong.stdout


@pytest.mark.parametrize("floor", ["ground", "torch"])
def test_the_gpt_that_is_trained_is_the_students(tmp_path: Path, floor: str) -> None:
    """On the Torch floor, too, which a workspace finds in the installed library."""
    workspace = create(tmp_path / "mine")[0]
    workspace.put_solutions(TASKS)
    sizes = ["--steps", "1", "--length", "64", "--width", "4", "--heads", "1", "--layers", "1"]
    arguments = ["--floor", floor, *sizes, "--write", "2", "--out", str(tmp_path / "out")]
    right = run_script(workspace, "run_gpt.py", *arguments)
    assert right.returncode == 0, right.stderr
    assert right.stderr.startswith("minitorch: your library, ")
    assert "step 1/1 | loss 4." in right.stdout
    file = {"ground": "transformer.py", "torch": "torch_transformer.py"}[floor]
    text = workspace.file(file).read_text()
    body = "        raise RuntimeError('planted')\n"
    workspace.file(file).write_text(replace_body(text, "GPT.forward", body))
    wrong = run_script(workspace, "run_gpt.py", *arguments)
    assert "RuntimeError: planted" in wrong.stderr


def test_a_script_of_the_reference_says_so() -> None:
    script = material("project") / "show_expression.py"
    command = [sys.executable, str(script), "scalar", "--dot"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.startswith("minitorch: the reference, ")
    assert done.stdout.startswith("digraph")


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
