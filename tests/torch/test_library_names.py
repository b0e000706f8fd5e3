"""Names that other people's libraries ask for: each does what PyTorch's does."""

from __future__ import annotations

import importlib
from collections import OrderedDict, namedtuple
from pathlib import Path

import numpy as np
import pytest
import torch

import minitorch.torch as ours
from minitorch.torch import quasirandom
from minitorch.torch.nn.parallel.scatter_gather import gather, scatter, scatter_kwargs


@pytest.mark.parametrize(("scramble", "seed"), [(False, None), (True, 5), (True, None)])
def test_sobol_points_are_pytorchs(scramble, seed):
    torch.manual_seed(1)
    ours.manual_seed(1)
    theirs = torch.quasirandom.SobolEngine(7, scramble, seed)
    mine = quasirandom.SobolEngine(7, scramble, seed)
    assert repr(mine) == repr(theirs)
    for call in (
        lambda e: e.draw(1),
        lambda e: e.draw(5),
        lambda e: e.reset().draw_base2(3),
        lambda e: e.fast_forward(4).draw(2),
        lambda e: e.reset().fast_forward(4).draw(3),
    ):
        assert np.array_equal(call(mine).numpy(), call(theirs).numpy())
    wide = mine.reset().draw(4, dtype=ours.float64)
    assert np.array_equal(wide.numpy(), theirs.reset().draw(4, dtype=torch.float64).numpy())
    out = ours.empty(0)
    assert mine.reset().draw(4, out=out) is out
    assert out.shape == (4, 7)
    with pytest.raises(ValueError, match="power of 2"):
        mine.draw_base2(3)
    with pytest.raises(ValueError, match="at least"):
        mine.reset().draw(0)
    with pytest.raises(ValueError, match="range of dimensionality"):
        quasirandom.SobolEngine(0)


OLD_FORMS = {
    "addcmul_": lambda t, a, b, v: a.clone().addcmul_(0.5, a, b),
    "addcdiv": lambda t, a, b, v: t.addcdiv(a, 0.5, a, b),
    "addmm": lambda t, a, b, v: t.addmm(2, a, 3, a, b),
    "addmm without alpha": lambda t, a, b, v: t.addmm(2, a, a, b),
    "Tensor.addmm": lambda t, a, b, v: a.addmm(2, 3, a, b),
    "addmv": lambda t, a, b, v: v.addmv(2, a, v),
    "addr_": lambda t, a, b, v: a.clone().addr_(2, 3, v, v),
    "baddbmm": lambda t, a, b, v: a[None].baddbmm(2, 3, a[None], b[None]),
    "addbmm": lambda t, a, b, v: t.addbmm(2, a, 3, a[None], b[None]),
}


@pytest.mark.filterwarnings("ignore:This overload")
@pytest.mark.parametrize("name", OLD_FORMS)
def test_numbers_may_stand_before_tensors_as_they_once_did(name):
    given = np.arange(1.0, 5).reshape(2, 2), np.full((2, 2), 3.0), np.array([1.0, 2.0])
    mine, theirs = (
        OLD_FORMS[name](t, *(t.from_numpy(x.copy()) for x in given)).numpy() for t in (ours, torch)
    )
    assert np.allclose(mine, theirs, rtol=1e-14)
    with pytest.raises(TypeError):
        ours.ones(2, 2).addmm(2, ours.ones(2, 2), ours.ones(2, 2), beta=3)


def test_type_takes_the_classes_of_tensors():
    assert ours.ones(2).type(ours.DoubleTensor).dtype is ours.float64
    assert ours.ones(2).type(ours.int8).dtype is ours.int8
    with pytest.raises(TypeError):
        ours.ones(2).type(5)


def test_lists_of_tensors_are_grouped_by_device_and_type():
    for t in (ours, torch):
        module = importlib.import_module(f"{t.__name__}.utils._foreach_utils")
        tensors = [t.ones(2), t.ones(1, dtype=t.float64), t.zeros(3)]
        found = module._group_tensors_by_device_and_dtype([tensors, [None] * 3, []], True)
        single = found[t.device("cpu"), t.float32]
        assert single[1] == [0, 2]
        assert [len(each) for each in single[0]] == [2, 2, 0]
        assert found[t.device("cpu"), t.float64][1] == [1]
        assert module._has_foreach_support(tensors, t.device("cpu"))


