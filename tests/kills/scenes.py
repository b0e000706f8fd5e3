"""What is killed, and what must hold afterwards."""

from __future__ import annotations

import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import minitorch.torch as torch
from minitorch.course.stubs import solution_file
from minitorch.course.tasks import find_task
from minitorch.course.workspace import MARK, Workspace, _contents, create
from minitorch.training.checkpoint import load_checkpoint

from .killing import Ended, minitorch, python


class Lost(Exception):
    """Something that must hold does not."""


class Scene:
    """A command in a place of its own.

    Attributes:
        endless: whether the command runs until it is killed
    """

    endless = False

    def __init__(self, folder: Path, shared: Path) -> None:
        self.folder = folder
        self.shared = shared
        folder.mkdir()
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.prepare()

    def variables(self) -> dict[str, str]:
        """Of the environment."""
        return {"NUMBA_CACHE_DIR": str(self.shared / "kernels"), "TMPDIR": str(self.temporary)}

    def place(self) -> Path:
        """Where the command runs."""
        return self.folder

    def prepare(self) -> None:
        """Once, before all kills."""

    def restore(self) -> None:
        """Before each kill."""

    def command(self) -> list[str]:
        """What is killed."""
        raise NotImplementedError

    def check(self) -> None:
        """What must hold after the kill."""

    def again(self) -> list[str]:
        """The next run."""
        return self.command()

    def check_again(self, ended: Ended) -> None:
        """What must hold after the next run."""
        if ended.code != 0:
            raise Lost(f"the next run ends with {ended.code}: {ended.text[-1500:]}")

    def leftovers(self) -> list[str]:
        """Temporary files that are still there."""
        ours = [path for path in self.folder.rglob("*") if _is_temporary(path.name)]
        return [str(path.relative_to(self.folder)) for path in [*ours, *self.temporary.iterdir()]]


def _is_temporary(name: str) -> bool:
    return bool(re.search(r"\.(part|new)$|\.tmp\b|\.nb[ic]\.tmp", name))


# --- Training and files ----------------------------------------------------------------------


class Train(Scene):
    """A training run that saves after each epoch."""

    def prepare(self) -> None:
        """No epoch is done."""
        self.path = self.folder / "out" / "checkpoint.npz"
        self.done = 0

    def _train(self, epochs: int) -> list[str]:
        code = "import sys, minitorch.training.session as s; s.SECONDS_BETWEEN_CHECKPOINTS = 0; "
        code += "from minitorch.cli import main; sys.exit(main(sys.argv[1:]))"
        words = [
            "train",
            "digits",
            "--epochs",
            str(epochs),
            "--pts",
            "40",
            "--plain",
            "--no-picture",
        ]
        resume = ["--resume"] if self.path.exists() else []
        return python(code, *words, "--out", "out", *resume)

    def command(self) -> list[str]:
        """Several epochs more."""
        return self._train(self.done + 8)

    def check(self) -> None:
        """The checkpoint is whole, and not older than before."""
        if self.path.exists():
            epoch = load_checkpoint(self.path).history.epoch
            if epoch < self.done:
                raise Lost(f"the checkpoint is of epoch {epoch}, after one of epoch {self.done}")
            self.done = epoch
        elif self.done:
            raise Lost("the checkpoint is gone")

    def again(self) -> list[str]:
        """One epoch more."""
        return self._train(self.done + 1)

    def check_again(self, ended: Ended) -> None:
        """The epoch was done."""
        super().check_again(ended)
        before = self.done
        self.check()
        if self.done != before + 1:
            raise Lost(f"the checkpoint is of epoch {self.done}, not of {before + 1}")


_SAVE = """
import sys
import minitorch.torch as torch
from minitorch.torch import safetensors
n = int(sys.argv[1])
print("begun", flush=True)
while n < int(sys.argv[2]):
    n += 1
    content = {"t": torch.full((200_000,), float(n)), "n": torch.tensor([n])}
    torch.save(content, "a.pt")
    safetensors.save_file(content, "a.safetensors")
"""


class Save(Scene):
    """A loop of `torch.save` and safetensors."""

    endless = True

    def prepare(self) -> None:
        """The first files."""
        self.last = {"a.pt": 0, "a.safetensors": 0}

    def command(self) -> list[str]:
        """Save for ever."""
        return python(_SAVE, str(max(self.last.values())), str(10**9))

    def check(self) -> None:
        """Each file is whole, and not older than before."""
        for name, before in self.last.items():
            if not (self.folder / name).exists():
                if before:
                    raise Lost(f"{name} is gone")
                continue
            content = torch.load(self.folder / name)
            n = int(content["n"])
            if n < before or not bool((content["t"] == n).all()) or len(content["t"]) != 200_000:
                raise Lost(f"{name} holds {n}, after {before}")
            self.last[name] = n

    def again(self) -> list[str]:
        """Save once."""
        return python(_SAVE, str(max(self.last.values())), str(max(self.last.values()) + 1))

    def check_again(self, ended: Ended) -> None:
        """Both files are new."""
        super().check_again(ended)
        self.check()
        if len(set(self.last.values())) > 1:
            raise Lost(f"the next run did not save: {self.last}")


