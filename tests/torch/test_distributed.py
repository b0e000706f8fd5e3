"""torch.distributed: every collective as PyTorch's gloo has it, training on two ranks, and faults.

Few jobs are started, each with many cases: a process that imports a library costs seconds.
"""

from __future__ import annotations

import ast
import math
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch.torch as mt
from minitorch.torch.distributed import mpi
from minitorch.torch.distributed.errors import DistNetworkError

from .distributed_found import ROOT, environment, free_port, results, same
from .distributed_random import differences

dist = mt.distributed
PROGRAM = ROOT / "tests" / "torch" / "distributed_training.py"
RUN = [sys.executable, "-m", "minitorch.torch.distributed.run", "--nproc_per_node", "2"]
pytestmark = pytest.mark.skipif(
    mpi.find_mpiexec() is None or not mpi.is_installed(),
    reason="no mpiexec: pip install mpi4py mpich",
)


# --- Collectives ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found() -> tuple[list[Any], list[Any]]:
    return results()


@pytest.mark.parametrize("group", ["three", "two"])
def test_every_collective_gives_what_gloo_gives(found: Any, group: str) -> None:
    for rank, (theirs, ours) in enumerate(zip(*found, strict=True)):
        if group in theirs:
            assert set(theirs[group]) == set(ours[group])
        for name, expected in theirs.get(group, {}).items():
            tolerance = 1e-6 if "complex" in name and "AVG" in name else 0.0  # divided as pairs
            assert same(expected, ours[group][name], tolerance), (rank, name)


def test_random_collectives_give_what_gloo_gives(found: Any) -> None:
    theirs, ours = ([rank["random"] for rank in ranks] for ranks in found)
    wrong, unknown = differences(theirs, ours)
    assert not wrong, wrong[0]
    assert unknown < sum(map(len, theirs)) / 5


def test_groups_views_errors_and_stores(found: Any) -> None:
    for theirs, ours in zip(*found, strict=True):
        assert ours["others"] == theirs["others"]
        assert ours["wrong"] == theirs["wrong"]
    theirs, ours = found[0][0]["stores"], found[1][0]["stores"]
    assert [said[:-1] for said in ours] == [said[:-1] for said in theirs]
    assert {said[-1] for said in ours} == {"DistStoreError"}  # gloo's FileStore: RuntimeError


def test_two_ranks_train_as_pytorchs_do(found: Any) -> None:
    for theirs, ours in list(zip(*found, strict=True))[:2]:
        assert same(theirs["training"], ours["training"], 2e-6)


def test_gradients_flow_through_collectives(found: Any) -> None:
    for theirs, ours in zip(*found, strict=True):
        assert ours["flowing"] == theirs["flowing"]


@pytest.mark.parametrize(
    "feature", ["joined", "hooks", "half", "mesh", "spread", "replicas", "parts"]
)
def test_ranks_do_what_pytorchs_do(found: Any, feature: str) -> None:
    tolerance = 1e-3 if feature == "half" else 2e-6  # sums of three in float16: in any order
    for theirs, ours in zip(*found, strict=True):
        assert same(theirs["features"][feature], ours["features"][feature], tolerance), feature


def test_batches_of_all_ranks_are_normalized_together(found: Any) -> None:
    with mt.random.fork_rng():
        mt.manual_seed(7)
        whole = mt.randn(6, 4, 3, dtype=mt.float64)
    layer, x = mt.nn.BatchNorm1d(4).double(), whole.clone().requires_grad_()
    out = layer(x)
    (out * out * whole[:1]).sum().backward()
    weight, begin = layer.weight, 0
    assert weight is not None
    for rank, rows in enumerate((1, 1, 4)):
        part = slice(begin, begin + rows)
        begin += rows
        assert x.grad is not None
        expected = out[part], x.grad[part], weight.grad, layer.running_mean, layer.running_var
        got = found[1][rank]["normalized"]
        for one, (_, numbers) in zip(expected, got, strict=True):
            assert one is not None
            np.testing.assert_allclose(numbers, one.detach().numpy(), rtol=1e-12, atol=1e-13)


