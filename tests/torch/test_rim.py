"""Names around the operations, as other libraries use them: trees, lists of tensors, checks, files."""

from __future__ import annotations

import collections
import dataclasses
import threading
import zipfile
from typing import Any

import numpy as np
import pytest
import torch as real
from torch.utils import _pytree as real_pytree

import minitorch.torch as ours
from minitorch.torch.utils import _pytree as pytree

from .oracle import compare_results


def same(call: Any, *more: Any) -> None:
    """The same values, or an error of the same class, in both libraries."""
    try:
        expected = call(real, *more)
    except Exception as error:
        with pytest.raises(type(error)):
            call(ours, *more)
        return
    compare_results(call(ours, *more), expected, "call")


# --- Trees -----------------------------------------------------------------------------------------

Pair = collections.namedtuple("Pair", "one two")
TREES: list[Any] = [
    3, None, [], {}, [1, (2, {"a": 3, "b": [4]})], Pair(1, [2, 3]), collections.OrderedDict(b=1, a=2),
    collections.deque([1, 2], maxlen=3), collections.defaultdict(list, x=1), {"x": (), "y": None},
]  # fmt: skip


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_trees_come_apart_and_together(tree: Any) -> None:
    leaves, spec = pytree.tree_flatten(tree)
    expected, their_spec = real_pytree.tree_flatten(tree)
    assert leaves == expected
    assert (spec.num_leaves, spec.num_nodes) == (their_spec.num_leaves, their_spec.num_nodes)
    back = pytree.tree_unflatten(leaves, spec)
    assert back == tree
    assert type(back) is type(tree)
    assert pytree.tree_map(str, tree) == real_pytree.tree_map(str, tree)
    assert pytree.tree_map(lambda *x: x, tree, tree) == real_pytree.tree_map(
        lambda *x: x, tree, tree
    )
    paths = [(pytree.keystr(p), x) for p, x in pytree.tree_leaves_with_path(tree)]
    assert paths == [(real_pytree.keystr(p), x) for p, x in real_pytree.tree_leaves_with_path(tree)]
    for p, x in pytree.tree_leaves_with_path(tree):
        assert pytree.key_get(tree, p) == x


def test_what_does_not_fit_is_refused() -> None:
    spec = pytree.tree_structure([1, (2, 3)])
    for wrong in ([1], [1, 2, 3, 4]):
        with pytest.raises(ValueError, match="3 items"):
            spec.unflatten(wrong)
    for wrong in ((1, (2, 3)), [1, (2,)], [1, 2]):
        with pytest.raises(ValueError, match="mismatch"):
            pytree.tree_map(max, [1, (2, 3)], wrong)
    with pytest.raises(TypeError):
        pytree.tree_unflatten([1], [1])  # type: ignore[arg-type]


def test_classes_become_containers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytree, "SUPPORTED_NODES", dict(pytree.SUPPORTED_NODES))

    @dataclasses.dataclass
    class Point:
        x: Any
        y: Any

    assert pytree.tree_leaves(Point(1, 2)) == [Point(1, 2)]
    pytree.register_dataclass(Point)
    assert pytree.tree_map(lambda v: v + 1, [Point(1, 2)]) == [Point(2, 3)]
    assert pytree.tree_map_only(int, str, (Point(1, 2.0), "a")) == (Point("1", 2.0), "a")
    assert pytree.tree_all_only(int, lambda v: v > 0, [1, -1.0])
    assert pytree.tree_any(lambda v: v == 2, Point(1, 2))
    assert pytree.tree_leaves([Point(1, 2)], is_leaf=lambda v: isinstance(v, Point)) == [
        Point(1, 2)
    ]


# --- Lists of tensors --------------------------------------------------------------------------------


def tensors(lib: Any, start: float = 0.5) -> list[Any]:
    return [lib.linspace(start, 0.9, 6).reshape(2, 3), lib.linspace(0.1, start, 4).double()]


UNARY = (
    "abs acos asin atan ceil clone cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 max neg norm "
    "reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
).split()


@pytest.mark.parametrize("name", UNARY)
def test_of_each(name: str) -> None:
    same(lambda lib: list(getattr(lib, f"_foreach_{name}")(tensors(lib))))
    if hasattr(real, f"_foreach_{name}_"):
        same(lambda lib: (x := tensors(lib), getattr(lib, f"_foreach_{name}_")(x))[0])


@pytest.mark.parametrize("name", "add sub mul div clamp_max clamp_min maximum minimum pow".split())
@pytest.mark.parametrize("other", ["number", "numbers", "tensors", "tensor"])
def test_of_each_and_another(name: str, other: str) -> None:
    if other == "tensor" and name not in ("add", "mul", "div"):
        return

    def given(lib: Any) -> Any:
        return {
            "number": 2, "numbers": [0.5, 3.0], "tensors": tensors(lib, 0.7), "tensor": lib.tensor(1.5),
        }[other]  # fmt: skip

    same(lambda lib: list(getattr(lib, f"_foreach_{name}")(tensors(lib), given(lib))))
    same(lambda lib: (x := tensors(lib), getattr(lib, f"_foreach_{name}_")(x, given(lib)))[0])


