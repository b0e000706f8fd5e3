"""Tensors print as PyTorch prints them, character for character."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from torch._tensor_str import get_printoptions as get_torch_options

from minitorch.torch import dtypes, printing

INF, NAN = float("inf"), float("nan")


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    """Both libraries print with their defaults before and after each test."""
    yield
    set_options(profile="default")
    set_default("float32")


def set_options(**options: Any) -> None:
    printing.set_printoptions(**options)
    torch.set_printoptions(**options)


def set_default(name: str) -> None:
    dtypes.set_default_dtype(getattr(dtypes, name))
    torch.set_default_dtype(getattr(torch, name))


def as_array(tensor: torch.Tensor) -> np.ndarray:
    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:
        return tensor.float().numpy().astype(ml_dtypes.bfloat16)
    return tensor.numpy()


def check(tensor: torch.Tensor) -> None:
    name = None if tensor.grad_fn is None else type(tensor.grad_fn).__name__
    ours = printing.tensor_text(
        as_array(tensor), requires_grad=tensor.requires_grad, grad_fn_name=name
    )
    assert ours == repr(tensor)


EXAMPLES: list[Any] = [
    0.0, 1.0, -1.5, 3.14159, 1e-5, 1e9, INF, -INF, NAN, 123456.0, 0.1, -0.0,
    [0.0], [-0.0, 0.0], [NAN], [INF, 1.0], [INF, -INF, NAN], [1.0, 2.0, 3.0], [1.5, 2.0, INF],
    [1e-4, 1.0], [1e-3, 1.0], [0.00099, 1.0], [1.0, 1000.0], [1.0, 1001.0], [0.5, 500.0, 501.0],
    [1e8], [1.1e8], [99999999.0, 1.0], [1e-30, 1e30], [5e-324, 1e308], [123456.789, 1.0],
    [1.0, 1e5, NAN], [-1000.5, 3.0], [[1.0, -2.0], [3.5, 4.0]], [[[1.0]]], [[], []], [],
    1, -5, [1, 10, 100], [-1, 2], [2**62, -(2**62)], [[1, 2], [3, 400]], True, [True, False],
    [[True], [True]], 1 + 2j, [1 + 2j, 3.5 - 1j], [0j, -0j, 1e10 + 1e-10j], [complex(NAN, INF)],
    [[1 + 1j, 2 - 2j], [3.25 + 0j, 100 - 1e-5j]], list(range(300)), [0.1 * i for i in range(300)],
]  # fmt: skip


@pytest.mark.parametrize("value", EXAMPLES, ids=lambda value: str(value)[:40])
def test_examples(value: Any) -> None:
    check(torch.tensor(value))
    check(torch.tensor(value, dtype=torch.complex128))
    for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int32):
        if not torch.tensor(value).is_complex() and (
            dtype.is_floating_point or torch.tensor(value).dtype == torch.int64
        ):
            check(torch.tensor(value).to(dtype))


SHAPES = [
    (1001,), (1000,), (7,), (6, 400), (400, 6), (400, 3), (1, 2000), (10, 10, 11), (2, 3, 4, 5),
    (20, 1, 60), (3, 3, 3, 60), (1, 1, 1), (2000, 1), (11, 7, 1, 20), (0,), (0, 3), (3, 0), (2, 0, 5),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool, torch.complex64])
def test_shapes(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    g = torch.Generator().manual_seed(sum(shape))
    check((torch.randn(shape, generator=g, dtype=torch.complex64) * 100).to(dtype))


def any_array(dtype: Any) -> st.SearchStrategy[np.ndarray]:
    shapes = npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=9)
    return npst.arrays(dtype, shapes)


NUMPY_TYPES = [
    np.float32, np.float64, np.float16, np.int64, np.int32, np.int16, np.int8, np.uint8, np.bool_,
    np.complex64, np.complex128,
]  # fmt: skip

OPTIONS = st.fixed_dictionaries(
    {
        "precision": st.integers(0, 7),
        "threshold": st.sampled_from([0, 5, 50, 1000, INF]),
        "edgeitems": st.integers(0, 4),
        "linewidth": st.sampled_from([1, 20, 40, 80, 120]),
        "sci_mode": st.sampled_from([None, None, True, False]),
    }
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(NUMPY_TYPES).flatmap(any_array), OPTIONS, st.sampled_from(["32", "64"]))
def test_any_array_with_any_options(array: np.ndarray, options: Any, default: str) -> None:
    set_options(**options)
    set_default(f"float{default}")
    check(torch.from_numpy(array.copy()) if array.ndim else torch.tensor(array))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6, width=32).map(lambda x: round(x, 3)), max_size=40),
    st.integers(0, 4),
)
def test_ordinary_numbers(values: list[float], exponent: int) -> None:
    set_options(profile="default")
    check(torch.tensor(values) / 10**exponent)


def test_gradients() -> None:
    x = torch.ones(3, requires_grad=True)
    check(x)
    check(x + 1)
    check((x * 2).sum())
    check(torch.zeros(2, 0, requires_grad=True))
    check(torch.full((4, 12), 1.23456, requires_grad=True) * 1)
    check(torch.full((12,), 1.23456, dtype=torch.float64, requires_grad=True) * 1)


@pytest.mark.parametrize("default", ["float16", "bfloat16", "float32", "float64"])
def test_the_default_type_is_not_mentioned(default: str) -> None:
    set_default(default)
    for dtype in (torch.float32, torch.float64, torch.int64, torch.bool, torch.complex64):
        check(torch.ones(2, dtype=dtype))
        check(torch.ones(0, dtype=dtype))
        check(torch.ones((2, 0), dtype=dtype))
    check(torch.ones(2, dtype=torch.complex128))


def test_options() -> None:
    def same() -> bool:
        return printing.get_printoptions() == get_torch_options()

    assert same()
    for options in (
        {"precision": 2},
        {"sci_mode": True},
        {"profile": "short"},
        {"profile": "full", "edgeitems": 1},
        {"linewidth": 120, "threshold": 7},
        {"profile": "default", "sci_mode": False},
        {"profile": "no such profile"},
    ):
        set_options(**options)
        assert same(), options
    with printing.printoptions(precision=1):
        assert printing.get_printoptions()["precision"] == 1
        assert printing.tensor_text(np.array([1.25], np.float32)) == "tensor([1.2])"
    assert same()


def test_sparse_tensors() -> None:
    def check_sparse(tensor: torch.Tensor) -> None:
        tensor = tensor.coalesce()
        name = None if tensor.grad_fn is None else type(tensor.grad_fn).__name__
        ours = printing.sparse_text(
            {"indices": tensor.indices().detach().numpy(), "values": as_array(tensor.values())},
            tensor.shape,
            requires_grad=tensor.requires_grad,
            grad_fn_name=name,
        )
        assert ours == repr(tensor)

    check_sparse(torch.eye(3).to_sparse())
    check_sparse(torch.eye(30, dtype=torch.float64).to_sparse())
    check_sparse(torch.zeros(2, 3).to_sparse())
    check_sparse(torch.eye(2, requires_grad=True).to_sparse())
    check_sparse(torch.ones(40, 40).to_sparse())


def test_places_and_names() -> None:
    ones = np.ones(2, np.float32)
    assert printing.tensor_text(ones, device="cuda:0") == "tensor([1., 1.], device='cuda:0')"
    assert printing.tensor_text(ones, type_name="Mine") == "Mine([1., 1.])"
    assert printing.tensor_text(ones, dtype_name="float8") == "tensor([1., 1.], dtype=torch.float8)"


@pytest.mark.parametrize("spec", ["", ".3f", "10.2e", ">12", "g"])
def test_formatted_numbers(spec: str) -> None:
    for value in (3.14159, -2.0, 1e-7):
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            tensor = torch.tensor(value, dtype=dtype)
            assert printing.format_scalar(as_array(tensor), spec) == format(tensor, spec)
    assert printing.format_scalar(np.array(7), "04d") == format(torch.tensor(7), "04d")
