"""Submissions whose folders are the attack; each is made from one in which task 1.1 is solved."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from minitorch.course.stubs import LIBRARY

Change = Callable[[Path], None]
HARM = "raise SystemError('this should not have been run')\n"


def _in_autodiff(text: str) -> Change:
    def change(folder: Path) -> None:
        path = folder / "minitorch" / "autodiff.py"
        path.write_text(path.read_text() + "\n" + text)

    return change


def _loop(folder: Path) -> None:
    (folder / "minitorch" / "again").symlink_to(".")
    (folder / "minitorch" / "up").symlink_to("..")
    (folder / "minitorch" / "a.py").symlink_to("b.py")
    (folder / "minitorch" / "b.py").symlink_to("a.py")


def _nested(folder: Path) -> None:
    here = os.getcwd()
    os.chdir(folder / "minitorch")
    try:
        for _ in range(2500):
            os.mkdir("d")
            os.chdir("d")
    finally:
        os.chdir(here)


def _huge(folder: Path) -> None:
    with open(folder / "minitorch" / "huge.py", "wb") as file:
        file.truncate(1 << 40)


def _many(folder: Path) -> None:
    for number in range(3000):
        (folder / "minitorch" / f"f{number}.py").touch()


def _many_odd_names(folder: Path) -> None:
    for number in range(1900):
        (folder / "minitorch" / f"no module {number}.py").touch()


def _odd_names(folder: Path) -> None:
    package = os.fsencode(folder / "minitorch")
    for name in (b"\xff\xfe.py", b"a\x1b[31m.py", b"new\nline.py", b"=1+1.py", b"x y.py"):
        with open(package + b"/" + name, "w") as file:
            file.write(HARM)


def _linked(folder: Path) -> None:
    shutil.rmtree(folder / "minitorch")
    (folder / "minitorch").symlink_to(LIBRARY)


def _file(folder: Path) -> None:
    shutil.rmtree(folder / "minitorch")
    (folder / "minitorch").write_text("no folder")


def _linked_file(folder: Path) -> None:
    path = folder / "minitorch" / "autodiff.py"
    path.unlink()
    path.symlink_to(LIBRARY / "autodiff.py")


def _pipes(folder: Path) -> None:
    os.mkfifo(folder / "minitorch" / "pipe.py")
    path = folder / "minitorch" / "autodiff.py"
    path.unlink()
    os.mkfifo(path)


def _plants(folder: Path) -> None:
    for place in (folder, folder / "minitorch", folder / "tests"):
        for name in ("conftest.py", "sitecustomize.py", "usercustomize.py", "plant.pth"):
            (place / name).write_text(HARM)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --collect-only\n")


def _shadows(folder: Path) -> None:
    for name in ("numpy", "json", "random", "os", "runpy", "numba", "pytest", "drivers"):
        (folder / f"{name}.py").write_text(HARM)
        (folder / "minitorch" / f"{name}.py").write_text(HARM)


def _compiled(folder: Path) -> None:
    cache = folder / "minitorch" / "__pycache__"
    cache.mkdir(exist_ok=True)
    for version in range(311, 316):
        (cache / f"autodiff.cpython-{version}.pyc").write_bytes(b"harm" * 100)
    (folder / "minitorch" / "autodiff.pyc").write_bytes(b"harm" * 100)


def _forbidden(folder: Path) -> None:
    (folder / "minitorch" / "autodiff.py").chmod(0)


def _slow(folder: Path) -> None:
    (folder / "minitorch" / "slow.py").write_bytes(b"'" + rb"\'" * 499_000)


def _coded(folder: Path) -> None:
    (folder / "minitorch" / "coded.py").write_text("# coding: rot13\n")


def _loops(folder: Path) -> None:
    path = folder / "minitorch" / "autodiff.py"
    lines = [" " * n + f"for i{n} in ():" for n in range(1, 20)] + [" " * 20 + "x = 1"] * 300
    loops = "\n".join(["def central_difference():", *lines, "", "", "def central_difference("])
    path.write_text(path.read_text().replace("def central_difference(", loops))


def _no_text(folder: Path) -> None:
    (folder / "minitorch" / "autodiff.py").write_bytes(b"\xff" * 100)


def _nothing(folder: Path) -> None:
    shutil.rmtree(folder / "minitorch")


FOLDERS: dict[str, tuple[Change, bool | None]] = {
    "deep expression": (_in_autodiff("x = " + "(" * 20_000 + ")" * 20_000), False),
    "deep minus": (_in_autodiff("x = " + "-" * 20_000 + "1"), False),
    "deep attributes": (_in_autodiff("x = lambda a: a" + ".a" * 20_000), None),
    "deep blocks": (_in_autodiff("".join(" " * n + "if 1:\n" for n in range(101))), False),
    "null bytes": (_in_autodiff("\x00"), False),
    "no text": (_no_text, False),
    "links in a circle": (_loop, True),
    "2,500 folders": (_nested, True),
    "a file of a terabyte": (_huge, True),
    "3,000 files": (_many, False),
    "odd names": (_odd_names, True),
    "1,900 odd names": (_many_odd_names, True),
    "minitorch is a link to the reference": (_linked, False),
    "minitorch is a file": (_file, False),
    "autodiff.py is a link to the reference": (_linked_file, False),
    "pipes": (_pipes, False),
    "plants": (_plants, True),
    "shadows": (_shadows, True),
    "compiled files": (_compiled, True),
    "a text that takes for ever to read": (_slow, True),
    "an encoding that is none of text": (_coded, True),
    "loops in loops": (_loops, True),
    "a file that may not be read": (_forbidden, None),
    "nothing": (_nothing, False),
}
"""What is done to a solved submission, and whether it keeps its mark (None: either)."""
NAMES = ["\x1b[31mred\x07", "=1+1", "-2+3", "@SUM(1)", "new\nline", "\u202egrade"]
"""Names of submissions that are right."""
