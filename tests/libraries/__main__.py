"""Programs of other libraries on minitorch.torch and on PyTorch: they must print the same numbers.

`make test-libraries`, or `python -m tests.libraries [names]`. The libraries are installed as they are into an
environment of their own that has no PyTorch; each program of `programs/` runs there by `minitorch run`, and then with
PyTorch, in the environment that this is called from. Numbers may differ by roundings, all other words must be equal.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
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
        subprocess.run([*pip, "--editable", f"{ROOT}[train]"], check=True)
        subprocess.run([*pip, "--requirement", str(HERE / "requirements-besides.txt")], check=True)
        no_deps = [*pip, "--no-deps", "--requirement", str(HERE / "requirements.txt")]
        subprocess.run(no_deps, check=True)
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
        timeout=900,
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


def main() -> int:
    """Run the programs and compare."""
    parser = argparse.ArgumentParser(prog="python -m tests.libraries", description=__doc__)
    parser.add_argument("names", nargs="*", help="programs to run; all if none is named")
    parser.add_argument("--environment", type=Path, default=ROOT / ".venv-libraries")
    args = parser.parse_args()
    python = prepared(args.environment)
    libraries = next((args.environment / "lib").glob("python*/site-packages"))
    path = os.pathsep.join([str(HERE / "oracle"), str(libraries)])
    programs = sorted((HERE / "programs").glob("*.py"))
    chosen = [p for p in programs if not args.names or p.stem in args.names]
    failed = 0
    for program in chosen:
        ours: list[str] = []
        try:
            ours = run([str(python), "-m", "minitorch.torch", "--no-check", str(program)])
            theirs = run([sys.executable, str(program)], PYTHONPATH=path)
            found = list(differences(ours, theirs)) or ([] if ours else ["    it printed nothing"])
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            found = [f"    {error}"]
        failed += bool(found)
        numbers = sum(len(line.split()) for line in ours) if not found else 0
        print(
            program.stem,
            "DIFFERS" if found else f"the same {numbers} words",
            *found,
            sep="  ",
            flush=True,
        )
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
