"""Where Torch keeps the modules of quantization: `quantized`, `intrinsic` and `qat`."""

from ...lazy_attributes import lazy_attributes

__getattr__ = lazy_attributes(__name__, ("intrinsic", "qat", "quantized"))
