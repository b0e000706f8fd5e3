"""What layers compute, as functions: Torch's `nn.functional`.

Each function stands with its records in the file of its family; here is the list.
"""

from __future__ import annotations

from typing import Any

from ..ops.surface import FUNCTIONS as _FUNCTIONS

# Activations
from ..ops.activation import celu as celu
from ..ops.activation import celu_ as celu_
from ..ops.activation import elu as elu
from ..ops.activation import elu_ as elu_
from ..ops.activation import gelu as gelu
from ..ops.activation import glu as glu
from ..ops.activation import gumbel_softmax as gumbel_softmax
from ..ops.activation import hardshrink as hardshrink
from ..ops.activation import hardsigmoid as hardsigmoid
from ..ops.activation import hardswish as hardswish
from ..ops.activation import hardtanh as hardtanh
from ..ops.activation import hardtanh_ as hardtanh_
from ..ops.activation import leaky_relu as leaky_relu
from ..ops.activation import leaky_relu_ as leaky_relu_
from ..ops.activation import logsigmoid as logsigmoid
from ..ops.activation import mish as mish
from ..ops.activation import prelu as prelu
from ..ops.activation import relu as relu
from ..ops.activation import relu6 as relu6
from ..ops.activation import relu_ as relu_
from ..ops.activation import rrelu as rrelu
from ..ops.activation import rrelu_ as rrelu_
from ..ops.activation import selu as selu
from ..ops.activation import selu_ as selu_
from ..ops.activation import silu as silu
from ..ops.activation import softplus as softplus
from ..ops.activation import softshrink as softshrink
from ..ops.activation import softsign as softsign
from ..ops.activation import tanhshrink as tanhshrink
from ..ops.activation import threshold as threshold
from ..ops.activation import threshold_ as threshold_

# Softmax
from ..ops.softmax import log_softmax as log_softmax
from ..ops.softmax import softmax as softmax
from ..ops.softmax import softmin as softmin


def tanh(input: Any) -> Any:
    """The hyperbolic tangent."""
    return _FUNCTIONS["tanh"](input)


def sigmoid(input: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return _FUNCTIONS["sigmoid"](input)
