"""What a submission's process finds: files it may read, modules it may import, variables."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Sequence
from pathlib import Path

_FOREIGN = "torch torchvision functorch jax jaxlib tensorflow keras autograd tinygrad mlx cupy"
FOREIGN = frozenset(_FOREIGN.split())
"""Packages that would do the student's work: not there for a submission."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


@functools.cache
def python_path() -> tuple[str, ...]:
    """Where modules are looked for inside: the library of Python, and installed packages."""
    base = (os.path.realpath(sys.base_prefix) + os.sep, os.path.realpath(sys.prefix) + os.sep)
    installed = ("site-packages", "dist-packages")
    found = []
    for entry in map(os.path.realpath, sys.path):
        if os.path.exists(entry) and (
            os.path.basename(entry) in installed or (entry.startswith(base) and "python3" in entry)
        ):
            found.append(entry)
    return tuple(dict.fromkeys(found))


@functools.cache
def hidden() -> tuple[str, ...]:
    """Files of the Python installation that a submission must not see."""
    package = Path(__file__).resolve().parents[1]
    found = [str(package)]
    prefixes = {os.path.realpath(prefix) for prefix in (sys.base_prefix, sys.base_exec_prefix)}
    others = [
        str(path)
        for prefix in (*prefixes, "/usr", "/usr/local")
        for path in Path(prefix).glob("lib*/python3*/*-packages")
    ]
    for entry in dict.fromkeys([*python_path(), *others]):
        for name in os.listdir(entry):
            if "minitorch" in name.lower() or name in FOREIGN:
                found.append(os.path.join(entry, name))
    return tuple(dict.fromkeys(found))


@functools.cache
def readable() -> tuple[str, ...]:
    """Files and folders that a submission may read: those of Python, less what is hidden."""
    roots = ["/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64"]
    roots += ["/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo", "/nix/store"]
    roots += ["/sys/devices/system/cpu", os.path.realpath(sys.executable)]
    for prefix in (sys.base_prefix, sys.base_exec_prefix):
        roots += [f"{os.path.realpath(prefix)}/lib", f"{os.path.realpath(prefix)}/lib64"]
    found: list[str] = []
    for path in sorted({*roots, *python_path()}):
        if os.path.lexists(path) and not any(_within(path, other) for other in found):
            found += _without(path, hidden())
    return tuple(found)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _without(path: str, left_out: Sequence[str]) -> list[str]:
    """A path, or where something below it is left out, what else is below it."""
    if path in left_out:
        return []
    inner = [other for other in left_out if _within(other, path)]
    if not inner or os.path.islink(path):
        return [path]
    names = sorted(os.listdir(path))
    return [p for name in names for p in _without(os.path.join(path, name), inner)]


def environment(scratch: Path) -> dict[str, str]:
    """The variables of a submission's process: none of ours but where libraries are."""
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return kept | {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "NUMBA_CACHE_DIR": str(scratch),
        "NUMBA_ENABLE_CUDASIM": "1",  # a graphics card is no reason for another mark
        "OMP_WAIT_POLICY": "PASSIVE",
        "OPENBLAS_NUM_THREADS": "1",
    }