def test_of_each_with_more() -> None:
    for name in ("addcdiv", "addcmul"):
        for extra in ({}, {"value": 0.5}, {"scalars": [0.5, 2.0]}):
            same(
                lambda lib, name=name, extra=extra: list(
                    getattr(lib, f"_foreach_{name}")(
                        tensors(lib), tensors(lib, 2.0), tensors(lib, 3.0), **extra
                    )
                )
            )
    same(lambda lib: list(lib._foreach_add(tensors(lib), tensors(lib), alpha=3)))
    same(lambda lib: list(lib._foreach_lerp(tensors(lib), tensors(lib, 2.0), 0.25)))
    same(lambda lib: list(lib._foreach_norm(tensors(lib), 1)))
    same(lambda lib: list(lib._foreach_pow(2.0, tensors(lib))))
    same(lambda lib: (x := tensors(lib), lib._foreach_zero_(x))[0])
    same(lambda lib: (x := tensors(lib), lib._foreach_copy_(x, tensors(lib, 3.0)))[0])


@pytest.mark.parametrize(
    "call",
    [
        lambda lib: lib._foreach_add([], 1),
        lambda lib: lib._foreach_add(tensors(lib), [1.0]),
        lambda lib: lib._foreach_add(tensors(lib), tensors(lib)[:1]),
        lambda lib: lib._foreach_add(lib.ones(3), 1),
        lambda lib: lib._foreach_copy_(tensors(lib), tensors(lib)[:1]),
    ],
)
def test_lists_that_do_not_fit(call: Any) -> None:
    same(call)


# --- Checks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "args"),
    [
        (name, (value, *message))
        for name in (
            "_check",
            "_check_index",
            "_check_value",
            "_check_type",
            "_check_not_implemented",
        )
        for value in (True, False, 1, None)
        for message in ((), (lambda: "no",), ("no",))
    ],
)
def test_checks(name: str, args: Any) -> None:
    same(lambda lib: getattr(lib, name)(*args))


def test_checks_of_tensors() -> None:
    for values in ([True, True], [True, False], [1.0]):
        same(lambda lib, values=values: lib._check_tensor_all(lib.tensor(values)))
    same(lambda lib: lib._check_tensor_all(True))
    for value in (0, 1, 0.0, [1, 2]):
        same(lambda lib, value=value: lib._assert_async(lib.tensor(value)))
    for value in (True, False):
        same(lambda lib, value=value: lib._assert(value, "no"))


# --- Eight bits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", "e4m3fn e4m3fnuz e5m2 e5m2fnuz e8m0fnu".split())
def test_floats_of_eight_bits(name: str) -> None:
    numbers = np.concatenate(
        [
            np.random.default_rng(0).normal(size=300) * 200,
            [0, -0.0, 447, 464, 465, 1e9, np.inf, -np.inf, np.nan],
        ]
    ).astype(np.float32)
    numbers = np.abs(numbers) if name == "e8m0fnu" else numbers
    results = []
    for lib in (ours, real):
        kind = getattr(lib, f"float8_{name}")
        small = lib.from_numpy(numbers).to(kind)
        limits = lib.finfo(kind)
        assert (small.dtype, small.element_size(), kind.itemsize) == (kind, 1, 1)
        eps = (
            limits.eps if name != "e5m2fnuz" else None
        )  # PyTorch says 1/8; 1 and 1.25 are neighbours
        facts = limits.bits, eps, limits.max, limits.min, limits.tiny, limits.resolution
        results.append((small.float().numpy(), facts, repr(kind), lib.zeros(2).to(kind).tolist()))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    assert results[0][1:] == results[1][1:]
    same(lambda lib: lib.promote_types(getattr(lib, f"float8_{name}"), lib.float32))


# --- Functions of functions ------------------------------------------------------------------------------


def matrix(lib: Any) -> Any:
    return lib.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def captured(lib: Any) -> Any:
    """A gradient of a gradient, through a value that the inner function finds outside."""
    inner = lambda a: lib.func.grad(lambda b: (a * b * b).sum())(lib.ones(2, 3)).sum()  # noqa: E731
    return lib.func.grad(inner)(matrix(lib))


def penalty(lib: Any) -> Any:
    """A gradient that depends on a parameter keeps its history."""
    weight = lib.ones(2, 3).requires_grad_()
    lib.func.grad(lambda a: (a * a * weight).sum())(matrix(lib)).sum().backward()
    return weight.grad


