"""Programs that meet a damaged kernel cache: python -m tests.course.damaged_caches [ROUNDS] [SEED].

Each round damages some files of a real cache at random and runs a program that needs them, in a
process of its own: its results must be right, with one warning, and the next run finds a cache that is
whole again. Every tenth round it is the kernels of both floors, which take long to compile again; else it is
small ones, whose files are read by the same code.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Random = np.random.Generator
Damage = Callable[[Path, Random], Any]


def _cut(path: Path, random: Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: random.integers(1, len(content))])


def _flip(path: Path, random: Random) -> None:
    content = bytearray(path.read_bytes())
    for place in random.integers(0, len(content), random.integers(1, 9)):
        content[place] ^= 1 << random.integers(8)
    path.write_bytes(content if bytes(content) != path.read_bytes() else content[1:])


def _insert(path: Path, random: Random) -> None:
    content = path.read_bytes()
    place = random.integers(len(content))
    path.write_bytes(content[:place] + random.bytes(20) + content[place:])


def _replace(path: Path, make: Callable[[], Any]) -> None:
    path.unlink()
    make()


DAMAGES: dict[str, Damage] = {
    "emptied": lambda path, _: path.write_bytes(b""),
    "cut off": _cut,
    "some bits turned": _flip,
    "something inserted": _insert,
    "random bytes": lambda path, random: path.write_bytes(random.bytes(5000)),
    "zeros": lambda path, _: path.write_bytes(bytes(5000)),
    "a folder": lambda path, _: _replace(path, path.mkdir),
}
"""What may happen to a file."""

if os.name == "posix":
    DAMAGES |= {
        "a pipe": lambda path, _: _replace(path, lambda: os.mkfifo(path)),
        "a link": lambda path, _: _replace(path, lambda: path.symlink_to("/etc/hostname")),
        "a link to nothing": lambda path, _: _replace(path, lambda: path.symlink_to("nothing")),
    }


def _sum_of_powers(n: int) -> Callable[[Any], float]:
    def kernel(x: Any) -> float:
        total = 0.0
        for value in x:
            total += value**n
        return total

    return kernel


def small_program() -> list[Any]:
    """Six kernels that are compiled in no time."""
    from minitorch.jit import compile_kernel

    x = np.arange(12.0)
    return [np.array(compile_kernel(_sum_of_powers(n))(x)) for n in range(6)]


def program() -> list[Any]:
    """Kernels of both floors, compiled with and without threads."""
    import minitorch
    import minitorch.torch as torch

    backend = minitorch.TensorBackend(minitorch.FastOps)
    a = minitorch.tensor(np.arange(12.0).reshape(3, 4).tolist(), backend=backend)
    torch.manual_seed(0)
    x = torch.randn(64, 512)
    pooled = torch.nn.functional.max_pool1d(x, 4)
    return [
        (a * a + a).sum(0).to_numpy(), (a @ a.permute(1, 0)).to_numpy(),
        x.softmax(1).numpy(), x.exp().numpy(), pooled.numpy(), x.sum(1).numpy(),
    ]  # fmt: skip


Run = Callable[[], list[Any]]


def run(program: Run) -> tuple[int, int, bytes]:
    """Run a program in a fork: its exit status, how often it warned, a hash of its results."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(600)
        try:
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                results = program()
            digest = hashlib.sha256(b"".join(array.tobytes() for array in results)).digest()
            os.write(write, bytes([sum("kernels" in str(w.message) for w in seen)]) + digest)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(write)
    status = os.waitpid(child, 0)[1]
    warned, *digest = os.read(read, 100) or [255]
    os.close(read)
    return status, warned, bytes(digest)


def main(rounds: int = 300, seed: int = 0) -> None:
    """Damage and run, so many times."""
    random = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as home:
        os.environ["XDG_CACHE_HOME"] = home
        os.environ.pop("NUMBA_CACHE_DIR", None)
        import minitorch.torch  # noqa: F401
        from minitorch.jit import njit

        njit(_sum_of_powers(0))(np.arange(3.0))  # Numba is ready to compile before the forks
        folder = Path(home) / "minitorch" / "kernels"
        known: dict[Run, tuple[bytes, list[Path]]] = {}
        for each in (small_program, program):
            before = {*folder.iterdir()} if folder.exists() else set()
            *outcome, digest = run(each)
            assert outcome == [0, 0]
            known[each] = digest, sorted({*folder.iterdir()} - before)
        everything = sorted(folder.iterdir())
        for number in range(rounds):
            each = program if number % 10 == 9 else small_program
            digest, files = known[each]
            chosen = random.permutation(len(files))[: random.integers(1, 4)]
            names = [str(random.choice([*DAMAGES])) for _ in chosen]
            for place, name in zip(chosen, names, strict=True):
                DAMAGES[name](files[place], random)
            outcomes = run(each), run(each)
            if outcomes != ((0, 1, digest), (0, 0, digest)):
                what = [
                    (files[place].name, name) for place, name in zip(chosen, names, strict=True)
                ]
                sys.exit(f"round {number}: {what} gave {outcomes}")
            if sorted(folder.iterdir()) != everything:
                sys.exit(f"round {number}: other files than before")
            if number % 50 == 49:
                print(f"{number + 1} rounds", flush=True)
        print(
            f"{rounds} damaged caches of {len(everything)} kernels: no error, one warning each, all whole again"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
