"""State that is shared out among ranks: the numbers of PyTorch and of one process, and less memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import minitorch.torch as mt
import minitorch.torch.distributed.checkpoint as dcp
from minitorch.torch.distributed import mpi

from .distributed_found import results, same

pytestmark = pytest.mark.skipif(
    mpi.find_mpiexec() is None or not mpi.is_installed(),
    reason="no mpiexec: pip install mpi4py mpich",
)


@pytest.fixture(scope="module")
def shards() -> list[tuple[Any, Any]]:
    """For each rank, what PyTorch and what we have."""
    theirs, ours = results()
    return [(t["shards"], o["shards"]) for t, o in zip(theirs, ours, strict=True)]


def test_a_shared_optimizer_takes_the_steps_of_a_plain_one(shards: Any) -> None:
    for _, ours in shards:
        shared, plain = ours["zero"], ours["plain"]
        assert shared["losses"] == plain["losses"]
        assert shared["parameters"] == plain["parameters"]
        assert shared["state"] == plain["state"]


def test_a_shared_optimizer_is_pytorchs(shards: Any) -> None:
    for theirs, ours in shards:
        assert same(theirs["zero"], ours["zero"], 2e-6)


def test_each_rank_remembers_its_part_alone(shards: Any) -> None:
    parts = [ours["zero"]["elements"] for _, ours in shards]
    whole = shards[0][1]["plain"]["elements"]
    assert sum(parts) == whole
    assert max(parts) < 1.2 * whole / len(parts)  # no tensor is divided


def test_a_spread_model_trains_as_pytorchs_and_as_one_process(shards: Any) -> None:
    for theirs, ours in shards:
        assert same(theirs["spread"], ours["spread"], 3e-6)
    losses = [[loss for loss, _ in ours["spread"]["losses"]] for _, ours in shards]
    whole = shards[0][1]["whole"]
    means = [sum(step) / len(shards) for step in zip(*losses, strict=True)]
    assert same([loss for loss, _ in whole["losses"]], means, 3e-6)
    norms = [norm for _, norm in shards[0][1]["spread"]["losses"]]
    assert same([norm for _, norm in whole["losses"]], norms, 3e-6)
    assert same(whole["state"], shards[0][1]["spread"]["whole"], 3e-6)


def test_each_rank_has_a_part_of_a_spread_model(shards: Any) -> None:
    whole = shards[0][1]["plain"]["elements"]
    parts = [ours["spread"]["elements"] for _, ours in shards]
    assert sum(rows for rows, _ in parts) * 2 == sum(kept for _, kept in parts) == whole
    assert max(kept for _, kept in parts) <= 1.05 * whole / len(parts)
    assert not any(ours["other ranks"]["gathered"] for _, ours in shards)


def test_a_checkpoint_goes_on_where_it_was_saved(shards: Any) -> None:
    for _, ours in shards:
        assert ours["spread"]["again"] == ours["spread"]["losses"][3:]


def test_a_checkpoint_is_loaded_by_another_number_of_ranks(shards: Any) -> None:
    for _, ours in shards:
        saved = ours["spread"]["saved"]
        assert list(ours["other ranks"]["alone"].values()) == saved
        assert list(ours["other ranks"]["spread"].values()) == saved


def test_wrapped_parts_train_as_one_process(shards: Any) -> None:
    for _, ours in shards:
        found = ours["wrapped"]
        assert same(found["expected"], found["trained"], 3e-6)
        first, second = found["again"]
        assert first == second  # from the state that was loaded, the same steps
        drawn, expected = found["drawn"]
        assert same(drawn, expected, 0)  # the first rank's draw, doubled by what was written
        inner = "_fsdp_wrapped_module.0._fsdp_wrapped_module."
        assert found["names"] == [f"{inner}weight", f"{inner}bias"]
        assert found["remembered"] == ["0.weight", "0.bias"]
        assert found["parts"] == [6, 1]


# --- Checkpoints of one process ---------------------------------------------------------------


class Interrupted(BaseException):
    """Stands for the end of a process."""


@pytest.mark.parametrize("moment", ["_write", "write_index", "_remove_others"])
def test_a_save_that_is_cut_short_leaves_the_last_one_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    from minitorch.torch.distributed.checkpoint import saving

    dcp.save({"x": mt.arange(5.0), "epoch": 1}, checkpoint_id=tmp_path)
    original = getattr(saving, moment)

    def cut_short(*args: Any) -> None:
        if moment == "_write":  # the new file is there, and nothing more
            original(*args)
        raise Interrupted

    monkeypatch.setattr(saving, moment, cut_short)
    with pytest.raises(Interrupted):
        dcp.save({"x": mt.arange(5.0) * 2, "epoch": 2}, checkpoint_id=tmp_path)
    monkeypatch.undo()
    state = {"x": mt.zeros(5), "epoch": 0}
    dcp.load(state, checkpoint_id=tmp_path)
    factor = 2 if moment == "_remove_others" else 1  # by then the new one is complete
    assert state["epoch"] == factor
    assert state["x"].tolist() == [0.0, factor, 2 * factor, 3 * factor, 4 * factor]
    dcp.save({"x": mt.ones(5), "epoch": 3}, checkpoint_id=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2  # what was left behind is gone


def test_what_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    layer = mt.nn.Linear(2, 3)
    dcp.async_save({"layer": layer, "epoch": 1}, checkpoint_id=tmp_path).result()
    state = {"layer": {"weight": mt.zeros(3, 2), "bias": mt.zeros(4)}, "epoch": 0}
    with pytest.raises(
        dcp.CheckpointException, match=r"Size mismatch between saved \[3\] and current: \[4\]"
    ):
        dcp.load(state, checkpoint_id=dcp.FileSystemReader(tmp_path).path)
    with pytest.raises(
        dcp.CheckpointException, match="Missing key in checkpoint state_dict: other"
    ):
        dcp.load({"other": 1, **state}, storage_reader=dcp.FileSystemReader(tmp_path))
    assert state["epoch"] == 0
    assert not state["layer"]["weight"].any()
    with pytest.raises(dcp.CheckpointException, match="there is no checkpoint in"):
        dcp.load(state, checkpoint_id=tmp_path / "nowhere")
    (tmp_path / ".metadata").write_bytes(b"[]")
    with pytest.raises(dcp.CheckpointException, match="is no index of a checkpoint"):
        dcp.load(state, checkpoint_id=tmp_path)


def test_a_part_of_a_state_is_loaded_and_a_checkpoint_says_what_it_has(tmp_path: Path) -> None:
    import torch
    import torch.distributed.checkpoint as theirs

    def run(lib: Any, dcp: Any, folder: Path) -> Any:
        saved = {"model": {"weight": lib.ones(3, 2).half()}, "epoch": 3}
        dcp.save(
            saved, storage_writer=dcp.FileSystemWriter(folder), planner=dcp.DefaultSavePlanner()
        )
        state = {"model": {"weight": lib.zeros(3, 2).half(), "new": lib.zeros(1)}, "epoch": 0}
        dcp.load(
            state, checkpoint_id=folder, planner=dcp.DefaultLoadPlanner(allow_partial_load=True)
        )
        found = dcp.FileSystemReader(folder).read_metadata().state_dict_metadata
        sizes = [
            (n, list(m.size), str(m.properties.dtype))
            for n, m in found.items()
            if hasattr(m, "size")
        ]
        values = state["model"]["weight"].tolist(), state["model"]["new"].tolist(), state["epoch"]
        return values, sizes, sorted(found), type(found["epoch"]).__name__

    assert run(mt, dcp, tmp_path / "ours") == run(torch, theirs, tmp_path / "theirs")
    with pytest.raises(
        NotImplementedError, match="planned by DefaultLoadPlanner alone, not by object"
    ):
        dcp.load({"epoch": 0}, checkpoint_id=tmp_path / "ours", planner=object())


def test_parts_of_a_model_compute_their_activations_again() -> None:
    import importlib

    import torch

    def run(lib: Any) -> Any:
        name = f"{lib.__name__}.distributed.algorithms._checkpoint.checkpoint_wrapper"
        wrapper = importlib.import_module(name)
        lib.manual_seed(0)
        nn = lib.nn
        model = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 4), nn.Tanh()))
        calls: list[str] = []
        model[0].register_forward_pre_hook(lambda *_: calls.append("again"))
        choose = {"check_fn": lambda part: isinstance(part, nn.Linear)}
        wrapper.apply_activation_checkpointing(model, **choose)
        x = lib.ones(2, 3, requires_grad=True)
        model(x).square().sum().backward()
        names = list(model.state_dict()), [n for n, _ in model[0].named_parameters()]
        loaded = str(model.load_state_dict({k: v * 2 for k, v in model.state_dict().items()}))
        numbers = [p.grad.tolist() for p in model.parameters()], x.grad.tolist(), model(x).tolist()
        return names, type(model[0]).__name__, model[0].in_features, calls, loaded, numbers

    with mt.random.fork_rng():
        assert same(run(torch), run(mt), 1e-6)
