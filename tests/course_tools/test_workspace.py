"""Tasks as data, stubs by position, workspaces that never lose work."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from docs.site.pages import dead_links
from minitorch.course.guide import section
from minitorch.course.plain_answers import plain_answers, write_answer
from minitorch.course.stubs import LIBRARY, body_of, is_open, replace_body, solution_file, stub_file
from minitorch.course.tasks import TASKS, Place, Task, find_task
from minitorch.course.workspace import CourseError, Workspace, course_files, create

PLACES = [(task, place) for task in TASKS for place in task.places]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return create(tmp_path_factory.mktemp("w") / "w")[0]


def test_every_function_has_three_hints() -> None:
    from minitorch.course.commands import hint_for

    assert len(PLACES) >= 100
    for task, place in PLACES:
        hints = [hint_for(task, place.name, level) for level in (1, 2, 3)]
        assert all(len(hint) > 5 for hint in hints), place
        assert len(set(hints)) == 3, place


def test_tasks_are_those_of_the_course() -> None:
    numbers = [f"{m}.{t}" for m in range(5) for t in range(1, 6)]
    found = [task.number for task in TASKS if task.module < 5]
    assert found == [*numbers[:-1], "4.4b", numbers[-1]]
    assert find_task("task0_1") is find_task("0.1") is find_task("0_1")
    with pytest.raises(ValueError, match="there is no task"):
        find_task("7.7")


@pytest.mark.parametrize("file", sorted({place.file for _, place in PLACES}))
def test_only_bodies_are_taken_away(file: str) -> None:
    """Docstrings, types and everything around the bodies stay, byte for byte."""
    solution, stub = solution_file(file), stub_file(file)
    for name in [place.name for _, place in PLACES if place.file == file]:
        assert is_open(stub, name)
        assert not is_open(solution, name)
        solution = replace_body(solution, name, body_of(stub, name))
    assert stub == solution
    ast.parse(stub)


@pytest.mark.parametrize(
    "text", ["", "[]", "[" * 100_000, '{"module": 99, "passed": [1], "last": "x"}', "\xff"]
)
def test_damaged_notes_are_those_of_the_start(tmp_path: Path, text: str) -> None:
    (tmp_path / ".minitorch").mkdir()
    (tmp_path / ".minitorch" / "course.json").write_text(text, encoding="latin1")
    workspace = Workspace(tmp_path)
    assert workspace.notes() == {"module": 0, "passed": {}, "last": None}
    workspace.note(module=2)
    assert workspace.notes()["module"] == 2


def test_a_fresh_workspace_imports(workspace: Workspace) -> None:
    code = (
        "import minitorch as m; m.fast_ops, m.fast_conv, m.cuda_ops, m.cuda_conv; print(m.__file__)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=workspace.root,
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert run.stdout.strip() == str(workspace.file("__init__.py")), run.stderr
    assert [p.name for p in (workspace.root / "minitorch" / "torch").glob("*.py")] == [
        "__init__.py"
    ]
    assert (workspace.root / "project" / "run_scalar.py").exists()
    assert all(workspace.file(name).exists() for name in course_files())


def test_files_of_a_workspace_import_what_is_there(workspace: Workspace) -> None:
    """Also inside functions: `make lint` looks at these."""
    for name in course_files():
        folder = workspace.file(name).parent
        for node in ast.walk(ast.parse(workspace.text(name))):
            if isinstance(node, ast.ImportFrom) and node.level:
                path = [folder, *folder.parents][node.level - 1].joinpath(
                    *(node.module or "").split(".")
                )
                assert path.is_dir() or path.with_suffix(".py").is_file(), (name, node.module)


def test_the_torch_floor_stands_on_a_workspace(workspace: Workspace) -> None:
    """`minitorch.torch` is the installed one, and its modules are the student's."""
    code = (
        "import minitorch.torch as torch, minitorch.module as m\n"
        "print(torch.__file__, m.__file__, issubclass(torch.nn.Linear, m.Module))\n"
        "from minitorch.torch.nn import functional as F\n"
        "print(F.gelu(torch.tensor(0.0)).item(), F.__file__)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=workspace.root, capture_output=True, text=True
    )
    floor = LIBRARY / "torch"
    assert run.stdout.splitlines() == [
        f"{floor / '__init__.py'} {workspace.file('module.py')} True",
        f"0.0 {floor / 'nn' / 'functional.py'}",
    ], run.stderr