def test_arguments_are_cut_for_devices_and_joined_again():
    Pair = namedtuple("Pair", "x y")
    x = ours.arange(6.0).reshape(3, 2)
    first, second = scatter(
        (x, {"a": x}, 7, Pair(x, [x])), [ours.device("cpu"), ours.device("cpu")]
    )
    assert [tuple(each.shape) for each in (first[0], second[0])] == [(2, 2), (1, 2)]
    assert first[2] == second[2] == 7
    assert isinstance(second[3], Pair)
    assert isinstance(second[3].y, list)
    assert ours.equal(gather([first[3], second[3]], "cpu").y[0], x)
    assert ours.equal(gather([OrderedDict(a=first[0]), OrderedDict(a=second[0])], "cpu")["a"], x)
    assert gather([ours.ones(()), ours.ones(()) + 1], "cpu").tolist() == [1, 2]
    places, names = scatter_kwargs((x,), {"b": 1}, ["cpu", "cpu"])
    assert len(places) == len(names) == 2
    assert names[0] == {"b": 1}
    with pytest.raises(ValueError, match="same number of keys"):
        gather([{"a": x}, {}], "cpu")


def test_switches_of_cudnn_are_set_for_a_while():
    from minitorch.torch.backends import cudnn

    before = cudnn.enabled, cudnn.benchmark
    with cudnn.flags(enabled=True, benchmark=True):
        assert cudnn.enabled
        assert cudnn.benchmark
    assert (cudnn.enabled, cudnn.benchmark) == before


def test_stl10_reads_its_files(tmp_path):
    from minitorch.torchvision.datasets import STL10

    folder = tmp_path / "stl10_binary"
    folder.mkdir()
    pixels = np.random.default_rng(0).integers(0, 256, (4, 3, 96, 96), np.uint8)
    for part in ("train", "test", "unlabeled"):
        pixels.tofile(folder / f"{part}_X.bin")
        np.array([1, 2, 3, 10], np.uint8).tofile(folder / f"{part}_y.bin")
    Path(folder, "fold_indices.txt").write_text("0 2 \n3 \n")
    Path(folder, "class_names.txt").write_text("airplane\nbird\n")
    image, label = STL10(tmp_path, "test")[3]
    assert label == 9
    assert image.size == (96, 96)
    assert np.array_equal(np.asarray(image), pixels[3].transpose(2, 1, 0))
    assert STL10(tmp_path, folds=1).labels.tolist() == [9]
    both = STL10(tmp_path, "train+unlabeled")
    assert len(both) == 8
    assert both[5][1] == -1
    assert both.classes == ["airplane", "bird"]
    with pytest.raises(ValueError, match="argument split"):
        STL10(tmp_path, "all")
    with pytest.raises(ValueError, match="range"):
        STL10(tmp_path, folds=10)
    with pytest.raises(RuntimeError, match="not found"):
        STL10(tmp_path / "elsewhere")


def test_functions_of_transforms_second_version():
    functional = importlib.import_module("minitorch.torchvision.transforms.v2.functional")
    gray = ours.arange(4, dtype=ours.uint8).reshape(1, 2, 2)
    assert functional.grayscale_to_rgb(gray).shape == (3, 2, 2)
    assert functional.to_dtype(gray, scale=True).max().item() == pytest.approx(3 / 255)
    assert functional.to_image(np.zeros((4, 5, 3), np.uint8)).shape == (3, 4, 5)
    assert functional.to_dtype("text") == "text"


def test_classes_are_told_of_einsums_tensors_one_by_one():
    for t in (ours, torch):
        told = []

        class Told(t.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None, told=told, t=t):
                told.append(args)
                with t._C.DisableTorchFunctionSubclass():
                    return func(*args, **(kwargs or {}))

        x = t.ones(2, 2).as_subclass(Told)
        t.einsum("ij,jk->ik", [x, x])
        assert [len(args) for args in told] == [3]


