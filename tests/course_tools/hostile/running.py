"""Makes the submissions, grades them with some layers, and looks for what they did."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import secrets
import shutil
import socket
import tempfile
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from minitorch.course import sandbox
from minitorch.course.grading import grade
from minitorch.course.isolation import choose
from minitorch.course.reports import Grade, as_json, write_table
from minitorch.course.sandbox import Limits
from minitorch.course.tasks import TASKS, find_task
from minitorch.course.workspace import create

from .code import CODE, ENDLESS
from .folders import FOLDERS, NAMES

TASK = find_task("1.1")
SHORT = Limits(seconds=8, memory=1 << 30, disk=64 << 20, files=2000, processes=200, output=16 << 20)
LONG = Limits(
    seconds=120, memory=2 << 30, disk=64 << 20, files=2000, processes=200, output=16 << 20
)
LINES = dict.fromkeys(map(ord, "\r\n"))
HONEST = ("an honest one before", "an honest one after")


@dataclass
class Place:
    """A folder with submissions, things to protect, and somebody who listens."""

    root: Path
    plant: str = field(default_factory=lambda: f"plant-{secrets.token_hex(6)}")
    secret: str = field(default_factory=lambda: f"TEACHERS_{secrets.token_hex(6)}")
    heard: list[str] = field(default_factory=list)
    port: int = 0

    def __post_init__(self) -> None:
        self.victim = self.root / "victim"
        self.victim.mkdir(parents=True)
        (self.victim / "precious.txt").write_text(self.secret)
        self.temporary = self.root / "tmp"
        self.temporary.mkdir()
        for name, done in (("stub", False), ("solved", True)):
            made, _ = create(self.root / "bases" / name)
            made.put_solutions([t for t in TASKS if t.number < TASK.number + ("x" if done else "")])

    def submission(self, name: str, base: str) -> Path:
        """A copy of the stub or of the solution."""
        folder = self.root / "submissions" / name
        shutil.copytree(self.root / "bases" / base, folder, symlinks=True)
        return folder

    def hostile(self, name: str) -> Path:
        """A submission that runs one of the attacks when it is imported."""
        folder = self.submission(name, "stub")
        code = self.fill_in(CODE[name])
        path = folder / "minitorch" / "autodiff.py"
        head, rest = path.read_text().split("from __future__ import annotations\n", 1)
        path.write_text(f"{head}from __future__ import annotations\n{code}{rest}")
        return folder

    def fill_in(self, code: str) -> str:
        """An attack's code, aimed at this place."""
        other = self.root / "submissions" / HONEST[1]
        aims = {"VICTIM": self.victim, "PLANT": self.plant, "OTHER": other, "PORT": self.port}
        for word, aim in aims.items():
            code = code.replace(word, str(aim))
        return code

    @contextlib.contextmanager
    def guarded(self) -> Iterator[None]:
        """Listen, keep a secret in the environment, and have a folder for temporary files."""
        before = tempfile.tempdir
        tempfile.tempdir = str(self.temporary)
        os.environ["TEACHERS_SECRET"] = self.secret
        with socket.socket() as stream, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
            stream.bind(("127.0.0.1", 0))
            stream.listen()
            self.port = stream.getsockname()[1]
            datagrams.bind(("127.0.0.1", self.port))
            for listen in (stream.accept, lambda: datagrams.recv(9)):
                threading.Thread(target=self._listen, args=(listen,), daemon=True).start()
            try:
                yield
            finally:
                tempfile.tempdir = before
                del os.environ["TEACHERS_SECRET"]

    def _listen(self, listen: Callable[[], object]) -> None:
        with contextlib.suppress(OSError):
            while True:
                listen()
                self.heard.append("somebody connected")

    def left(self) -> str:
        """Temporary files that are left."""
        found = os.listdir(self.temporary)
        return f"temporary files: {found}" if found else ""

    def damage(self) -> list[str]:
        """What was done that should not have been done, outside of the grades."""
        found = list(self.heard)
        precious = self.victim / "precious.txt"
        intact = precious.is_file() and precious.read_text() == self.secret
        if not intact or os.listdir(self.victim) != ["precious.txt"]:
            found.append("the teacher's files were changed")
        for place in (
            *("/", *Path(os.__file__).parents[:2]),
            "/tmp",
            "/var/tmp",
            "/dev/shm",
            "/root",
            str(self.root / "submissions" / "*"),
        ):
            found += [f"{path} is left" for path in glob.glob(f"{place}/{self.plant}*")]
            found += [f"{path} is left" for path in glob.glob(f"{place}/minitorch/{self.plant}*")]
        found += [f"process {line} is left" for line in processes_left(self.temporary)]
        for name in ("shm", "sem", "msg"):
            with contextlib.suppress(OSError):
                rows = Path(f"/proc/sysvipc/{name}").read_text().split()
                if str(0x4D54) in rows:
                    found.append(f"System V {name} is left")
        return found


