"""Mixed precision against PyTorch's."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
import torch as oracle

import minitorch.torch as torch


def _both(run):
    results = []
    for lib in (torch, oracle):
        lib.manual_seed(0)
        results.append(run(lib))
    return results


def test_types_of_results():
    def run(lib):
        f = lib.nn.functional
        x, w = lib.randn(4, 6), lib.randn(5, 6, requires_grad=True)
        image, kernel = lib.randn(2, 3, 8, 8), lib.randn(4, 3, 3, 3)
        double = lib.randn(3, 3, dtype=lib.float64)
        with lib.autocast("cpu", dtype=lib.bfloat16):
            out = f.linear(x, w)
            results = [
                out, x @ w.T, lib.mm(x, w.T), lib.bmm(x[None], w.T[None]), double @ double,
                f.conv2d(image, kernel), f.conv_transpose2d(image, kernel.transpose(0, 1)),
                f.relu(out), out.softmax(-1), out + x[:, :5], x.exp(), lib.cat([out, x[:, :5]]),
                f.cross_entropy(out, lib.tensor([1, 2, 0, 4])), f.mse_loss(out, x[:, :5]),
                f.nll_loss(out.log_softmax(-1), lib.tensor([1, 2, 0, 4])),
                f.binary_cross_entropy_with_logits(out, x[:, :5].sigmoid()),
                lib.addmm(x[:, :5], x, w.T), lib.baddbmm(x[None, :, :5], x[None], w.T[None]),
                f.mse_loss(out, out), f.l1_loss(out, out), f.kl_div(out, out),
                lib.einsum("ij,kj->ik", x, w), lib.linalg.norm(out), f.linear(out, w[:, :5]),
                f.conv2d(image.bfloat16(), kernel), f.layer_norm(out, (5,)), f.gelu(out),
                f.scaled_dot_product_attention(image, image, image), out.prod(), out.sum(),
            ]  # fmt: skip
            with lib.autocast("cpu", enabled=False):
                results.append(f.linear(x, w))
        results.append(f.linear(x, w))
        return [(str(r.dtype), tuple(r.shape)) for r in results]

    mine, theirs = _both(run)
    assert mine == theirs


def test_layers():
    """What layers give in a region, after another layer has given bfloat16."""

    def run(lib):
        nn = lib.nn
        rows, image = nn.Linear(3, 4)(lib.randn(5, 3)), nn.Conv2d(3, 4, 3)(lib.randn(2, 3, 8, 8))
        with lib.autocast("cpu"):
            first, maps = (
                nn.Linear(3, 4)(lib.randn(5, 3)),
                nn.Conv2d(3, 4, 3)(lib.randn(2, 3, 8, 8)),
            )
            results = [
                nn.LayerNorm(4)(first), nn.BatchNorm1d(4)(first), nn.GroupNorm(2, 4)(maps),
                nn.BatchNorm2d(4)(maps), nn.MultiheadAttention(4, 2)(first, first, first)[0],
                nn.GRU(4, 5)(first)[0], nn.LSTMCell(4, 5)(first)[0], nn.PReLU()(first),
                first + rows, lib.mv(lib.randn(3, 3), lib.randn(3)),
                nn.functional.max_pool2d(maps, 2) + image[..., :3, :3], first @ lib.randn(4),
                nn.CrossEntropyLoss(label_smoothing=0.1)(first, lib.tensor([0, 1, 2, 3, 0])),
            ]  # fmt: skip
        lib.stack([r.float().sum() for r in results]).sum().backward()
        return [str(r.dtype) for r in results]

    mine, theirs = _both(run)
    assert mine == theirs


def test_gradients_are_float32():
    def run(lib):
        model = lib.nn.Sequential(lib.nn.Linear(6, 8), lib.nn.ReLU(), lib.nn.Linear(8, 3))
        x, y = lib.randn(10, 6), lib.tensor([0, 1, 2, 0, 1, 2, 0, 1, 2, 0])
        with lib.autocast(device_type="cpu"):
            loss = lib.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        assert loss.dtype is lib.float32
        assert all(p.grad.dtype is lib.float32 for p in model.parameters())
        return [loss.detach().numpy(), *(p.grad.numpy() for p in model.parameters())]

    for mine, theirs in zip(*_both(run), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-2, atol=2e-3)


def test_decorator_settings_and_cache():
    def run(lib):
        w = lib.randn(3, 3, requires_grad=True)

        @lib.amp.autocast("cpu")
        def product(a):
            assert lib.is_autocast_enabled("cpu")
            assert lib.get_autocast_dtype("cpu") is lib.bfloat16
            one, two = w @ a, w @ a
            return one, two, lib.is_autocast_cpu_enabled(), lib.is_autocast_enabled("cuda")

        one, two, *flags = product(lib.eye(3))
        (one + two).sum().backward()
        outside = lib.is_autocast_enabled("cpu"), lib.is_autocast_cache_enabled()
        return [str(one.dtype), str(two.dtype), flags, outside, w.grad.tolist()]

    mine, theirs = _both(run)
    assert mine == theirs


def test_warnings_and_errors():
    for lib in (torch, oracle):
        with pytest.warns(UserWarning, match="CUDA is not available or torch_xla"):
            assert not lib.autocast("cuda")._enabled
        with pytest.warns(FutureWarning, match=r"torch.cpu.amp.autocast\(args"):
            lib.cpu.amp.autocast()
        with pytest.warns(UserWarning, match="target dtype is not supported"):
            lib.autocast("cpu", dtype=lib.int8)
        with pytest.warns(UserWarning, match="GradScaler is enabled, but CUDA is not available"):
            assert not lib.amp.GradScaler().is_enabled()
        with pytest.raises(RuntimeError, match="device type at start of device string: abacus"):
            lib.autocast("abacus")
        with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
            lib.autocast(lib.device("cpu"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with lib.cuda.amp.autocast():
                assert (lib.ones(2, 2) @ lib.ones(2, 2)).dtype is lib.float32
            scaler = lib.cuda.amp.GradScaler()
            loss = lib.ones(1)
            assert scaler.scale(loss) is loss
            assert scaler.state_dict() == {}


def test_scaler():
    def run(lib):
        p = lib.tensor([1.0, 2.0], requires_grad=True)
        optimizer = lib.optim.SGD([p], lr=0.1)
        scaler = lib.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
        seen = []
        for step in range(7):
            optimizer.zero_grad()
            loss = (p * p).sum() * (float("inf") if step in (2, 5) else 1.0)
            scaler.scale(loss).backward()
            if step % 2:
                scaler.unscale_(optimizer)
                seen.append(p.grad.tolist())
            scaler.step(optimizer)
            scaler.update()
            seen.append((p.tolist(), scaler.get_scale(), scaler.state_dict()))
        again = pickle.loads(pickle.dumps(copy.copy(scaler)))
        again.load_state_dict(scaler.state_dict())
        seen.append(again.state_dict())
        messages = []
        for call in (
            lambda: (scaler.unscale_(optimizer), scaler.unscale_(optimizer)),
            lambda: lib.amp.GradScaler("cpu").step(optimizer),
            lambda: lib.amp.GradScaler("cpu", growth_factor=0.5),
            lambda: scaler.step(optimizer, closure=None),
        ):
            with pytest.raises((RuntimeError, AssertionError)) as caught:
                call()
            messages.append(str(caught.value))
        return seen, messages

    mine, theirs = _both(run)
    assert repr(mine) == repr(theirs)
