"""Torch's API and semantics over NumPy: `import minitorch.torch as torch`.

>>> import minitorch.torch as torch
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from . import accelerator as accelerator
from . import amp as amp
from . import autograd as autograd
from . import compiler as compiler
from . import cpu as cpu
from . import cuda as cuda
from . import dtypes as _dtypes
from . import fft as fft
from . import linalg as linalg
from . import multiprocessing as multiprocessing
from . import nn as nn
from . import numpy_warnings as _numpy_warnings  # noqa: F401
from . import random as random
from . import serialization as serialization
from . import special as special
from . import storage as storage
from . import utils as utils
from . import version as version
from .amp.autocast_mode import FUNCTIONS as _AUTOCAST
from .amp.autocast_mode import autocast as autocast
from .amp.autocast_mode import is_autocast_available as is_autocast_available
from .autograd.modes import enable_grad as enable_grad
from .autograd.modes import inference_mode as inference_mode
from .autograd.modes import is_anomaly_enabled as is_anomaly_enabled
from .autograd.modes import is_grad_enabled as is_grad_enabled
from .autograd.modes import is_inference_mode_enabled as is_inference_mode_enabled
from .autograd.modes import no_grad as no_grad
from .autograd.modes import set_grad_enabled as set_grad_enabled
from .backends import cuda as _cuda_switches  # noqa: F401
from .backends import cudnn as _cudnn_switches  # noqa: F401
from .backends import mps as _mps_switches  # noqa: F401
from .checks import CHECKS as _CHECKS
from .compiler import compile as compile
from .cuda import amp as _cuda_amp  # noqa: F401
from .device import OutOfMemoryError as OutOfMemoryError
from .device import device as DeviceObjType  # noqa: F401, N812
from .device import device as device
from .dtypes import dtype as dtype
from .dtypes import finfo as finfo
from .dtypes import get_default_dtype as get_default_dtype
from .dtypes import iinfo as iinfo
from .dtypes import promote_types as promote_types
from .dtypes import set_default_dtype as set_default_dtype
from .environment import (
    are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled,
)
from .environment import channels_last as channels_last
from .environment import channels_last_3d as channels_last_3d
from .environment import compiled_with_cxx11_abi as compiled_with_cxx11_abi
from .environment import contiguous_format as contiguous_format
from .environment import e as e
from .environment import get_default_device as get_default_device
from .environment import get_deterministic_debug_mode as get_deterministic_debug_mode
from .environment import get_device_module as get_device_module
from .environment import get_float32_matmul_precision as get_float32_matmul_precision
from .environment import get_num_interop_threads as get_num_interop_threads
from .environment import get_num_threads as get_num_threads
from .environment import inf as inf
from .environment import install as install
from .environment import (
    is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,
)
from .environment import is_vulkan_available as is_vulkan_available
from .environment import is_warn_always_enabled as is_warn_always_enabled
from .environment import jagged as jagged
from .environment import layout as layout
from .environment import legacy_contiguous_format as legacy_contiguous_format
from .environment import memory_format as memory_format
from .environment import nan as nan
from .environment import newaxis as newaxis
from .environment import per_channel_affine as per_channel_affine
from .environment import per_channel_affine_float_qparams as per_channel_affine_float_qparams
from .environment import per_channel_symmetric as per_channel_symmetric
from .environment import per_tensor_affine as per_tensor_affine
from .environment import per_tensor_symmetric as per_tensor_symmetric
from .environment import pi as pi
from .environment import preserve_format as preserve_format
from .environment import qscheme as qscheme
from .environment import set_default_device as set_default_device
from .environment import set_default_tensor_type as set_default_tensor_type
from .environment import set_deterministic_debug_mode as set_deterministic_debug_mode
from .environment import set_float32_matmul_precision as set_float32_matmul_precision
from .environment import set_flush_denormal as set_flush_denormal
from .environment import set_num_interop_threads as set_num_interop_threads
from .environment import set_num_threads as set_num_threads
from .environment import set_warn_always as set_warn_always
from .environment import sparse_bsc as sparse_bsc
from .environment import sparse_bsr as sparse_bsr
from .environment import sparse_coo as sparse_coo
from .environment import sparse_csc as sparse_csc
from .environment import sparse_csr as sparse_csr
from .environment import strided as strided
from .environment import use_deterministic_algorithms as use_deterministic_algorithms
from .foreach import FOREACH as _FOREACH
from .generator import Generator as Generator
from .generator import default_generator as default_generator
from .lazy_attributes import lazy_attributes as _lazy_attributes
from .legacy import TYPES as _TYPES
from .ops import FUNCTIONS as _FUNCTIONS
from .ops.arguments import check_methods as _check_methods
from .ops.arguments import checked_functions as _checked_functions
from .printing import set_printoptions as set_printoptions
from .random import get_rng_state as get_rng_state
from .random import initial_seed as initial_seed
from .random import manual_seed as manual_seed
from .random import seed as seed
from .random import set_rng_state as set_rng_state
from .serialization import load as load
from .serialization import save as save
from .storage import TypedStorage as TypedStorage
from .storage import UntypedStorage as UntypedStorage
from .storage import is_storage as is_storage
from .symbols import SymBool as SymBool
from .symbols import SymFloat as SymFloat
from .symbols import SymInt as SymInt
from .tensor import Size as Size
from .tensor import Tensor as Tensor
from .version import __version__ as __version__

globals().update(_FUNCTIONS, **_AUTOCAST, **_dtypes.NAMES, **_TYPES)
globals().update(_checked_functions("torch", globals()), **_CHECKS, **_FOREACH)
_check_methods()

_LATER = frozenset(
    ("_C", "__config__", "__future__", "_dynamo", "_functorch", "_guards", "_inductor", "_ops", "_tensor", "_tensor_str", "_utils", "ao", "distributed", "distributions", "export", "func",
     "functional", "futures", "fx", "hub", "jit", "library", "masked", "nested", "onnx", "optim", "overrides", "profiler", "quantization", "quasirandom", "return_types", "signal", "sparse", "testing",
     "torch_version", "types", "xpu")
)  # fmt: skip
"""Modules that load when they are first asked for."""

_NAMES_LATER = {
    "Event": ".accelerator", "Future": ".futures", "PyTorchFileReader": ".serialization.streams",
    "PyTorchFileWriter": ".serialization.streams", "ScriptModule": "._C", "StorageBase": ".storage", "Stream": ".accelerator",
    "TensorType": "._C", "dequantize": ".quantized_tensor", "quantize_per_channel": ".quantized_tensor",
    "quantize_per_tensor": ".quantized_tensor", "quantize_per_tensor_dynamic": ".quantized_tensor", "vmap": ".func",
}  # fmt: skip
"""Names that few programs ask for, and the modules that have them."""


_load_later = _lazy_attributes(__name__, _LATER, _NAMES_LATER)
_NAME = __name__  # which programs that are run on this library see as "torch"


def __getattr__(name: str) -> Any:
    if name == "torch":  # as programs that write torch.torch.Tensor expect
        return import_module(_NAME)
    return _load_later(name)
