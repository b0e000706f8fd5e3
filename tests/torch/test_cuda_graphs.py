"""Compiled functions on a GPU: one graph a tape, with the numbers of eager calls. Simulated where there is no GPU."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import minitorch.torch as torch
from minitorch.torch.compiler import config

from .compile_cases.ways import CASES, agree
from .test_compile_sound import outcome

nn: Any = torch.nn
F: Any = torch.nn.functional
close: Any = torch.testing.assert_close
tensor: Any = torch.tensor

pytestmark = [pytest.mark.cuda, pytest.mark.filterwarnings("ignore:.*has no GPU kernel")]


@pytest.fixture(autouse=True)
def _early_graphs(gpu, monkeypatch):
    """A GPU, or one that is simulated; tapes become graphs after two plays."""
    monkeypatch.setattr(config, "plays_before_programs", 2)


def is_graph(compiled: Any) -> bool:
    return compiled.tape is not None and any(
        line.startswith("graph:") for line in compiled.tape.program
    )


class Network(nn.Module):
    """Some of everything: dropout, norms, an embedding, a convolution, recurrence."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(11, 8)
        self.norm, self.batch = nn.LayerNorm(8), nn.BatchNorm1d(8)
        self.conv, self.drop = nn.Conv1d(8, 8, 3, padding=1, bias=False), nn.Dropout(0.3)
        self.lstm, self.out = nn.LSTM(8, 6, batch_first=True), nn.Linear(6, 5)

    def forward(self, x: Any) -> Any:
        x = self.drop(self.norm(self.words(x)))
        x = torch.relu(self.batch(self.conv(x.transpose(1, 2)))).transpose(1, 2)
        return self.out(self.lstm(x)[0][:, -1])


def trained(compiles: bool, optimizer: Any, calls: int = 9, **options: Any) -> tuple[Any, ...]:
    """The losses of a network, its parameters and the state of the generator at the end."""
    torch.manual_seed(0)
    model = Network().cuda()
    own = optimizer(model.parameters(), **options)
    schedule = torch.optim.lr_scheduler.StepLR(own, 2, 0.5)

    def step(x: Any, y: Any) -> Any:
        own.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        own.step()
        return loss

    train = torch.compile(step) if compiles else step
    losses = []
    for _ in range(calls):
        x, y = (torch.randint(0, n, s).cuda() for n, s in ((11, (4, 6)), (5, (4,))))
        losses.append(train(x, y))
        schedule.step()
    if compiles:
        assert is_graph(train)
    state = [v for p in own.state.values() for v in p.values() if isinstance(v, torch.Tensor)]
    kept = [t.detach().cpu() for t in (*losses, *model.parameters(), *model.buffers(), *state)]
    return kept, torch.cuda.get_rng_state().tolist(), [p.grad.cpu() for p in model.parameters()]


