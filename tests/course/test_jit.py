"""Compiled kernels: known again by all the code they reach, whatever happens to their files."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings
from collections import namedtuple
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numba import njit
from numba.core import config
from numba.extending import intrinsic

from minitorch import kernel_cache, threads
from minitorch.jit import compile_kernel, compile_part
from minitorch.kernel_cache import KernelCache, fingerprint, kernel_folder

from .damaged_caches import DAMAGES

# --- Fingerprints -------------------------------------------------------------------------------


def build(source: str, **known: Any) -> Any:
    """The function `f` of a module with some source."""
    module = {"__name__": "made", "njit": njit, "np": np, "intrinsic": intrinsic, **known}
    exec(source, module)
    return module["f"]


def helper(source: str) -> Any:
    """A compiled function that is reached by name."""
    return build(source)


Point, Pixel = namedtuple("P", "x y"), namedtuple("P", "x z")
Small, Large = IntEnum("Size", {"N": 1}), IntEnum("Size", {"N": 2})

PAIRS: dict[str, tuple[Any, Any]] = {
    "its own code": (build("def f(x): return x + 1"), build("def f(x): return x + 2")),
    "a number": (build("def f(x): return x + n", n=1), build("def f(x): return x + n", n=2)),
    "a number's type": (build("def f(x): return x + n", n=1), build("def f(x): return x + n", n=1.0)),
    "a sign of zero": (build("def f(x): return x + n", n=0.0), build("def f(x): return x + n", n=-0.0)),
    "a NumPy number": tuple(build("def f(x): return x + n", n=np.float32(n)) for n in (1, 2)),
    "a text": tuple(build("def f(x): return n", n=n) for n in ("a", "b")),
    "a tuple": tuple(build("def f(x): return n[0]", n=(n, (n, 2))) for n in (1, 3)),
    "a field's name": tuple(build("def f(x): return n[0]", n=n(1, 2)) for n in (Point, Pixel)),
    "an enumeration": tuple(build("def f(x): return n.N", n=n) for n in (Small, Large)),
    "an array": tuple(build("def f(x): return n[0]", n=np.array([1.0, n])) for n in (1, 2)),
    "an array's type": tuple(build("def f(x): return n[0]", n=np.array([1], t)) for t in ("i4", "f4")),
    "a type": tuple(build("def f(x): return n(x)", n=n) for n in (np.float32, np.float64)),
    "a default": tuple(build(f"def f(x, n={n}): return x + n") for n in (1, 2)),
    "a lambda": tuple(build(f"def f(x): return (lambda y: y + {n})(x)") for n in (1, 2)),
    "a closure": tuple(build(f"def g(n):\n  def h(x): return x + n\n  return h\nf = g({n})") for n in (1, 2)),
    "options": (njit(build("def f(x): return x")), njit(fastmath=True)(build("def f(x): return x"))),
    "a function by name": tuple(
        build("def f(x): return g(x)", g=njit(build(f"def f(x): return x + {n}"))) for n in (1, 2)
    ),
    "a function of a function": tuple(
        build("def f(x): return g(x)", g=njit(build("def f(x): return h(x)", h=njit(build(f"def f(x): return x * {n}")))))
        for n in (1, 2)
    ),
    "a function in a tuple": tuple(
        build("def f(x): return g[0](x)", g=(njit(build(f"def f(x): return x + {n}")),)) for n in (1, 2)
    ),
    "options of a function": tuple(
        build("def f(x): return g(x)", g=compile_part(build("def f(x): return x"), fastmath=m))
        for m in ((), ("nnan",))
    ),
    "an intrinsic": tuple(
        build(f"@intrinsic\ndef g(t, x):\n  return x(x), lambda *a: a[2] + {n}\ndef f(x): return g(x)")
        for n in (1, 2)
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", PAIRS)
def test_what_a_kernel_reaches_makes_another_one(what: str) -> None:
    one, other = PAIRS[what]
    assert fingerprint(one) != fingerprint(other)
    assert fingerprint(one) == fingerprint(one)


def test_functions_of_own_modules_count() -> None:
    module = type(sys)("mine")
    kernel = build("def f(x): return mine.g(x)", mine=module)
    module.g = njit(build("def f(x): return x + 1"))
    one = fingerprint(kernel)
    module.g = njit(build("def f(x): return x + 2"))
    assert fingerprint(kernel) != one


def test_functions_that_call_each_other_have_a_fingerprint() -> None:
    source = "@njit\ndef g(x): return f(x - 1)\n@njit\ndef f(x): return g(x) if x {sign} 0 else x"
    one, two = (build(source.format(sign=sign)) for sign in "><")
    assert fingerprint(one) != fingerprint(two)


PRINT = """
from minitorch import fast_ops, operators
from minitorch.kernel_cache import fingerprint
from minitorch.torch import sampling_kernels
print(fingerprint(fast_ops.tensor_zip(operators.mul)), fingerprint(fast_ops.tensor_matrix_multiply),
      fingerprint(sampling_kernels.fill_gamma), fingerprint({"b", "a"}, frozenset("xyz"), object()))
