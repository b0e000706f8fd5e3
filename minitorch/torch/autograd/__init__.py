"""Differentiation: what records operations, and what walks back through them."""

from .backward import backward as backward
from .backward import grad as grad
from .modes import detect_anomaly as detect_anomaly
from .modes import enable_grad as enable_grad
from .modes import inference_mode as inference_mode
from .modes import no_grad as no_grad
from .modes import set_detect_anomaly as set_detect_anomaly
from .modes import set_grad_enabled as set_grad_enabled
