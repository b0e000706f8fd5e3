"""Differentiation: what records operations, and what walks back through them."""

from ..lazy_attributes import lazy_attributes
from ..tensor import Tensor as Variable
from . import functional as functional
from . import grad_mode as grad_mode
from . import graph as graph
from . import variable as variable
from .backward import backward as backward
from .backward import grad as grad
from .function import Function as Function
from .gradcheck import gradcheck as gradcheck
from .gradcheck import gradgradcheck as gradgradcheck
from .modes import detect_anomaly as detect_anomaly
from .modes import enable_grad as enable_grad
from .modes import inference_mode as inference_mode
from .modes import no_grad as no_grad
from .modes import set_detect_anomaly as set_detect_anomaly
from .modes import set_grad_enabled as set_grad_enabled

__all__ = [
    "Function", "Variable", "backward", "detect_anomaly", "enable_grad", "functional", "grad",
    "gradcheck", "gradgradcheck", "graph", "inference_mode", "no_grad", "set_detect_anomaly",
    "set_grad_enabled",
]  # fmt: skip

__getattr__ = lazy_attributes(__name__, ("forward_ad", "profiler"))
