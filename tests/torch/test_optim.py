"""Optimizers and schedulers against PyTorch's: ten steps each, states both ways."""

from __future__ import annotations

import copy
import inspect
import io
import math
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch as oracle

import minitorch.torch as torch
from minitorch.torch.backends.cpu import optim as fused
from minitorch.torch.optim import formulas

OPTIONS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.02, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "foreach": True}),
    ("Adam", {"lr": 0.05}),
    ("Adam", {"lr": 0.05, "weight_decay": 0.1, "amsgrad": True, "betas": (0.5, 0.9)}),
    ("Adam", {"lr": 0.05, "maximize": True, "fused": True}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.1}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.1, "amsgrad": True, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1, "maximize": True}),
    ("Adagrad", {}),
    ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("Adamax", {}),
    ("Adamax", {"weight_decay": 0.1, "maximize": True, "betas": (0.8, 0.9)}),
    ("NAdam", {}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("NAdam", {"weight_decay": 0.1, "momentum_decay": 0.1}),
    ("RAdam", {"lr": 0.05}),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "betas": (0.8, 0.9)}),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "weight_decay": 0.1}),
    ("RMSprop", {"centered": True, "maximize": True}),
    ("RMSprop", {"centered": True, "momentum": 0.5, "alpha": 0.9}),
    ("Rprop", {}),
    ("Rprop", {"etas": (0.3, 1.5), "step_sizes": (1e-3, 0.1), "maximize": True}),
    ("ASGD", {}),
    ("ASGD", {"t0": 3, "weight_decay": 0.1, "lambd": 0.01, "alpha": 0.6, "maximize": True}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.1, "weight_decay": 0.1, "d": 1.5, "maximize": True}),
]
SHAPES = [(4, 3), (5,), (), (2, 3, 2)]


def _twins(dtype: Any = np.float32, shapes=SHAPES, seed=0):
    """Equal parameters in both libraries."""
    random = np.random.default_rng(seed)
    values = [random.standard_normal(s).astype(dtype) for s in shapes]
    mine = [torch.as_tensor(v).requires_grad_() for v in values]
    theirs = [oracle.tensor(v, requires_grad=True) for v in values]
    return mine, theirs


def _give_gradients(mine, theirs, random):
    for m, t in zip(mine, theirs, strict=True):
        gradient = random.standard_normal(t.shape).astype(t.detach().numpy().dtype)
        m.grad, t.grad = torch.as_tensor(gradient), oracle.tensor(gradient)


def _run(mine, theirs, first, second, steps=10, seed=1):
    random = np.random.default_rng(seed)
    for _ in range(steps):
        _give_gradients(first, second, random)
        mine.step()
        theirs.step()


def _agree(mine, theirs, dtype: Any = np.float32):
    tolerance = 2e-6 if dtype == np.float32 else 1e-13
    for m, t in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(
            m.detach().numpy(), t.detach().numpy(), rtol=tolerance, atol=tolerance
        )


def _states_agree(mine, theirs):
    """State dicts have equal keys, groups, and tensors of equal types and values."""
    assert mine["param_groups"] == theirs["param_groups"]
    assert mine["state"].keys() == theirs["state"].keys()
    for key, state in theirs["state"].items():
        assert mine["state"][key].keys() == state.keys()
        for name, value in state.items():
            own = mine["state"][key][name]
            if isinstance(value, oracle.Tensor):
                assert str(own.dtype) == str(value.dtype)
                assert tuple(own.shape) == tuple(value.shape)
                np.testing.assert_allclose(own.numpy(), value.numpy(), rtol=1e-5, atol=1e-6)
            else:
                assert own == value


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_ten_steps(name, options):
    for dtype in (np.float32, np.float64):
        mine, theirs = _twins(dtype)
        first = getattr(torch.optim, name)(mine, **options)
        second = getattr(oracle.optim, name)(theirs, **options)
        assert repr(first) == repr(second)
        _run(first, second, mine, theirs)
        _agree(mine, theirs, dtype)
        _states_agree(first.state_dict(), second.state_dict())


