"""One number of threads for kernels and BLAS; kernels in forked processes and in many threads."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch as real

import minitorch.torch as torch
from minitorch import threads
from minitorch.torch.backends.cpu.kernels import PARALLEL, tasks_for


def run(*arguments: str, **environment: str) -> str:
    """What a Python program prints; it must end well."""
    found = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    command = [sys.executable, "-W", "ignore", *arguments]
    done = subprocess.run(
        command, env=found | environment, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Set the number of threads back."""
    monkeypatch.setattr(threads, "_count", threads._count)
    blas = threads.blas_of(threads.NUMPY)
    before = blas and blas[1]()
    yield
    if blas and before:
        blas[0](before)


# --- Forks ----------------------------------------------------------------------------------------


@pytest.mark.timeout(900)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_forked_processes_and_threads_compute() -> None:
    ways = ["os", "multiprocessing", "loader", "busy", "threads"]
    done = run("-m", "tests.torch.forks", *ways, NUMBA_NUM_THREADS="2")
    assert done.splitlines() == [f"{way} passed" for way in ways]


@pytest.mark.timeout(900)
def test_threads_take_turns_at_the_work_queue() -> None:
    environment = {"NUMBA_THREADING_LAYER": "workqueue", "NUMBA_NUM_THREADS": "2"}
    assert run("-m", "tests.torch.forks", "threads", **environment) == "threads passed"


OWN_THREADS = """
import os, numpy as np, minitorch.torch as torch
torch.set_num_threads(2)
if os.fork() == 0:  # nothing was computed so far: the process starts threads of its own
    torch.ones(500_000).exp()
    from numba.np.ufunc import parallel
    os._exit(0 if torch.get_num_threads() == 2 and parallel._is_initialized else 1)
raise SystemExit(os.waitpid(-1, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_a_process_forked_early_has_threads_of_its_own() -> None:
    run("-c", OWN_THREADS)


WHILE_LLVM_IS_BUSY = """
import os, signal, threading, time, minitorch.threads
from llvmlite.binding import ffi
holds = threading.Event()
def free():
    with ffi.lib._lock:
        holds.set()
        time.sleep(0.5)
threading.Thread(target=free).start()
holds.wait()
if os.fork() == 0:
    signal.alarm(20)
    with ffi.lib._lock:
        os._exit(0)
raise SystemExit(os.waitpid(-1, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_a_fork_waits_for_a_thread_that_frees_compiled_code() -> None:
    run("-c", WHILE_LLVM_IS_BUSY)


# --- One number -----------------------------------------------------------------------------------

COUNTS = """
import sys
import numpy as np
import minitorch.torch as torch
from minitorch import threads
{before}
from minitorch.torch.backends.cpu.kernels import PARALLEL, tasks_for
blas = threads.blas_of(threads.NUMPY)
print(torch.get_num_threads(), tasks_for(PARALLEL), blas[1]() if blas else torch.get_num_threads())
"""


@pytest.mark.parametrize(
    ("before", "environment", "number"),
    [
        ("torch.set_num_threads(3)", {}, 3),
        ("assert 'numba' not in sys.modules; torch.set_num_threads(1)", {}, 1),
        ("", {"NUMBA_NUM_THREADS": "1"}, 1),
        ("", {"OMP_NUM_THREADS": "1"}, 1),
        ("", {"OMP_NUM_THREADS": "1,2", "NUMBA_NUM_THREADS": "2"}, 2),
        ("torch.set_num_threads(2)", {"NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}, 2),
    ],
)
def test_everyone_knows_one_number(before: str, environment: dict[str, str], number: int) -> None:
    assert run("-c", COUNTS.format(before=before), **environment) == " ".join([str(number)] * 3)


def test_without_a_word_there_is_one_thread_per_core() -> None:
    program = "import minitorch.torch as torch; print(torch.get_num_threads())"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert run("-c", program) == str(cores)


def test_other_threads_obey() -> None:
    torch.set_num_threads(5)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(torch.get_num_threads).result() == 5
        assert pool.submit(tasks_for, PARALLEL).result() == 5
        pool.submit(torch.set_num_threads, 2).result()
    assert torch.get_num_threads() == tasks_for(PARALLEL) == 2


def test_products_give_the_blas_its_threads_back() -> None:
    blas = threads.blas_of(threads.NUMPY)
    if blas is None:
        pytest.skip("NumPy has another BLAS")
    torch.set_num_threads(2)
    x = torch.ones(300, 300)
    assert (x @ x)[0, 0] == 300
    assert blas[1]() == 2
    with threads.numpy_on_one_thread():
        assert blas[1]() == 1
        torch.set_num_threads(3)  # meanwhile
    assert blas[1]() == 3


@pytest.mark.parametrize("number", [0, -1, 1.5, True, "2", None])
def test_what_is_no_number_of_threads(number: Any) -> None:
    with pytest.raises(RuntimeError) as theirs:
        real.set_num_threads(number)
    with pytest.raises(RuntimeError) as ours:
        torch.set_num_threads(number)
    assert str(theirs.value) in str(ours.value)
