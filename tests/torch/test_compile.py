"""`torch.compile`: what programs see of it. How it stays right is in `test_compile_sound.py`."""

from __future__ import annotations

import contextlib
import copy
import cProfile
import gc
import importlib.util
import json
import re
import subprocess
import sys
import warnings
import weakref
from pathlib import Path
from typing import Any, cast

import pytest

import benchmarks.torch_steps as steps
import minitorch.torch as torch
from minitorch.garbage import uncollected

nn = torch.nn


def network() -> Any:
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


def test_a_decorator_with_and_without_options():
    @torch.compile
    def plain(x):
        """Adds one."""
        return x + 1

    @torch.compile(fullgraph=True, dynamic=False, mode="max-autotune")
    def with_options(x):
        return x + 2

    for _ in range(5):
        assert plain(torch.ones(2)).tolist() == [2, 2]
        assert with_options(torch.ones(2)).tolist() == [3, 3]
    assert (plain.__name__, plain.__doc__) == ("plain", "Adds one.")
    assert len(plain.tapes) == len(with_options.tapes) == 1


def test_methods_and_classes():
    class Scaler:
        def __init__(self, by):
            self.by = by

        @torch.compile
        def apply(self, x):
            return x * self.by

    two, three = Scaler(2), Scaler(3)
    for _ in range(5):
        assert two.apply(torch.ones(1)).item() == 2
        assert three.apply(torch.ones(1)).item() == 3
    assert len(Scaler.apply.tapes) == 2


def test_a_module_keeps_its_names_and_state():
    model = network()
    compiled = torch.compile(model)
    assert list(compiled.state_dict()) == [f"_orig_mod.{k}" for k in model.state_dict()]
    assert compiled[0] is model[0]
    assert compiled._orig_mod is model
    compiled.eval()
    assert not model.training
    assert not compiled.training
    compiled.note = 3
    assert model.note == 3
    assert list(compiled.parameters()) == list(model.parameters())
    x = torch.randn(5, 3)
    for _ in range(4):
        assert torch.equal(compiled(x), model(x))
    assert "linear" in str(compiled.tape)
    again = copy.deepcopy(compiled)
    assert torch.equal(again(x), model(x))
    assert again._orig_mod is not model


def test_a_module_compiled_in_place():
    model, x = network(), torch.randn(5, 3)
    expected = model(x)
    model.compile()
    for _ in range(4):
        assert torch.equal(model(x), expected)
    assert len(model._compiled_call_impl.tapes) == 1
    assert list(model.state_dict()) == list(network().state_dict())
    assert torch.equal(copy.deepcopy(model)(x), expected)
    assert "forward" not in vars(copy.deepcopy(model))


