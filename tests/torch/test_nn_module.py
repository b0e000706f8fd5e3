"""What modules do beside computing: trees, hooks, state dicts, errors, pickles, `init` and `utils`."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as real
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch.torch as ours
from minitorch.module import Module as CourseModule

from .oracle import compare_tensors, numbers, to_ours

Library = Any


def both(program: Callable[[Library], Any]) -> None:
    """Run a program in both libraries, from one seed: the same texts, numbers and errors."""
    results = []
    for library in (ours, real):
        library.manual_seed(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.append(plain(outcome(program, library)))
    assert same(*results), f"{results[0]!r}\n  expected\n{results[1]!r}"


def outcome(program: Callable[[Library], Any], library: Library) -> Any:
    try:
        return program(library)
    except Exception as error:
        return type(error).__name__, str(error)


def plain(value: Any) -> Any:
    """Results as what can be compared."""
    if isinstance(value, (ours.Tensor, real.Tensor)):
        return np.array(numbers(value.detach()))
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return [(k, plain(v)) for k, v in value.items()]
    if isinstance(value, (int, float, bool, type(None))):
        return value
    text = value if isinstance(value, str) else repr(value)
    return text.replace("minitorch.torch", "torch")


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and np.allclose(a, b, 1e-5, 1e-6, equal_nan=True)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b if not isinstance(a, float) else a == pytest.approx(b, rel=1e-5)


def network(t: Library) -> Any:
    """A tree with a bit of everything: buffers of both kinds, a shared part, an empty place."""
    nn = t.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 3)
            self.register_buffer("scale", t.ones(3))
            self.register_buffer("hidden", t.zeros(1), persistent=False)
            self.register_parameter("nothing", None)

        def forward(self, x: Any, times: float = 1.0) -> Any:
            return self.linear(x) * self.scale * times

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = Block()
            self.norm = nn.BatchNorm1d(3)
            self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3), nn.ReLU()])
            self.same = self.first
            self.free = nn.Parameter(t.zeros(2))
            self.place = None

        def forward(self, x: Any) -> Any:
            x = self.norm(self.first(x))
            for layer in self.layers:
                x = layer(x)
            return x

    return Net()


def batch(t: Library) -> Any:
    return t.arange(12.0).reshape(4, 3).sin()


# --- Trees ---------------------------------------------------------------------------------------


def test_modules_are_the_courses() -> None:
    assert issubclass(ours.nn.Module, CourseModule)


@pytest.mark.parametrize(
    "ask",
    [
        lambda n: [name for name, _ in n.named_parameters()],
        lambda n: [name for name, _ in n.named_parameters("p", recurse=False)],
        lambda n: [name for name, _ in n.named_parameters(remove_duplicate=False)],
        lambda n: [name for name, _ in n.named_buffers()],
        lambda n: [name for name, _ in n.named_modules()],
        lambda n: [name for name, _ in n.named_modules(prefix="p", remove_duplicate=False)],
        lambda n: [name for name, _ in n.named_children()],
        lambda n: [type(m).__name__ for m in n.modules()],
        lambda n: [len(list(n.parameters())), len(list(n.buffers())), len(list(n.children()))],
        repr,
        lambda n: [*n.state_dict()],
        lambda n: n.state_dict(prefix="x.")._metadata,
        lambda n: [n.training, n.eval().first.training, n.train().layers[0].training],
        lambda n: n.train(2),
        lambda n: n.get_submodule("layers.1"),
        lambda n: n.get_submodule("layers.7"),
        lambda n: n.get_submodule("first.scale"),
        lambda n: n.get_parameter("first.linear.bias"),
        lambda n: n.get_parameter("first.scale"),
        lambda n: n.get_buffer("norm.running_mean"),
        lambda n: n.get_buffer("norm.weight"),
        lambda n: n.get_buffer("norm.none"),
        lambda n: (n.set_submodule("layers.1", type(n.layers[2])()), repr(n.layers))[1],
        lambda n: n.set_submodule("first.other", n.norm, strict=True),
        lambda n: n.set_submodule("", n.norm),
        lambda n: n.missing,
        lambda n: n(1, 2, 3) if False else n.first.register_parameter("linear", None),
        lambda n: n.register_parameter("a.b", None),
        lambda n: n.register_parameter("", None),
        lambda n: n.register_parameter(3, None),
        lambda n: n.register_parameter("norm", None),
        lambda n: n.register_parameter("w", "text"),
        lambda n: n.register_parameter("w", n.norm.running_mean),
        lambda n: n.register_parameter("w", n.free * 2),
        lambda n: n.register_buffer("a.b", None),
        lambda n: n.register_buffer("free", None),
        lambda n: n.register_buffer("b", 3),
        lambda n: n.add_module("a.b", n.norm),
        lambda n: n.add_module("a", "text"),
        lambda n: n.add_module("training", n.norm),
        lambda n: setattr(n, "free", 3.0),
        lambda n: setattr(n, "free", n.norm.running_mean),
        lambda n: setattr(n, "norm", 3.0),
        lambda n: setattr(n.norm, "running_mean", 3.0),
        lambda n: (setattr(n, "free", None), [*n.state_dict()])[1],
        lambda n: (setattr(n, "norm", None), [*n.state_dict()], repr(n))[1:],
        lambda n: (setattr(n, "norm", n.free), [*n.state_dict()])[1],
        lambda n: (delattr(n, "norm"), delattr(n, "free"), [*n.state_dict()])[2],
        lambda n: (delattr(n.first, "scale"), [*n.first.state_dict()])[1],
        lambda n: delattr(n, "missing"),
        lambda n: [x for x in dir(n) if x in ("free", "norm", "first", "forward", "training", "0")],
        lambda n: [x for x in dir(n.layers) if x.isdigit()],
        lambda n: (n.requires_grad_(False), [p.requires_grad for p in n.parameters()])[1],
        lambda n: type(n).__mro__[1](1),
        lambda n: type(n).__mro__[1](a=1),
        lambda n: type(n).__mro__[1]()(1),
        lambda n: (n.double(), [str(x.dtype) for x in n.state_dict().values()])[1],
        lambda n: (n.double().half().float().bfloat16(), str(n.free.dtype))[1],
        lambda n: n.type(n.free.long().dtype) if False else str(n.to(n.free.double()).free.dtype),
        lambda n: n.to(n.norm.num_batches_tracked.dtype),
    ],
)  # fmt: skip
def test_trees(ask: Callable[[Any], Any]) -> None:
    both(lambda t: ask(network(t)))


LEAVES = [
    "nn.Linear(2, 3)",
    "nn.BatchNorm1d(2, affine=False)",
    "nn.ReLU(True)",
    "nn.ParameterList([torch.ones(2)])",
    "shared",
]
TREES = st.recursive(
    st.sampled_from(LEAVES),
    lambda below: st.one_of(
        st.lists(below, max_size=3).map(lambda b: f"nn.Sequential({', '.join(b)})"),
        st.lists(below, max_size=3).map(lambda b: f"nn.ModuleList([{', '.join(b)}])"),
        st.dictionaries(st.sampled_from("abc"), below, max_size=3).map(
            lambda b: f"nn.ModuleDict(dict({', '.join(f'{k}={v}' for k, v in b.items())}))"
        ),
    ),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(TREES)
def test_any_tree(text: str) -> None:
    def program(t: Library) -> Any:
        tree = eval(text, {"nn": t.nn, "torch": t, "shared": t.nn.Conv1d(1, 1, 1)})
        other = copy.deepcopy(tree)
        names = [[n for n, _ in m.named_parameters()] for m in (tree, other)]
        modules = [(n, type(m).__name__) for n, m in tree.named_modules()]
        twice = [n for n, _ in tree.named_modules(remove_duplicate=False)]
        loaded = repr(other.load_state_dict(tree.state_dict()))
        return repr(tree), names, modules, twice, [*tree.state_dict()], loaded

    both(program)


def test_assigning_before_init() -> None:
    def program(t: Library) -> Any:
        texts = []
        for name, value in (("p", t.nn.Parameter(t.ones(1))), ("m", t.nn.ReLU()), ("x", 1)):
            module = t.nn.Module.__new__(t.nn.Module)
            texts.append(outcome(lambda _, m=module, n=name, v=value: setattr(m, n, v), t))
        module = t.nn.Module.__new__(t.nn.Module)
        texts.append(outcome(lambda _: module.register_buffer("b", None), t))
        return texts

    both(program)


def test_conversion_keeps_the_parameters_themselves() -> None:
    net = network(ours)
    net(batch(ours)).sum().backward()
    kept = list(net.parameters())
    net.double()
    assert all(a is b for a, b in zip(kept, net.parameters(), strict=True))
    assert all(p.dtype == ours.float64 for p in kept)
    assert all(p.grad is None or p.grad.dtype == ours.float64 for p in kept)
    assert net.norm.num_batches_tracked.dtype == ours.int64


def test_zero_grad_and_apply() -> None:
    def program(t: Library) -> Any:
        net, seen = network(t), []
        net(batch(t)).sum().backward()
        net.zero_grad(set_to_none=False)
        seen.append([p.grad for p in net.parameters()])
        net.zero_grad()
        seen.append([p.grad is None for p in net.parameters()])
        net.apply(lambda m: seen.append(type(m).__name__))
        return seen

    both(program)


def test_containers() -> None:
    def program(t: Library) -> Any:
        nn, seen = t.nn, []
        line = nn.Sequential(OrderedDict(a=nn.Linear(2, 3), b=nn.ReLU()))
        line.append(nn.Linear(3, 3))
        seen += [
            repr(line),
            repr(line[0]),
            repr(line[-1]),
            repr(line[:2]),
            len(line),
            [*line.state_dict()],
        ]
        line[1] = nn.Tanh()
        del line[0]
        line.insert(1, nn.Dropout())
        line.extend([nn.Sigmoid()])
        seen += [
            repr(line),
            repr(line.pop(0)),
            repr(line + nn.Sequential(nn.ReLU())),
            repr(line * 2),
        ]
        line *= 2
        line += nn.Sequential(nn.ELU())
        seen += [repr(line), outcome(lambda _: line[40], t), outcome(lambda _: line + 3, t)]
        seen += [outcome(lambda _: line * 0, t), outcome(lambda _: line.insert(99, nn.ReLU()), t)]
        some = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)])
        some.insert(1, nn.Tanh())
        some += [nn.ReLU()]
        seen += [
            repr(some),
            repr(some[1:3]),
            repr(some[-1]),
            len(some + nn.ModuleList([nn.ReLU()])),
            repr(nn.ModuleList()),
        ]
        seen += [
            repr(some.pop(-1)),
            [*some.state_dict()],
            outcome(lambda _: some.extend(3), t),
            outcome(lambda _: some(1), t),
        ]
        named = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Linear(1, 1)})
        named.update([["c", nn.Tanh()]])
        seen += [
            repr(named),
            [*named],
            "a" in named,
            repr(named.pop("b")),
            [*named.keys()],
            len(named),
        ]
        seen += [
            outcome(lambda _: named.update(3), t),
            outcome(lambda _: named.update([[1]]), t),
            outcome(lambda _: named["z"], t),
        ]
        values = nn.ParameterList([t.ones(2, 2), nn.Parameter(t.zeros(1)), 3])
        values.append(t.ones(1))
        values[0] = t.zeros(3)
        seen += [
            repr(values),
            [*values.state_dict()],
            len(values),
            values[-1],
            repr(values[:2]),
            outcome(lambda _: values[9], t),
        ]
        by_name = nn.ParameterDict({"b": t.ones(2), "a": t.zeros(1)})
        by_name["c"] = "text"
        seen += [
            repr(by_name),
            [*by_name.keys()],
            [*by_name.state_dict()],
            by_name.get("x", 4),
            "a" in by_name,
            len(by_name),
        ]
        seen += [
            [*by_name.__or__(nn.ParameterDict({"d": t.ones(1)}))],
            by_name.pop("a"),
            by_name.popitem()[0],
        ]
        seen += [
            repr(by_name.copy()),
            outcome(lambda _: by_name(1), t),
            by_name.setdefault("e", t.ones(1)),
        ]
        return seen

    both(program)  # fmt: skip


# --- Hooks ---------------------------------------------------------------------------------------


def test_forward_hooks_in_order() -> None:
    def program(t: Library) -> Any:
        net, seen = network(t).first, []
        note = seen.append
        handles = [
            net.register_forward_pre_hook(lambda m, a: note("pre 1")),
            net.register_forward_pre_hook(lambda m, a: (note("pre 2"), (a[0] * 2,))[1]),
            net.register_forward_pre_hook(lambda m, a: (note("pre 3"), a[0] + 1)[1], prepend=True),
            net.register_forward_pre_hook(lambda m, a, k: (a, {"times": 3.0}), with_kwargs=True),
            net.register_forward_hook(lambda m, a, o: note(f"post 1 {len(a)}")),
            net.register_forward_hook(lambda m, a, o: (note("post 2"), o * 2)[1]),
            net.register_forward_hook(lambda m, a, o: note("post 3"), prepend=True),
            net.register_forward_hook(lambda m, a, k, o: note(f"post 4 {k}"), with_kwargs=True),
        ]
        seen.append(net(batch(t), times=1.0))
        for handle in handles[1::2]:
            handle.remove()
        seen.append(net(batch(t)))
        with net.register_forward_hook(lambda m, a, o: o * 0):
            seen.append(net(batch(t)))
        seen.append(net(batch(t)))
        net.register_forward_pre_hook(lambda m, a, k: 3, with_kwargs=True)
        seen.append(outcome(lambda _: net(batch(t)), t))
        return seen

    both(program)


def test_hooks_after_an_error() -> None:
    def program(t: Library) -> Any:
        net, seen = network(t).first, []
        net.register_forward_hook(lambda m, a, o: seen.append("not called"))
        net.register_forward_hook(lambda m, a, o: seen.append(o), always_call=True)
        seen.append(outcome(lambda _: net(t.ones(2, 5)), t)[0])
        return seen

    both(program)


def test_backward_hooks() -> None:
    def program(t: Library) -> Any:
        net, seen = network(t).first, []
        net.register_full_backward_pre_hook(lambda m, g: (seen.append(("pre", g)), (g[0] * 2,))[1])
        net.register_full_backward_hook(lambda m, i, o: seen.append(("post", i, o)))
        net.register_full_backward_hook(lambda m, i, o: (i[0] * 3,))
        net.register_full_backward_hook(lambda m, i, o: seen.append("first"), prepend=True)
        x = batch(t).requires_grad_()
        (net(x) * batch(t)).sum().backward()
        seen += [x.grad, net.linear.weight.grad]
        net(batch(t)).sum().backward()  # no input requires a gradient
        seen.append(outcome(lambda _: net.register_backward_hook(print), t))
        net.register_full_backward_hook(lambda m, i, o: (1, 2, 3))
        seen.append(outcome(lambda _: net(x).sum().backward(), t))
        return seen

    both(program)


def test_old_backward_hook() -> None:
    def program(t: Library) -> Any:
        seen: list[Any] = []
        layer = t.nn.Tanh()
        layer.register_backward_hook(lambda m, i, o: seen.append((i, o)))
        x = batch(t).requires_grad_()
        layer(x).sum().backward()
        return seen, x.grad

    both(program)


def test_global_hooks() -> None:
    def program(t: Library) -> Any:
        of = t.nn.modules.module
        seen: list[Any] = []
        handles = [
            of.register_module_forward_pre_hook(
                lambda m, a: seen.append(("pre", type(m).__name__))
            ),
            of.register_module_forward_hook(
                lambda m, a, o: seen.append(("post", type(m).__name__))
            ),
            of.register_module_full_backward_hook(
                lambda m, i, o: seen.append(("back", type(m).__name__))
            ),
            of.register_module_full_backward_pre_hook(
                lambda m, o: seen.append(("prep", type(m).__name__))
            ),
            of.register_module_parameter_registration_hook(lambda m, n, p: seen.append(n)),
            of.register_module_buffer_registration_hook(lambda m, n, p: seen.append(n)),
            of.register_module_module_registration_hook(lambda m, n, p: seen.append(n)),
        ]
        try:
            network(t)(batch(t).requires_grad_()).sum().backward()
            seen.append(outcome(lambda _: of.register_module_backward_hook(print), t))
        finally:
            for handle in handles:
                handle.remove()
        network(t)(batch(t))
        return seen

    both(program)  # fmt: skip


# --- State dicts ---------------------------------------------------------------------------------


def test_loading_says_all_that_is_wrong() -> None:
    def program(t: Library) -> Any:
        net, seen = network(t), []
        state = net.state_dict()
        seen.append(repr(net.load_state_dict(state)))
        state["extra.key"] = t.ones(1)
        state["also"] = t.ones(1)
        del state["free"], state["norm.weight"]
        state["layers.0.weight"] = t.ones(2, 2)
        state["layers.1.weight"] = 3
        seen.append(outcome(lambda _: net.load_state_dict(state), t))
        seen.append(outcome(lambda _: net.load_state_dict(state, strict=False), t))
        del state["layers.0.weight"], state["layers.1.weight"]
        seen.append(repr(net.load_state_dict(state, strict=False)))
        seen.append(outcome(lambda _: net.load_state_dict([1]), t))
        return seen

    both(program)


def test_state_dict_hooks_and_extra_state() -> None:
    def program(t: Library) -> Any:
        seen: list[Any] = []

        class Extra(t.nn.Linear):
            def get_extra_state(self) -> Any:
                return {"seen": 3}

            def set_extra_state(self, state: Any) -> None:
                seen.append(state)

        net = t.nn.Sequential(Extra(2, 2), t.nn.ReLU())
        net.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append((prefix, keep)))
        net.register_state_dict_post_hook(lambda m, s, prefix, about: s.update(added=t.ones(1)))
        net[0]._register_state_dict_hook(lambda m, s, prefix, about: seen.append(about))
        state = net.state_dict(keep_vars=True)
        seen += [[*state], state["0.weight"] is net[0].weight]
        net.register_load_state_dict_pre_hook(lambda m, s, *rest: s.pop("added"))
        net[0].register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.append("more"))
        seen.append(outcome(lambda _: net.load_state_dict(state), t))
        seen.append(outcome(lambda _: copy.deepcopy(net).load_state_dict(state, strict=False), t))
        return seen

    both(program)


def test_assign_takes_the_tensors_themselves() -> None:
    net = network(ours)
    state = {name: t.clone() for name, t in network(ours).state_dict().items()}
    state["free"] = ours.nn.Parameter(ours.ones(2))
    net.free.requires_grad_(False)
    net.load_state_dict(state, assign=True)
    assert net.free is state["free"]
    assert not net.free.requires_grad
    assert net.norm.running_mean is state["norm.running_mean"]
    assert net.norm.weight.data_ptr() == state["norm.weight"].data_ptr()
    assert isinstance(net.norm.weight, ours.nn.Parameter)


def test_state_of_a_parallel_module() -> None:
    def program(t: Library) -> Any:
        inner = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.BatchNorm1d(2))
        state = t.nn.DataParallel(inner).state_dict()
        names = [*state]
        t.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
        return names, [*state], state._metadata, repr(inner.load_state_dict(state))

    both(program)


def test_other_layouts_and_kinds_of_norms() -> None:
    def program(t: Library) -> Any:
        net = t.nn.Sequential(t.nn.Conv2d(3, 4, 3), t.nn.Sequential(t.nn.BatchNorm2d(4)))
        net.to(memory_format=t.channels_last)
        synced = t.nn.SyncBatchNorm.convert_sync_batchnorm(net)
        same = synced[1][0].weight is net[1][0].weight
        return (
            net[0].weight.stride(),
            repr(synced),
            same,
            synced(t.arange(96.0).sin().reshape(2, 3, 4, 4)),
        )

    both(program)


def test_old_batch_norms_load() -> None:
    def program(t: Library) -> Any:
        norm = t.nn.BatchNorm1d(2)
        state = OrderedDict((k, v + 1) for k, v in norm.state_dict().items() if "tracked" not in k)
        return repr(norm.load_state_dict(state)), norm.state_dict()

    both(program)


# --- Copies and files ----------------------------------------------------------------------------


def model(t: Library) -> Any:
    nn = t.nn
    return nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(True), nn.MaxPool2d(2), nn.Flatten(),
        nn.Dropout(0.3), nn.Linear(8, 3), nn.ModuleDict({"a": nn.LayerNorm(3)})["a"],
    )  # fmt: skip


def test_whole_modules_travel_both_ways() -> None:
    for source, target in ((ours, real), (real, ours)):
        source.manual_seed(4)
        sent = model(source).eval()
        file = io.BytesIO()
        source.save(sent, file)
        file.seek(0)
        got = target.load(file, weights_only=False, map_location="cpu")
        assert repr(got) == repr(sent)
        assert type(got).__module__.startswith(target.__name__)
        x = real.arange(36.0).reshape(1, 1, 6, 6).sin()
        mine, theirs = (got, sent) if target is ours else (sent, got)
        compare_tensors(mine(to_ours(x)), theirs(x), "output")
        assert all(isinstance(p, target.nn.Parameter) for p in got.parameters())


def test_parameters_travel_both_ways() -> None:
    def tensors(t: Library) -> list[Any]:
        weight = t.nn.Parameter(t.arange(6.0).reshape(2, 3))
        weight.rate = 0.5
        return [
            weight,
            t.nn.Parameter(t.ones(2, dtype=t.float64), requires_grad=False),
            t.nn.Buffer(t.ones(1)),
        ]

    for source, target in ((ours, real), (real, ours)):
        file = io.BytesIO()
        source.save(tensors(source)[:2], file)
        file.seek(0)
        weight, frozen = target.load(file, map_location="cpu")
        assert type(weight) is target.nn.Parameter
        assert (weight.requires_grad, frozen.requires_grad, weight.rate) == (True, False, 0.5)
        assert str(frozen.dtype) == "torch.float64"
    both(
        lambda t: (
            [repr(x) for x in tensors(t)] + [outcome(lambda _: t.nn.Parameter(t.ones(1).int()), t)]
        )
    )
    again = pickle.loads(pickle.dumps(tensors(ours)))
    assert type(again[0]) is ours.nn.Parameter
    assert again[0].rate == 0.5
    assert again[2].persistent  # fmt: skip


def test_deepcopies_are_apart() -> None:
    net = network(ours)
    net(batch(ours)).sum().backward()
    other = copy.deepcopy(net)
    assert other.same is other.first
    assert other.free.grad is None
    assert all(p.grad is None for p in other.parameters())
    other.free.data.fill_(3)
    assert not net.free.any()
    layer = ours.nn.ReLU()
    layer.handle = layer.register_forward_hook(max, always_call=True)
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        twin.handle.remove()
        assert not twin._forward_hooks
        assert not twin._forward_hooks_always_called
    assert layer._forward_hooks
    clone = pickle.loads(pickle.dumps(model(ours)))
    assert repr(clone) == repr(model(ours))


def test_buffers() -> None:
    def program(t: Library) -> Any:
        module = t.nn.Module()
        module.kept = t.nn.Buffer(t.ones(1))
        module.lost = t.nn.Buffer(t.ones(1), persistent=False)
        module.kept = t.zeros(2)
        module.lost = t.zeros(2)
        return [*module.state_dict()], [n for n, _ in module.named_buffers()], repr(module.kept)

    both(program)


def test_lazy_modules() -> None:
    def program(t: Library) -> Any:
        nn = t.nn
        lazy = nn.Sequential(
            nn.LazyConv2d(2, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(3)
        )
        texts = [repr(lazy), repr(lazy[0].weight), lazy[0].has_uninitialized_params()]
        texts.append(outcome(lambda _: lazy[0].weight.shape, t))
        lazy.double()
        x = t.arange(36.0, dtype=t.float64).reshape(1, 1, 6, 6).sin()
        texts += [lazy(x), repr(lazy), str(lazy[3].weight.dtype), len(lazy[0]._forward_pre_hooks)]
        texts.append(repr(nn.LazyLinear(3).load_state_dict(nn.LazyLinear(3).state_dict())))
        other = nn.LazyLinear(3)
        texts.append(repr(other.load_state_dict(nn.Linear(4, 3).state_dict())))
        texts += [other.weight, other(t.ones(1, 4)), repr(other)]
        texts.append(
            outcome(lambda _: nn.Linear(2, 2).load_state_dict(nn.LazyLinear(2).state_dict()), t)[0]
        )
        return texts

    both(program)  # fmt: skip


# --- init ----------------------------------------------------------------------------------------

INITS = [
    "uniform_(x, -2, 3)", "normal_(x, 1, 0.1)", "constant_(x, 0.3)", "ones_(x)", "zeros_(x)", "eye_(m)", "eye_(x)",
    "dirac_(x)", "dirac_(x, 2)", "dirac_(m)", "xavier_uniform_(x, 2.0)", "xavier_normal_(m)", "kaiming_uniform_(x)",
    "kaiming_uniform_(m, 0.2, 'fan_out', 'relu')", "kaiming_normal_(x, mode='fan_out')", "kaiming_normal_(v)",
    "kaiming_normal_(m, mode='no')", "orthogonal_(m)", "orthogonal_(m.t())", "orthogonal_(x, 2)", "orthogonal_(v)",
    "sparse_(m, 0.4)", "sparse_(x, 0.4)", "trunc_normal_(x)", "trunc_normal_(m, std=0.02)", "trunc_normal_(m, 0, 1, 2, 3)",
    "trunc_normal_(m, 1, 2, 0.9, 1.2)", "calculate_gain('leaky_relu', 0.3)", "calculate_gain('tanh')", "calculate_gain('no')",
    "calculate_gain('leaky_relu', True)", "kaiming_uniform_(x[:0])", "xavier_uniform(m)",
    "uniform_(x, generator=torch.Generator().manual_seed(3))",
]  # fmt: skip


@pytest.mark.parametrize("call", INITS)
def test_init(call: str) -> None:
    def program(t: Library) -> Any:
        x, m, v = t.zeros(4, 3, 5), t.zeros(7, 4), t.zeros(3)
        value = eval(f"init.{call}", {"init": t.nn.init, "x": x, "m": m, "v": v, "torch": t})
        return value, x, m, t.rand(1)

    both(program)


# --- utils ---------------------------------------------------------------------------------------


def trained(t: Library) -> Any:
    net = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.Tanh(), t.nn.Linear(4, 2))
    (net(batch(t)) * 10).sum().backward()
    return net


@pytest.mark.parametrize(
    "act",
    [
        lambda t, u, n: u.clip_grad_norm_(n.parameters(), 0.5),
        lambda t, u, n: u.clip_grad_norm_(n.parameters(), 1e6, 1),
        lambda t, u, n: u.clip_grad_norm_(n[0].weight, 0.1, float("inf"), foreach=True),
        lambda t, u, n: u.clip_grad_norm_([], 0.1),
        lambda t, u, n: (n[0].weight.grad.fill_(float("nan")), u.clip_grad_norm_(n.parameters(), 1.0, error_if_nonfinite=True))[1],
        lambda t, u, n: (n[0].weight.grad.fill_(float("inf")), u.clip_grad_norm_(n.parameters(), 1.0))[1],
        lambda t, u, n: u.clip_grad_value_(n.parameters(), 0.3),
        lambda t, u, n: u.get_total_norm(p.grad for p in n.parameters()),
        lambda t, u, n: u.parameters_to_vector(n.parameters()),
        lambda t, u, n: u.vector_to_parameters(t.arange(26.0), n.parameters()),
        lambda t, u, n: u.vector_to_parameters([1], n.parameters()),
        lambda t, u, n: repr(u.skip_init(t.nn.Linear, 3, 2)),
        lambda t, u, n: u.skip_init(t.nn.ReLU),
        lambda t, u, n: u.fuse_linear_bn_eval(n[0].eval(), t.nn.BatchNorm1d(4).eval())(batch(t)),
        lambda t, u, n: u.fuse_conv_bn_eval(t.nn.Conv1d(4, 2, 1, bias=False).eval(), t.nn.BatchNorm1d(2).eval())(batch(t)),
        lambda t, u, n: u.stateless.functional_call(n, {"0.bias": t.ones(4), "2.weight": t.ones(2, 4)}, batch(t)),
        lambda t, u, n: u.stateless.functional_call(n, {"0.bias": t.ones(4)}, batch(t), strict=True),
        lambda t, u, n: t.func.functional_call(n, ({"0.bias": t.ones(4)}, {"2.bias": t.ones(2)}), batch(t)),
        lambda t, u, n: t.func.functional_call(n, ({"0.bias": t.ones(4)}, {"0.bias": t.ones(4)}), batch(t)),
        lambda t, u, n: t.func.stack_module_state([n, copy.deepcopy(n)]),
        lambda t, u, n: t.nn.DataParallel(n)(batch(t)),
        lambda t, u, n: t.nn.grad.conv1d_input((1, 4, 3), t.ones(2, 4, 2), t.ones(1, 2, 2)),
        lambda t, u, n: t.nn.grad.conv1d_weight(batch(t)[None], (2, 2, 2), t.ones(1, 2, 2), groups=2),
    ],
)  # fmt: skip
def test_utils(act: Callable[[Any, Any, Any], Any]) -> None:
    def program(t: Library) -> Any:
        net = trained(t)
        value = outcome(lambda _: act(t, t.nn.utils, net), t)
        return value, [(p, p.grad) for p in net.parameters()]

    both(program)


NORMS: list[Callable[[Any, Any, Any], Any]] = [
    lambda t, u, m: u.weight_norm(m),
    lambda t, u, m: u.weight_norm(m, dim=None),
    lambda t, u, m: u.weight_norm(m, dim=1),
    lambda t, u, m: u.spectral_norm(m),
    lambda t, u, m: u.spectral_norm(m, n_power_iterations=3, dim=1),
    lambda t, u, m: u.parametrizations.weight_norm(m),
    lambda t, u, m: u.parametrizations.weight_norm(m, "bias", None),
    lambda t, u, m: u.parametrizations.spectral_norm(m),
    lambda t, u, m: u.parametrizations.spectral_norm(m, n_power_iterations=2, dim=-1),
    lambda t, u, m: u.parametrizations.orthogonal(m),
    lambda t, u, m: u.parametrizations.orthogonal(m, orthogonal_map="cayley"),
    lambda t, u, m: u.parametrizations.orthogonal(m, orthogonal_map="householder", use_trivialization=False),
    lambda t, u, m: u.parametrizations.orthogonal(m, orthogonal_map="matrix_exp"),
    lambda t, u, m: u.prune.l1_unstructured(m, "weight", 0.4),
    lambda t, u, m: u.prune.l1_unstructured(u.prune.random_unstructured(m, "weight", 3), "weight", 0.5),
    lambda t, u, m: u.prune.random_structured(m, "weight", 1, 0),
    lambda t, u, m: u.prune.ln_structured(u.prune.l1_unstructured(m, "weight", 3), "weight", 0.4, 2, 1),
    lambda t, u, m: u.prune.global_unstructured([(m, "weight"), (m, "bias")], u.prune.L1Unstructured, amount=0.5) or m,
    lambda t, u, m: u.prune.identity(m, "bias"),
    lambda t, u, m: u.prune.l1_unstructured(m, "weight", 99),
    lambda t, u, m: u.prune.remove(m, "weight"),
    lambda t, u, m: u.remove_weight_norm(m),
    lambda t, u, m: u.weight_norm(u.weight_norm(m)),
    lambda t, u, m: u.parametrizations.orthogonal(m, "none"),
]  # fmt: skip


@pytest.mark.parametrize("norm", NORMS)
def test_computed_parameters(norm: Callable[[Any, Any, Any], Any]) -> None:
    def program(t: Library) -> Any:
        __import__(f"{t.__name__}.nn.utils.prune")
        module = norm(t, t.nn.utils, t.nn.Linear(3, 4))
        seen = [type(module).__name__, repr(module), [*module.state_dict()], module.weight]
        for _ in range(2):
            out = module(batch(t))
            out.sin().sum().backward()
            seen.append(out)
        seen += [{n: p.grad for n, p in module.named_parameters()}, module.eval()(batch(t))]
        copied = outcome(lambda _: dict(copy.deepcopy(module).named_parameters()), t)
        seen.append(copied[0] if isinstance(copied, tuple) else copied)
        return seen, module.state_dict()

    both(program)


def test_computed_parameters_can_be_plain_again() -> None:
    def program(t: Library) -> Any:
        u, seen = t.nn.utils, []
        linear = u.remove_weight_norm(u.weight_norm(t.nn.Linear(3, 4)))
        seen += [[*linear.state_dict()], linear(batch(t)), len(linear._forward_pre_hooks)]
        linear = u.remove_spectral_norm(u.spectral_norm(t.nn.Linear(3, 4)))
        seen += [[*linear.state_dict()], linear(batch(t)), len(linear._state_dict_hooks)]
        linear = u.prune.remove(u.prune.l1_unstructured(t.nn.Linear(3, 4), "weight", 0.5), "weight")
        seen += [[*linear.state_dict()], linear.weight, u.prune.is_pruned(linear)]
        linear = u.parametrizations.weight_norm(t.nn.Linear(3, 4))
        linear.weight = t.ones(4, 3)
        seen += [
            linear.weight,
            u.parametrize.is_parametrized(linear, "weight"),
            linear.parametrizations.weight.original0,
        ]
        u.parametrize.remove_parametrizations(linear, "weight")
        return [*seen, type(linear).__name__, [*linear.state_dict()], linear.weight]

    both(program)  # fmt: skip


def test_parametrizations_of_ones_own() -> None:
    def program(t: Library) -> Any:
        parametrize = t.nn.utils.parametrize

        class Symmetric(t.nn.Module):
            def forward(self, x: Any) -> Any:
                return x.triu() + x.triu(1).transpose(-1, -2)

            def right_inverse(self, x: Any) -> Any:
                return x.triu()

        class Cut(t.nn.Module):
            def forward(self, x: Any) -> Any:
                return x[:1]

        layer = t.nn.Linear(3, 3)
        parametrize.register_parametrization(layer, "weight", Symmetric())
        seen = [repr(layer), layer.weight, [*layer.state_dict()], outcome(pickle.dumps, layer)]
        with parametrize.cached():
            seen.append(layer.weight is layer.weight)
        for name in ("weight", "bias", "none"):
            seen.append(
                outcome(lambda _, n=name: parametrize.register_parametrization(layer, n, Cut()), t)
            )
        layer.weight = t.arange(9.0).reshape(3, 3)
        seen += [layer.weight, layer.parametrizations.weight.original]
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
        return [*seen, layer.weight, type(layer).__name__]

    both(program)  # fmt: skip


# --- Wrong and rarer calls of layers -------------------------------------------------------------

WRONG = """
nn.Conv2d(3, 4, 3, groups=2)|nn.Conv2d(4, 3, 3, groups=2)|nn.Conv2d(4, 4, 3, groups=0)|nn.Conv2d(4, 4, 3, 2, 'same')
nn.ConvTranspose2d(2, 2, 3, padding_mode='circular')|nn.Dropout(1.5)|nn.Dropout2d(-0.1)|nn.GroupNorm(3, 4)|nn.Embedding(3, 2, 3)
nn.Embedding(3, 2, -4)|nn.Embedding(3, 2, _weight=torch.ones(2, 2))|nn.Embedding.from_pretrained(torch.ones(3))|nn.Hardtanh(1.0, 0.0)
nn.TripletMarginLoss(-1.0)|nn.TripletMarginWithDistanceLoss(margin=0)|nn.MultiMarginLoss(3)|nn.MultiMarginLoss(1, 1.0, torch.ones(2, 2))
nn.FractionalMaxPool2d(2)|nn.FractionalMaxPool2d(2, 3, 0.5)|nn.FractionalMaxPool2d(2, output_ratio=1.5)|nn.Unflatten(1, 'ab')
nn.Unflatten(1, (2, 'a'))|nn.AdaptiveLogSoftmaxWithLoss(4, 5, [])|nn.AdaptiveLogSoftmaxWithLoss(4, 5, [3, 2])|nn.Bilinear(0, 2, 2)
nn.BatchNorm1d(3)(torch.ones(2, 3, 4, 5))|nn.BatchNorm2d(3)(torch.ones(2, 3))|nn.InstanceNorm2d(3, affine=True)(torch.ones(2, 4, 3, 3))
nn.SyncBatchNorm(3)(torch.ones(3))|nn.BatchNorm1d(3)(torch.ones(1, 3))|nn.Softmax2d()(torch.ones(2, 2))|nn.ModuleList([nn.ReLU()])(torch.ones(1))
nn.ConvTranspose1d(1, 1, 3, 2)(torch.ones(1, 1, 4), output_size=[20])|nn.ConvTranspose1d(1, 1, 3, 2)(torch.ones(1, 1, 4), output_size=[1, 2, 3, 4])
nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2])(torch.ones(2, 4), torch.tensor([1, 5]))|nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2])(torch.ones(2, 4), torch.tensor([1]))
nn.LazyConv2d(2, 3)(torch.ones(2, 2))|nn.LinearCrossEntropyLoss(2, 3, label_smoothing=2.0)|nn.HuberLoss(delta='a')
"""  # fmt: skip
RARE = """
nn.ConvTranspose1d(1, 1, 3, 2)(torch.ones(1, 1, 4), output_size=[10])|nn.ConvTranspose2d(1, 2, 3, 2, 1)(torch.ones(1, 1, 4, 4), output_size=torch.Size([1, 2, 8, 7]))
nn.Embedding.from_pretrained(torch.eye(3), padding_idx=1)(torch.tensor([0, 1]))|nn.Embedding.from_pretrained(torch.eye(3)).weight.requires_grad
nn.EmbeddingBag.from_pretrained(torch.eye(3), mode='sum')(torch.tensor([[0, 1]]), per_sample_weights=torch.tensor([[2.0, 3.0]]))
nn.Linear(2, 2, dtype=torch.float64, device='cpu')(torch.ones(1, 2, dtype=torch.float64))|nn.Conv1d(1, 1, 1, device=torch.device('cpu')).weight
nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 7], 2.0).predict(torch.eye(8))|nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 7], 2.0).log_prob(torch.eye(8))
nn.MaxUnpool1d(2)(torch.ones(1, 1, 2), torch.tensor([[[0, 2]]]), output_size=[5])|nn.PReLU(3).double().weight|nn.Softmax()(torch.eye(2))
nn.init._calculate_fan_in_and_fan_out(nn.Conv2d(2, 4, 3).weight)|nn.Identity(1, 2, a=3)(5)|nn.Flatten(0)(torch.eye(2))
nn.Module().extra_repr()|nn.CrossEntropyLoss(reduction='sum').reduction|nn.MSELoss(reduce=False).reduction|nn.MSELoss(False).reduction
nn.BCEWithLogitsLoss(pos_weight=torch.ones(2)).state_dict()|nn.CrossEntropyLoss(weight=torch.ones(2)).double().weight|nn.Hardtanh(min_value=-3.0).min_val
"""  # fmt: skip


@pytest.mark.parametrize(
    "call", [c for line in (WRONG + RARE).split("\n") for c in line.split("|") if c]
)
def test_calls_of_layers(call: str) -> None:
    both(lambda t: eval(call, {"nn": t.nn, "torch": t}))


# --- Under `import torch` ------------------------------------------------------------------------

SCRIPT = """
import torch.nn.modules.conv, torch.nn.utils.prune, torch.nn.init
from torch.nn.modules.conv import _ConvNd, Conv2d
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.module import Module, register_module_forward_hook
from torch.nn.modules.loss import _Loss, _WeightedLoss
from torch.nn.parameter import Parameter
from torch.nn.utils import clip_grad_norm_
from torch.nn.utils.parametrizations import weight_norm
from torch.utils.hooks import RemovableHandle
import torch.nn as nn, torch.nn.functional as F
assert issubclass(nn.Conv2d, _ConvNd) and nn.Conv2d is Conv2d and nn.Module is Module
assert nn.Parameter is Parameter and issubclass(nn.BatchNorm2d, _BatchNorm)
print(torch.__name__, nn.Linear(2, 3))
"""


def test_submodules_under_the_name_torch(tmp_path: Any) -> None:
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    command = [sys.executable, "-m", "minitorch.torch", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wanted = "torch Linear(in_features=2, out_features=3, bias=True)\n"
    assert (done.stdout, done.stderr) == (wanted, "")
