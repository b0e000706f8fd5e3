"""What is made, copied or moved on a GPU stays where it belongs: modules, files, packed sequences, sparse matrices, `out=`."""

from __future__ import annotations

import copy
import pickle
from contextlib import nullcontext
from typing import Any, cast

import pytest

import minitorch.torch as torch
from minitorch.torch import safetensors
from minitorch.torch.fx.experimental.proxy_tensor import make_fx

nn = torch.nn

pytestmark = [pytest.mark.cuda, pytest.mark.usefixtures("gpu")]


def test_modules_without_shapes_are_made_where_they_were_moved():
    for layer in (
        nn.LazyLinear(3).cuda(),
        nn.LazyLinear(3, device="cuda"),
        nn.LazyLinear(3).to("cuda"),
    ):
        assert layer.weight.device == torch.device("cuda:0")
        assert layer(torch.ones(2, 4, device="cuda")).is_cuda
        assert layer.weight.shape == (3, 4)
    with torch.device("cuda"):
        norm: Any = nn.LazyBatchNorm1d()
    norm(torch.ones(2, 4, device="cuda"))
    assert norm.running_mean.is_cuda
    assert nn.LazyLinear(3).cuda().cpu()(torch.ones(2, 4)).device == torch.device("cpu")
    assert nn.CrossMapLRN2d(3).cuda()(torch.ones(1, 2, 3, 3, device="cuda")).is_cuda


def test_copies_and_files_of_modules_and_views_stay_on_their_device(tmp_path):
    model = nn.Linear(2, 2).cuda()
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.weight.is_cuda
        assert other.weight.equal(model.weight)
        assert other.weight.data_ptr() != model.weight.data_ptr()
    x = torch.arange(6.0, device="cuda")
    whole, part = pickle.loads(pickle.dumps((x, x[2:4])))
    part.zero_()
    assert whole.tolist() == [0, 1, 0, 0, 4, 5]
    safetensors.save_file({"x": x}, tmp_path / "x.safetensors")
    assert safetensors.load_file(tmp_path / "x.safetensors")["x"].equal(x.cpu())


def test_packed_sequences_move_with_their_order():
    rows = [torch.ones(2, 3), torch.ones(4, 3)]
    made = nn.utils.rnn.pack_sequence([x.cuda() for x in rows], enforce_sorted=False)
    moved = nn.utils.rnn.pack_sequence(rows, enforce_sorted=False)
    packed: Any
    for packed in (made, moved.to("cuda"), moved.cuda()):
        where = [packed.data.device, packed.sorted_indices.device, packed.unsorted_indices.device]
        assert where == [torch.device("cuda:0")] * 3
        assert packed.batch_sizes.tolist() == [2, 2, 1, 1]
        padded, lengths = nn.utils.rnn.pad_packed_sequence(packed)
        assert (padded.is_cuda, lengths.tolist()) == (True, [2, 4])
        assert nn.LSTM(3, 2).cuda()(packed)[0].data.is_cuda
    packed = made
    assert packed.cpu().sorted_indices.tolist() == [1, 0]
    with pytest.raises(RuntimeError, match="should be a 1D CPU int64 tensor"):
        nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 1).cuda(), torch.asarray([3, 2]).cuda())


def test_sparse_matrices_are_made_of_parts_on_a_gpu():
    parts = torch.asarray([0, 1, 2]).cuda(), torch.asarray([1, 0]).cuda(), torch.ones(2).cuda()
    dense = torch.sparse_csr_tensor(*parts, (2, 2)).to_dense()
    assert (dense.is_cuda, dense.tolist()) == (True, [[0, 1], [1, 0]])
    lines, offsets = torch.ones(1, 2).cuda(), torch.asarray([1]).cuda()
    assert torch.sparse.spdiags(lines, offsets, (2, 2)).to_dense().tolist() == [[0, 1], [0, 0]]


@pytest.mark.parametrize("call", [
    lambda out: torch.eye(3, 3, out=out.reshape(3, 3)), lambda out: torch.linspace(0, 1, 9, out=out), lambda out: torch.arange(9, out=out),
    lambda out: torch.rand(9, out=out), lambda out: torch.zeros(9, out=out), lambda out: torch.randperm(9, out=out.long()),
])  # fmt: skip
def test_numbers_are_made_beside_out(call):
    made = call(torch.full((9,), 7.0, device="cuda"))
    assert made.is_cuda
    assert (made == 7).sum() < 9
    with pytest.raises(
        RuntimeError, match="Expected out tensor to have device cuda:0, but got cpu"
    ):
        torch.add(torch.ones(2, device="cuda"), 1, out=torch.ones(2))


def test_chances_on_a_gpu_decide_in_any_order_of_memory():
    x = torch.full((3, 4), 7.0, device="cuda").t()
    assert x.bernoulli_(torch.eye(4, 3, device="cuda")).equal(torch.eye(4, 3, device="cuda"))
    with pytest.raises(RuntimeError, match=r"in \[0, 1\]"):
        x.bernoulli_(torch.full((4, 3), 1.5, device="cuda"))


