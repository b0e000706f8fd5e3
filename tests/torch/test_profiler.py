"""The profiler: what it notes, when it does, and that nothing is left of it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch as oracle

import minitorch.torch as torch
from minitorch.torch.ops.nodes import OpNode
from minitorch.torch.ops.record import REGISTRY
from minitorch.torch.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
)


def _train(model, optimizer):
    with record_function("forward"):
        loss = model(torch.ones(4, 6)).sum()
    loss.backward()
    optimizer.step()


def _parts():
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh())
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def test_events_and_tables(tmp_path):
    before = [op.compute for op in REGISTRY.values()], OpNode.backward
    model, optimizer = _parts()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recorded:
        _train(model, optimizer)
        torch.ones(3).add_(1)
    assert ([op.compute for op in REGISTRY.values()], OpNode.backward) == before
    sums = {e.key: e for e in recorded.key_averages()}
    assert {"forward", "aten::linear", "aten::tanh", "TanhBackward0"} <= set(sums)
    assert "Optimizer.step#SGD.step" in sums
    forward = sums["forward"]
    assert forward.cpu_time_total >= sums["aten::linear"].cpu_time_total > 0
    assert forward.self_cpu_time_total < forward.cpu_time_total
    shaped = recorded.key_averages(group_by_input_shape=True)
    assert any(e.input_shapes == [[4, 6], [5, 6], [5]] for e in shaped)
    table = recorded.key_averages().table(sort_by="cpu_time_total", row_limit=5, header="Times")
    lines = table.splitlines()
    assert lines[0] == "Times"
    assert lines[2].split()[:4] == ["Name", "Self", "CPU", "%"]
    assert lines[4].split()[0] == max(sums.values(), key=lambda e: e.cpu_time_total).key
    assert "Self CPU time total" in table
    path = tmp_path / "trace.json"
    recorded.export_chrome_trace(str(path))
    events = json.loads(path.read_text())["traceEvents"]
    assert {e["name"] for e in events} == set(sums)
    with torch.autograd.profiler.profile() as older:
        model(torch.ones(2, 6))
    assert "aten::linear" in str(older)


def test_schedule():
    options = {"wait": 1, "warmup": 1, "active": 2, "repeat": 2, "skip_first": 1}
    mine, theirs = schedule(**options), oracle.profiler.schedule(**options)
    assert [mine(i).name for i in range(12)] == [theirs(i).name for i in range(12)]
    with pytest.raises(AssertionError, match="Invalid profiler schedule"):
        schedule(wait=-1, warmup=0, active=1)
    model, optimizer = _parts()
    ready = []
    with profile(
        schedule=mine,
        on_trace_ready=lambda p: ready.append(
            (p.step_num, sum(e.count for e in p.key_averages() if e.key == "forward"))
        ),
    ) as recorded:
        for _ in range(10):
            _train(model, optimizer)
            recorded.step()
    assert ready == [(5, 2), (9, 2)]
    assert recorded.current_action is ProfilerAction.NONE


def test_ranges_are_decorators():
    @record_function("named")
    def work():
        return torch.ones(2) + 1

    work()
    with profile() as recorded:
        work()
        work()
    assert {e.key: e.count for e in recorded.key_averages()}["named"] == 2


def test_tensorboard_is_asked_for_by_name():
    code = "import sys; sys.modules['tensorboard'] = None; import minitorch.torch.utils.tensorboard"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install tensorboard" in found.stderr