def processes_left(temporary: Path) -> list[str]:
    """Processes of sandboxes that were made in a folder."""
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            if b"HOME=" + os.fsencode(temporary) in file.read():
                found.append(path.split("/")[2])
    return found


def grade_all(
    place: Place, names: Sequence[str], without: Sequence[str] = ()
) -> Iterator[tuple[str, str]]:
    """Grade attacks without some layers: each one's name, and what is wrong ("" if nothing)."""
    folders = {name: place.submission(name, "solved") for name in HONEST}
    for name in names:
        folders[name] = place.hostile(name) if name in CODE else place.submission(name, "solved")
        if name in FOLDERS:
            FOLDERS[name][0](folders[name])
    ended = [name for name in names if name in ENDLESS]
    others = [name for name in names if name not in ENDLESS]
    first, last = HONEST
    for group, limits in (([first, *others], LONG), (ended, SHORT), ([last], LONG)):
        graded = grade([folders[n] for n in group], [TASK], limits, None, choose("auto", without))
        began = time.monotonic()
        for name, given in zip(group, graded, strict=True):
            taken = time.monotonic() - began
            slow = [f"took {taken:.0f} s"] if taken > 2 * limits.seconds + 30 else []
            yield name, "; ".join([*wrong_with(name, given, place), *slow, *place.damage()])
            began = time.monotonic()
    yield "what is left", place.left()


SCRIPT = """
import os, sys
try:
    exec(compile(open("CODE").read(), "autodiff.py", "exec"), {"__file__": __file__})
except BaseException as error:
    os.write(int(sys.argv[1]), repr(error)[-300:].encode("ascii", "replace") + b"\\n")
os._exit(0)
"""


def attack_all(
    place: Place, names: Sequence[str], without: Sequence[str] = ()
) -> Iterator[tuple[str, str]]:
    """Run the code of attacks in sandboxes, ungraded: what they did to the walls alone."""
    layers = choose("auto", without)
    place.submission(HONEST[1], "solved")
    before = (place.root / "submissions" / HONEST[1] / "minitorch" / "autodiff.py").read_bytes()
    for name in names:
        folder = place.root / "attacks" / name
        folder.mkdir(parents=True)
        (folder / "code.py").write_text(place.fill_in(CODE[name]))
        (folder / "attack.py").write_text(SCRIPT.replace("CODE", str(folder / "code.py")))
        limits = replace(SHORT, seconds=4) if name in ENDLESS else SHORT
        began = time.monotonic()
        outcome = sandbox.run(folder / "attack.py", folder, b"", limits, layers)
        problems = place.damage()
        if time.monotonic() - began > limits.seconds + 30:
            problems.append(f"took {time.monotonic() - began:.0f} s")
        if outcome.kind == "setup":
            problems.append(outcome.text)
        if place.secret.encode() in outcome.output:
            problems.append("the teacher's secret was read")
        path = place.root / "submissions" / HONEST[1] / "minitorch" / "autodiff.py"
        if path.read_bytes() != before:
            problems.append("another submission was changed")
        yield name, "; ".join(problems)
    yield "what is left", place.left()


def wrong_with(name: str, given: Grade, place: Place) -> list[str]:
    """What is wrong with a grade."""
    full = float(TASK.points)
    keeps = FOLDERS[name][1] if name in FOLDERS else name in HONEST or name in NAMES
    problems = []
    if keeps is not None and given.points != (full if keeps else 0.0):
        problems.append(f"{given.points} points: {given.marks[0].note}")
    if given.error:
        problems.append(f"not graded: {given.error}")
    text = json.dumps(as_json([given]), ensure_ascii=False)
    table = place.root / "table.csv"
    write_table(table, [given])
    shown = text + table.read_text()
    table.unlink()
    if place.secret in shown:
        problems.append("the teacher's secret is in the notes")
    if any(unicodedata.category(letter) in ("Cc", "Cf") for letter in shown.translate(LINES)):
        problems.append("control characters in a report")
    if len(shown) > 10_000:
        problems.append(f"{len(shown)} characters of report")
    return problems
