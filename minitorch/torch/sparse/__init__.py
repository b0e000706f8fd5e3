"""Sparse tensors: coordinates and values (`torch.sparse_coo`), rows or columns of them (`sparse_csr` and others), products."""

from .compressed import CompressedTensor as CompressedTensor
from .coo import SparseTensor as SparseTensor
from .functions import check_sparse_tensor_invariants as check_sparse_tensor_invariants
from .functions import log_softmax as log_softmax
from .functions import softmax as softmax
from .functions import spdiags as spdiags
from .functions import sum as sum
from .products import addmm as addmm
from .products import mm as mm
from .semi_structured import SparseSemiStructuredTensor as SparseSemiStructuredTensor
from .semi_structured import to_sparse_semi_structured as to_sparse_semi_structured