def test_a_look_at_a_value_is_named_once():
    @torch.compile
    def f(x):
        y = x * 2
        return y * y.sum().item()

    with pytest.warns(UserWarning, match=r"stays eager, because .*test_compile\.py:\d+\)"):
        f(torch.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(5):
            assert f(torch.ones(2)).tolist() == [8, 8]


def test_fullgraph_is_an_error_where_there_is_no_tape():
    @torch.compile(fullgraph=True)
    def f(x):
        return x * 2 if x.sum() > 0 else x

    for _ in range(2):
        with pytest.raises(torch._dynamo.exc.Unsupported, match="__bool__"):
            f(torch.ones(2))


def test_too_many_tapes_are_one_warning(monkeypatch):
    monkeypatch.setattr(torch._dynamo.config, "cache_size_limit", 2)
    f = torch.compile(lambda x: x + 1)
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        for _ in range(4):
            for n in (1, 2, 3):
                assert f(torch.zeros(n)).tolist() == [1] * n
    assert ["2 tapes already" in str(w.message) for w in noted] == [True]
    assert (len(f.tapes), f.eager) == (2, "")
    assert [each.plays > 0 for each in f.traced] == [True, True]


def test_suppress_errors(monkeypatch):
    monkeypatch.setattr(torch._dynamo.config, "suppress_errors", True)
    f = torch.compile(lambda x: x.item() + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(torch.ones(())) == 2


def test_is_compiling_and_reset():
    said = []

    @torch.compile
    def f(x):
        return x + (1 if torch.compiler.is_compiling() else 2)

    def g(x):
        said.append(torch.compiler.is_compiling())
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.compile(g)(torch.ones(1))
    assert said == [True]
    assert not torch.compiler.is_compiling()
    for _ in range(4):
        f(torch.ones(1))
    assert len(f.tapes) == 1
    torch.compiler.reset()
    assert not f.tapes
    assert f(torch.ones(1)).item() == 2  # is traced again


def test_modes_backends_and_what_is_refused():
    f = lambda x: x + 1  # noqa: E731
    assert torch.compile(f, disable=True) is f
    assert "inductor" in torch.compiler.list_backends()
    eager = torch.compile(f, backend="eager")
    assert [eager(torch.ones(1)).item() for _ in range(4)] == [2] * 4
    with pytest.raises(TypeError, match="returned NoneType, not a function"):
        torch.compile(f, backend=lambda gm, inputs: None)(torch.ones(1))
    with pytest.raises(RuntimeError, match="Unrecognized mode=quick"):
        torch.compile(f, mode="quick")
    with pytest.raises(RuntimeError, match="both can't be specified"):
        torch.compile(f, mode="default", options={})
    with pytest.raises(torch._dynamo.exc.InvalidBackend, match="'none'"):
        torch.compile(f, backend="none")
    with pytest.raises(AssertionError, match="callable"):
        torch.compile(cast("Any", 3))
    torch._inductor.config.coordinate_descent_tuning = True
    torch._inductor.config.triton.unique_kernel_names = True
    torch.compiler.cudagraph_mark_step_begin()
    assert torch.compiler.allow_in_graph(f) is f


def test_when_each_step_ran(tmp_path: Path) -> None:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.compile
    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    x = torch.ones(2, 3)
    with pytest.raises(RuntimeError, match="has no tape"):
        step.timeline(x)
    before = [step(x).item() for _ in range(6)][-1]
    timeline = step.timeline(x)
    assert timeline.result.item() < before
    assert step(x).item() < timeline.result.item()
    assert all(event.end >= event.start for event in timeline.events)
    assert "sgd_ of 4 parameters" in str(timeline)
    timeline.save(tmp_path / "trace.json")
    rows = json.loads((tmp_path / "trace.json").read_text())["traceEvents"][1:]
    assert len(rows) == len(timeline.events)
    assert rows[-1]["name"] == "sgd_ of 4 parameters"
    assert __file__ in rows[0]["args"]["lines"][0]
    unfused = step.unfused_timeline(x)
    names = [event.name for event in unfused.events]
    assert (names[0], names[-1], names.count("relu")) == ("linear", "sgd_", 1)
    assert unfused.events[names.index("relu")].reads == {0: (2, 4)}
    assert step(x).item() < unfused.result.item() < timeline.result.item()


def test_settings_that_hold_for_a_while() -> None:
    dynamo = importlib.import_module("minitorch.torch._dynamo.config")
    inductor = importlib.import_module("minitorch.torch._inductor.config")
    assert dynamo is torch._dynamo.config
    with dynamo.patch(cache_size_limit=1), inductor.patch({"triton.cudagraphs": True}):
        assert (dynamo.cache_size_limit, inductor.triton.cudagraphs) == (1, True)
    assert (dynamo.cache_size_limit, inductor.triton.cudagraphs) == (8, False)
    assert dynamo.patch("verbose", True)(lambda: dynamo.verbose)()
    with pytest.raises(AttributeError, match=r"torch._dynamo.config.none does not exist"):  # noqa: SIM117
        with dynamo.patch(none=1):
            pass


def test_the_names_of_settings_are_torchs() -> None:
    (folder,) = importlib.util.find_spec("torch").submodule_search_locations  # type: ignore[union-attr,misc]
    for name in ("_dynamo", "_inductor"):
        real = Path(folder, name, "config.py").read_text()  # to import it takes seconds
        known = set(re.findall(r"^(?:class )?(\w+)[ :(]", real, re.MULTILINE))
        mine = vars(getattr(torch, name).config).items()
        named = {n for n, v in mine if n[0] != "_" and not callable(v)}
        assert named - {"plays_before_programs"} <= known


def test_a_tape_reads_as_a_program():
    @torch.compile
    def f(x, y):
        z = x @ y
        return torch.relu(z).sum()

    for _ in range(3):
        f(torch.ones(2, 3), torch.ones(3, 4))
    lines = str(f.tape).splitlines()
    assert lines[1] == "  %0: float32[2, 3]  # argument 0"
    assert lines[3].startswith("  %2: float32[2, 4] = mm(%0, %1)")
    assert "test_compile.py" in lines[3]
    assert lines[-1] == "  return %4"


def test_explain():
    told = torch.compiler.explain(lambda x: x.relu() * 2)(torch.ones(2))
    assert (told.op_count, told.graph_count, told.out.tolist()) == (2, 1, [2, 2])
    told = torch._dynamo.explain(lambda x: x.item())(torch.ones(()))
    assert (told.graph_break_count, told.out) == (1, 1.0)
    assert "no tape: it looks at" in str(told)


def test_importing_loads_no_compiler():
    code = "import sys, minitorch.torch\nprint([m for m in sys.modules if 'torch.compiler.' in m or 'dynamo' in m])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_memory_stays_flat():
    import tracemalloc

    model = network()
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(5, 3)

    @torch.compile
    def step():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    tracemalloc.start()
    for _ in range(50):
        step()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(500):
        step()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(step.tapes) == 1
    assert after - before < 20_000


@pytest.mark.parametrize("collects", [True, False])
def test_a_pause_of_the_garbage_collector_ends(collects):
    before = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        with contextlib.suppress(KeyError), uncollected():
            assert not gc.isenabled()
            raise KeyError
        assert gc.isenabled() is collects
    finally:
        (gc.enable if before else gc.disable)()


def training_step(parts: list[Any]) -> Any:
    model, x = network(), torch.randn(5, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    parts += list(model.parameters())

    def step() -> Any:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def test_gradients_of_traced_calls_are_let_go():
    parameters: list[Any] = []
    step, arrays = torch.compile(training_step(parameters)), []
    for _ in range(6):
        step()
        arrays += [weakref.ref(p.grad._array) for p in parameters]
    gc.collect()
    assert len(step.tapes) == 1
    assert sum(each() is not None for each in arrays) == len(parameters)


WAYS_TO_KEEP: dict[str, Any] = {
    "tensor": lambda g: g,
    "array": lambda g: torch.from_numpy(g.numpy()),
    "part": lambda g: g.view(-1)[:],
}


@pytest.mark.parametrize("form", WAYS_TO_KEEP)
def test_gradients_that_somebody_keeps_stay_as_they_are(form, monkeypatch):
    """Compiled steps leave gradients in memory that the next one needs, unless somebody still has them."""
    monkeypatch.setattr(torch._dynamo.config, "plays_before_programs", 0)
    runs = []
    for compiles in (False, True):
        torch.manual_seed(0)
        parameters: list[Any] = []
        step = training_step(parameters)
        step = torch.compile(step) if compiles else step
        kept, copies = [], []
        for i in range(12):
            step()
            if i in (5, 6, 9):
                grads = [p.grad for p in parameters]
                copies += [g.clone() for g in grads]
                kept += map(WAYS_TO_KEEP[form], grads)
                assert [g.untyped_storage().nbytes() for g in grads] == [4 * g.numel() for g in grads]  # fmt: skip
                del grads
        if compiles:
            assert len(step.tapes) == 1
            assert "lent" in str(step.tapes[0])
        assert all(torch.equal(a.view(-1), b.view(-1)) for a, b in zip(kept, copies, strict=True))
        runs.append((kept, copies))
    for eager, compiled in zip(*runs, strict=True):
        assert all(torch.allclose(a, b) for a, b in zip(eager, compiled, strict=True))


@pytest.mark.parametrize("name", steps.MODELS)
def test_losses_of_the_five_models(name):
    count = 8 if name in ("GPT", "small ResNet") else 24
    torch.manual_seed(0)
    step: Any = steps.MODELS[name](torch)
    eager = [step() for _ in range(count)]
    torch.manual_seed(0)
    step = steps.compiled(steps.MODELS[name](torch), torch)
    assert [step() for _ in range(count)] == eager
    assert len(step.args[0].tapes) == 1


def test_a_profiler_goes_on_while_calls_are_traced():
    def double(x: Any) -> Any:
        return x + x

    compiled, seen = torch.compile(double), cProfile.Profile()
    seen.enable()
    try:
        results = [compiled(torch.ones(2)).tolist() for _ in range(4)]
        after_tracing()
    finally:
        seen.disable()
    assert results == [[2.0, 2.0]] * 4
    assert compiled.tapes
    assert any(getattr(each.code, "co_name", "") == "after_tracing" for each in seen.getstats())


def after_tracing() -> None:
    """What a profiler sees if it still runs."""


def test_keys_of_dictionaries_are_not_printed():
    printed = []

    class Key:
        def __str__(self) -> str:
            printed.append(self)
            return "key"

    table = {Key(): 2.0}

    def scaled(x: Any) -> Any:
        return x * sum(table.values())

    compiled = torch.compile(scaled)
    assert [compiled(torch.ones(1)).item() for _ in range(4)] == [2.0] * 4
    assert not printed
