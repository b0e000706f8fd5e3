"""Fourier transforms, under Torch's names."""

from ..ops.arguments import checked_functions as _checked_functions
from ..ops.fourier import TRANSFORMS
from ..ops.fourier import fftfreq as fftfreq
from ..ops.fourier import fftshift as fftshift
from ..ops.fourier import ifftshift as ifftshift
from ..ops.fourier import rfftfreq as rfftfreq

fft, fft2, fftn = (TRANSFORMS[name] for name in ("fft", "fft2", "fftn"))
ifft, ifft2, ifftn = (TRANSFORMS[name] for name in ("ifft", "ifft2", "ifftn"))
rfft, rfft2, rfftn = (TRANSFORMS[name] for name in ("rfft", "rfft2", "rfftn"))
irfft, irfft2, irfftn = (TRANSFORMS[name] for name in ("irfft", "irfft2", "irfftn"))
hfft, hfft2, hfftn = (TRANSFORMS[name] for name in ("hfft", "hfft2", "hfftn"))
ihfft, ihfft2, ihfftn = (TRANSFORMS[name] for name in ("ihfft", "ihfft2", "ihfftn"))

globals().update(_checked_functions("fft", globals()))
