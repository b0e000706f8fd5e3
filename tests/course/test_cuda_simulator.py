"""Lesson 3 without a GPU: the simulator runs the threads of a block in turn, from barrier to barrier."""

from __future__ import annotations

import os
import signal
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest
from numba import float64

from minitorch import cuda_device
from minitorch.cuda_device import cuda

from ..waiting import wait

pytestmark = pytest.mark.skipif(not cuda_device.SIMULATED, reason="there is a GPU")


def launch(kernel: Any, threads: Any, *arguments: Any) -> None:
    cuda_device.jit(kernel)[1, threads](*arguments)


def test_threads_take_turns_between_barriers() -> None:
    """A thousand that all run at once keep a busy machine from anything else, for minutes."""
    order: list[tuple[int, int]] = []

    def kernel() -> None:
        for step in range(3):
            order.append((step, cuda.threadIdx.x))
            time.sleep(0.001)  # whoever else could run would
            cuda.syncthreads()

    launch(kernel, 8)
    assert order == [(step, i) for step in range(3) for i in range(8)]


def test_a_block_without_barriers_is_one_python_thread() -> None:
    ran_in: set[int] = set()
    places: list[Any] = []

    def kernel() -> None:
        ran_in.add(threading.get_ident())
        places.append((*cuda.threadIdx, cuda.laneid))

    launch(kernel, (2, 3, 2))
    assert len(ran_in) == 1
    assert places == [(*p, p[0] + 2 * (p[1] + 3 * p[2])) for p in np.ndindex(2, 3, 2)]


def test_a_missing_barrier_shows_every_time() -> None:
    def kernel(out: Any, barrier: bool) -> None:
        cells = cuda.shared.array(16, float64)
        i = cuda.threadIdx.x
        cells[i] = -1.0
        cuda.syncthreads()
        cells[i] = float(i)
        if barrier:
            cuda.syncthreads()
        out[i] = cells[15 - i]

    for barrier in (True, False) * 5:
        out = cuda_device.to_device(np.zeros(16))
        launch(kernel, 16, out, barrier)
        right = (out.copy_to_host() == np.arange(16.0)[::-1]).all()
        assert right == barrier


def test_threads_that_have_ended_keep_nobody_waiting() -> None:
    out = cuda_device.to_device(np.zeros(6))

    def kernel(out: Any) -> None:
        for _ in range(cuda.threadIdx.x):
            cuda.syncthreads()
            out[cuda.threadIdx.x] += 1

    launch(kernel, 6, out)
    assert out.copy_to_host().tolist() == [0, 1, 2, 3, 4, 5]


def test_threads_vote_at_a_barrier() -> None:
    votes: list[Any] = []

    def kernel() -> None:
        i = cuda.threadIdx.x
        votes.append((cuda.syncthreads_count(i % 2), cuda.syncthreads_or(i == 3)))

    launch(kernel, 5)
    assert votes == [(2, 1)] * 5


@pytest.mark.parametrize("barriers", [0, 1, 2])
def test_an_error_names_its_thread_and_ends_the_block(barriers: int) -> None:
    given_up: list[int] = []

    def kernel() -> None:
        i = cuda.threadIdx.x
        try:
            for _ in range(barriers):
                cuda.syncthreads()
            if i == 2:
                raise IndexError("past the end")
            cuda.syncthreads()
        finally:
            given_up.append(i)

    with pytest.raises(IndexError, match=r"tid=\[2, 0, 0\] ctaid=\[0, 0, 0\]: past the end"):
        launch(kernel, 5)
    begun = {0, 1, 2, 3, 4} if barriers else {0, 1, 2}
    wait(lambda: set(given_up) == begun)


def test_an_error_that_is_not_made_of_one_text_is_not_lost() -> None:
    def kernel() -> None:
        raise UnicodeDecodeError("utf-8", b"", 0, 1, "no text")

    with pytest.raises(UnicodeDecodeError, match="no text"):
        launch(kernel, 2)


def test_blocks_share_python_threads() -> None:
    """Starting a thread takes longer than most kernels run in it."""
    ran_in: set[threading.Thread] = set()

    def kernel() -> None:
        ran_in.add(threading.current_thread())
        cuda.syncthreads()

    for _ in range(3):
        cuda_device.jit(kernel)[4, 8]()
    assert len(ran_in) <= 8


def test_many_threads_do_not_stay() -> None:
    def kernel() -> None:
        cuda.syncthreads()

    launch(kernel, 300)
    wait(lambda: threading.active_count() < 200)


def test_blocks_do_not_keep_their_arguments() -> None:
    held = np.zeros(3)
    known = weakref.ref(held)

    def kernel(held: Any) -> None:
        cuda.syncthreads()

    launch(kernel, 4, held)
    del held
    wait(lambda: known() is None)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_has_threads_of_its_own() -> None:
    def kernel(out: Any) -> None:
        cuda.syncthreads()
        out[cuda.threadIdx.x] = 1.0

    out = np.zeros(4)
    launch(kernel, 4, out)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        launch(kernel, 4, out)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
