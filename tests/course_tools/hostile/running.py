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
from dataclasses import dataclass, field
from pathlib import Path

from minitorch.course import sandbox
from minitorch.course.grading import grade
from minitorch.course.isolation import choose
from minitorch.course.reports import Grade, as_json, write_table
from minitorch.course.sandbox import Limits, remove_tree
from minitorch.course.tasks import TASKS, find_task
from minitorch.course.workspace import create

from .code import CODE, ENDLESS
from .folders import FOLDERS, NAMES

TASK = find_task("1.1")
SHORT = Limits(seconds=6, memory=1 << 30, disk=64 << 20, files=2000, processes=200, output=16 << 20)
LONG = Limits(
    seconds=120, memory=2 << 30, disk=64 << 20, files=2000, processes=200, output=16 << 20
)
LINES = dict.fromkeys(map(ord, "\r\n"))
HONEST = ("an honest one before", "an honest one amid", "an honest one after")
KINDS = ("mark", "left", "reached", "report", "time")
"""Of findings: a mark not deserved; a process or file left; files or the network reached; a report that
shows what it should not; more time than there is."""


@dataclass(frozen=True)
class Finding:
    """Something that an attack did, and should not have been able to do."""

    kind: str
    attack: str
    text: str

    def __str__(self) -> str:
        return f"{self.attack!r}: {self.kind}: {self.text}"


@dataclass
class Place:
    """A folder with submissions, things to protect, and somebody who listens."""

    root: Path
    plant: str = field(default_factory=lambda: f"plant-{secrets.token_hex(6)}")
    secret: str = field(default_factory=lambda: f"TEACHERS_{secrets.token_hex(6)}")
    key: int = field(default_factory=lambda: secrets.randbelow(1 << 30) + 1)
    heard: list[str] = field(default_factory=list)
    said: set[str] = field(default_factory=set)
    port: int = 0

    def __post_init__(self) -> None:
        self.victim = self.root / "victim"
        self.victim.mkdir(parents=True)
        (self.victim / "precious.txt").write_text(self.secret)
        self.grader = _own_state()
        self.temporary = self.root / "tmp"
        self.temporary.mkdir()
        self.other = self.root / "submissions" / HONEST[-1]
        for name, done in (("stub", False), ("solved", True)):
            made, _ = create(self.root / "bases" / name)
            made.put_solutions([t for t in TASKS if t.number < TASK.number + ("x" if done else "")])
        self.submission(HONEST[-1], "solved")
        self.aims = {
            path: _state(path)
            for path in (
                *(self.victim, self.victim / "precious.txt"),
                *(self.other / "minitorch", self.other / "minitorch" / "autodiff.py"),
            )
        }

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
        aims = {"VICTIM": self.victim, "PLANT": self.plant, "OTHER": self.other}
        aims |= {"PORT": self.port, "KEY": self.key, "GRADER": os.getpid()}
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

    def left(self) -> Iterator[str]:
        """Files and processes that are left."""
        folders = (
            "/",
            *Path(os.__file__).parents[:2],
            "/tmp",
            "/var/tmp",
            "/dev/shm",
            "/dev/mqueue",
        )
        for place in (*folders, "/root", self.victim, self.root / "submissions" / "*"):
            for path in (f"{place}/{self.plant}*", f"{place}/minitorch/{self.plant}*"):
                yield from (f"{found} is left" for found in glob.glob(path))
        yield from (f"process {number} is left" for number in processes_left(self.temporary))
        yield from (f"process {number} is left" for number in processes_left(self.plant))
        for name, text in (("shm", self.key), ("sem", self.key), ("msg", self.key)):
            with contextlib.suppress(OSError):
                if str(text) in Path(f"/proc/sysvipc/{name}").read_text().split():
                    yield f"System V {name} is left"
        with contextlib.suppress(OSError):
            if self.plant in Path("/proc/keys").read_text():
                yield "a key is left"

    def reached(self) -> Iterator[str]:
        """What was done to the teacher's files, to another's, and on the network."""
        yield from self.heard
        yield from (f"{path} was changed" for path in self.aims if _state(path) != self.aims[path])
        if _own_state() != self.grader:
            yield "the grader was slowed down or limited"

    def findings(self, name: str) -> Iterator[Finding]:
        """What an attack did, apart from its grade, and none before it."""
        for kind, found in (("left", self.left()), ("reached", self.reached())):
            for text in found:
                if text not in self.said:
                    self.said.add(text)
                    yield Finding(kind, name, text)

    def temporary_files(self) -> Iterator[Finding]:
        """Files of the grader's that are left when it has ended."""
        for found in os.listdir(self.temporary):
            yield Finding("left", "all of them", f"temporary file {found}")


def _state(path: Path) -> object:
    """What a file holds and whose it is; what went wrong, where it cannot be read."""
    try:
        found = os.stat(path)
        names = os.listxattr(path) if hasattr(os, "listxattr") else []
        holds = sorted(os.listdir(path)) if path.is_dir() else path.read_bytes()
        return holds, found.st_mode, found.st_uid, found.st_mtime_ns, names
    except OSError as error:
        return repr(error)


