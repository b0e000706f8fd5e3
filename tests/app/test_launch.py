"""Starting the app: the command line, its settings, and what is said when something is missing."""

from __future__ import annotations

import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from minitorch.app import launch
from minitorch.app.rooms import ROOMS, find_room
from minitorch.cli import main, make_parser
from minitorch.course.tasks import find_task
from minitorch.course.workspace import create, material
from tests.app.streaming import MINITORCH, is_alive, page_elements, running_app, started_by

ROOT = Path(__file__).parents[2]


def started(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """The command and the environment that `minitorch app` starts Streamlit with."""
    seen: list[tuple[list[str], dict[str, str]]] = []

    def start(command: list[str], env: dict[str, str], **_: object) -> None:
        seen.append((command, env))

    monkeypatch.setattr(launch.subprocess, "Popen", start)
    monkeypatch.setattr(launch, "_stay", lambda process: 0)
    assert main(["app", *arguments]) == 0
    return seen[0]


def test_the_app_listens_on_this_machine_unless_told_otherwise(monkeypatch) -> None:
    command, _ = started(monkeypatch, "2")
    assert command[command.index("--server.address") + 1] == "localhost"
    assert command[-2:] == ["--", "2"]
    command, _ = started(monkeypatch, "--host", "0.0.0.0", "--port", "9000", "--no-browser")
    assert command[command.index("--server.address") + 1] == "0.0.0.0"
    assert command[command.index("--server.port") + 1] == "9000"
    assert command[command.index("--server.headless") + 1] == "true"


def test_the_app_runs_on_the_workspace_it_is_started_in(monkeypatch, tmp_path: Path) -> None:
    create(tmp_path)
    monkeypatch.chdir(tmp_path / "minitorch")
    _, environment = started(monkeypatch)
    assert environment["MINITORCH_WORKSPACE"] == str(tmp_path.resolve())


def test_a_module_must_exist(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        make_parser().parse_args(["app", "7"])
    assert "MODULE" in capsys.readouterr().err


def test_without_streamlit_it_says_what_to_install(monkeypatch, capsys) -> None:
    monkeypatch.setattr(launch.importlib.util, "find_spec", lambda name: None)
    assert main(["app"]) == 2
    assert "pip install 'minitorch[app]'" in capsys.readouterr().err


def test_both_ways_to_start_have_the_same_settings() -> None:
    """`streamlit run project/app.py` reads the file beside that script."""
    own = (launch.SCRIPT.parent / ".streamlit" / "config.toml").read_text()
    assert (ROOT / "project" / ".streamlit" / "config.toml").read_text() == own
    settings = tomllib.loads(own)
    assert settings["server"]["address"] == "localhost"
    assert settings["browser"]["gatherUsageStats"] is False


def test_the_script_of_the_course_says_how_to_start_it() -> None:
    run = subprocess.run(
        [sys.executable, "project/app.py"], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode != 0
    assert "streamlit run project/app.py -- 1" in run.stderr


def test_pages_name_tasks_and_chapters_that_exist() -> None:
    chapters = {path.stem for path in material("docs/guide").glob("*.md")}
    for room in ROOMS:
        assert room.file.is_file()
        assert all(find_task(number) for number in room.tasks)
        assert not room.guide or room.guide in chapters


STREAMLIT = [sys.executable, "-m", "streamlit", "run", "project/app.py"]
STREAMLIT += ["--server.headless", "true", "--server.port"]
COURSE_APP = [MINITORCH, "course", "app", "--no-browser", "--port"]


@pytest.mark.parametrize("command", [COURSE_APP, STREAMLIT], ids=["course app", "streamlit run"])
def test_the_app_opens_in_a_workspace(tmp_path: Path, command: list[str]) -> None:
    """The `minitorch` there, which has no app, hides the installed one."""
    create(tmp_path)
    with running_app(tmp_path, *command) as (_, address):
        elements = page_elements(address, "functions")
    assert not [e.exception.message for e in elements if e.HasField("exception")]
    words = "\n".join(e.markdown.body for e in elements)
    assert find_room("functions").shows in words
    assert "Task 0.1 is still open" in words


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks Linux for processes")
def test_the_app_ends_with_all_that_it_started(tmp_path: Path) -> None:
    """Streamlit, and a lesson that loops for ever, end when `minitorch app` is told to."""
    create(tmp_path)
    (tmp_path / "minitorch" / "operators.py").write_text("while True:\n    pass\n")
    with running_app(tmp_path) as (process, address), ThreadPoolExecutor() as pool:
        asked = pool.submit(page_elements, address, "functions")
        processes: set[int] = set()
        while len(processes) < 2 and not asked.done():
            processes = started_by(process.pid)
            time.sleep(0.05)
        assert len(processes) >= 2
        process.terminate()
        process.wait(60)
        assert not [pid for pid in processes if is_alive(pid)]
        asked.exception()
