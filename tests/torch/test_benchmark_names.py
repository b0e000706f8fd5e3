"""`utils.benchmark`, masks of causal attention by name, types of results, switches of attention."""

from __future__ import annotations

from typing import Any

import pytest
import torch as real
import torch.nn.attention.bias as real_bias
import torch.utils.benchmark as real_benchmark

import minitorch.torch as library
import minitorch.torch.nn.attention.bias as our_bias
import minitorch.torch.utils.benchmark as our_benchmark
from minitorch.torch.autograd.grad_mode import no_grad
from minitorch.torch.autograd.variable import Variable

ours: Any = library
BOTH = pytest.mark.parametrize(
    "benchmark", [our_benchmark, real_benchmark], ids=["ours", "pytorch"]
)


def counting() -> Any:
    """A clock that goes on by a millisecond at each look."""
    times = iter(range(10**9))
    return lambda: next(times) / 1000


@BOTH
def test_a_timer_runs_its_statement(benchmark: Any):
    seen: list[int] = []
    timed = benchmark.Timer(
        "seen.append(x)", setup="x = 7", globals={"seen": seen}, timer=counting()
    ).timeit(10)
    assert len(seen) >= 10
    assert set(seen) == {7}
    assert timed.number_per_run == 10
    assert timed.median == pytest.approx(1e-4)
    assert timed.raw_times == pytest.approx([1e-3])


@BOTH
def test_blocks_and_tables(benchmark: Any):
    made = []
    for name in ("one", "other"):
        timer = benchmark.Timer(
            "sum(range(100))", label="sums", sub_label=name, description="time", num_threads=1
        )
        measured = timer.blocked_autorange(min_run_time=0.01)
        assert sum(measured.raw_times) >= 0.01
        assert measured.iqr >= 0
        made.append(measured)
    text = str(benchmark.Compare(made))
    assert [line.split("|")[0].strip() for line in text.splitlines() if "|" in line] == [
        "",
        "one",
        "other",
    ]
    assert "Times are in" in text
    assert "sums" in text.splitlines()[0]
    merged = benchmark.Measurement.merge([made[0], made[0]])
    assert len(merged) == 1
    assert len(merged[0].raw_times) == 2 * len(made[0].raw_times)


def test_texts_of_measurements_are_torchs():
    texts = []
    for benchmark in (our_benchmark, real_benchmark):
        timer = benchmark.Timer("pass", label="a", sub_label="b", description="c", timer=counting())
        made = timer.timeit(10)
        texts.append([str(made).splitlines()[1:], str(benchmark.Compare([made]))])
    assert texts[0] == texts[1]
    with pytest.raises(ValueError, match="Measurement"):
        our_benchmark.Compare([1])  # type: ignore[list-item]


@pytest.mark.parametrize("name", ["causal_upper_left", "causal_lower_right"])
@pytest.mark.parametrize("sizes", [(3, 3), (2, 5)])
def test_causal_masks(name, sizes):
    results = []
    for t, bias in ((ours, our_bias), (real, real_bias)):
        query = t.linspace(-1, 1, sizes[0] * 4).view(1, 1, sizes[0], 4)
        key = t.linspace(1, -1, sizes[1] * 4).view(1, 1, sizes[1], 4)
        mask = getattr(bias, name)(*sizes)
        assert mask.variant.name == name.removeprefix("causal_").upper()
        results.append(
            t.nn.functional.scaled_dot_product_attention(query, key, key * 2, mask)
            .flatten()
            .tolist()
        )
    assert results[0] == pytest.approx(results[1], abs=1e-6)
    with pytest.raises(ValueError, match="causal=True"):
        ours.nn.functional.scaled_dot_product_attention(
            ours.ones(1, 1, *sizes), ours.ones(1, 1, *sizes), ours.ones(1, 1, *sizes), getattr(our_bias, name)(*sizes), is_causal=True
        )  # fmt: skip


def test_types_of_results_and_old_places():
    assert isinstance(ours.ones(3).sort(), ours.return_types.sort)
    assert isinstance(ours.ones(3).max(0), ours.return_types.max)
    assert Variable is ours.Tensor
    assert no_grad is ours.no_grad


def test_choices_of_attention_are_kept():
    switches = ours.backends.cuda
    with switches.sdp_kernel(enable_flash=False):
        assert not switches.flash_sdp_enabled()
        assert switches.math_sdp_enabled()
    assert switches.flash_sdp_enabled()
    switches.enable_mem_efficient_sdp(False)
    assert not switches.mem_efficient_sdp_enabled()
    switches.enable_mem_efficient_sdp(True)