def test_what_no_memory_could_hold_is_refused_and_work_goes_on():
    x = torch.ones(1, 1, dtype=torch.int8, device="cuda")
    for call in (
        lambda: x.expand(2**57, 1) + 1,
        lambda: x.expand(2**40, 1) * x.expand(1, 2**40),
        lambda: torch.vander(torch.arange(4.0, device="cuda"), 2**62),
        lambda: torch.empty(2**62, 4, device="cuda"),
    ):
        with pytest.raises((RuntimeError, MemoryError)):
            call()
    assert (x + 1).item() == 2


@pytest.mark.parametrize("place", [(-1,), ("cuda", -1)])
def test_a_device_has_no_negative_number(place):
    with pytest.raises(RuntimeError, match="Device index must not be negative"):
        torch.device(*place)


def test_copies_keep_the_order_of_memory():
    x = torch.ones(2, 3, 4).permute(2, 0, 1)
    moved = x.cuda()
    assert (moved.stride(), moved.cpu().stride()) == (x.stride(), x.stride())


@pytest.mark.parametrize("name", ["Adam", "Adagrad", "RMSprop", "SGD"])
def test_complex_parameters_are_trained_as_on_the_cpu(name):
    def trained(where: str) -> torch.Tensor:
        p = torch.asarray([1 + 2j, -0.5 + 0.3j]).to(where).requires_grad_()
        optimizer = getattr(torch.optim, name)([p], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (p * p * p.conj()).abs().sum().backward()
            optimizer.step()
        return p.detach().cpu()

    torch.testing.assert_close(trained("cuda"), trained("cpu"))


def test_quotients_are_rounded_down_once():
    whole = torch.arange(-30, 31)
    for kind in (torch.float32, torch.float64, torch.float16):
        by = torch.as_tensor([1.2, -0.1, 0.3, 7.0, 0.0, float("inf")], dtype=kind)[:, None]
        found, right = whole.cuda() // by.cuda(), whole // by
        assert found.dtype is right.dtype
        torch.testing.assert_close(found.cpu(), right, rtol=0, atol=0, equal_nan=True)


def test_operations_use_the_gpu_of_their_arrays(gpu, monkeypatch):
    if gpu.count() < 2:
        pytest.skip("there is one GPU")
    used: list[int] = []
    x, y = torch.ones(3, device="cuda:1"), torch.ones(3, device="cuda:0")
    monkeypatch.setattr(gpu, "on", lambda where: used.append(where.index) or nullcontext())
    assert (x + x).device.index == 1
    y.exp()
    x.add_(y.to("cuda:1"))
    assert [i for k, i in enumerate(used) if not k or i != used[k - 1]] == [1, 0, 1]


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16", "complex64", "complex128", "int64", "int32", "uint8", "bool"])  # fmt: skip
def test_elements_are_added_at_indices_on_the_gpu_in_every_type(gpu, kind):
    def added(where: str) -> list[torch.Tensor]:
        x = torch.arange(12, device=where).reshape(3, 4).to(getattr(torch, kind))
        i, j = torch.asarray([0, 2, 0]).to(where), torch.asarray([1, 3, 1]).to(where)
        rows, each, whole = x[i] + x[j % 3], x[i, j], torch.ones_like(x)
        return [
            x.index_put((i, j), each, accumulate=True), x.index_add(0, i, rows),
            x.scatter_add(0, (x != x).long(), whole), x.put(j, each, accumulate=True),
        ]  # fmt: skip

    before = dict(gpu.on_cpu)
    for found, right in zip(added("cuda"), added("cpu"), strict=True):
        assert found.cpu().equal(right)
    assert gpu.on_cpu == before


@pytest.mark.parametrize("kind", ["float32", "float64", "complex128"])
def test_gradients_of_several_indices_are_added_on_the_gpu(gpu, kind):
    before = dict(gpu.on_cpu)
    x = torch.ones(3, 4, dtype=getattr(torch, kind), device="cuda", requires_grad=True)
    i, j = torch.asarray([0, 2, 0]).cuda(), torch.asarray([1, 3, 1]).cuda()
    (x[i, j].abs().sum() + x[:, j].abs().sum()).backward()
    assert x.grad.tolist() == [[0, 4, 0, 1], [0, 2, 0, 1], [0, 2, 0, 2]]
    assert gpu.on_cpu == before


@pytest.mark.parametrize("shapes", [((4, 3, 8), (4, 4, 6, 8)), ((1, 1, 8), (1, 1, 2, 8)), ((2, 4, 3, 8), (4, 6, 8))])  # fmt: skip
@pytest.mark.parametrize("masked", [False, True])
def test_attention_of_inputs_with_other_dimensions_has_the_gradients_of_the_cpu(shapes, masked):
    torch.manual_seed(0)
    given = [torch.randn(shape, dtype=torch.float64) for shape in (shapes[0], shapes[1], shapes[1])]
    mask = torch.randn(1, 1, shapes[0][-2], shapes[1][-2], dtype=torch.float64) if masked else None

    def gradients(where: str) -> tuple[torch.Tensor, ...]:
        own = [x.to(where).requires_grad_() for x in given]
        out = nn.functional.scaled_dot_product_attention(*own, None if mask is None else mask.to(where))  # fmt: skip
        return torch.autograd.grad((out * out).sum(), own)

    for found, right in zip(gradients("cuda"), gradients("cpu"), strict=True):
        torch.testing.assert_close(found.cpu(), right)


@pytest.mark.parametrize("call", [
    lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), lambda x: torch.ao.quantization.MinMaxObserver()(x),
    lambda x: torch.ao.quantization.HistogramObserver()(x), lambda x: torch.quantize_per_channel(x, torch.ones(2), torch.zeros(2), 0, torch.qint8),
])  # fmt: skip
def test_the_cpu_quantizes(call):
    with pytest.raises(RuntimeError, match="is on cuda:0; move it with"):
        call(torch.ones(2, 2, device="cuda"))