@pytest.mark.parametrize("t", [ours, torch], ids=["ours", "PyTorch"])
def test_an_assertion_about_a_proxy_is_part_of_its_graph(t):
    def checked(x):
        t._assert(x.shape[0] == 2, "two rows")
        return x + 1

    traced = importlib.import_module(f"{t.__name__}.fx").symbolic_trace(checked)
    assert traced(t.ones(2)).tolist() == [2, 2]
    with pytest.raises(AssertionError, match="two rows"):
        traced(t.ones(3))


def test_outside_a_level_tensors_have_no_tangents():
    x = ours.ones(2)
    assert ours.autograd.forward_ad.unpack_dual(x) == (x, None)
    with pytest.raises(RuntimeError, match="no level exists"):
        ours.autograd.forward_ad.make_dual(x, x)
    assert not ours._C._are_functorch_transforms_active()


def test_types_that_are_only_named():
    for name in "complex32 chalf qint8 quint8 qint32 quint4x2 quint2x4 uint1 int7".split():
        mine, theirs = getattr(ours, name), getattr(torch, name)
        assert isinstance(mine, ours.dtype)
        assert (repr(mine), mine.itemsize) == (repr(theirs), theirs.itemsize)
        assert mine.is_complex == theirs.is_complex
        with pytest.raises(TypeError, match="not supported"):
            ours.zeros(2, dtype=mine)


def test_functions_have_their_second_place():
    module = importlib.import_module("minitorch.torch.functional")
    for name in torch.functional.__all__:
        assert getattr(module, name) is getattr(ours, name)


def test_names_that_are_asked_for():
    for name in (
        "ao.quantization.ObserverBase", "_C.ScriptMethod", "distributions.transforms._InverseTransform",
        "distributions.multivariate_normal._precision_to_scale_tril", "hub.tqdm", "utils.model_zoo.load_url",
        "utils.data._utils.collate.np_str_obj_array_pattern", "utils.data.dataloader._collate_fn_t",
        "distributed._tensor.experimental.implicit_replication", "distributed._composable.fsdp.FSDPModule",
        "_utils.ExceptionWrapper", "distributions.kl._KL_REGISTRY", "utils.checkpoint.get_device_states",
    ):  # fmt: skip
        module, _, last = name.rpartition(".")
        assert hasattr(importlib.import_module(f"minitorch.torch.{module}"), last)
        assert hasattr(importlib.import_module(f"torch.{module}"), last)
    for t in (ours, torch):
        with pytest.raises(RuntimeError, match="NVTX"):
            t.cuda.nvtx.mark("here")
        assert t.utils.checkpoint.get_device_states(t.ones(2)) == ([], [])


def module_of(t, name):
    return importlib.import_module(f"{t.__name__}.{name}")


def test_contexts_decorate_functions_and_generators():
    def walk(t):
        modes = module_of(t, "utils._contextlib")
        log: list[object] = []

        class Logged(modes._DecoratorContextManager):
            def __enter__(self):
                log.append("in")

            def __exit__(self, *_):
                log.append("out")

        @Logged()
        def steps(x):
            try:
                log.append((yield x))
                yield x + 1
            except KeyError:
                log.append("caught")
            yield x + 2
            return x + 3

        @t.no_grad
        def recorded():
            while True:
                yield t.is_grad_enabled()

        one = steps(1)
        log += [next(one), one.send("sent"), one.throw(KeyError("no"))]
        with pytest.raises(StopIteration) as stop:
            next(one)
        log.append(stop.value.value)
        two = steps(5)
        log.append(next(two))
        two.close()
        log += [next(recorded()), t.is_grad_enabled()]
        assert issubclass(t.no_grad, modes._NoParamDecoratorContextManager)
        log.append(modes.context_decorator(lambda: t.no_grad(), t.is_grad_enabled)())
        with pytest.raises(RuntimeError, match="Cannot decorate classes"):
            modes.context_decorator(lambda: None, int)
        return log

    assert walk(ours) == walk(torch)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_functorch_makes_functions_of_modules():
    def call(t, functorch):
        t.manual_seed(0)
        models = [t.nn.Linear(3, 2) for _ in range(2)]
        x = t.ones(4, 3)
        function, params = functorch.make_functional(models[0])
        assert isinstance(function, functorch.FunctionalModule)
        grads = functorch.grad(lambda p: function(p, x).square().sum())(params)
        same, frozen = functorch.make_functional(models[0], disable_autograd_tracking=True)
        assert not any(p.requires_grad for p in frozen)
        assert params[0] is not models[0].weight
        stacked, weights, buffers = functorch.combine_state_for_ensemble(models)
        both = functorch.vmap(stacked, in_dims=(0, 0, None))(weights, buffers, x)
        norm = t.nn.BatchNorm1d(3)
        whole, params, buffers = functorch.make_functional_with_buffers(norm)
        with pytest.raises(RuntimeError, match="has buffers"):
            functorch.make_functional(norm)
        for bad in ([], [norm, models[0]], [norm, t.nn.BatchNorm1d(3).eval()]):
            with pytest.raises(RuntimeError, match="combine_state_for_ensemble: Expected"):
                functorch.combine_state_for_ensemble(bad)
        return *grads, same(frozen, x), both, whole(params, buffers, x + x.cumsum(0)), *buffers

    mine = call(ours, module_of(ours, "functorch"))
    theirs = call(torch, importlib.import_module("functorch"))
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)