@pytest.mark.parametrize(
    ("optimizer", "options"),
    [
        (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
        (torch.optim.AdamW, {"lr": 0.01}),
        (torch.optim.RMSprop, {"lr": 0.01}),
    ],
)
def test_a_step_is_a_graph_with_the_numbers_of_eager_steps(optimizer, options):
    found, expected = (trained(c, optimizer, **options) for c in (True, False))
    assert found[1] == expected[1]
    for part in (0, 2):
        for a, b in zip(found[part], expected[part], strict=True):
            close(a, b, rtol=1e-4, atol=1e-6)


def test_arguments_are_read_anew_and_written_in_place():
    @torch.compile
    def f(x, y):
        x.add_(1)
        return x * y, y.t() @ x

    for i in range(8):
        x, y = torch.full((2, 3), float(i)).cuda(), torch.arange(6.0).reshape(2, 3).cuda()
        product, square = f(x, y)
        assert x.tolist() == [[i + 1.0] * 3] * 2
        assert product.tolist() == ((y.cpu()) * (i + 1)).tolist()
        assert square.tolist() == (y.cpu().t() @ x.cpu()).tolist()
        assert x._version == 1
    assert is_graph(f)


def test_arguments_with_strides_of_their_own():
    @torch.compile
    def f(x):
        return x * 2

    for i in range(8):
        x = (torch.arange(12.0) + i).reshape(3, 4).cuda().t()[1:]
        assert f(x).tolist() == (x.cpu() * 2).tolist()
        assert f(x).stride() == (x * 2).stride()
    assert is_graph(f)


def test_what_is_kept_is_not_written_again():
    weight = torch.ones(3, device="cuda", requires_grad=True)

    @torch.compile
    def f(x):
        weight.grad = None
        loss = (weight * x).sum()
        loss.backward()
        return loss.detach(), x + 1

    kept: list[Any] = []
    for i in range(12):
        loss, more = f(torch.full((3,), float(i)).cuda())
        kept.append((loss, more[1:], weight.grad))
    assert is_graph(f)
    for i, (loss, more, gradient) in enumerate(kept):
        assert loss.item() == 3 * i
        assert more.tolist() == [i + 1.0] * 2
        assert gradient.tolist() == [i] * 3


def test_clipped_gradients_stay_on_the_gpu():
    def run(compiles: bool) -> list[float]:
        torch.manual_seed(0)
        model = nn.Linear(3, 2).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            model(x).square().sum().backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            return norm

        train = torch.compile(step) if compiles else step
        found = [train(torch.full((4, 3), i / 4).cuda()).item() for i in range(8)]
        assert not compiles or is_graph(train)
        return found

    assert run(True) == pytest.approx(run(False), rel=1e-5)


def is_split(compiled: Any) -> bool:
    return is_graph(compiled) and compiled.traced[-1].play.ahead.graph.split


def test_what_was_started_ahead_in_vain_has_changed_nothing():
    torch.manual_seed(0)
    model = Network().cuda()
    own = torch.optim.Adam(model.parameters())
    refuses = [False]

    @torch.compile
    def step(x, y):
        if refuses[0]:
            raise ValueError("not now")
        own.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        own.step()
        return loss

    def everything():
        grads = [p.grad.tolist() for p in model.parameters()]
        return [t.tolist() for t in model.state_dict().values()], grads, torch.cuda.get_rng_state().tolist()  # fmt: skip

    x, y = torch.randint(0, 11, (4, 6)).cuda(), torch.randint(0, 5, (4,)).cuda()
    for _ in range(8):
        step(x, y)
    assert is_split(step)
    before = everything()
    refuses[0] = True
    for wrong in (x, x.clone() + 7):  # places out of range, which nobody asked for
        with pytest.raises(ValueError, match="not now"):
            step(wrong, y)
    torch.cuda.synchronize()
    assert everything() == before
    refuses[0] = False
    assert step(x, y).isfinite()
    assert everything()[1] != before[1]


def _reads_what_it_wrote(h: Any, x: Any) -> Any:
    h.add_(x.sum())
    return x * h


def _writes_what_it_kept(h: Any, x: Any) -> Any:
    y = x * 3
    h.copy_(y[0])
    y.mul_(2)
    return y + 1


def _reads_a_view(h: Any, x: Any) -> Any:
    view = h[1:].detach()
    h.mul_(1.5)
    return x[:, 1:] * view


def _returns_a_view_twice(h: Any, x: Any) -> Any:
    y = x * 2
    h.add_(1)
    return y, y[0]


@pytest.mark.parametrize(
    ("fn", "splits"),
    [(_reads_what_it_wrote, True), (_writes_what_it_kept, True), (_reads_a_view, True), (_returns_a_view_twice, False)],
)  # fmt: skip
def test_what_is_written_last_is_read_as_before(fn, splits):
    def whole(x):
        for _ in range(9):
            x = x.tanh() + 0.1
        return fn(buffer, x)

    found = []
    for form in (torch.compile(whole), whole):
        buffer = torch.arange(3.0).cuda()
        own = []
        for i in range(10):
            made = form(torch.full((2, 3), 0.1 * i).cuda())
            own += [t.tolist() for t in (*(made if isinstance(made, tuple) else (made,)), buffer)]
        found.append(own)
        if form is not whole:
            assert is_split(form) is splits
    close(*map(tensor, map(_flat, found)))


def _flat(lists: Any) -> list[float]:
    return [n for e in lists for n in (_flat(e) if isinstance(e, list) else [e])]


def test_gradients_add_up():
    weight = torch.ones(3, device="cuda", requires_grad=True)
    x = torch.arange(3.0).cuda()

    @torch.compile
    def f():
        (weight * x).sum().backward()

    for i in range(10):
        f()
        assert weight.grad.tolist() == [0, i + 1.0, 2 * (i + 1.0)]
    assert is_graph(f)


def test_options_of_groups_take_effect():
    def run(compiles: bool) -> list[float]:
        weight = torch.ones(2, device="cuda", requires_grad=True)
        other = torch.ones(2, device="cuda", requires_grad=True)
        groups = [{"params": [weight]}, {"params": [other], "lr": 0.5, "weight_decay": 0.1}]
        optimizer = torch.optim.Adam(groups, lr=0.1)

        def step() -> Any:
            optimizer.zero_grad()
            loss = (weight * weight).sum() + (other**2).sum()
            loss.backward()
            optimizer.step()
            return loss

        train = torch.compile(step) if compiles else step
        found = []
        for i in range(15):
            if i == 7:
                optimizer.param_groups[0]["lr"] = 0.02
            if i == 9:
                optimizer.param_groups[1]["weight_decay"] = 0.0
            found.append(train().item())
        assert not compiles or is_graph(train)
        return found

    assert run(True) == pytest.approx(run(False), rel=1e-6)


def test_seeds_are_read_at_each_call():
    @torch.compile
    def f(x):
        return F.dropout(x, 0.5) + torch.rand(4, device="cuda")

    x = torch.ones(4).cuda()
    for i in range(8):
        torch.manual_seed(i)
        found = f(x).tolist()
        torch.manual_seed(i)
        expected = (F.dropout(x, 0.5) + torch.rand(4, device="cuda")).tolist()
        assert found == expected
    assert is_graph(f)


@pytest.mark.parametrize("wrong", [7, -1])
def test_places_out_of_range_are_errors(wrong):
    table = torch.arange(6.0).reshape(3, 2).cuda().requires_grad_()

    @torch.compile
    def f(x):
        return F.embedding(x, table)

    for _ in range(8):
        assert f(tensor([2, 0]).cuda()).tolist() == [[4, 5], [0, 1]]
    with pytest.raises(IndexError, match="index out of range in self"):
        f(tensor([0, wrong]).cuda()).tolist()
    assert f(tensor([1]).cuda()).tolist() == [[2, 3]]


def _by_the_cpu(x: Any) -> Any:
    return x.cpu().add(1).cuda() * 2


def _in_a_random_order(x: Any) -> Any:
    return (x + 1) * 2 + torch.randperm(3, device="cuda").sum() * 0


def _beside_a_number_of_the_cpu(x: Any, one: Any = torch.ones(())) -> Any:  # noqa: B008
    return (x + one) * 2


@pytest.mark.parametrize("fn", [_by_the_cpu, _in_a_random_order, _beside_a_number_of_the_cpu])
def test_what_needs_the_cpu_is_played_by_python(fn):
    f = torch.compile(fn)
    found = []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for i in range(8):
            found.append(f(torch.full((3,), float(i)).cuda()).tolist())
    assert found == [[2 * i + 2] * 3 for i in range(8)]
    words = "is played by Python, because it cannot be one graph of the GPU"
    assert sum(words in str(warning.message) for warning in told) == 1
    assert not is_graph(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(torch.zeros(3).cuda()).tolist() == [2, 2, 2]


def test_reading_a_value_leaves_a_function_eager():
    f = torch.compile(lambda x: x * 2 if x.sum().item() > 3 else x)
    with pytest.warns(UserWarning, match="stays eager, because it looks at a tensor's values"):
        assert f(torch.ones(2, device="cuda")).tolist() == [1, 1]
    assert f(torch.full((2,), 2.0).cuda()).tolist() == [4, 4]


def test_a_model_apart_from_its_step():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(0.2), nn.Linear(4, 2)).cuda()
    compiled = torch.compile(model)
    for i in range(12):
        x = torch.full((2, 3), float(i)).cuda()
        grads = []
        for call in (compiled, model):
            torch.manual_seed(i)
            model.zero_grad()
            out = call(x)
            out.square().sum().backward()
            grads.append([out.tolist(), *(p.grad.tolist() for p in model.parameters())])
        for a, b in zip(*grads, strict=True):
            close(tensor(a), tensor(b))
    assert is_graph(compiled)
    model.eval()
    x = torch.ones(2, 3).cuda()
    assert compiled(x).tolist() == model(x).tolist()


def test_a_graph_that_is_needed_after_all_has_the_numbers_that_were_drawn():
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Dropout(0.5)).cuda()
    compiled = torch.compile(model)
    x = torch.ones(2, 3).cuda()
    for _ in range(8):
        compiled(x).sum().backward()
    found = []
    for call in (compiled, model):
        torch.manual_seed(5)
        out = call(x).square().sum()
        (slope,) = torch.autograd.grad(out, model[0].weight, create_graph=True)
        found.append(torch.autograd.grad(slope.square().sum(), model[0].weight)[0].cpu())
    close(*found)


def test_a_changed_network_has_another_graph():
    model = nn.Linear(2, 2).cuda()

    @torch.compile
    def f(x):
        return model(x)

    with torch.no_grad():
        for i in range(12):
            if i == 6:
                model.weight = nn.Parameter(torch.eye(2).cuda())
            x = torch.full((1 + i // 9, 2), float(i)).cuda()
            close(f(x).cpu(), model(x).cpu())
        model.weight.mul_(2)
        x = torch.ones(2, 2).cuda()
        close(f(x).cpu(), model(x).cpu())
    assert len(f.tapes) >= 2


@pytest.mark.parametrize(
    "name",
    ["arguments_that_overlap", "random_draws", "an_index_that_is_caught", "threads_that_play_one_tape", "variances_that_are_checked"],
)  # fmt: skip
def test_ways_to_break_a_tape_there(name):
    case = CASES[name][0]
    torch.set_default_device("cuda")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, expected = (outcome(case, form) for form in (torch.compile, lambda fn, **_: fn))
    finally:
        torch.set_default_device(None)
    assert agree(found, expected, False)