@pytest.mark.parametrize(("name", "options"), [o for o in OPTIONS if o[0] != "Adafactor"][::3])
def test_complex_numbers(name, options):
    if name == "Adam" and options.get("fused"):
        return
    mine, theirs = _twins(np.complex128, [(3, 2)])
    first = getattr(torch.optim, name)(mine, **options)
    second = getattr(oracle.optim, name)(theirs, **options)
    _run(first, second, mine, theirs)
    _agree(mine, theirs, np.float64)


def test_zeros_keep_their_signs_without_weight_decay():
    signs = []
    for library in (torch, oracle):
        p = library.tensor([-0.0, -0.0, 0.0], requires_grad=True)
        p.grad = library.tensor([-0.0, 0.0, -0.0])
        library.optim.SGD([p], lr=0.1).step()
        signs.append(library.signbit(p).tolist())
    assert signs[0] == signs[1]


def test_muon_and_sparse_adam():
    mine, theirs = _twins(np.float32, [(4, 6), (6, 4)])
    for options in ({}, {"nesterov": False, "adjust_lr_fn": "match_rms_adamw"}):
        first, second = torch.optim.Muon(mine, **options), oracle.optim.Muon(theirs, **options)
        _run(first, second, mine, theirs, steps=3)
        for m, t in zip(mine, theirs, strict=True):  # products in bfloat16 differ in rounding
            np.testing.assert_allclose(m.detach().numpy(), t.detach().numpy(), atol=2e-3)
    mine, theirs = _twins(np.float32, [(5, 3)])
    first, second = torch.optim.SparseAdam(mine), oracle.optim.SparseAdam(theirs)
    for rows in ([0, 2], [2, 4], [1, 2]):
        index, values = oracle.tensor([rows]), oracle.randn(2, 3)
        theirs[0].grad = oracle.sparse_coo_tensor(index, values, (5, 3))
        mine[0].grad = torch.sparse_coo_tensor([rows], values.numpy(), (5, 3))
        first.step()
        second.step()
    _agree(mine, theirs)


@pytest.mark.parametrize(
    "options", [{}, {"lr": 0.5, "max_iter": 7}, {"line_search_fn": "strong_wolfe"}]
)
def test_lbfgs(options):
    options = {"history_size": 4, **options}
    mine, theirs = _twins(np.float64, [(3, 2), (3,)])
    first, second = torch.optim.LBFGS(mine, **options), oracle.optim.LBFGS(theirs, **options)

    def closure(params, optimizer):
        def compute():
            optimizer.zero_grad()
            a, b = params
            loss = ((a**2).sum() - 2) ** 2 + (a[:, 0] * b).sum() ** 2 + (b - 1).cosh().sum()
            loss.backward()
            return loss

        return compute

    for _ in range(3):
        one = first.step(closure(mine, first))
        two = second.step(closure(theirs, second))
        assert float(one) == pytest.approx(float(two), rel=1e-9)
        _agree(mine, theirs, np.float32)
    ours, other = first.state_dict()["state"][0], second.state_dict()["state"][0]
    assert ours.keys() == other.keys()
    assert (ours["func_evals"], ours["n_iter"]) == (other["func_evals"], other["n_iter"])
    assert len(ours["old_dirs"]) == len(other["old_dirs"])


@pytest.mark.parametrize("name", ["SGD", "AdamW", "NAdam", "ASGD"])
def test_states_travel_both_ways(name):
    options = {"momentum": 0.9} if name == "SGD" else {}
    mine, theirs = _twins()
    first = getattr(torch.optim, name)(mine, **options)
    second = getattr(oracle.optim, name)(theirs, **options)
    _run(first, second, mine, theirs, steps=3)

    there, here = io.BytesIO(), io.BytesIO()
    oracle.save(second.state_dict(), there)
    torch.save(first.state_dict(), here)
    there.seek(0)
    here.seek(0)
    new_first = getattr(torch.optim, name)(mine, lr=5.0)
    new_second = getattr(oracle.optim, name)(theirs, lr=5.0)
    new_first.load_state_dict(torch.load(there))
    new_second.load_state_dict(oracle.load(here, map_location="cpu"))
    _run(new_first, new_second, mine, theirs, steps=3, seed=2)
    _agree(mine, theirs)
    _states_agree(new_first.state_dict(), new_second.state_dict())
    again = pickle.loads(pickle.dumps(copy.deepcopy(new_first)))
    _states_agree(again.state_dict(), new_second.state_dict())


