"""Torch's API and semantics over NumPy: `import minitorch.torch as torch`."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

# Divisions by zero and overflows give infinities and NaN, as in Torch, without a word.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minitorch\.torch\.")

from . import autograd as autograd
from .autograd.modes import enable_grad as enable_grad
from .autograd.modes import inference_mode as inference_mode
from .autograd.modes import is_grad_enabled as is_grad_enabled
from .autograd.modes import is_inference_mode_enabled as is_inference_mode_enabled
from .autograd.modes import no_grad as no_grad
from .autograd.modes import set_grad_enabled as set_grad_enabled
from .device import device as device
from .dtypes import dtype as dtype
from .dtypes import finfo as finfo
from .dtypes import get_default_dtype as get_default_dtype
from .dtypes import iinfo as iinfo
from .dtypes import promote_types as promote_types
from .dtypes import set_default_dtype as set_default_dtype
from .ops import FUNCTIONS
from .tensor import Size as Size
from .tensor import Tensor as Tensor

from . import dtypes as _dtypes

globals().update(FUNCTIONS, **_dtypes.NAMES)

from . import linalg as linalg
from . import nn as nn

if TYPE_CHECKING:  # the functions come from the records

    def __getattr__(name: str) -> Any: ...
