"""Tensors that know which of their elements count.

>>> import minitorch.torch as torch
>>> data, mask = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([True, False, True])
>>> mt = torch.masked.masked_tensor(data, mask)
>>> mt * 2
MaskedTensor(
  [  2.0000,       --,   6.0000]
)
>>> mt.sum()
MaskedTensor(  4.0000, True)
"""

from .core import MaskedTensor as MaskedTensor
from .core import is_masked_tensor as is_masked_tensor
from .creation import as_masked_tensor as as_masked_tensor
from .creation import masked_tensor as masked_tensor