def test_groups_hooks_and_gradients():
    mine, theirs = _twins()
    calls = []
    pair = []
    for lib, params in ((torch, mine), (oracle, theirs)):
        o = lib.optim.AdamW([{"params": params[:1], "lr": 0.5}, {"params": params[1:3]}], lr=0.1)
        o.add_param_group({"params": params[3], "weight_decay": 0.5})
        o.register_step_pre_hook(lambda opt, args, kwargs: calls.append("before"))
        o.register_step_post_hook(lambda opt, args, kwargs: calls.append("after"))
        o.register_state_dict_post_hook(lambda opt, state: {**state, "more": 1})
        pair.append(o)
    assert repr(pair[0]) == repr(pair[1])
    _run(pair[0], pair[1], mine, theirs, steps=2)
    assert calls == ["before", "after"] * 4
    assert pair[0].state_dict()["more"] == 1
    _agree(mine, theirs)
    mine[0].grad = None  # parameters without a gradient stay as they are
    theirs[0].grad = None
    for o in pair:
        o.step()
        o.zero_grad(set_to_none=False)
    _agree(mine, theirs)
    assert mine[1].grad.abs().sum() == 0
    pair[0].zero_grad()
    assert mine[1].grad is None
    named = torch.optim.SGD([("w", mine[0]), ("b", mine[1])], lr=0.1)
    assert named.state_dict()["param_groups"][0]["param_names"] == ["w", "b"]


def test_autograd_notices_steps():
    p = torch.ones(3, requires_grad=True)
    loss = (p * p).sum()
    p.grad = torch.ones(3)
    torch.optim.SGD([p], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        loss.backward()


@pytest.mark.parametrize(
    "name",
    ["SGD", "Adam", "NAdam", "RAdam", "Adamax", "Adadelta", "Adagrad", "RMSprop", "Rprop", "ASGD"],
)
def test_differentiable_steps(name):
    results = []
    steps = 1 if name in ("Adamax", "Rprop") else 2  # PyTorch overwrites what the second one needs
    for lib in (torch, oracle):
        start = lib.tensor([1.0, 2.0], dtype=lib.float64, requires_grad=True)
        p = start.clone()
        p.retain_grad()
        optimizer = getattr(lib.optim, name)([p], lr=0.1, differentiable=True)
        for _ in range(steps):
            p.grad = p.detach() * 3 + start * 0.5
            optimizer.step()
        (p * p).sum().backward()
        results.append((start.grad.numpy(), p.detach().numpy()))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5)  # it counts in float32


def test_constructors_have_the_same_signatures():
    kinds = {**vars(oracle.optim), **vars(oracle.optim.lr_scheduler)}
    mine = {**vars(torch.optim), **vars(torch.optim.lr_scheduler)}
    bases = oracle.optim.Optimizer, oracle.optim.lr_scheduler.LRScheduler
    for name, kind in kinds.items():
        if inspect.isclass(kind) and issubclass(kind, bases):
            ours = inspect.signature(mine[name]).parameters.values()
            other = inspect.signature(kind).parameters.values()
            assert [(p.name, p.kind, p.default) for p in ours] == [
                (p.name, p.kind, p.default) for p in other
            ], name


def _raised(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error)
    return None


