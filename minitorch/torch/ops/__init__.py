"""All operations: importing a family declares its records."""

from importlib import import_module
from typing import Any

from . import elementwise as elementwise

from . import arithmetic as arithmetic  # isort: skip
from . import analysis as analysis  # isort: skip
from . import comparison as comparison  # isort: skip
from . import copies as copies  # isort: skip
from . import movement as movement  # isort: skip
from . import parts as parts  # isort: skip
from . import strides as strides  # isort: skip
from . import joining as joining  # isort: skip
from . import complex_numbers as complex_numbers  # isort: skip
from . import view_copies as view_copies  # isort: skip
from . import ternary as ternary  # isort: skip
from . import tensor_queries as tensor_queries  # isort: skip
from . import conversion as conversion  # isort: skip
from . import dlpack as dlpack  # isort: skip
from . import memory as memory  # isort: skip
from . import creation as creation  # isort: skip
from . import ranges as ranges  # isort: skip
from . import reduce as reduce  # isort: skip
from . import extremes as extremes  # isort: skip
from . import running as running  # isort: skip
from . import products as products  # isort: skip
from . import indexing as indexing  # isort: skip
from . import scattering as scattering  # isort: skip
from . import rows as rows  # isort: skip
from . import masking as masking  # isort: skip
from . import pointwise_special as pointwise_special  # isort: skip
from . import sorting as sorting  # isort: skip
from . import counting as counting  # isort: skip
from . import statistics as statistics  # isort: skip
from . import softmax as softmax  # isort: skip
from . import activation as activation  # isort: skip
from . import linalg as linalg  # isort: skip
from . import random as random  # isort: skip
from . import linear as linear  # isort: skip
from . import padding as padding  # isort: skip
from . import convolution as convolution  # isort: skip
from . import pooling as pooling  # isort: skip
from . import normalization as normalization  # isort: skip
from . import dropout as dropout  # isort: skip
from . import embedding as embedding  # isort: skip
from . import distance as distance  # isort: skip
from . import loss as loss  # isort: skip
from . import likelihood as likelihood  # isort: skip
from . import densities as densities  # isort: skip
from . import ctc as ctc  # isort: skip
from . import attention as attention  # isort: skip
from . import recurrent as recurrent  # isort: skip
from . import reparametrized as reparametrized  # isort: skip
from . import interpolation as interpolation  # isort: skip
from . import vision as vision  # isort: skip
from . import fake_quantization as fake_quantization  # isort: skip
from . import fourier as fourier  # isort: skip
from . import short_time as short_time  # isort: skip
from . import windows as windows  # isort: skip
from . import special_functions as special_functions  # isort: skip
from . import native as native  # isort: skip
from . import control_flow as control_flow  # isort: skip
from . import segments as segments  # isort: skip
from . import old_names as old_names  # isort: skip
from . import sparsity as sparsity  # isort: skip
from .surface import FUNCTIONS as FUNCTIONS


def __getattr__(name: str) -> Any:
    """`torch.ops.aten`, and the packages of operations that programs declare."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("..library", __name__).namespace(name)