_COMPILE = """
import minitorch
backend = minitorch.TensorBackend(minitorch.FastOps)
x = minitorch.tensor([[1.0, 2.0], [3.0, 4.0]], backend=backend)
print((x * x + x).sum().item())
"""


class Compile(Scene):
    """Kernels that are compiled into an empty cache."""

    def variables(self) -> dict[str, str]:
        """A cache of its own."""
        return super().variables() | {"NUMBA_CACHE_DIR": str(self.folder / "kernels")}

    def restore(self) -> None:
        """Nothing is compiled."""
        shutil.rmtree(self.folder / "kernels", ignore_errors=True)

    def command(self) -> list[str]:
        """Compile three kernels, and use them."""
        return python(_COMPILE)

    def check_again(self, ended: Ended) -> None:
        """The right number."""
        super().check_again(ended)
        if ended.text.split()[-1:] != ["40.0"]:
            raise Lost(f"the next run says {ended.text[-300:]}")


# --- The course --------------------------------------------------------------------------------

MINE = "\n# what the student wrote\n"
PASSED = {"when": "2026-01-01 00:00", "code": "of an earlier day"}


class Course(Scene):
    """A command in a workspace in which something is written."""

    words: tuple[str, ...] = ()

    def prepare(self) -> None:
        """A workspace with module 0 begun."""
        self.root = self.folder / "w"
        workspace, _ = create(self.root)
        workspace.put_solutions([find_task("0.1")])
        self.mine = self.root / "minitorch" / "operators.py"
        self.mine.write_text(self.mine.read_text() + MINE)
        workspace.note(passed={"0.3": PASSED})
        self.before = self._files()

    def place(self) -> Path:
        """The workspace."""
        return self.root

    def _files(self) -> dict[str, bytes]:
        """Every file of the student's."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and not {".minitorch", "__pycache__", ".hypothesis"} & set(path.parts)
        }

    def command(self) -> list[str]:
        """A command of the course."""
        return minitorch("course", *self.words)

    def check(self) -> None:
        """No file has changed, and the notes are there."""
        now = self._files()
        for name in self.before.keys() | now.keys():
            if self.before.get(name) != now.get(name) and not _is_temporary(name):
                raise Lost(f"{name} has changed")
        if "0.3" not in json.loads((self.root / MARK).read_text())["passed"]:
            raise Lost("what was passed is forgotten")

    def check_again(self, ended: Ended) -> None:
        """As after the kill."""
        super().check_again(ended)
        self.check()


class Status(Course):
    """`status`, then a hint."""

    words = ("status",)

    def again(self) -> list[str]:
        """A hint."""
        return minitorch("course", "hint", "0.2", "2")


class Check(Course):
    """`check` of a task that passes."""

    words = ("check", "0.1")

    def check_again(self, ended: Ended) -> None:
        """It is noted."""
        super().check_again(ended)
        if "0.1" not in Workspace(self.root).notes()["passed"]:
            raise Lost("the check is not noted")


class Solution(Course):
    """`solution` of a task that is passed."""

    words = ("solution", "0.1")

    def prepare(self) -> None:
        """The task is passed."""
        super().prepare()
        Workspace(self.root).note(passed={"0.1": PASSED, "0.3": PASSED})


class Watch(Course):
    """`watch`, while the student saves."""

    words = ("watch", "0.1")
    endless = True

    def again(self) -> list[str]:  # `watch` has no end
        """A check."""
        return minitorch("course", "check", "0.1")


class Reset(Course):
    """`reset` of what a student wrote."""

    words = ("reset", "minitorch/operators.py")

    def restore(self) -> None:
        """The student writes it again."""
        self.mine.write_bytes(self.before["minitorch/operators.py"])
        shutil.rmtree(self.root / ".minitorch" / "backup", ignore_errors=True)

    def check(self) -> None:
        """The file is the old one, or the new one with the old one as a copy."""
        name = "minitorch/operators.py"
        old, new, now = self.before[name], dict(_contents())[name], self.mine.read_bytes()
        copies = [path.read_bytes() for path in (self.root / ".minitorch").rglob("operators.py")]
        if now not in (old, new):
            raise Lost(f"{name} is neither the old nor the new one ({len(now)} bytes)")
        if now != old and old not in copies:
            raise Lost("what the student wrote is gone")
        self.before[name] = now
        super().check()
        self.before[name] = old


class Fill(Course):
    """`start 1 --fill`, which writes into files of the student's."""

    words = ("start", "1", "--fill")

    def restore(self) -> None:
        """As the student left it."""
        for name, content in self.before.items():
            (self.root / name).write_bytes(content)

    def check(self) -> None:
        """What was written is there; every file is of the course as far as it goes."""
        if MINE.encode() not in self.mine.read_bytes():
            raise Lost("what the student wrote is gone")
        for name, content in self._files().items():
            if not _is_temporary(name) and not self._is_between(name, content):
                raise Lost(f"{name} is neither written nor unwritten ({len(content)} bytes)")

    def _is_between(self, name: str, content: bytes) -> bool:
        """Whether each line of a file is of the old one or of its solution."""
        if content == self.before.get(name):
            return True
        if not name.startswith("minitorch/"):
            return False
        known = solution_file(name.removeprefix("minitorch/")).encode() + self.before[name]
        return set(content.splitlines()) <= set(known.splitlines()) and content[-1:] == b"\n"