def test_errors_are_the_same():
    def wrong(lib):
        p = lib.ones(2, requires_grad=True)
        o = lib.optim
        yield lambda: o.SGD([], lr=0.1)
        yield lambda: o.SGD(p, lr=0.1)
        yield lambda: o.SGD([p], lr=-1.0)
        yield lambda: o.SGD([p], lr=0.1, momentum=-1.0)
        yield lambda: o.SGD([p], lr=0.1, nesterov=True)
        yield lambda: o.SGD([p * 2], lr=0.1)
        yield lambda: o.SGD([1.0], lr=0.1)
        yield lambda: o.SGD({p}, lr=0.1) if False else o.SGD([{"params": {p}}], lr=0.1)
        yield lambda: o.SGD([{"params": [p]}, {"params": [p]}], lr=0.1)
        yield lambda: o.Adam([p], betas=(1.0, 0.9))
        yield lambda: o.Adam([p], eps=-1.0)
        yield lambda: o.Adam([p], betas=(0.5, lib.tensor(0.9)))
        yield lambda: o.Adam([p], lr=lib.ones(2))
        yield lambda: o.AdamW([p], decoupled_weight_decay=True)
        yield lambda: o.AdamW()
        yield lambda: o.AdamW([p], 1e-3, (0.9, 0.9), 1e-8, 0.1, False, True)
        yield lambda: o.Adagrad([p], initial_accumulator_value=-1.0)
        yield lambda: o.RMSprop([p], alpha=-1.0)
        yield lambda: o.NAdam([p], momentum_decay=-1.0)
        yield lambda: o.Adafactor([p], d=0.5)
        yield lambda: o.Adafactor([p], beta2_decay=0.5)
        yield lambda: o.Muon([p])
        yield lambda: o.Muon([p], momentum=-0.5)
        yield lambda: o.SparseAdam([p], lr=0.0)
        yield lambda: o.Adam([p], fused=True, foreach=True)
        yield lambda: o.Adadelta([p], rho=1.5)
        yield lambda: o.Rprop([p], etas=(1.2, 0.5))
        yield lambda: o.LBFGS([{"params": [p]}, {"params": [p.detach().requires_grad_()]}])
        yield lambda: o.SGD([p], lr=0.1).add_param_group([p])
        yield lambda: o.SGD([p], lr=0.1).load_state_dict({"state": {}, "param_groups": []})
        s = o.lr_scheduler
        yield lambda: s.StepLR(p, 3)
        yield lambda: s.LinearLR(o.SGD([p], lr=0.1), start_factor=2.0)
        yield lambda: s.OneCycleLR(o.SGD([p], lr=0.1), 0.1)
        yield lambda: s.OneCycleLR(o.Rprop([p]), 0.1, total_steps=10)
        yield lambda: s.CosineAnnealingWarmRestarts(o.SGD([p], lr=0.1), 0)
        yield lambda: s.StepLR(o.SGD([p], lr=0.1), 3, last_epoch=4)
        yield lambda: s.ReduceLROnPlateau(o.SGD([p], lr=0.1), mode="best")

    for mine, theirs in zip(wrong(torch), wrong(oracle), strict=True):
        assert _raised(theirs) is not None
        assert _raised(mine) == _raised(theirs)


@pytest.mark.parametrize(
    ("formula", "memories"), [(formulas.momentum, 1), (formulas.adam, 2)], ids=["momentum", "adam"]
)
def test_kernels_equal_numpy(formula, memories):
    """One kernel for all parameters gives NumPy's numbers to the last bit."""
    random = np.random.default_rng(3)
    numbers = [tuple(random.uniform(0.1, 1.0, formula.__code__.co_argcount - 3 - memories))] * 4

    def columns():
        source = np.random.default_rng(4)
        sizes = 70_000, 3, (7, 143), ()
        return [[source.random(n).astype("f") for n in sizes] for _ in range(memories + 2)]

    by_kernel: Any = columns()
    by_numpy: Any = columns()
    fused.update(formula, by_kernel, numbers)
    fused._by_numpy(formula, list(zip(zip(*by_numpy, strict=True), numbers, strict=True)))
    for one, two in zip(by_kernel, by_numpy, strict=True):
        for a, b in zip(one, two, strict=True):
            np.testing.assert_array_equal(a, b)


# --- Schedulers -----------------------------------------------------------------------------


