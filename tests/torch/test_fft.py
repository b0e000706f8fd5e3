"""Fourier transforms, short-time transforms and windows against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as real
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.signal import windows as real_windows

import minitorch.torch

from .oracle import compare

ours: Any = minitorch.torch

COMPLEX_INPUT = ["fft", "ifft", "irfft", "hfft"]
REAL_INPUT = ["rfft", "ihfft"]


def signal(*shape: int, dtype: Any = real.complex128) -> Any:
    return real.randn(
        shape, dtype=dtype, generator=real.Generator().manual_seed(0)
    ).requires_grad_()


def agree(name: str, *args: Any, **kwargs: Any) -> None:
    compare(
        getattr(ours.fft, name),
        getattr(real.fft, name),
        args,
        kwargs,
        what=name,
        ulps=512,
        double=True,
    )


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", COMPLEX_INPUT + REAL_INPUT)
def test_one_dimension(name: str, norm: Any) -> None:
    x = signal(3, 6, dtype=real.float64 if name in REAL_INPUT else real.complex128)
    for n in (None, 4, 5, 9):
        agree(name, x, n, norm=norm)
    agree(name, x, dim=0, norm=norm)


@pytest.mark.parametrize("name", COMPLEX_INPUT + REAL_INPUT)
def test_several_dimensions(name: str) -> None:
    x = signal(2, 4, 5, dtype=real.float64 if name in REAL_INPUT else real.complex128)
    agree(f"{name}2", x)
    agree(f"{name}n", x, norm="ortho")
    agree(f"{name}n", x, (3, 6), (0, 2))
    agree(f"{name}n", x, (-1, 4))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=3), st.data())
def test_inverse_undoes(shape: list[int], data: Any) -> None:
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = ours.randn(*shape, dtype=ours.complex128)
    ours.testing.assert_close(ours.fft.ifft(ours.fft.fft(x, dim=dim), dim=dim), x)
    ours.testing.assert_close(ours.fft.ifftn(ours.fft.fftn(x)), x)
    size = shape[dim]
    ours.testing.assert_close(ours.fft.irfft(ours.fft.rfft(x.real, dim=dim), size, dim=dim), x.real)


def test_types() -> None:
    assert ours.fft.fft(ours.ones(4)).dtype is ours.complex64
    assert ours.fft.rfft(ours.ones(4)).dtype is ours.complex64
    assert ours.fft.irfft(ours.ones(4, dtype=ours.complex64)).dtype is ours.float32
    assert ours.fft.fft(ours.ones(4, dtype=ours.int64)).dtype is ours.complex64


def test_frequencies_and_shifts() -> None:
    for n in (1, 4, 5):
        for name in ("fftfreq", "rfftfreq"):
            agree(name, n, 0.5)
    x = signal(3, 4)
    for name in ("fftshift", "ifftshift"):
        agree(name, x)
        agree(name, x, dim=1)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("fft", (real.ones(3), 0)),
        ("fft", (real.tensor(1.0),)),
        ("fft", (real.ones(3), None, 2)),
        ("fft", (real.ones(3), None, -1, "half")),
        ("fft", (real.ones(3, dtype=real.float16),)),
        ("rfft", (real.ones(3, dtype=real.complex64),)),
        ("fftn", (real.ones(3, 3), (2,), (0, 1))),
        ("fftn", (real.ones(3, 3), None, (0, 0))),
        ("fftn", (real.ones(3), (2, 2))),
    ],
)
def test_wrong_input_raises_what_pytorch_raises(name: str, args: tuple[Any, ...]) -> None:
    agree(name, *args)


# --- Short-time transforms --------------------------------------------------------------------------


@pytest.mark.parametrize("kwargs", [
    {}, {"center": False}, {"normalized": True}, {"hop_length": 3, "win_length": 6}, {"onesided": False},
    {"pad_mode": "constant"},
])  # fmt: skip
def test_stft(kwargs: dict[str, Any]) -> None:
    window = real.hann_window(kwargs.get("win_length", 8), dtype=real.float64).requires_grad_()
    for x in (signal(40, dtype=real.float64), signal(2, 30, dtype=real.float64)):
        given = {"n_fft": 8, "window": window, "return_complex": True, **kwargs}
        compare(ours.stft, real.stft, (x,), given, what="stft", ulps=512)


@pytest.mark.parametrize("kwargs", [{}, {"length": 29}, {"normalized": True}, {"center": False}])
def test_istft(kwargs: dict[str, Any]) -> None:
    window = (real.hann_window(8, dtype=real.float64) + 0.1).requires_grad_()
    given = {"n_fft": 8, "window": window, **kwargs}
    compare(ours.istft, real.istft, (signal(2, 5, 9),), given, what="istft", ulps=512)


def test_istft_undoes_stft() -> None:
    x = ours.randn(2, 100, dtype=ours.float64)
    spectra = ours.stft(x, 16, window=ours.hann_window(16, dtype=ours.float64), return_complex=True)
    back = ours.istft(spectra, 16, window=ours.hann_window(16, dtype=ours.float64), length=100)
    ours.testing.assert_close(back, x)


def test_short_time_errors() -> None:
    x = real.ones(20)
    for options in ({"n_fft": 8}, {"n_fft": 8, "hop_length": 0, "return_complex": True},
                  {"n_fft": 8, "window": real.ones(3), "return_complex": True},
                  {"n_fft": 8, "win_length": 9, "return_complex": True},
                  {"n_fft": 80, "center": False, "return_complex": True}):  # fmt: skip
        compare(ours.stft, real.stft, (x,), options, what="stft")
    compare(ours.istft, real.istft, (real.ones(5, 4),), {"n_fft": 8}, what="istft")


# --- Windows --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 2, 5, 8])
@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett", "kaiser"])
def test_windows(name: str, length: int) -> None:
    for periodic in (True, False):
        for dtype in (real.float32, real.float64):
            compare(
                getattr(ours, f"{name}_window"),
                getattr(real, f"{name}_window"),
                (length, periodic),
                {"dtype": dtype},
                ulps=8,
            )


@pytest.mark.parametrize("sym", [True, False])
@pytest.mark.parametrize(("name", "kwargs"), [
    ("bartlett", {}), ("blackman", {}), ("cosine", {}), ("exponential", {"tau": 2.0}), ("gaussian", {"std": 1.5}),
    ("general_cosine", {"a": [0.4, 0.3, 0.2]}), ("general_hamming", {"alpha": 0.6}), ("hamming", {}), ("hann", {}),
    ("kaiser", {"beta": 6.0}), ("nuttall", {}),
])  # fmt: skip
def test_signal_windows(name: str, kwargs: dict[str, Any], sym: bool) -> None:
    for M in (0, 1, 7, 8):
        given = {"sym": sym, "dtype": real.float64, **kwargs}
        compare(
            getattr(ours.signal.windows, name),
            getattr(real_windows, name),
            (M,),
            given,
            what=name,
            ulps=64,
        )


def test_window_numbers_by_name_and_place() -> None:
    assert np.allclose(
        ours.hamming_window(4, False, 0.5, 0.5).numpy(), ours.hann_window(4, False).numpy()
    )
    with pytest.raises(TypeError, match="hann_window"):
        ours.hann_window(4, True, 0.5)
    with pytest.raises(RuntimeError, match="non-negative"):
        ours.hann_window(-1)
    with pytest.raises(ValueError, match="float32 or float64"):
        ours.signal.windows.hann(4, dtype=ours.float16)