# --- The launcher -----------------------------------------------------------------------------


def start(
    *arguments: str, options: tuple[str, ...] = (), **variables: str
) -> subprocess.Popen[str]:
    command = [*RUN, *options, str(PROGRAM), *arguments]
    return subprocess.Popen(
        command, env=environment(**variables), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )  # fmt: skip


@pytest.fixture(scope="module")
def jobs() -> dict[str, tuple[int, str, str, float]]:
    """Exit code, output, errors and seconds of each job; two at a time."""

    def run(
        how: str, options: tuple[str, ...] = (), **variables: str
    ) -> tuple[int, str, str, float]:
        began = time.monotonic()
        process = start(how, options=options, **variables)
        out, err = process.communicate(timeout=200)
        return process.returncode, out, err, time.monotonic() - began

    with ThreadPoolExecutor(2) as pool:
        started = {how: pool.submit(run, how) for how in ("", "raise", "kill", "hang", "leave")}
        started["restart"] = pool.submit(run, "restart", ("--max-restarts", "1"))
        started["mismatch"] = pool.submit(run, "mismatch", TORCH_DISTRIBUTED_DEBUG="DETAIL")
        return {how: job.result() for how, job in started.items()}


def printed_losses(out: str) -> list[float]:
    line = next(line for line in out.splitlines() if line.startswith("losses"))
    return ast.literal_eval(line.removeprefix("losses"))


def losses_of_one_process() -> list[float]:
    """The same training without ranks: whole batches."""
    with mt.random.fork_rng():
        mt.manual_seed(0)
        data, labels = mt.randn(48, 6), mt.randint(0, 3, (48,))
        model = mt.nn.Sequential(mt.nn.Linear(6, 16), mt.nn.Tanh(), mt.nn.Linear(16, 3))
    optimizer = mt.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    losses = []
    for _ in range(2):
        for begin in range(0, 48, 12):
            batch = slice(begin, begin + 12)
            loss = mt.nn.functional.cross_entropy(model(data[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


def test_a_program_for_torchrun_gives_the_losses_of_one_process(jobs: Any) -> None:
    code, out, err, _ = jobs[""]
    assert code == 0, err
    assert sorted(line for line in out.splitlines() if "done" in line) == ["done 0", "done 1"]
    for mine, whole in zip(printed_losses(out), losses_of_one_process(), strict=True):
        assert math.isclose(mine, whole, rel_tol=3e-6)


@pytest.mark.parametrize(
    ("how", "code", "words"),
    [
        ("raise", 1, "cannot complete. rank 1 is gone: ValueError: boom"),
        ("kill", 137, "cannot complete. rank 1 is gone: its process has ended"),
        ("hang", 1, "cannot start: all_reduce (collective 28) on rank 0 timed out after 2 s. Not joined by rank 1"),
        ("leave", 1, "on rank 0 cannot complete. rank 1 has left the group after 27 collectives"),
        ("mismatch", 1, "Rank 0 is running all_reduce(shape [3], torch.float32, SUM), but rank 1 is "
         "running broadcast(shape [2], torch.float32) from 0"),
    ],
)  # fmt: skip
def test_a_fault_of_one_rank_ends_all(jobs: Any, how: str, code: int, words: str) -> None:
    found, out, err, seconds = jobs[how]
    assert found == code, err
    assert "done" not in out
    assert words in err, err[-2000:]
    assert "all_reduce" in err
    assert seconds < 90


def test_ranks_are_started_anew(jobs: Any) -> None:
    code, out, err, _ = jobs["restart"]
    assert code == 0, err
    assert out.count("losses") == 2
    assert "rank 1 failed" in err
    assert "starting all ranks anew (1 of 1 restarts)" in err


def test_the_guides_example_prints_what_the_guide_says(tmp_path: Path) -> None:
    """Also where a student works, with a minitorch of their own in the folder."""
    (tmp_path / "minitorch").mkdir()
    (tmp_path / "minitorch" / "__init__.py").write_text(
        "raise ImportError('the student wrote this')"
    )
    shown = (ROOT / "docs/guide/ranks.md").read_text()
    program = "import sys; from minitorch_command import main; sys.exit(main())"
    arguments = ["run", "--nproc", "2", str(ROOT / "examples/ranks.py")]
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, *arguments], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=100
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"```\n{done.stdout}```" in shown


def test_the_doctor_tries_two_ranks() -> None:
    from minitorch.doctor import check_mpi

    found = check_mpi()
    assert found.ok, found
    assert found.detail.startswith("two ranks work (MPI")


def test_no_process_and_no_shared_memory_is_left(jobs: Any) -> None:
    end = time.monotonic() + 10
    while left := processes_of(str(PROGRAM)):
        assert time.monotonic() < end, left
        time.sleep(0.1)


def processes_of(text: str) -> list[str]:
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if text in line and "ps -eo" not in line]


def test_ctrl_c_ends_all_ranks(jobs: Any) -> None:
    process = start("hang")
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("losses"), line
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130


def test_a_port_that_is_taken_is_said_before_ranks_start(capfd: Any) -> None:
    from minitorch.torch.distributed.run import main

    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["--nproc_per_node", "2", "--master_port", port, str(PROGRAM)]) == 1
    assert f"ranks cannot meet on port {port}: Address already in use" in capfd.readouterr().err