def _every_scheduler(lib):
    s = lib.optim.lr_scheduler
    return {
        "LambdaLR": lambda o: s.LambdaLR(o, lambda e: 0.95**e),
        "LambdaLR list": lambda o: s.LambdaLR(o, [lambda e: e // 30, lambda e: 0.9**e]),
        "MultiplicativeLR": lambda o: s.MultiplicativeLR(o, lambda e: 0.95),
        "StepLR": lambda o: s.StepLR(o, 7, gamma=0.3),
        "MultiStepLR": lambda o: s.MultiStepLR(o, [3, 8, 8, 20]),
        "ConstantLR": lambda o: s.ConstantLR(o, 0.25, 6),
        "LinearLR": lambda o: s.LinearLR(o, 0.25, 0.9, 9),
        "ExponentialLR": lambda o: s.ExponentialLR(o, 0.9),
        "PolynomialLR": lambda o: s.PolynomialLR(o, 12, power=1.7),
        "CosineAnnealingLR": lambda o: s.CosineAnnealingLR(o, 7, eta_min=0.01),
        "WarmRestarts": lambda o: s.CosineAnnealingWarmRestarts(o, 4, 2, eta_min=0.01),
        "CyclicLR": lambda o: s.CyclicLR(o, 0.01, 0.3, 4, 6, mode="triangular2"),
        "CyclicLR exp": lambda o: s.CyclicLR(o, [0.01, 0.1], 0.3, 4, mode="exp_range", gamma=0.9),
        "OneCycleLR": lambda o: s.OneCycleLR(o, 0.5, total_steps=31),
        "OneCycleLR 3": lambda o: s.OneCycleLR(
            o, [0.5, 0.6], epochs=4, steps_per_epoch=8, three_phase=True, anneal_strategy="linear"
        ),
        "ChainedScheduler": lambda o: s.ChainedScheduler(
            [s.ConstantLR(o, 0.1, 4), s.ExponentialLR(o, 0.9)]
        ),
        "SequentialLR": lambda o: s.SequentialLR(
            o,
            [
                s.LinearLR(o, 0.1, total_iters=5),
                s.CosineAnnealingLR(o, 10),
                s.ExponentialLR(o, 0.8),
            ],
            [5, 15],
        ),
        "SWALR": lambda o: lib.optim.swa_utils.SWALR(o, 0.05, anneal_epochs=6),
        "SWALR linear": lambda o: lib.optim.swa_utils.SWALR(
            o, [0.05, 0.3], anneal_epochs=0, anneal_strategy="linear"
        ),
    }


def _scheduled(lib, name, tensor_lr=False):
    lr = lib.tensor(0.2) if tensor_lr else 0.2
    kind = lib.optim.Adam if "Cyc" in name and "exp" in name else lib.optim.SGD
    params = [lib.ones(2, requires_grad=True) for _ in range(2)]
    groups = [{"params": params[0]}, {"params": params[1], "lr": 0.1}]
    options = {} if kind is lib.optim.Adam else {"momentum": 0.9}
    optimizer = kind(groups, lr=lr, **options)
    return optimizer, _every_scheduler(lib)[name](optimizer)


def _plain(state):
    return {k: v for k, v in state.items() if k not in ("_scale_fn_ref",)}


@pytest.mark.parametrize("name", list(_every_scheduler(torch)))
def test_thirty_epochs(name):
    (mine, ours), (theirs, other) = _scheduled(torch, name), _scheduled(oracle, name)
    for _ in range(30):
        for optimizer, scheduler in ((mine, ours), (theirs, other)):
            optimizer.step()
            scheduler.step()
        assert ours.get_last_lr() == other.get_last_lr()
        assert repr(mine) == repr(theirs)
    assert _plain(ours.state_dict()) == _plain(other.state_dict())
    fresh, again = _scheduled(torch, name)
    fresh.load_state_dict(theirs.state_dict())
    again.load_state_dict(other.state_dict())
    for scheduler in (again, other) if "One" not in name else ():
        scheduler.optimizer.step()
        scheduler.step()
    assert again.get_last_lr() == other.get_last_lr()


def test_closed_forms_and_tensor_rates():
    for name in ("StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "CosineAnnealingLR"):
        (_, ours), (_, other) = _scheduled(torch, name), _scheduled(oracle, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for epoch in (5, 3, 11):
                ours.step(epoch)
                other.step(epoch)
                assert ours.get_last_lr() == other.get_last_lr()
    (mine, ours), (_, other) = (
        _scheduled(torch, "ExponentialLR", True),
        _scheduled(oracle, "ExponentialLR", True),
    )
    rate = mine.param_groups[0]["lr"]
    for scheduler in (ours, other):
        scheduler.optimizer.step()
        scheduler.step()
    assert mine.param_groups[0]["lr"] is rate
    assert float(rate) == pytest.approx(float(other.get_last_lr()[0]))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "max", "patience": 1, "cooldown": 2},
        {"threshold_mode": "abs", "threshold": 0.2, "patience": 0, "min_lr": [0.01, 0.02]},
    ],
)
def test_plateau(options):
    measures = [1, 0.9, 0.9, 0.95, 0.8, 0.8, 0.8, 0.81, 0.7, 0.75, *[0.7] * 20]
    pairs = []
    for lib in (torch, oracle):
        optimizer, _ = _scheduled(lib, "LambdaLR")
        pairs.append((optimizer, lib.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)))
    (_, ours), (_, other) = pairs
    for measure in measures:
        ours.step(measure)
        other.step(measure)
        assert ours.get_last_lr() == other.get_last_lr()
    assert ours.state_dict() == other.state_dict()