def test_functions_of_batches_compute_on_the_gpu():
    x, places = torch.randn(2, 3, 4).cuda(), torch.asarray([[0, 1], [2, 1]]).cuda()

    def rows(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        return torch.zeros(3, 4, device="cuda").index_add(0, at, x[:2]) + x.prod(0)

    found = torch.vmap(rows)(x, places)
    assert found.is_cuda
    assert found.equal(torch.stack([rows(*each) for each in zip(x, places, strict=True)]))
    drawn = torch.vmap(lambda x: x + torch.rand(4, device="cuda"), randomness="different")(x)
    assert drawn.is_cuda


def test_places_are_drawn_by_weights_of_every_type():
    for kind in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        weights = torch.asarray([0.0, 3.0, 1.0]).to("cuda", kind)
        assert sorted(weights.multinomial(2).tolist()) == [1, 2]


def test_gradients_have_memory_of_their_own():
    x = torch.ones(4, device="cuda", requires_grad=True)
    (x + 2).sum().backward()
    x.grad.mul_(3)
    assert (x.grad.tolist(), x.grad.stride()) == ([3, 3, 3, 3], (1,))
    y, given = torch.ones(2, 2, device="cuda", requires_grad=True), torch.ones(2, device="cuda")
    (y * 1).backward(given.expand(2, 2))
    y.grad.zero_()
    assert given.tolist() == [1, 1]
    z, whole = torch.ones(4, device="cuda", requires_grad=True), torch.ones(2, 2, device="cuda")
    z.backward(whole.as_strided((4,), (1,)))
    z.grad.zero_()
    assert whole.tolist() == [[1, 1], [1, 1]]


def test_indices_that_do_not_broadcast_are_an_index_error():
    x = torch.zeros(2, 3, device="cuda")
    with pytest.raises(IndexError, match="could not be broadcast"):
        x[torch.asarray([0, 1]).cuda(), torch.asarray([0, 1, 2]).cuda()] = 1.0


@pytest.mark.filterwarnings("ignore:To copy construct from a tensor")
def test_tensors_are_made_of_those_of_a_gpu():
    x, lib = torch.arange(2.0, device="cuda"), cast("Any", torch)
    for made in (lib.tensor(x), x.new_tensor(x), torch.asarray(x, copy=True)):
        assert (made.is_cuda, made.tolist(), made.data_ptr() != x.data_ptr()) == (
            True,
            [0, 1],
            True,
        )
    for made in (lib.tensor(x, device="cpu"), torch.asarray(x, device="cpu", copy=True), torch.ones(1).new_tensor(x)):  # fmt: skip
        assert (made.device.type, made.tolist()) == ("cpu", [0, 1])
    assert lib.tensor(x, dtype=torch.int64).is_cuda
    assert lib.tensor([x[1], [2.0, x[0]][1]]).tolist() == [1, 0]


def test_graphs_and_files_of_networks_on_a_gpu_are_made():
    z, at = torch.randn(2, 3, 4).cuda(), torch.asarray([1, 0]).cuda()
    graph = make_fx(lambda z: z[:, at] * 2)(z)
    assert graph(z).equal(z[:, at] * 2)
    pytest.importorskip("onnx")
    layer, x = nn.LSTM(4, 2).cuda(), torch.randn(3, 1, 4).cuda()
    program = torch.onnx.export(layer, (x,))
    assert program is not None


def test_sparse_sizes_are_found_on_a_gpu():
    places, values = torch.asarray([[0, 1], [2, 0]]).cuda(), torch.ones(2).cuda()
    made = torch.sparse_coo_tensor(places, values)
    assert (made.shape, made.to_dense().is_cuda) == ((2, 3), True)