def test_a_hostfile_names_machines(tmp_path: Path, capfd: Any) -> None:
    from minitorch.torch.distributed.run import main

    missing = ["--nnodes", "2", "--hostfile", str(tmp_path / "none"), str(PROGRAM)]
    assert main(missing) == 2
    assert "the hostfile cannot be read" in capfd.readouterr().err
    assert main(["--nnodes", "2", str(PROGRAM)]) == 2
    assert "more than one machine needs --hostfile FILE" in capfd.readouterr().err


def test_the_plan_on_paper_is_the_guides(capsys: Any) -> None:
    from benchmarks import rank_plan

    network = rank_plan.Network(0.001, 1e6)
    assert network.all_reduce(4000, 4) == pytest.approx(6 * (0.001 + 0.001))
    found = rank_plan.fitted({n: network.all_reduce(n, 4) for n in rank_plan.SIZES}, 4)
    assert (found.latency, found.bandwidth) == pytest.approx((0.001, 1e6), rel=1e-6)
    layers = [rank_plan.Layer(4000, 0.5), rank_plan.Layer(4000, 1.0)]
    step = rank_plan.Step(0.5, 1.0, layers)
    assert rank_plan.step_seconds(step, network, 1, 1) == 1.5
    assert rank_plan.step_seconds(step, network, 4, 1) == pytest.approx(
        1.5 + 0.012
    )  # hidden but for the last
    assert rank_plan.step_seconds(step, network, 4, 1, False) == pytest.approx(1.5 + 0.024)
    assert rank_plan.step_seconds(step, network, 4, 1e9) == pytest.approx(1.5 + 0.018)  # one bucket
    rank_plan.plan()
    assert f"```\n{capsys.readouterr().out}```" in (ROOT / "docs/guide/ranks.md").read_text()


# --- GPUs -------------------------------------------------------------------------------------


def test_tensors_of_gpus_are_exchanged_by_nccl() -> None:
    command = [sys.executable, "-m", "minitorch.torch", "--nproc", "2", "tests/torch/nccl_check.py"]
    variables = environment(MINITORCH_CUDA="simulated")
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=100)  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith("nccl on 2 ranks (simulated GPU): 592 comparisons, all equal")