"""


def test_the_same_code_has_the_same_fingerprint_in_every_process() -> None:
    answers = {
        subprocess.check_output(
            [sys.executable, *flags, "-c", PRINT], env={**os.environ, "PYTHONHASHSEED": seed}
        )
        for flags, seed in (([], "1"), (["-B", "-X", "pycache_prefix=/nowhere"], "2"))
    }
    assert len(answers) == 1


# --- Stale kernels ------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of kernels, and a process that has not yet warned."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel_cache, "_warned", False)
    return tmp_path / "cache" / "minitorch"


SOURCE = """
from minitorch.jit import compile_kernel, compile_part
index_to_position = compile_part(lambda i: i{mistake})
def make(part):
    def kernel(x):
        return part(x) + index_to_position(x)
    return compile_kernel(kernel)
f = make(compile_part(lambda x: x{other}))
"""


@pytest.mark.parametrize("change", [{"mistake": " + 1"}, {"other": " * 2"}])
def test_a_repaired_function_is_compiled_anew(folder: Path, change: dict[str, str]) -> None:
    right = {"mistake": "", "other": ""}
    assert build(SOURCE.format(**right))(3) == 6
    assert build(SOURCE.format(**right | change))(3) != 6
    assert build(SOURCE.format(**right))(3) == 6
    assert len([*folder.iterdir()]) == 2


NUMBERS = """
import os
from minitorch.jit import compile_kernel
def symbol():
    kernel = compile_kernel(lambda x: x + 1)
    kernel(1)
    return kernel.overloads[kernel.signatures[0]].fndesc.mangled_name
print(symbol(), flush=True)
if os.fork() == 0:
    print(symbol(), flush=True)
    os._exit(0)
os.wait()
print(symbol())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_symbols_of_several_processes_have_names_of_their_own(folder: Path) -> None:
    """Or else kernels that two processes compiled, loaded by a third, would call each other's parts."""
    program = [sys.executable, "-W", "ignore", "-c", NUMBERS]
    environment = {**os.environ, "NUMBA_CACHE_DIR": "/dev/null"}  # where nothing is kept
    answers = [subprocess.check_output(program, env=environment).split() for _ in range(2)]
    assert len({name for names in answers for name in names}) == 6


KERNELS = """
import sys
import numpy as np
from minitorch.jit import compile_kernel
def add_up(n):
    return np.arange(n).sum()
def multiply(n):
    return (np.eye(n) @ np.ones((n, 1)))[0, 0]
def fill(n):
    return np.full(n, 0.5)
def draw(n):
    np.random.seed(n)
    return np.random.random()
def spell(n):
    return hash(str(n)) == hash("21")
def call(kernel):
    return float(np.sum(compile_kernel(kernel)(21)))
print([call(kernel) for kernel in (add_up, multiply, fill, draw)], end=" ")
print("numba.np.polynomial.polynomial_core" in sys.modules, call(spell))
"""


