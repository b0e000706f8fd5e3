"""Sparse tensors: coordinates and values (`torch.sparse_coo`), and products with them."""

from .coo import SparseTensor as SparseTensor
from .functions import check_sparse_tensor_invariants as check_sparse_tensor_invariants
from .functions import log_softmax as log_softmax
from .functions import softmax as softmax
from .functions import sparse_coo_tensor as sparse_coo_tensor
from .functions import spdiags as spdiags
from .functions import sum as sum
from .products import addmm as addmm
from .products import mm as mm
