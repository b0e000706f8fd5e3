"""The modes of recording, where older programs import them from."""

from .modes import enable_grad as enable_grad
from .modes import inference_mode as inference_mode
from .modes import no_grad as no_grad
from .modes import set_grad_enabled as set_grad_enabled
