"""What PyTorch's tutorials use, and small programs of theirs found wrong or missing."""

import io
from importlib import import_module

import numpy as np
import pytest
import torch as pytorch

import minitorch.torch as torch


def test_operations_of_a_programs_own_are_on_a_tape():
    @torch.library.custom_op("findings::numpy_sin", mutates_args=())
    def numpy_sin(x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        return torch.from_numpy(np.sin(x.numpy()) * np.float32(scale))

    f = torch.compile(lambda x: numpy_sin(x, 2.0) + 1, fullgraph=True)
    for k in range(6):
        x = torch.arange(3.0) + k
        np.testing.assert_allclose(f(x).numpy(), np.sin(x.numpy()) * 2 + 1, rtol=1e-6)


def test_an_operation_that_writes_stays_eager():
    @torch.library.custom_op("findings::sin_into", mutates_args={"out"})
    def sin_into(x: torch.Tensor, out: torch.Tensor) -> None:
        out.numpy()[:] = np.sin(x.numpy())

    def f(x):
        out = torch.zeros(3)
        sin_into(x, out)
        return out

    g = torch.compile(f)
    with pytest.warns(UserWarning, match="stays eager"):
        g(torch.ones(3))
    for k in range(4):
        x = torch.arange(3.0) + k
        np.testing.assert_allclose(g(x).numpy(), np.sin(x.numpy()), rtol=1e-6)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("options", [{}, {"num_layers": 2}, {"bidirectional": True}, {"dtype": "float64"}])  # fmt: skip
def test_recurrent_networks_show_torchs_nodes(kind, options):
    def names(t):
        given = {**options, "dtype": getattr(t, options.get("dtype", "float32"))}
        out, states = getattr(t.nn, kind)(3, 4, **given)(t.ones(5, 2, 3, dtype=given["dtype"]))
        return [x.grad_fn.name() for x in (out, *(states if kind == "LSTM" else [states]))]

    assert names(torch) == names(pytorch)


def test_the_profiler_counts_a_linear_layer_once():
    layer = torch.nn.Linear(2, 2)
    with torch.profiler.profile() as found:
        layer(layer(torch.ones(1, 2)))
    assert [e.count for e in found.key_averages() if e.key == "aten::linear"] == [2]


def test_files_without_numbers_have_room_for_them():
    full, empty = io.BytesIO(), io.BytesIO()
    torch.save({"a": torch.ones(3), "b": 1}, full)
    with torch.serialization.skip_data():
        torch.save({"a": torch.ones(3), "b": 1}, empty)
    assert len(full.getvalue()) == len(empty.getvalue())
    for library in (torch, pytorch):
        empty.seek(0)
        loaded = library.load(empty, weights_only=True)
        assert loaded["a"].tolist() == [0.0, 0.0, 0.0]
        assert loaded["b"] == 1


def test_two_of_four_is_refused_as_on_pytorchs_cpu():
    for library in (torch, pytorch):
        with pytest.raises(RuntimeError, match="Only CUDA tensors are currently supported"):
            library.sparse.to_sparse_semi_structured(library.ones(4, 4))


def test_the_fuzzer_draws_what_pytorchs_draws():
    def drawn(t):
        b = import_module(f"{t.__name__}.utils.benchmark")
        fuzzer = b.Fuzzer(
            [
                b.FuzzedParameter("k0", 1, 60, distribution="loguniform"),
                [b.FuzzedParameter("k1", 1, 60, "uniform"), b.FuzzedParameter("s", 1, 3, "uniform", strict=True)],
                b.FuzzedParameter("ratio", 0.5, 1.5, "uniform"),
            ],
            [
                b.FuzzedTensor("x", ("k0", "k1", 2), steps=("s",), min_elements=40, max_elements=900, probability_contiguous=0.3),
                b.FuzzedTensor("n", ("k1",), dtype=t.int64, max_allocation_bytes=400),
            ],
            [lambda params: params["ratio"] > 0.7],
            seed=5,
        )  # fmt: skip
        found = [
            (tensors["x"].tolist(), tensors["x"].stride(), tensors["n"].tolist(), properties["x"]["numel"], params)
            for tensors, properties, params in fuzzer.take(6)
        ]  # fmt: skip
        return found, fuzzer.rejection_rate

    assert drawn(torch) == drawn(pytorch)