def test_nothing_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, written = create(tmp_path / "w")
    assert written > 50
    path = workspace.file("operators.py")
    path.write_text("mine = 1\n")
    (workspace.root / "README.md").unlink()
    assert create(tmp_path / "w")[1] == 1
    assert path.read_text() == "mine = 1\n"
    monkeypatch.chdir(workspace.root / "minitorch")
    assert Workspace.find().root == workspace.root
    _, saved = workspace.reset("operators.py")
    assert saved is not None
    assert (saved / "minitorch" / "operators.py").read_text() == "mine = 1\n"
    assert path.read_text() == stub_file("operators.py")
    with pytest.raises(CourseError, match="not a file of the course"):
        workspace.reset("../../etc/passwd")


def test_a_workspace_without_its_mark_gets_it_back(tmp_path: Path) -> None:
    """What an untidy hand, or `git clean`, takes away is not the end of a student's work."""
    workspace, _ = create(tmp_path / "my work")
    workspace.file("operators.py").write_text("mine = 1\n")
    shutil.rmtree(workspace.root / ".minitorch")
    with pytest.raises(CourseError, match=r"is missing. `minitorch course new '.*my work'` makes"):
        Workspace.find(workspace.root / "minitorch")
    again, written = create(workspace.root)
    assert written == 1
    assert again.text("operators.py") == "mine = 1\n"
    assert Workspace.find(workspace.root / "minitorch").root == workspace.root


def test_other_peoples_folders_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "minitorch").mkdir()
    with pytest.raises(CourseError, match="choose another folder"):
        create(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(CourseError, match="is a file"):
        create(tmp_path / "file")
    with pytest.raises(CourseError, match="not inside a workspace"):
        Workspace.find(tmp_path)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.number)
def test_the_guide_of_a_workspace_explains_every_task(workspace: Workspace, task: Task) -> None:
    found = section(task)
    lines = (workspace.root / found.page).read_text().splitlines()
    assert lines[found.line - 1].startswith(f"## Task {task.number}: ")
    assert found.text.startswith(lines[found.line - 1])
    assert found.page != f"docs/guide/module{task.module}.md"


def test_links_of_the_guide_stay_in_the_workspace(workspace: Workspace) -> None:
    pages = sorted((workspace.root / "docs" / "guide").glob("*.md"))
    assert len(pages) > 25
    assert [(path.name, link) for path in pages for link in dead_links(path)] == []


def in_terminal(workspace: Workspace) -> dict[str, Any]:
    """Options with which a command runs in a workspace and finds the tools."""
    tools = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    return {"cwd": workspace.root, "env": environment, "capture_output": True, "text": True}


def test_make_lint_has_nothing_to_say_about_a_workspace(tmp_path: Path) -> None:
    made, _ = create(tmp_path / "w")
    made.put_solutions(TASKS[::2])
    options = in_terminal(made)
    planned = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "lint"], check=True, **options
    )
    assert planned.stdout.splitlines() == ["ruff format --check", "ruff check", "pyright"]
    rewritten = ["minitorch/fast_conv.py", "minitorch/cuda_ops.py"]  # all files take twice as long
    for command in (["ruff", "format", "--check"], ["ruff", "check"], ["pyright", *rewritten]):
        run = subprocess.run(command, **options)
        assert run.returncode == 0, run.stdout + run.stderr


def test_installing_a_workspace_leaves_the_tools_alone(workspace: Workspace) -> None:
    """Under the library's name, pip would take the library away, and its commands with it."""
    settings = tomllib.loads((workspace.root / "pyproject.toml").read_text())
    assert settings["project"]["name"] != "minitorch"
    assert settings["tool"]["setuptools"]["packages"] == []


def test_make_format_leaves_nothing_but_what_a_student_decides(tmp_path: Path) -> None:
    """What a hint spells out, here `zip(ls1, ls2)`, is no fault of style; the rest is put into shape all the same."""
    workspace, _ = create(tmp_path / "w")
    for (file, name), body in plain_answers().items():
        write_answer(workspace, Place(file, name, "", ""), body)
    options = in_terminal(workspace)
    subprocess.run(["make", "format"], check=True, **options)
    assert subprocess.run(["ruff", "format", "--check"], **options).returncode == 0
    found = subprocess.run(["ruff", "check", "--output-format", "concise"], **options).stdout
    assert {line.split()[1] for line in found.splitlines() if ": " in line} <= {
        "B007"
    }  # unused names
