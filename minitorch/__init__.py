"""MiniTorch: a deep learning library to read, to build, and to train with.

    >>> import minitorch
    >>> x = minitorch.tensor([1, 2, 3])
    >>> (x * x).sum().backward()
    >>> x.grad
    [2.00 4.00 6.00]

Importing this needs neither Numba nor a GPU: the fast backends (`FastOps`, `CudaOps`),
convolutions and CUDA practice kernels load when they are first asked for.

Where two files use one name, the name here is the one that works on tensors: `max`
is `nn.max` and `Add` is `tensor_functions.Add`; the others are in `minitorch.operators`
and `minitorch.scalar_functions`.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from . import autodiff as autodiff
from . import module as module
from . import nn as nn
from . import operators as operators
from . import optim as optim
from . import scalar as scalar
from . import scalar_functions as scalar_functions
from . import tensor_checks as tensor_checks
from . import tensor_data as tensor_data
from . import tensor_functions as tensor_functions
from . import tensor_ops as tensor_ops
from . import testing as testing
from . import transformer as transformer
from .autodiff import Context as Context
from .autodiff import Variable as Variable
from .autodiff import backpropagate as backpropagate
from .autodiff import central_difference as central_difference
from .autodiff import topological_sort as topological_sort
from .datasets import Graph as Graph
from .datasets import circle as circle
from .datasets import datasets as datasets
from .datasets import diag as diag
from .datasets import make_pts as make_pts
from .datasets import simple as simple
from .datasets import spiral as spiral
from .datasets import split as split
from .datasets import xor as xor
from .module import Module as Module
from .module import Parameter as Parameter
from .nn import Max as Max
from .nn import argmax as argmax
from .nn import avgpool2d as avgpool2d
from .nn import dropout as dropout
from .nn import logsoftmax as logsoftmax
from .nn import max as max
from .nn import maxpool2d as maxpool2d
from .nn import softmax as softmax
from .nn import tile as tile
from .operators import EPS as EPS
from .operators import add as add
from .operators import addLists as addLists
from .operators import eq as eq
from .operators import exp as exp
from .operators import id as id
from .operators import inv as inv
from .operators import inv_back as inv_back
from .operators import is_close as is_close
from .operators import log as log
from .operators import log_back as log_back
from .operators import lt as lt
from .operators import map as map
from .operators import mul as mul
from .operators import neg as neg
from .operators import negList as negList
from .operators import prod as prod
from .operators import reduce as reduce
from .operators import relu as relu
from .operators import relu_back as relu_back
from .operators import sigmoid as sigmoid
from .operators import sum as sum
from .operators import zipWith as zipWith
from .optim import SGD as SGD
from .optim import Optimizer as Optimizer
from .scalar import Scalar as Scalar
from .scalar import ScalarHistory as ScalarHistory
from .scalar import derivative_check as derivative_check
from .scalar_functions import ScalarFunction as ScalarFunction
from .tensor import Tensor as Tensor
from .tensor_data import MAX_DIMS as MAX_DIMS
from .tensor_data import Index as Index
from .tensor_data import IndexingError as IndexingError
from .tensor_data import OutIndex as OutIndex
from .tensor_data import Shape as Shape
from .tensor_data import Storage as Storage
from .tensor_data import Strides as Strides
from .tensor_data import TensorData as TensorData
from .tensor_data import UserIndex as UserIndex
from .tensor_data import UserShape as UserShape
from .tensor_data import UserStrides as UserStrides
from .tensor_data import broadcast_index as broadcast_index
from .tensor_data import index_to_position as index_to_position
from .tensor_data import shape_broadcast as shape_broadcast
from .tensor_data import strides_from_shape as strides_from_shape
from .tensor_data import to_index as to_index
from .tensor_functions import EQ as EQ
from .tensor_functions import LT as LT
from .tensor_functions import Add as Add
from .tensor_functions import All as All
from .tensor_functions import Copy as Copy
from .tensor_functions import Exp as Exp
from .tensor_functions import Function as Function
from .tensor_functions import History as History
from .tensor_functions import Inv as Inv
from .tensor_functions import IsClose as IsClose
from .tensor_functions import Log as Log
from .tensor_functions import MatMul as MatMul
from .tensor_functions import Mul as Mul
from .tensor_functions import Neg as Neg
from .tensor_functions import Permute as Permute
from .tensor_functions import ReLU as ReLU
from .tensor_functions import Sigmoid as Sigmoid
from .tensor_functions import Sum as Sum
from .tensor_functions import View as View
from .tensor_functions import grad_central_difference as grad_central_difference
from .tensor_functions import grad_check as grad_check
from .tensor_functions import rand as rand
from .tensor_functions import tensor as tensor
from .tensor_functions import zeros as zeros
from .tensor_ops import MapProto as MapProto
from .tensor_ops import SimpleBackend as SimpleBackend
from .tensor_ops import SimpleOps as SimpleOps
from .tensor_ops import TensorBackend as TensorBackend
from .tensor_ops import TensorOps as TensorOps
from .tensor_ops import tensor_map as tensor_map
from .tensor_ops import tensor_reduce as tensor_reduce
from .tensor_ops import tensor_zip as tensor_zip
from .testing import MathTest as MathTest
from .testing import MathTestVariable as MathTestVariable

if TYPE_CHECKING:
    from . import cuda_conv as cuda_conv
    from . import cuda_device as cuda_device
    from . import cuda_matmul as cuda_matmul
    from . import cuda_ops as cuda_ops
    from . import fast_conv as fast_conv
    from . import fast_ops as fast_ops
    from . import fast_rows as fast_rows
    from . import fast_tiles as fast_tiles
    from . import jit as jit
    from .cuda_ops import CudaOps as CudaOps
    from .cuda_ops import mm_practice as mm_practice
    from .cuda_ops import sum_practice as sum_practice
    from .fast_conv import Conv1dFun as Conv1dFun
    from .fast_conv import Conv2dFun as Conv2dFun
    from .fast_conv import conv1d as conv1d
    from .fast_conv import conv2d as conv2d
    from .fast_ops import FastOps as FastOps

__version__ = "0.1.0"

_LAZY = {
    "FastOps": "fast_ops",
    "Conv1dFun": "fast_conv",
    "Conv2dFun": "fast_conv",
    "conv1d": "fast_conv",
    "conv2d": "fast_conv",
    "CudaOps": "cuda_ops",
    "mm_practice": "cuda_ops",
    "sum_practice": "cuda_ops",
}
_LAZY_MODULES = {
    "jit",
    "fast_ops",
    "fast_rows",
    "fast_tiles",
    "fast_conv",
    "cuda_device",
    "cuda_ops",
    "cuda_matmul",
    "cuda_conv",
}


def __getattr__(name: str) -> Any:
    """Load what needs Numba when it is first asked for."""
    if name in _LAZY_MODULES:
        return _import_module(f".{name}", __name__)
    if name in _LAZY:
        value = getattr(_import_module(f".{_LAZY[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'minitorch' has no attribute {name!r}")


def load_ipython_extension(_: Any) -> None:
    """`%load_ext minitorch` in a notebook: from then on `import torch` means `minitorch.torch`."""
    _import_module(".torch", __name__).install()


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_LAZY_MODULES})
