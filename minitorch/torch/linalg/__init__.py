"""Linear algebra, under Torch's names."""

from ..ops.arguments import checked_functions as _checked_functions
from ..ops.linalg.arguments import LinAlgError as LinAlgError
from ..ops.linalg.factorizations import cholesky as cholesky
from ..ops.linalg.factorizations import cholesky_ex as cholesky_ex
from ..ops.linalg.factorizations import householder_product as householder_product
from ..ops.linalg.factorizations import qr as qr
from ..ops.linalg.functions import cross as cross
from ..ops.linalg.functions import diagonal as diagonal
from ..ops.linalg.functions import lstsq as lstsq
from ..ops.linalg.functions import matmul as matmul
from ..ops.linalg.functions import matrix_exp as matrix_exp
from ..ops.linalg.functions import matrix_power as matrix_power
from ..ops.linalg.functions import multi_dot as multi_dot
from ..ops.linalg.functions import pinv as pinv
from ..ops.linalg.functions import tensorinv as tensorinv
from ..ops.linalg.functions import tensorsolve as tensorsolve
from ..ops.linalg.functions import vander as vander
from ..ops.linalg.functions import vecdot as vecdot
from ..ops.linalg.ldl import ldl_factor as ldl_factor
from ..ops.linalg.ldl import ldl_factor_ex as ldl_factor_ex
from ..ops.linalg.ldl import ldl_solve as ldl_solve
from ..ops.linalg.norms import cond as cond
from ..ops.linalg.norms import matrix_norm as matrix_norm
from ..ops.linalg.norms import matrix_rank as matrix_rank
from ..ops.linalg.norms import norm as norm
from ..ops.linalg.norms import vector_norm as vector_norm
from ..ops.linalg.solving import det as det
from ..ops.linalg.solving import inv as inv
from ..ops.linalg.solving import inv_ex as inv_ex
from ..ops.linalg.solving import lu as lu
from ..ops.linalg.solving import lu_factor as lu_factor
from ..ops.linalg.solving import lu_factor_ex as lu_factor_ex
from ..ops.linalg.solving import lu_solve as lu_solve
from ..ops.linalg.solving import slogdet as slogdet
from ..ops.linalg.solving import solve as solve
from ..ops.linalg.solving import solve_ex as solve_ex
from ..ops.linalg.solving import solve_triangular as solve_triangular
from ..ops.linalg.spectra import eig as eig
from ..ops.linalg.spectra import eigh as eigh
from ..ops.linalg.spectra import eigvals as eigvals
from ..ops.linalg.spectra import eigvalsh as eigvalsh
from ..ops.linalg.spectra import svd as svd
from ..ops.linalg.spectra import svdvals as svdvals

globals().update(_checked_functions("linalg", globals()))
