"""The short-time Fourier transform of overlapping frames of a signal, and its inverse."""

from __future__ import annotations

import numpy as np

from .. import dtypes
from ..interpreters import composite
from ..notices import warn_once
from ..tensor import Array, Tensor, wrap_beside
from .complex_numbers import view_as_real
from .fourier import TRANSFORMS
from .padding import pad
from .record import Op
from .surface import check_tensor, function_and_method

_NO_WINDOW = (
    "A window was not provided. A rectangular window will be applied,which is known to cause spectral leakage. Other "
    "windows such as torch.hann_window or torch.hamming_window are recommended to reduce spectral leakage.To suppress "
    "this warning and use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
)


def _window_of(
    name: str, window: Tensor | None, win_length: int, n_fft: int, like: Tensor
) -> Tensor:
    """The window, or ones, centered and zero-padded to `n_fft` elements."""
    if not 0 < win_length <= n_fft:
        raise RuntimeError(
            f"{name}: expected 0 < win_length <= n_fft, but got win_length={win_length}, n_fft={n_fft}"
        )
    if window is None:
        window = wrap_beside(np.ones(win_length, np.empty(0, like._array.dtype).real.dtype), like)
    elif window._array.shape != (win_length,):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={win_length}, but got window with "
            f"size {list(window.shape)}"
        )
    left = (n_fft - win_length) // 2
    return pad(window, (left, n_fft - win_length - left)) if win_length < n_fft else window


@function_and_method
@composite
def stft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Tensor | None = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    """The Fourier transforms of frames of `n_fft` elements, `hop_length` apart: (..., frequency, frame)."""
    check_tensor("stft", input)
    if input.dtype.kind < dtypes.FLOATING:
        raise RuntimeError(
            f"stft: expected a tensor of floating point or complex values, got {input.dtype}"
        )
    hop = n_fft // 4 if hop_length is None else hop_length
    if input.ndim not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, but got {list(input.shape)}")
    if center and align_to_window is not None:
        raise RuntimeError("stft: align_to_window should only be set when center = false")
    if window is None:
        warn_once(_NO_WINDOW)
    whole = input.dtype.is_complex or (window is not None and window.dtype.is_complex)
    if return_complex is None and not whole:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs.")
    if whole and onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    signal = input if input.ndim == 2 else input.unsqueeze(0)
    if center:
        margin = (n_fft // 2, n_fft // 2)
        signal = pad(signal.unsqueeze(1), margin, pad_mode).squeeze(1)
    size = signal._array.shape[1]
    if not 0 < n_fft <= size:
        raise RuntimeError(
            f"stft: expected 0 < n_fft <= {size}, but got n_fft={n_fft} for input {list(input.shape)}"
        )
    if hop <= 0:
        raise RuntimeError(f"stft: expected hop_length > 0, but got hop_length={hop}")
    shape = _window_of("stft", window, n_fft if win_length is None else win_length, n_fft, input)
    frames = signal.unfold(-1, n_fft, hop) * shape  # (B, frame, n_fft)
    half = not whole if onesided is None else onesided
    spectra = TRANSFORMS["rfft" if half else "fft"](frames, norm="ortho" if normalized else None).mT
    spectra = spectra if input.ndim == 2 else spectra.squeeze(0)
    return (
        spectra if return_complex or (whole and return_complex is None) else view_as_real(spectra)
    )


def _overlap(frames: Array, hop: int) -> Array:
    """Overlap-add: frames (B, frame, n), each `hop` after the one before, summed."""
    batch, count, n = frames.shape
    out = np.zeros((batch, n + hop * (count - 1)), frames.dtype, like=frames)
    for i in range(count):
        out[:, i * hop : i * hop + n] += frames[:, i]
    return out


OVERLAP = Op(
    "overlap",
    ("frames",),
    _overlap,
    {"frames": lambda g, shapes, hop: g.unfold(-1, shapes[0][-1], hop)},
)


@function_and_method
def istft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Tensor | None = None,
    center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None,
    return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """The inverse of `stft`: the signal whose transform is closest to the input in least squares."""
    check_tensor("istft", input)
    if not input.dtype.is_complex:
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if isinstance(window, Tensor) and window.dtype.is_complex and not return_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    hop = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    if not input._array.size:
        raise RuntimeError(f"istft: input tensor cannot be empty, got {list(input.shape)}")
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"istft: expected a tensor with 2 or 3 dimensions, but got {list(input.shape)}"
        )
    spectra = input if input.ndim == 3 else input.unsqueeze(0)
    bins = spectra._array.shape[1]
    half = bins != n_fft if onesided is None else onesided
    if bins != (n_fft // 2 + 1 if half else n_fft):
        wanted = "n_fft / 2 + 1 when onesided=True" if half else "n_fft when onesided=False"
        raise RuntimeError(
            f"istft: expected the frequency dimension of the input tensor to match {wanted}, but got {bins}"
        )
    if not 0 < hop <= win_length:
        raise RuntimeError(
            f"istft: expected 0 < hop_length <= win_length, but got hop_length={hop}, win_length={win_length}"
        )
    if return_complex and half:
        raise RuntimeError("istft: cannot have onesided input for a complex output")
    norm = "ortho" if normalized else None
    shape = _window_of("istft", window, win_length, n_fft, input)
    if shape.dtype is dtypes.bool_:
        shape = shape.to(spectra.dtype.to_real())
    if return_complex:
        frames = TRANSFORMS["ifft"](spectra.mT, n_fft, norm=norm)
    else:  # the first half of a spectrum determines a real signal
        frames = TRANSFORMS["irfft"](spectra.mT[..., : n_fft // 2 + 1], n_fft, norm=norm)
    return _normalized(frames * shape, shape, hop, n_fft, center, length, squeeze=input.ndim == 2)


def _normalized(
    frames: Tensor,
    window: Tensor,
    hop: int,
    n_fft: int,
    center: bool,
    length: int | None,
    squeeze: bool,
) -> Tensor:
    """Overlap-added windowed frames divided by the squared windows, cut to the signal's range."""
    signal = OVERLAP(frames, hop=hop)
    weight = OVERLAP((window * window).expand(1, frames._array.shape[1], n_fft), hop=hop)
    start = n_fft // 2 if center else 0
    size = signal._array.shape[1]
    end = start + length if length is not None else size - n_fft // 2 if center else size
    signal, weight = signal[:, start:end], weight[:, start:end]
    if weight._array.size and np.abs(weight._array).min() <= 1e-11:
        raise RuntimeError("istft: window overlap add min: a place that no window covers")
    signal = signal / weight
    if end > size:
        signal = pad(signal, (0, end - size))
    return signal.squeeze(0) if squeeze else signal
