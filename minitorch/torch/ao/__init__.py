"""Where Torch keeps tools of quantization."""

from ..lazy_attributes import lazy_attributes

__getattr__ = lazy_attributes(__name__, ("nn", "quantization"))