def test_warnings():
    _, scheduler = _scheduled(torch, "StepLR")
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        scheduler.step()
    with pytest.warns(UserWarning, match="get_last_lr"):
        scheduler.get_lr()
    p = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        torch.optim.SGD([p, p], lr=0.1)


def test_averaged_models():
    averages = []
    for lib in (torch, oracle):
        lib.manual_seed(0)
        model = lib.nn.Linear(3, 2)
        kinds = [
            lib.optim.swa_utils.AveragedModel(model),
            lib.optim.swa_utils.AveragedModel(
                model, multi_avg_fn=lib.optim.swa_utils.get_ema_multi_avg_fn(0.9)
            ),
            lib.optim.swa_utils.AveragedModel(
                model, avg_fn=lib.optim.swa_utils.get_swa_avg_fn(), use_buffers=True
            ),
        ]
        optimizer = lib.optim.SGD(model.parameters(), lr=0.1)
        for k in range(4):
            optimizer.zero_grad()
            model(lib.full((2, 3), float(k + 1))).sum().backward()
            optimizer.step()
            for average in kinds:
                average.update_parameters(model)
        averages.append([{k: v.numpy() for k, v in a.state_dict().items()} for a in kinds])
    for mine, theirs in zip(*averages, strict=True):
        assert mine.keys() == theirs.keys()
        for name, value in theirs.items():
            np.testing.assert_allclose(mine[name], value, rtol=1e-5, atol=1e-6)


def test_rates_are_finite():
    """The last step of a cycle is reached, and one more is refused."""
    optimizer, scheduler = _scheduled(torch, "OneCycleLR")
    for _ in range(31):
        optimizer.step()
        scheduler.step()
    assert all(math.isfinite(lr) for lr in scheduler.get_last_lr())
    with pytest.raises(ValueError, match="Tried to step 32 times"):
        scheduler.step()


def test_statistics_of_an_average():
    """`update_bn` computes running statistics over all batches of a loader."""
    results = []
    for lib in (torch, oracle):
        lib.manual_seed(0)
        model = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.BatchNorm1d(4, momentum=0.3))
        loader = [(lib.randn(5, 3), None) for _ in range(3)]
        model.eval()
        lib.optim.swa_utils.update_bn(loader, model)
        norm = model[1]
        assert norm.momentum == 0.3
        assert not model.training
        results.append([norm.running_mean.numpy(), norm.running_var.numpy()])
    for mine, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
