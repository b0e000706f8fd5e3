"""Tensors without memory: shapes, types and strides are PyTorch's, and nothing is allocated."""

from __future__ import annotations

import copy
import io
import pickle
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
import torch as real

import minitorch.torch as ours
from minitorch.torch.backends.interface import unregister
from minitorch.torch.backends.meta.backend import meta

from . import meta_operations, opinfo


@pytest.fixture(scope="module", autouse=True)
def _leave_no_device_behind() -> Iterator[None]:
    yield
    ours.empty(0, device="meta")
    unregister(meta)


BOTH = pytest.mark.parametrize("torch", [ours, real], ids=["ours", "pytorch"])

DIFFERENT = {
    "as_strided.partial_views", "as_strided_copy", "permute_copy", "transpose_copy", "unfold_copy",  # layouts
    "index_fill", "linspace.tensor_overload", "logspace.tensor_overload", "masked_scatter",  # values are read
    "nn.functional.ctc_loss", "nn.functional.embedding_bag", "nn.functional.multilabel_margin_loss",
    "nn.functional.rrelu", "nonzero_static", "_segment_reduce.lengths", "_segment_reduce.offsets",
    "native_batch_norm", "_native_batch_norm_legit", "native_layer_norm", "linalg.lu_solve",
}  # fmt: skip
"""Where PyTorch gives a shape and we read values, or lay out a copy in another way."""


@pytest.mark.parametrize("name", sorted(set(opinfo.core_operations()) - DIFFERENT))
def test_operations_have_the_shapes_of_pytorch(name: str) -> None:
    meta_operations.check(name, 1, (real.float32, real.int64))


def test_a_model_of_a_hundred_gigabytes_costs_no_memory() -> None:
    tracemalloc.start()
    try:
        with ours.device("meta"):
            model = ours.nn.Sequential(
                ours.nn.Linear(100_000, 200_000), ours.nn.GELU(), ours.nn.LayerNorm(200_000), ours.nn.Linear(200_000, 10)
            )  # fmt: skip
            x = ours.randn(10_000, 100_000)
        loss = ours.nn.functional.cross_entropy(
            model(x), ours.zeros(10_000, dtype=ours.int64, device="meta")
        )
        loss.backward()
        ours.optim.AdamW(model.parameters()).step()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(p.numel() * p.element_size() for p in model.parameters()) > 80e9
    assert all(p.grad is not None and p.grad.shape == p.shape for p in model.parameters())
    assert peak < 5e6


@BOTH
def test_modules_without_memory(torch: Any) -> None:
    with torch.device("meta"):
        model = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3),
            torch.nn.BatchNorm2d(8),
            torch.nn.Flatten(),
            torch.nn.Linear(288, 4),
        )
    out = model(torch.empty(2, 3, 8, 8, device="meta"))
    assert (out.is_meta, out.device, tuple(out.shape)) == (True, torch.device("meta"), (2, 4))
    with pytest.raises(NotImplementedError, match=r"Please use torch\.nn\.Module\.to_empty"):
        model.to("cpu")
    made = model.to_empty(device="cpu")
    assert all(t.device.type == "cpu" for t in made.state_dict().values())
    assert made(torch.ones(2, 3, 8, 8)).shape == (2, 4)
    assert all(p.is_meta for p in made.to("meta").parameters())


@BOTH
def test_a_state_takes_the_place_of_nothing(torch: Any) -> None:
    source = torch.nn.Linear(3, 2)
    with torch.device("meta"):
        model = torch.nn.Linear(3, 2)
    model.load_state_dict(source.state_dict(), assign=True)
    x = torch.ones(1, 3)
    assert torch.equal(model(x), source(x))
    skipped = torch.nn.utils.skip_init(torch.nn.Linear, 3, 2)
    assert (skipped.weight.device.type, tuple(skipped.weight.shape)) == ("cpu", (2, 3))


def test_skipping_first_values_draws_no_numbers() -> None:
    state = ours.get_rng_state()
    ours.nn.utils.skip_init(ours.nn.Linear, 30, 20)
    assert ours.equal(state, ours.get_rng_state())
    ours.nn.init.normal_(ours.empty(30, device="meta"))
    assert ours.equal(state, ours.get_rng_state())


QUESTIONS = """
x
x.sum()
x.int()
x.item()
x[0, 0].item()
bool(x[0, 0])
float(x[0, 0])
f"{x[0, 0]}"
x.tolist()
x.cpu()
x.numpy()
x.data_ptr()
x.untyped_storage().nbytes()
x.untyped_storage()
x.stride()
x.t().stride()
x[1:].storage_offset()
x.to("meta") is x
x + torch.ones(())
x == x
x[torch.tensor([0, 1])]
x[torch.tensor([True, False])]
torch.ones(2, device="meta:0").device
torch.ones(2).to(x)
torch.tensor([1, 2.0], device="meta")
torch.arange(5, device="meta")
torch.ones(3).copy_(x[0])
x.t().view(-1)
x.view(4, 2)
x @ x
x.requires_grad_()
"""


@pytest.mark.parametrize("question", [q for q in QUESTIONS.split("\n") if q])
def test_answers_are_pytorchs(question: str) -> None:
    found = []
    for torch in (ours, real):
        x = torch.empty(2, 3, device="meta")
        try:
            found.append(repr(eval(question, {"torch": torch, "x": x})))
        except Exception as error:
            found.append(
                (
                    type(error),
                    str(error)[:45] if "view" not in question and "@" not in question else "",
                )
            )
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "fn", [lambda x: x.nonzero(), lambda x: x[x > 0], lambda x: x.unique(), lambda x: x.masked_select(x > 0),
           lambda x: x.long().view(-1).bincount(), lambda x: x.equal(x)]
)  # fmt: skip
def test_what_depends_on_values_is_refused(fn: Any) -> None:
    for torch in (ours, real):
        with pytest.raises(NotImplementedError):
            fn(torch.empty(2, 3, device="meta"))


def test_devices_do_not_meet() -> None:
    with pytest.raises(RuntimeError, match="device"):
        ours.empty(2, 3, device="meta").add(ours.ones(2, 3))


def test_copies_and_files() -> None:
    x = ours.nn.Parameter(ours.empty(2, 3, device="meta").t())
    file = io.BytesIO()
    ours.save(x, file)
    file.seek(0)
    saved = real.load(io.BytesIO(file.getvalue()), map_location="cpu")
    assert (saved.is_meta, tuple(saved.shape), saved.requires_grad) == (True, (3, 2), True)
    for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), ours.load(file)):
        assert isinstance(made, ours.nn.Parameter)
        assert (made.is_meta, made.shape, made.requires_grad) == (True, x.shape, True)
