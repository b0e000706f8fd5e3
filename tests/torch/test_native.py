"""Tapes that are played by compiled programs: results to rounding, and how entries become loops."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import pytest

import benchmarks.torch_steps as steps
import minitorch.torch as torch
from minitorch.torch.compiler.loops import Loop
from minitorch.torch.compiler.lowering import Call, Update
from minitorch.torch.compiler.native_player import NativePlayer, Plan
from minitorch.torch.compiler.passes import for_programs, with_constants
from minitorch.torch.compiler.product_forms import Product

from . import compiled_programs
from .compile_cases import arguments, gradients, modules, training_steps, values  # noqa: F401
from .compile_cases.ways import CASES, agree
from .test_compile_sound import outcome

nn = torch.nn
SOME = (
    "steps_of_adam", "a_step_with_momentum", "too_many_shapes", "errors_in_between", "an_index_that_is_out_of_range",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _native() -> Iterator[None]:
    with compiled_programs.native(), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "torch.compile: calls of")
        yield


def plan_of(fn: Any, *args: Any) -> Plan:
    """The plan of a function that is played after some calls."""
    compiled = torch.compile(fn)
    for _ in range(5):
        compiled(*args)
    shorter, arrays = with_constants(for_programs(compiled.tape))
    return NativePlayer(shorter, arrays).native


def kinds(plan: Plan) -> list[type]:
    return [type(step) for step in plan.lowering.steps]


@pytest.mark.parametrize("name", SOME)
def test_ways_to_break_a_tape(name: str) -> None:
    case = CASES[name][0]
    assert agree(outcome(case, torch.compile), outcome(case, lambda fn, **_: fn), exactly=False)


def test_random_programs() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = [compiled_programs.run(seed, exactly=False) for seed in range(0, 30, 3)]
    assert outcomes.count("played") >= 5


def test_results_that_are_views_are_never_used_again() -> None:
    layer = torch.nn.Linear(4, 1)
    compiled = torch.compile(lambda x: layer(x).squeeze(-1))
    given = [torch.randn(3, 4) for _ in range(12)]
    for _ in range(3):
        results: list[Any] = [compiled(x) for x in given]
        wanted = torch.stack([layer(x).squeeze(-1) for x in given])
        assert torch.allclose(torch.stack(results), wanted)


KEPT: dict[str, Callable[[Any], Any]] = {
    "tensor": lambda gradient: gradient,
    "view": lambda gradient: gradient[0],
    "detached": lambda gradient: gradient.detach(),
    "array": lambda gradient: gradient.numpy(),
    "view of the array": lambda gradient: gradient.numpy()[0],
    "memoryview": lambda gradient: memoryview(gradient.numpy()),
}


@pytest.mark.parametrize("kept", KEPT)
def test_gradients_that_somebody_keeps_are_not_written_again(kept: str) -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any) -> None:
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()

    compiled = torch.compile(step)
    given = [torch.randn(5, 3) for _ in range(8)]
    all_kept, copies = [], []
    for i, x in enumerate(given):
        compiled(x)
        if i != 6:  # and memory that nobody keeps is used again
            found = [KEPT[kept](p.grad) for p in model.parameters()]
            all_kept += found
            copies += [
                np.array(each.detach() if hasattr(each, "detach") else each) for each in found
            ]
    assert compiled.traced
    for each, copy in zip(all_kept, copies, strict=True):
        np.testing.assert_array_equal(each, copy)


def test_memory_of_gradients_is_used_again() -> None:
    layer: Any = nn.Linear(3, 2)

    def step(x: Any) -> None:
        layer.zero_grad()
        layer(x).sum().backward()

    compiled, x = torch.compile(step), torch.randn(5, 3)
    places = []
    for _ in range(8):
        compiled(x)
        places.append((layer.weight.grad.data_ptr(), layer.bias.grad.data_ptr()))
    assert len(set(places[-4:])) == 1


def test_a_training_step_is_one_program() -> None:
    torch.manual_seed(0)
    step: Any = steps.mlp(torch)
    eager = [step() for _ in range(12)]
    torch.manual_seed(0)
    step = steps.compiled(steps.mlp(torch), torch)
    played = [step() for _ in range(12)]
    np.testing.assert_allclose(played, eager, rtol=1e-6)
    shorter, arrays = with_constants(step.args[0].tape)
    plan = NativePlayer(shorter, arrays).native
    found = kinds(plan)
    assert (found.count(Call), found.count(Update), len(plan.segments)) == (0, 1, 1)
    assert (found.count(Product), found.count(Loop)) == (8, 5)
    assert len({text.source for text in plan.texts.values()}) == 3  # equal loops are one function


def test_neighbours_are_one_loop_with_their_sums() -> None:
    def f(x: Any, y: Any) -> Any:
        z = torch.exp(x - y) * 2 + (x > y)
        return z, z.sum(), z.mean(0), z.sum(1, keepdim=True)

    x, y = torch.randn(5, 7), torch.randn(7)
    plan = plan_of(f, x, y)
    assert kinds(plan) == [Loop]
    compiled = torch.compile(f)
    for _ in range(6):
        for a, b in zip(compiled(x, y), f(x, y), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=3e-6)
            assert a.stride() == b.stride()


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_views_strides_and_types(kind: Any) -> None:
    def f(x: Any, n: Any, flags: Any) -> Any:
        a = x.t() * 2
        b = (a + n).view(3, 4, 1).expand(3, 4, 5) if a.is_contiguous() else (a + n)[:, :, None]
        c = torch.where(flags, b.sum(-1), x.t())
        return c.double() @ c.double().t(), c[1:, ::2] * 3, c.mean(), (c > 0).float().sum((0, 1))

    x = torch.randn(4, 3, dtype=kind)
    for given in (x, torch.randn(3, 4, dtype=kind).t()):
        n, flags = torch.arange(4), torch.randn(3, 4) > 0
        compiled = torch.compile(f)
        for _ in range(6):
            for a, b in zip(compiled(given, n, flags), f(given, n, flags), strict=True):
                assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


def _played(fn: Any, *args: Any) -> None:
    """Compare a function that walks back with itself, played; no entry is left to Python."""
    plan = plan_of(fn, *args)
    assert Call not in kinds(plan), [s for s in plan.lowering.steps if isinstance(s, Call)]
    compiled = torch.compile(fn)
    for _ in range(6):
        for a, b in zip(compiled(*args), fn(*args), strict=True):
            assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
            scale = max(1.0, float(np.abs(b.detach().numpy()).max()))
            np.testing.assert_allclose(
                a.detach().numpy(), b.detach().numpy(), rtol=0, atol=2e-6 * scale
            )


@pytest.mark.parametrize(
    ("kernel", "options"), [(3, {}), (3, {"stride": 2, "padding": 1}), ((2, 3), {"dilation": 2})]
)  # fmt: skip
def test_convolutions_and_pooling(kernel: Any, options: Any) -> None:
    torch.manual_seed(0)
    conv = nn.Conv2d(3, 5, kernel, **options)

    def f(x: Any) -> Any:
        y = nn.functional.max_pool2d(torch.relu(conv(x)), 2)
        return y.detach().clone(), *torch.autograd.grad((y * y).sum(), [x, *conv.parameters()])

    _played(f, torch.randn(4, 3, 13, 14, requires_grad=True))


@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm_and_its_running_statistics(affine: bool) -> None:
    """Normalized, scaled and counted as by eager calls, in one program."""

    def made() -> tuple[Any, Any]:
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5, affine=affine), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
            nn.Linear(5, 2), nn.BatchNorm1d(2, momentum=0.3),
        )  # fmt: skip
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            y = torch.tanh(model(x * 3 + 1))
            loss = (y * (y + 0.5)).sum()
            loss.backward()
            optimizer.step()
            return loss

        return model, step

    (eager, expected), (model, step) = made(), made()
    plan = plan_of(made()[1], torch.randn(4, 3, 9, 8))
    assert Call not in kinds(plan)
    assert len(plan.segments) == 1
    compiled = torch.compile(step)
    for n in range(7):
        x = torch.randn(4, 3, 9, 8) + n
        np.testing.assert_allclose(compiled(x).item(), expected(x).item(), rtol=1e-4, atol=1e-5)
    for (name, a), b in zip(model.state_dict().items(), eager.state_dict().values(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5, err_msg=name)
    versions = [[b._version for b in m.buffers()] for m in (model, eager)]
    assert versions[0] == versions[1]


@pytest.mark.parametrize("causal", [True, False])
def test_a_transformer_block_is_one_program(causal: bool) -> None:
    """Rows of a table, norms, attention, joined tensors, and all gradients."""
    torch.manual_seed(0)
    table, norm, qkv = nn.Embedding(7, 8, padding_idx=2), nn.LayerNorm(8), nn.Linear(8, 24)

    def f(tokens: Any) -> Any:
        x = norm(table(tokens))
        q, k, v = (part.view(3, 5, 2, 4).transpose(1, 2) for part in qkv(x).split(8, 2))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        y = torch.cat([y.transpose(1, 2).reshape(3, 5, 8), x * 2], 2).softmax(-1)
        loss = (nn.functional.log_softmax(y, -1) * y).sum()
        parameters = [*table.parameters(), *norm.parameters(), *qkv.parameters()]
        return loss.detach().clone(), *torch.autograd.grad(loss, parameters)

    tokens = torch.randint(0, 7, (3, 5))
    _played(f, tokens)
    compiled = torch.compile(f)
    before = [compiled(tokens)[0].item() for _ in range(5)]
    for wrong in (7, -1):
        with pytest.raises(IndexError, match="index out of range in self"):
            compiled(torch.full((3, 5), wrong))
    assert compiled(tokens)[0].item() == before[-1]


def test_large_norms_and_tables_on_all_threads() -> None:
    def f(x: Any, weight: Any, bias: Any, table: Any, index: Any) -> Any:
        y = nn.functional.layer_norm(x, (300,), weight, bias)
        loss = (y * x).sum() + (nn.functional.embedding(index, table) * y).sum()
        return y.detach().clone(), *torch.autograd.grad(loss, (x, weight, bias, table))

    torch.manual_seed(0)
    given = [torch.randn(n, requires_grad=True) for n in ((500, 300), (300,), (300,), (40, 300))]
    _played(f, *given, torch.randint(0, 40, (500,)))


def test_sums_that_tasks_share() -> None:
    """Sums along all dimensions but one, on all threads: each has channels of its own."""

    def f(x: Any, y: Any) -> Any:
        z = x * y
        return z.sum((0, 2)), z.mean(2), z.transpose(0, 1).sum((1, 2)), z.sum((1, 2)), z.sum()

    given = torch.randn(30, 8, 700), torch.randn(8, 1)
    plan = plan_of(f, *given)
    assert any(text.parallel and text.split == 1 for text in plan.texts.values())
    compiled = torch.compile(f)
    for _ in range(5):
        for a, b in zip(compiled(*given), f(*given), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=2e-3)


def test_cross_entropy_and_its_errors() -> None:
    def f(x: Any, target: Any) -> Any:
        loss = nn.functional.cross_entropy(x, target, ignore_index=2)
        also = nn.functional.cross_entropy(x, target, reduction="sum")
        return (loss + also).detach().clone(), *torch.autograd.grad(loss + also, [x])

    x, target = torch.randn(6, 5, requires_grad=True), torch.as_tensor([0, 1, 2, 3, 4, 2])
    _played(f, x, target)
    compiled = torch.compile(f)
    before = [compiled(x, target)[0].item() for _ in range(5)]
    for wrong in (5, -1):
        with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
            compiled(x, torch.as_tensor([0, 1, 2, wrong, 4, 2]))
    assert compiled(x, target)[0].item() == before[-1]


def test_large_loops_on_all_threads() -> None:
    def f(x: Any, w: Any, b: Any) -> Any:
        y = torch.tanh(nn.functional.linear(x, w, b))
        return y, y.sum(0), y.mean(1)

    given = torch.randn(700, 64), torch.randn(300, 64), torch.randn(300)
    compiled = torch.compile(f)
    for _ in range(5):
        for a, b in zip(compiled(*given), f(*given), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=2e-5)


def test_results_stay_what_they_were() -> None:
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.compile
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (model(x) ** 2).sum() * 1.5
        loss.backward()
        optimizer.step()
        return loss

    kept = []
    for n in range(10):
        loss = step(torch.full((4, 3), 1.0 + n))
        gradient: Any = model.weight.grad
        kept += [
            (t, t.detach().numpy().copy()) for t in (loss, gradient, gradient[0], gradient.t())
        ]
    for tensor, was in kept:
        np.testing.assert_array_equal(tensor.detach().numpy(), was)


def test_threads_play_one_tape() -> None:
    compiled = torch.compile(lambda x: (x.exp() * 2).sum(0) + torch.sort(x, 0)[0].sum(0))
    x = torch.randn(60, 500)
    expected = [compiled(x * k).numpy().copy() for k in range(6)]
    wrong = []

    def play(k: int) -> None:
        for _ in range(40):
            if not np.array_equal(compiled(x * k).numpy(), expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=play, args=(k,)) for k in range(4, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_program_is_printed() -> None:
    def f(x: Any, y: Any) -> Any:
        return torch.relu(x @ y + 1).sum()

    text = str(torch.compiler.explain(f)(torch.ones(2, 3), torch.ones(3, 4)))
    assert (
        "program: 2 steps, 1 runs without Python; 32 bytes for 1 temporary arrays of 32 bytes"
        in text
    )
    assert "%2[0] = %0 @ %1  # 104 bytes" in text
    assert "v3 = relu(v2)" in text
    compiled = torch.compile(f)
    for _ in range(4):
        compiled(torch.ones(2, 3), torch.ones(3, 4))
    assert "v3 = relu(v2)" in str(compiled.tape)


def test_memory_is_planned() -> None:
    def chain(x: Any, w: Any) -> Any:
        for _ in range(8):
            x = torch.relu(x @ w)
        return x.sum()

    plan = plan_of(chain, torch.randn(16, 16), torch.randn(16, 16))
    assert plan.lowering.memory.size == 2 * 16 * 16 * 4  # for fifteen matrices


def test_a_loop_writes_where_it_reads_what_nobody_needs_any_more() -> None:
    def chain(x: Any, w: Any) -> Any:
        return torch.sigmoid(x @ w) @ w

    given = torch.randn(16, 16), torch.randn(16, 16)
    assert plan_of(chain, *given).lowering.memory.size == 16 * 16 * 4  # the result is left
    compiled = torch.compile(chain)
    for _ in range(4):
        assert torch.allclose(compiled(*given), chain(*given))


def test_what_is_overwritten_is_read_before() -> None:
    def two_names(x: Any, w: Any) -> Any:
        product = x @ w
        again = product.view(256).view(16, 16)
        first = torch.relu(product)
        return first @ (first * again + product) @ product.t().exp()

    def parts(x: Any, w: Any) -> Any:
        product = x @ w
        return torch.exp(product) @ w, (product * product[:1]) @ w, (product + product.t()) @ w

    compiled = [torch.compile(two_names), torch.compile(parts)]
    for _ in range(4):
        given = torch.randn(16, 16) / 4, torch.randn(16, 16) / 4
        for fn, played in zip((two_names, parts), compiled, strict=True):
            expected, found = fn(*given), played(*given)
            for a, b in zip(torch.stack(tuple(expected)), torch.stack(tuple(found)), strict=True):
                assert torch.allclose(a, b, rtol=1e-5, atol=1e-6)


def test_memory_that_kernels_work_in_is_planned() -> None:
    conv = nn.Conv2d(3, 8, 3)
    plan = plan_of(lambda x: conv(x), torch.randn(4, 3, 12, 12))
    (convolution,) = plan.lowering.steps
    rooms = [plan.lowering.memory.place(slot).root for slot in convolution.written()][1:]
    assert 0 < rooms[0].nbytes == plan.lowering.memory.size


def test_a_weights_gradient_comes_before_the_inputs() -> None:
    """Then the gradient of the input may lie where the input lies."""
    first, second = nn.Linear(64, 64, bias=False), nn.Linear(64, 64, bias=False)

    def step(x: Any) -> None:
        first.zero_grad()
        second.zero_grad()
        second(first(x)).sum().backward()

    matrix = 64 * 64 * 4
    assert plan_of(step, torch.randn(64, 64)).lowering.memory.size <= 3 * matrix + 64


@pytest.mark.parametrize("window", [(2, 2, 0), (3, 2, 1), (3, 1, 0)], ids=str)
def test_masks_of_relu_come_before_places_of_pooling(window: tuple[int, int, int]) -> None:
    """Gradients are the eager ones, with ties and NaN, and masks are made where there are fewer numbers."""
    pool, conv = nn.MaxPool2d(*window), nn.Conv2d(2, 3, 3, padding=1)

    def step(x: Any, t: Any) -> Any:
        conv.zero_grad()
        pooled = pool(torch.relu(conv(x)))
        (pooled * t).sum().backward()
        return pooled

    compiled, x = torch.compile(step), torch.randn(2, 2, 8, 8)
    t = torch.randn(pool(x).shape)[:, :1].expand(-1, 3, -1, -1).clone()
    for i in range(8):
        x = torch.randn(2, 2, 8, 8)
        x[0, 0, 2:5] = (0.0, float("nan"), 1.0)[i % 3]
        found: list[list[Any]] = []
        for fn in (step, compiled):
            found.append(
                [fn(x, t).detach(), *(cast(Any, p.grad).clone() for p in conv.parameters())]
            )
        for a, b in zip(*found, strict=True):
            assert torch.allclose(a, b, rtol=1e-5, atol=1e-5, equal_nan=True)
    plan = plan_of(step, x, t)
    loops = [s for s in plan.lowering.steps if isinstance(s, Loop)]
    (masking,) = (s for s in loops if "threshold_backward" in [o.name for o in s.operations])
    assert masking.shape == t.shape


@pytest.mark.parametrize("walks", [1, 2])
@pytest.mark.parametrize("projected", [0, 6])
def test_gradients_of_gates_are_written_over_them_where_nobody_reads_these_again(
    walks: int, projected: int
) -> None:
    torch.manual_seed(0)
    layer: Any = torch.nn.LSTM(8, 16, proj_size=projected)
    x = torch.randn(12, 8, 8)

    def step() -> Any:
        layer.zero_grad()
        loss = layer(x)[0].square().mean()
        for walk in range(walks):
            loss.backward(retain_graph=walk + 1 < walks)
        return [p.grad.clone() for p in layer.parameters()]

    wanted = step()
    plan = plan_of(step)
    (over,) = {
        entry.params["over_gates"]
        for entry in plan.tape.entries
        if entry.op.name == "lstm_layer_backward"
    }
    assert over == (walks == 1)
    played = torch.compile(step)
    found = [played() for _ in range(5)][-1]
    assert all(
        torch.allclose(a, b, rtol=1e-5, atol=1e-7) for a, b in zip(found, wanted, strict=True)
    )