def test_loaded_kernels_find_what_they_call_without_the_compiler(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    program = [sys.executable, "-c", KERNELS]
    made, loaded = (subprocess.check_output(program, env=environment, text=True) for _ in range(2))
    assert "True 1.0" in made
    assert loaded == made.replace("True", "False")


# --- Damaged caches -----------------------------------------------------------------------------


def double(x: Any) -> Any:
    """A small kernel."""
    return x * 2


def run(dtype: Any = float) -> list[warnings.WarningMessage]:
    """Compile or load the kernel, and run it; what was warned of."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        kernel = compile_kernel(double)
        assert kernel(dtype(21)) == 42
    return seen


def loaded() -> bool:
    """Whether the kernel comes from disk, and without a word."""
    kernel = compile_kernel(double)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernel(21.0) == 42
    return sum(kernel.stats.cache_hits.values()) == 1


def test_kernels_are_kept(folder: Path) -> None:
    assert run() == []
    assert loaded()
    (file,) = folder.iterdir()
    assert kernel_folder() == folder
    if os.name == "posix":
        assert file.stat().st_mode & 0o777 == 0o600
        assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_replaced(folder: Path, damage: str) -> None:
    run()
    (file,) = folder.iterdir()
    DAMAGES[damage](file, np.random.default_rng(1))
    (warning,) = run()
    assert "compiled again" in str(warning.message)
    assert issubclass(warning.category, RuntimeWarning)
    kernel_cache._warned = False
    assert loaded()


class Boom:
    """What runs code when it is read."""

    def __reduce__(self) -> Any:
        return (os._exit, (1,))


@pytest.mark.skipif(os.name != "posix", reason="permissions")
@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_folders_of_others_are_not_read(folder: Path, mode: int) -> None:
    run()
    (file,) = folder.iterdir()
    kernel_cache._write(file, pickle.dumps(Boom()))
    folder.chmod(mode)
    (warning,) = run()
    assert "can be written by others" in str(warning.message)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
def test_files_of_others_are_not_read(folder: Path) -> None:
    run()
    (file,) = folder.iterdir()
    kernel_cache._write(file, pickle.dumps(Boom()))
    os.chown(file, 12345, 12345)
    assert len(run()) == 1
    os.chown(folder, 12345, 12345)
    kernel_cache._warned = False
    assert len(run()) == 1


def no_home() -> Path:
    raise RuntimeError("Could not determine home directory.")


def fail(number: int) -> Callable[..., Any]:
    def raise_error(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    return raise_error


def test_where_nothing_can_be_kept_kernels_stay_in_memory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def expect_one_warning() -> None:
        kernel_cache._warned = False
        assert len([*run(), *run(int), *run(complex)]) == 1

    for number in (errno.ENOSPC, errno.EROFS, errno.EDQUOT):
        with monkeypatch.context() as patch:
            patch.setattr(kernel_cache, "replacing", fail(number))
            expect_one_warning()
    with monkeypatch.context() as patch:
        patch.setattr(config, "CACHE_DIR", "")
        patch.delenv("XDG_CACHE_HOME", raising=False)
        patch.setattr(Path, "home", no_home)
        expect_one_warning()
    for nowhere in ("/dev/null", "/proc/nowhere", f"/{'x' * 300}", "a\0b"):
        monkeypatch.setattr(config, "CACHE_DIR", nowhere)
        expect_one_warning()
    file = folder.parent.parent / "file"
    file.touch()
    monkeypatch.setattr(config, "CACHE_DIR", str(file))
    expect_one_warning()


def test_a_full_disk_leaves_no_part(folder: Path) -> None:
    resource = pytest.importorskip("resource")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))
    try:
        (warning,) = run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert "File too large" in str(warning.message)
    assert [*folder.iterdir()] == []
    kernel_cache._warned = False
    assert run() == []
    assert loaded()


def test_several_threads_compile_and_keep_at_once(folder: Path) -> None:
    failures = []

    def work() -> None:
        try:
            for _ in range(5):
                compile_kernel(double)(21.0)
        except Exception as error:
            failures.append(error)

    running = [threading.Thread(target=work) for _ in range(4)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert not failures
    assert loaded()
    assert len([*folder.iterdir()]) == 1


def test_a_folder_does_not_grow_without_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "KEPT", 8)
    folder.mkdir(parents=True, mode=0o700)
    for age in range(8):
        (folder / f"{age}.nbc").touch()
        os.utime(folder / f"{age}.nbc", (1e9 - age, 1e9 - age))
    run()
    left = {path.name for path in folder.iterdir()}
    assert left.isdisjoint({"7.nbc", "6.nbc"})
    assert len(left) == 7
    assert loaded()


# --- Threads ------------------------------------------------------------------------------------


def test_parallel_kernels_run_on_one_thread_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = compile_kernel(double, parallel=True)
    monkeypatch.setattr(threads, "_count", 1)
    monkeypatch.setattr(kernel, "on_one_thread", SimpleNamespace(__call__=None))
    with pytest.raises(TypeError):
        kernel(1.0)
    monkeypatch.setattr(threads, "_count", 2)
    assert kernel(1.0) == 2


def test_an_interrupted_compilation_is_finished_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception in what LLVM calls back would be lost."""
    load = KernelCache.load_overload

    def interrupt(self: KernelCache, *arguments: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return load(self, *arguments)

    monkeypatch.setattr(KernelCache, "load_overload", interrupt)
    kernel = compile_kernel(lambda x: x + 1.5)
    at_first = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    try:
        with pytest.raises(KeyboardInterrupt):
            kernel(1.0)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, at_first)
    assert len(kernel.signatures) == 1
    assert kernel(1.0) == 2.5


def test_what_watches_calls_does_not_see_a_compiler(folder: Path) -> None:
    seen = set()
    sys.setprofile(lambda frame, event, arg: seen.add(frame.f_globals.get("__name__")))
    try:
        assert compile_kernel(lambda x: x + 1)(2) == 3
        still = sys.getprofile()
    finally:
        sys.setprofile(None)
    assert still is not None
    assert "numba.core.compiler" not in seen


def test_kernels_load_no_linear_algebra_and_others_still_multiply(folder: Path) -> None:
    program = (
        "import sys, numba, numpy as np\n"
        "from minitorch.jit import compile_kernel\n"
        "assert compile_kernel(lambda x: x.sum())(np.ones(3)) == 3\n"
        "assert 'scipy.linalg' not in sys.modules\n"
        "a = np.arange(6.0).reshape(2, 3)\n"
        "assert (numba.njit(lambda x, y: np.dot(x, y))(a, a.T.copy()) == [[5, 14], [14, 50]]).all()"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
