"""Reductions over the elements that a mask lets through, and tensors that know their mask."""

from .maskedtensor import MaskedTensor as MaskedTensor
from .maskedtensor import as_masked_tensor as as_masked_tensor
from .maskedtensor import is_masked_tensor as is_masked_tensor
from .maskedtensor import masked_tensor as masked_tensor
from .reductions import amax as amax
from .reductions import amin as amin
from .reductions import argmax as argmax
from .reductions import argmin as argmin
from .reductions import cumprod as cumprod
from .reductions import cumsum as cumsum
from .reductions import log_softmax as log_softmax
from .reductions import logaddexp as logaddexp
from .reductions import logsumexp as logsumexp
from .reductions import mean as mean
from .reductions import median as median
from .reductions import norm as norm
from .reductions import normalize as normalize
from .reductions import prod as prod
from .reductions import softmax as softmax
from .reductions import softmin as softmin
from .reductions import std as std
from .reductions import sum as sum
from .reductions import var as var