SWAPS = {
    "parameter": lambda m, v, swap: swap(m, "weight", v),
    "buffer": lambda m, v, swap: swap(m, "running_mean", v),
    "attribute": lambda m, v, swap: (setattr(m, "mine", v + 1), swap(m, "mine", v)),
    "nothing there": lambda m, v, swap: swap(m, "other", v),
    "no tensor there": lambda m, v, swap: swap(m, "eps", v),
    "no tensor": lambda m, v, swap: swap(m, "weight", 3),
    "path": lambda m, v, swap: swap(m, "a.b", v),
    "no name": lambda m, v, swap: swap(m, "", v),
    "no module": lambda m, v, swap: swap(3, "a", v),
}


@pytest.mark.parametrize("name", SWAPS)
def test_tensors_of_modules_are_swapped(name):
    def call(t):
        swap = module_of(t, "nn.utils._named_member_accessor").swap_tensor
        norm = t.nn.BatchNorm1d(2)
        try:
            before = SWAPS[name](norm, t.full((2,), 5.0), swap)
        except (TypeError, KeyError, AttributeError) as error:
            return type(error), str(error)
        return str(before), {k: str(v) for k, v in norm.state_dict().items()}

    assert call(ours) == call(torch)


@pytest.mark.parametrize("shared", [False, True])
def test_files_as_tensors(tmp_path, shared):
    def call(t):
        file = tmp_path / f"{t.__name__}.bin"
        np.arange(5, dtype=np.int16).tofile(file)
        x = t.from_file(str(file), shared, 4, dtype=t.int16)
        x += 1
        made = t.from_file(str(tmp_path / "new"), True, 3) if shared else t.ones(1)
        with pytest.raises(RuntimeError):
            t.from_file(str(tmp_path / "none"), False, 3)
        return x.tolist(), np.fromfile(file, np.int16).tolist(), made.shape, str(made.dtype)

    assert call(ours) == call(torch)


@pytest.mark.filterwarnings("ignore:.*inline_inbuilt_nn_modules is deprecated")
def test_classes_and_devices_that_libraries_ask_for():
    def call(t):
        class Named(t.Tensor):
            pass

        x = t.ones(2)
        made = t.Tensor._make_subclass(Named, x, True)
        made.data[0] = 3
        utils, ops = module_of(t, "_utils"), module_of(t, "_ops")
        with pytest.raises(RuntimeError, match="does not have a corresponding module"):
            utils._get_device_module("nothing")
        return (
            type(made) is Named, made.requires_grad, x.tolist(), isinstance(x.untyped_storage(), t.StorageBase),
            utils._get_available_device_type(), utils._get_device_module("cuda") is t.cuda,
            isinstance(t.ops.aten.add.Tensor, ops.OpOverload), isinstance(t.ops.aten.add, ops.OpOverloadPacket),
            isinstance(t.add, ops.HigherOrderOperator), module_of(t, "_dynamo").config.inline_inbuilt_nn_modules,
            issubclass(module_of(t, "nn.parameter")._ParameterMeta, type),
        )  # fmt: skip

    assert call(ours) == call(torch)
