"""Programs of other libraries, and PyTorch's tutorials, on minitorch.torch and on PyTorch: they must print the same numbers.

`make test-libraries`, or `python -m tests.libraries [names]`. The libraries are installed as they are into an
environment of their own that has no PyTorch; each program runs there by `minitorch run`, and then with PyTorch, in the
environment that this is called from. Numbers may differ by roundings, all other words must be equal. Programs are the
files of `programs/`, the functions of `areas/`, which are named by their libraries, and those of `tutorials/`: the
programs that PyTorch's own tutorials consist of, small and without downloads.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from . import record

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TORCHVISION = "torchvision==0.29.2"
"""For the oracle only, and without the PyTorch that it would bring: here `torchvision` is ours."""
RELATIVE, ABSOLUTE = 2e-4, 2e-5
"""How far numbers may be apart: training amplifies roundings."""


def prepared(folder: Path) -> Path:
    """The environment with the libraries and without PyTorch; made if it is not there."""
    python = folder / "bin" / "python"
    done = folder / ".libraries"
    if not done.exists():
        print(f"installing libraries into {folder}", flush=True)
        venv.create(folder, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "uv", "--editable", f"{ROOT}[train]"], check=True)
        uv = [str(folder / "bin" / "uv"), "pip", "install", "--quiet", "--python", str(python)]
        without = ["--override", str(HERE / "left-out.txt")]
        subprocess.run([*uv, *without, "--requirement", str(HERE / "requirements.txt")], check=True)
        subprocess.run([*uv, "--no-deps", TORCHVISION], check=True)
        done.touch()
    return python


def run(command: list[str], **environment: str) -> list[str]:
    """What a program prints."""
    quiet = {"PYTHONWARNINGS": "ignore", "TRANSFORMERS_VERBOSITY": "error", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**os.environ, **quiet, **environment},
        timeout=3600,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return done.stdout.splitlines()


def differences(ours: list[str], theirs: list[str]) -> Iterator[str]:
    """Lines that say something else."""
    for mine, other in itertools.zip_longest(ours, theirs, fillvalue=""):
        pairs = itertools.zip_longest(mine.split(), other.split(), fillvalue="")
        if not all(same(a, b) for a, b in pairs):
            yield f"    here: {mine}\n    PyTorch: {other}"


def same(a: str, b: str) -> bool:
    """Whether two words are equal, or two numbers nearly so."""
    try:
        x, y = float(a), float(b)
    except ValueError:
        return a == b
    return abs(x - y) <= ABSOLUTE + RELATIVE * abs(y)


@dataclass(frozen=True)
class Program:
    """What is run: a file, with the name of one of its functions where it has several."""

    name: str
    command: list[str]
    library: str


def programs() -> list[Program]:
    """All programs: files of `programs/`, and functions of files of `areas/`."""
    found = []
    for file in sorted((HERE / "programs").glob("*.py")):
        libraries = sorted(imported(file), key=len, reverse=True)
        own = next((name for name in libraries if file.stem.startswith(name)), file.stem)
        found.append(Program(file.stem, [str(file)], own))
    for file in sorted((HERE / "areas").glob("*.py")):
        found += [Program(name, [str(file), name], name) for name in functions_of(file)]
    for file in sorted((HERE / "tutorials").glob("*.py")):
        found += [
            Program(name, [str(file), name], f"{file.stem} tutorials")
            for name in functions_of(file)
        ]
    return found


def functions_of(file: Path) -> list[str]:
    """The programs of a file: functions without a docstring, which its helpers have."""
    functions = [n for n in ast.parse(file.read_text()).body if isinstance(n, ast.FunctionDef)]
    return [f.name for f in functions if not ast.get_docstring(f)]


def imported(file: Path) -> set[str]:
    """The packages that a program imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {each.name.split(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def main() -> int:
    """Run the programs and compare."""
    parser = argparse.ArgumentParser(prog="python -m tests.libraries", description=__doc__)
    parser.add_argument("names", nargs="*", help="programs to run; all if none is named")
    parser.add_argument("--environment", type=Path, default=ROOT / ".venv-libraries")
    parser.add_argument("--record", action="store_true", help="keep what is found in docs/results")
    args = parser.parse_args()
    python = prepared(args.environment)
    libraries = next((args.environment / "lib").glob("python*/site-packages"))
    path = os.pathsep.join([str(HERE / "oracle"), str(libraries)])
    chosen = [p for p in programs() if not args.names or p.name in args.names]
    failed = 0
    for program in chosen:
        ours: list[str] = []
        try:
            ours = run([str(python), "-m", "minitorch.torch", "--no-check", *program.command])
            theirs = run([sys.executable, *program.command], PYTHONPATH=path)
            found = list(differences(ours, theirs)) or ([] if ours else ["    it printed nothing"])
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            found = [f"    {error}"]
        failed += bool(found)
        numbers = sum(len(line.split()) for line in ours) if not found else 0
        state = "DIFFERS" if found else f"the same {numbers} words"
        if args.record:
            row = record.row_of(python, program.library, program.name, state)
            record.write({program.name: row})
        print(program.name, state, *found, sep="  ", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