TRANSFORMS = {
    "grad": lambda lib: lib.func.grad(lambda a: (a.sin() * a).sum())(matrix(lib)),
    "aux": lambda lib: lib.func.grad(lambda a, b: ((a * b).sum(), a * 2), argnums=(0, 1), has_aux=True)(
        matrix(lib), matrix(lib)),
    "tree": lambda lib: lib.func.grad(lambda d: (d["a"] ** 2).sum() * d["b"])({"a": matrix(lib), "b": lib.tensor(2.0)}),
    "value": lambda lib: lib.func.grad_and_value(lambda a: a.sum())(matrix(lib)),
    "captured": captured,
    "penalty": penalty,
    "vjp": lambda lib: lib.func.vjp(lambda a: (a.sin(), a * 2), matrix(lib))[1]((matrix(lib), matrix(lib))),
    "jvp": lambda lib: lib.func.jvp(lambda a: a.sin(), (matrix(lib),), (matrix(lib),)),
    "jacrev": lambda lib: lib.func.jacrev(lambda a, b: {"x": a @ b}, argnums=(0, 1))(matrix(lib), matrix(lib).T),
    "jacfwd": lambda lib: lib.func.jacfwd(lambda a: a.sin().sum(0))(matrix(lib)),
    "hessian": lambda lib: lib.func.hessian(lambda a: (a**3).sum())(matrix(lib)),
    "linearize": lambda lib: lib.func.linearize(lambda a: a.sin(), matrix(lib))[1](matrix(lib)),
    "vmap": lambda lib: lib.vmap(lambda a, b: a @ b)(matrix(lib), matrix(lib)),
    "dims": lambda lib: lib.vmap(lambda a, b: a * b, in_dims=(0, None), out_dims=1)(matrix(lib), lib.ones(3)),
    "trees": lambda lib: lib.vmap(lambda d: {"s": d["a"] + d["b"]})({"a": matrix(lib), "b": matrix(lib)}),
    "per example": lambda lib: lib.vmap(lib.func.grad(lambda w, a: (w * a).sin().sum()), in_dims=(None, 0))(
        lib.ones(3), matrix(lib)),
    "through vmap": lambda lib: lib.func.jacrev(lib.vmap(lambda a: a.sum() * a))(matrix(lib)),
    "no such dim": lambda lib: lib.vmap(lambda a: a, in_dims=(3,))(matrix(lib)),
    "other sizes": lambda lib: lib.vmap(lambda a, b: a)(matrix(lib), lib.ones(3)),
    "no tensor": lambda lib: lib.vmap(lambda a: 3)(matrix(lib)),
    "nothing to map": lambda lib: lib.vmap(lambda a: a, in_dims=None)(matrix(lib)),
    "randomness": lambda lib: lib.vmap(lambda a: a, randomness="some")(matrix(lib)),
    "not one number": lambda lib: lib.func.grad(lambda a: a * 2)(matrix(lib)),
    "no such argument": lambda lib: lib.func.grad(lambda a: a.sum(), argnums=1)(matrix(lib)),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name: str) -> None:
    same(TRANSFORMS[name])


def test_results_of_transforms_have_no_history() -> None:
    for name in ("grad", "captured", "value", "jvp", "hessian"):
        for leaf in pytree.tree_leaves(TRANSFORMS[name](ours)):
            assert not leaf.requires_grad, name


# --- Futures, files, and what stands for something that is not here -----------------------------------------


def test_futures() -> None:
    first, second = ours.futures.Future(), ours.futures.Future()
    seen: list[Any] = []
    after = first.then(lambda f: f.wait() + 1)
    ours.futures.collect_all([first, second]).add_done_callback(
        lambda f: seen.append(len(f.wait()))
    )
    threading.Timer(0.01, first.set_result, (1,)).start()
    assert (first.wait(), after.wait(), first.done(), second.done()) == (1, 2, True, False)
    second.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        second.wait()
    assert seen == [2]
    with pytest.raises(RuntimeError):
        first.set_result(2)
    assert ours.futures.wait_all([first, after]) == [1, 2]