def _own_state() -> object:
    """How this process is scheduled and limited, where the system says so."""
    import resource

    names = ("sched_getaffinity", "sched_getscheduler")
    limits = [resource.getrlimit(kind) for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE)]
    return [getattr(os, name)(0) for name in names if hasattr(os, name)], os.nice(0), limits


def processes_left(mark: Path | str) -> list[str]:
    """Processes of sandboxes that were made in a folder, or that go by a name."""
    found = []
    for path in glob.glob("/proc/[0-9]*"):
        with contextlib.suppress(OSError):
            if isinstance(mark, Path):
                marked = b"HOME=" + os.fsencode(mark) in Path(path, "environ").read_bytes()
            else:
                marked = Path(path, "cmdline").read_bytes().startswith(mark.encode())
            found += [path.split("/")[2]] if marked else []
    return found


def attack(names: Sequence[str], without: str, graded: bool) -> tuple[list[Finding], float]:
    """Run one class of attacks in a place of its own: what was found, and the seconds it took."""
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="minitorch-hostile-")).resolve()
    folder.chmod(0o755)
    try:
        place, findings = Place(folder), []
        run = grade_class if graded else attack_all
        limits = SHORT if names[0] in ENDLESS else LONG
        with place.guarded():
            for finding in run(place, names, limits, without.split("+")):
                findings.append(finding)
                print(f"without {without}: {finding}", flush=True)
    finally:
        remove_tree(folder)
    return findings, time.monotonic() - began


def grade_class(
    place: Place, names: Sequence[str], limits: Limits, without: Sequence[str] = ()
) -> Iterator[Finding]:
    """Grade a class of attacks without some layers, honest ones among them, or after short ones."""
    first, amid, last = HONEST
    half = len(names) // 2
    classes = [([first, *names[:half], amid, *names[half:], last], limits)]
    if limits.seconds < LONG.seconds:
        classes = [(list(names), limits), ([last], LONG)]
    for everyone, limits in classes:
        folders = [_lay_out(place, name) for name in everyone]
        began = time.monotonic()
        graded = grade(folders, [TASK], limits, None, choose("auto", without))
        for name, given in zip(everyone, graded, strict=True):
            yield from wrong_with(name, given, place)
            yield from place.findings(name)
            taken, began = time.monotonic() - began, time.monotonic()
            if taken > 2 * limits.seconds + 60 and name != everyone[0]:  # which waits for the rest
                yield Finding("time", name, f"took {taken:.0f} s")
    yield from place.temporary_files()


def _lay_out(place: Place, name: str) -> Path:
    if name in CODE:
        return place.hostile(name)
    folder = place.other if name == HONEST[-1] else place.submission(name, "solved")
    if name in FOLDERS:
        FOLDERS[name][0](folder)
    return folder


SCRIPT = """
import os, sys
try:
    exec(compile(open("CODE").read(), "autodiff.py", "exec"), {"__file__": __file__})
except BaseException as error:
    os.write(int(sys.argv[1]), repr(error)[-300:].encode("ascii", "replace") + b"\\n")
os._exit(0)
"""


def attack_all(
    place: Place, names: Sequence[str], limits: Limits, without: Sequence[str] = ()
) -> Iterator[Finding]:
    """Run the code of attacks in sandboxes, ungraded: what they did to the walls alone."""
    layers = choose("auto", without)
    for name in names:
        folder = place.root / "attacks" / name
        folder.mkdir(parents=True)
        (folder / "code.py").write_text(place.fill_in(CODE[name]))
        (folder / "attack.py").write_text(SCRIPT.replace("CODE", str(folder / "code.py")))
        began = time.monotonic()
        outcome = sandbox.run(folder / "attack.py", folder, b"", limits, layers)
        yield from place.findings(name)
        if time.monotonic() - began > limits.seconds + 30:
            yield Finding("time", name, f"took {time.monotonic() - began:.0f} s")
        if outcome.kind == "setup":
            yield Finding("mark", name, outcome.text)
        if place.secret.encode() in outcome.output:
            yield Finding("reached", name, "the teacher's secret was read")
    yield from place.temporary_files()


def wrong_with(name: str, given: Grade, place: Place) -> Iterator[Finding]:
    """What is wrong with a grade."""
    full = float(TASK.points)
    keeps = FOLDERS[name][1] if name in FOLDERS else name in HONEST or name in NAMES
    if keeps is not None and given.points != (full if keeps else 0.0):
        yield Finding("mark", name, f"{given.points} points: {given.marks[0].note}")
    if given.error:
        yield Finding("mark", name, f"not graded: {given.error}")
    text = json.dumps(as_json([given]), ensure_ascii=False)
    table = place.root / "table.csv"
    write_table(table, [given])
    shown = text + table.read_text()
    table.unlink()
    if place.secret in shown:
        yield Finding("report", name, "the teacher's secret is in the notes")
    if any(unicodedata.category(letter) in ("Cc", "Cf") for letter in shown.translate(LINES)):
        yield Finding("report", name, "control characters")
    if len(shown) > 10_000:
        yield Finding("report", name, f"{len(shown)} characters")