# --- Without ranks ----------------------------------------------------------------------------


def test_one_process_is_a_group_of_one() -> None:
    code = (
        "import minitorch.torch as torch\n"
        "d = torch.distributed\n"
        "d.init_process_group('gloo', rank=0, world_size=1, store=d.HashStore())\n"
        "x = torch.ones(2); d.all_reduce(x); d.barrier()\n"
        "print(d.get_rank(), d.get_world_size(), x.tolist())\n"
        "class Seen(torch.utils._python_dispatch.TorchDispatchMode):\n"
        "    def __torch_dispatch__(self, func, types, args=(), kwargs=None):\n"
        "        print(func) if 'distributed' in str(func) else None\n"
        "        return func(*args, **(kwargs or {}))\n"
        "with Seen(): d.nn.functional.all_gather(torch.ones(2, requires_grad=True))[0].sum().backward()\n"
        "d.destroy_process_group(); print(d.is_initialized())\n"
        "d.init_process_group('mpi', rank=0, world_size=1, store=d.HashStore())\n"
        "three, ones, zeros = d._make_nccl_premul_sum(3.0), torch.ones(2), [torch.zeros(2) for _ in range(3)]\n"
        "d.reduce_scatter(zeros[0], [ones], three); d.reduce_scatter_tensor(zeros[1], ones, three)\n"
        "d.reduce(x, 0, three); d.all_reduce(x, three, group=d.split_group(split_ranks=[[0]]))\n"
        "sent = d.isend(ones, 0); d.irecv(zeros[2], 0).wait(); sent.wait()\n"
        "print(x.tolist(), [z.tolist() for z in zeros], ones.tolist(), d.split_group(split_ranks=[[1]]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, timeout=60)  # fmt: skip
    seen = [
        "minitorch.distributed.all_gather.default",
        "minitorch.distributed.reduce_scatter.default",
    ]
    scaled = "[9.0, 9.0] [[3.0, 3.0], [3.0, 3.0], [1.0, 1.0]] [1.0, 1.0] None"
    assert done.stdout.splitlines() == ["0 1 [1.0, 1.0]", *seen, "False", scaled], done.stderr


def test_mpi_is_loaded_when_it_is_asked_for() -> None:
    code = "import sys, minitorch.torch; print('mpi4py' in sys.modules, 'minitorch.torch.distributed' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, timeout=60)  # fmt: skip
    assert done.stdout == "False False\n", done.stderr


def test_before_there_is_a_group() -> None:
    assert dist.is_available()
    assert not dist.is_initialized()
    for call in (dist.get_rank, dist.get_world_size, dist.barrier):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            call()
    with pytest.raises(ValueError, match="environment variable RANK expected, but not set"):
        dist.init_process_group("gloo")
    with pytest.raises(RuntimeError, match="doesn't have NCCL built in"):
        dist.init_process_group("nccl")
    with pytest.raises(RuntimeError, match="No rendezvous handler for http://"):
        dist.init_process_group("gloo", init_method="http://x", rank=0, world_size=1)


def test_a_store_over_tcp_waits_and_says_who_is_gone() -> None:
    from minitorch.torch.distributed.tcp_store import Presence

    master = dist.TCPStore("127.0.0.1", 0, is_master=True)
    client = dist.TCPStore("127.0.0.1", master.port)
    threading.Timer(0.1, lambda: master.set("late", "now")).start()
    assert client.get("late") == b"now"
    first, second = Presence(master, 0), Presence(master, 1)
    second._connection.shutdown(socket.SHUT_RDWR)  # as the system does for a process that ends
    end = time.monotonic() + 5
    while not first.lost and time.monotonic() < end:
        time.sleep(0.01)
    assert first.lost == {1: "its process has ended"}
    with pytest.raises(DistNetworkError, match="timed out"):
        dist.TCPStore("127.0.0.1", free_port(), timeout=timedelta(seconds=0.2))