class New(Course):
    """`new`."""

    def prepare(self) -> None:
        """Nothing is there."""
        self.root = self.folder / "w"

    def place(self) -> Path:
        """Above the workspace."""
        return self.folder

    def restore(self) -> None:
        """Nothing is there."""
        shutil.rmtree(self.root, ignore_errors=True)

    def command(self) -> list[str]:
        """Make a workspace."""
        return minitorch("course", "new", "w")

    def check(self) -> None:
        """What is there is whole."""
        fresh = dict(_contents())
        for name, content in self._files().items() if self.root.exists() else ():
            if not _is_temporary(name) and fresh.get(name) != content:
                raise Lost(f"{name} is not whole")

    def check_again(self, ended: Ended) -> None:
        """All is there."""
        super().check_again(ended)
        if missing := dict(_contents()).keys() - self._files().keys():
            raise Lost(f"the next run does not make {missing}")


class Release(New):
    """`release`, with a zip file."""

    def restore(self) -> None:
        """Nothing is there."""
        super().restore()
        (self.folder / "w.zip").unlink(missing_ok=True)

    def command(self) -> list[str]:
        """Make what is handed out."""
        return minitorch("course", "release", "w", "--zip")

    def check(self) -> None:
        """What is there is whole."""
        super().check()
        archive = self.folder / "w.zip"
        if archive.exists():
            with zipfile.ZipFile(archive) as opened:
                if opened.testzip() or "w/README.md" not in opened.namelist():
                    raise Lost("w.zip is not whole")

    def again(self) -> list[str]:
        """Into the same folder, if it was not finished; else a status."""
        mark = self.root / ".minitorch" / "course.json"
        finished = mark.exists() and json.loads(mark.read_text()).get("unfinished") is False
        return minitorch("course", "--help") if finished else self.command()


class Export(Scene):
    """`export`."""

    def restore(self) -> None:
        """Nothing is there."""
        shutil.rmtree(self.folder / "out", ignore_errors=True)

    def command(self) -> list[str]:
        """Write what a service needs."""
        return minitorch("course", "export", "gradescope", "out")

    def check_again(self, ended: Ended) -> None:
        """Both files are there."""
        super().check_again(ended)
        for name in ("setup.sh", "run_autograder"):
            path = self.folder / "out" / name
            if not path.read_text().endswith("\n") or not path.stat().st_mode & 0o100:
                raise Lost(f"{name} is not whole")


class Grade(Scene):
    """`grade` of two submissions, with a journal and a table."""

    def prepare(self) -> None:
        """One that passes and one that does not."""
        for name in ("ada", "ben"):
            workspace, _ = create(self.folder / "all" / name)
            if name == "ada":
                workspace.put_solutions([find_task("0.1")])

    def restore(self) -> None:
        """Nothing is graded."""
        for path in self.folder.glob("out*"):
            path.unlink()

    def command(self) -> list[str]:
        """Grade one task."""
        words = ["--tasks", "0.1", "--csv", "out.csv", "--json", "out.json", "--journal", "out.txt"]
        return minitorch("course", "grade", "all/ada", "all/ben", *words)

    def check(self) -> None:
        """What is written is whole; a minute passes, after which folders count as abandoned."""
        if (self.folder / "out.json").exists():
            json.loads((self.folder / "out.json").read_text())
        for folder in self.temporary.iterdir():
            os.utime(folder, (0, 0))

    def check_again(self, ended: Ended) -> None:
        """Both have their marks."""
        super().check_again(ended)
        rows = (self.folder / "out.csv").read_text().splitlines()
        if len(rows) != 3 or "ada" not in rows[1] + rows[2] or "ben" not in rows[1] + rows[2]:
            raise Lost(f"the table is {rows}")


SCENES: dict[str, Callable[[Path, Path], Scene]] = {
    "save": Save,
    "status": Status,
    "new": New,
    "train": Train,
    "reset": Reset,
    "fill": Fill,
    "check": Check,
    "compile": Compile,
    "export": Export,
    "watch": Watch,
    "release": Release,
    "grade": Grade,
    "solution": Solution,
}
"""Every scene by name."""