def test_models_and_weights_from_a_folder(tmp_path: Any) -> None:
    (tmp_path / "parts.py").write_text("SIZE = 3\n")
    code = (
        "import torch\nfrom parts import SIZE\ndef net(size=SIZE):\n    'a net'\n    return size\n"
    )
    (tmp_path / "hubconf.py").write_text(code.replace("import torch\n", ""))
    hub = ours.hub
    assert hub.load(tmp_path, "net", source="local") == 3
    assert hub.load(str(tmp_path), "net", size=4, source="local", trust_repo=True) == 4
    assert (hub.list(tmp_path, source="local"), hub.help(tmp_path, "net", source="local")) == (
        ["net"],
        "a net",
    )
    with pytest.raises(RuntimeError, match="source='local'"):
        hub.load("someone/something", "net")
    with pytest.raises(RuntimeError, match="Cannot find callable other"):
        hub.load(tmp_path, "other", source="local")
    weights = tmp_path / "weights.pt"
    ours.save({"w": ours.ones(2)}, weights)
    kept = tmp_path / "kept"
    kept.mkdir()
    loaded = hub.load_state_dict_from_url(weights.as_uri(), model_dir=str(kept))
    assert loaded["w"].tolist() == [1, 1]
    with zipfile.ZipFile(tmp_path / "zipped.zip", "w") as archive:
        archive.write(weights, "inside.pt")
    again = hub.load_state_dict_from_url((tmp_path / "zipped.zip").as_uri(), model_dir=str(kept))
    assert again["w"].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="invalid hash value"):
        hub.download_url_to_file(weights.as_uri(), str(kept / "wrong.pt"), hash_prefix="00")
    assert sorted(p.name for p in kept.iterdir()) == ["inside.pt", "weights.pt", "zipped.zip"]


def test_tensors_swap_places() -> None:
    layer, other = ours.nn.Linear(2, 2), ours.zeros(3)
    weight = layer.weight
    ours.utils.swap_tensors(weight, other)
    assert (layer.weight.shape, type(weight), other.shape, type(other)) == (
        (3,), ours.Tensor, (2, 2), ours.nn.Parameter,
    )  # fmt: skip


def test_what_libraries_ask() -> None:
    assert not ours.xpu.is_available()
    assert not isinstance(ours.ones(2), ours.xpu.FloatTensor)
    assert ours._C._get_accelerator().type in ("cpu", "cuda")
    assert ours._C._get_tracing_state() is None
    assert not hasattr(ours._C, "_nonsense")
    assert "numpy" in ours.__config__.show()
    with pytest.raises(TypeError):
        ours.SymInt(3)
    rows = [ours.ones(2), ours.zeros(1, 3)]
    flat = ours._utils._flatten_dense_tensors(rows)
    back = ours._utils._unflatten_dense_tensors(flat, rows)
    assert [t.tolist() for t in back] == [[1, 1], [[0, 0, 0]]]
    assert ours._tensor_str._tensor_str(ours.as_tensor([1.5, 2]), 0) == "[1.5000, 2.0000]"
    assert ours.jit.wait(ours.jit.fork(lambda x: x + 1, 2)) == 3


# --- Operations of a program's own ---------------------------------------------------------------------------


def declared(lib: Any) -> list[Any]:
    """An operation whose derivative is told, wrongly on purpose: it must be the one that is used."""
    library = lib.library

    @library.custom_op("minitorch_tests::double", mutates_args=())
    def double(x: real.Tensor, y: float = 1.0) -> real.Tensor:
        return lib.from_numpy(x.detach().numpy() * 2 * y)

    double.register_autograd(
        lambda ctx, g: (g * ctx.factor, None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", 5.0),
    )
    double.register_fake(lambda x, y=1.0: x.new_empty(x.shape))
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    result = double(x, 3.0)
    result.sum().backward()
    by_name = lib.ops.minitorch_tests.double(x.detach())
    return [result.detach(), x.grad, by_name, lib.ops.minitorch_tests.double.default(by_name)]


def test_operations_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours.library, "_OPERATIONS", {})
    monkeypatch.setattr(ours.library, "_NAMESPACES", dict(ours.library._NAMESPACES))
    compare_results(declared(ours), declared(real), "custom operation")
    with pytest.raises(AttributeError):
        ours.ops.minitorch_tests.halve  # noqa: B018
    assert not hasattr(ours.ops, "minitorch_other")


def test_libraries_of_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours.library, "_OPERATIONS", {})
    monkeypatch.setattr(ours.library, "_NAMESPACES", dict(ours.library._NAMESPACES))
    library = ours.library.Library("minitorch_tests", "DEF")
    library.define("add_one(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError):
        ours.ops.minitorch_tests.add_one(ours.zeros(1))
    library.impl("add_one", lambda x: x + 1, "CPU")
    assert ours.ops.minitorch_tests.add_one(ours.zeros(1)).tolist() == [1]
    with pytest.raises(RuntimeError, match="does not exist"):
        ours.library.register_fake("minitorch_tests::other", lambda x: x)


def test_torchs_operations_by_name() -> None:
    x = ours.ones(2, 2)
    assert ours.ops.aten.add.Tensor(x, x).tolist() == [[2, 2], [2, 2]]
    assert ours.ops.aten.view.default(x, (4,)).shape == (4,)
    assert ours.ops.aten._to_copy.default(x, dtype=ours.int64).dtype is ours.int64
    assert ours.ops.aten.sym_size.int(x, 1) == 2
    assert ours.ops.aten.mm is ours.ops.aten.mm
    assert not hasattr(ours.ops.aten, "nonsense")
