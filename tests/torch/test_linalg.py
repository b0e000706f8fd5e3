"""Linear algebra against PyTorch: values, first and second derivatives, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as real

import minitorch.torch

from .oracle import compare, to_ours

ours: Any = minitorch.torch

ROUNDED = 4096.0  # factors of matrices magnify the rounding of their elements
KINDS = [real.float64, real.complex128]
BATCHES: list[tuple[int, ...]] = [(2,)]


def matrix(*shape: int, dtype: Any = real.float64, seed: int = 0) -> Any:
    """A random matrix; square ones are far from singular, with distinct eigenvalues."""
    generator = real.Generator().manual_seed(seed)
    made = real.randn(shape, dtype=dtype, generator=generator)
    if shape[-1] == shape[-2]:
        made = made + real.diag(real.arange(1.0, shape[-1] + 1) * 3).to(dtype)
    return made.requires_grad_()


def positive(*shape: int, dtype: Any = real.float64) -> Any:
    half = matrix(*shape, dtype=dtype).detach()
    return (half @ half.mH).requires_grad_()


def agree(name: str, *args: Any, then: Any = None, double: bool = True, **kwargs: Any) -> None:
    """Compare a function of both libraries, given by its dotted name."""

    def resolved(root: Any) -> Any:
        for part in name.split("."):
            root = getattr(root, part)
        return root if then is None else lambda *a, **k: then(root(*a, **k))

    compare(resolved(ours), resolved(real), args, kwargs, what=name, ulps=ROUNDED, double=double)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("batch", BATCHES)
class TestSquare:
    @pytest.mark.parametrize(
        "name",
        ["linalg.inv", "linalg.inv_ex", "linalg.det", "linalg.slogdet", "logdet", "matrix_exp", "linalg.eigvals",
         "linalg.lu_factor", "linalg.lu"],
    )  # fmt: skip
    def test_of_one_matrix(self, name: str, batch: tuple[int, ...], dtype: Any) -> None:
        agree(name, matrix(*batch, 3, 3, dtype=dtype))

    @pytest.mark.parametrize("n", [-2, 0, 1, 2, 6])
    def test_matrix_power(self, n: int, batch: tuple[int, ...], dtype: Any) -> None:
        agree("linalg.matrix_power", matrix(*batch, 3, 3, dtype=dtype), n)

    @pytest.mark.parametrize("left", [True, False])
    def test_solve(self, left: bool, batch: tuple[int, ...], dtype: Any) -> None:
        B = matrix(3, 4, dtype=dtype, seed=1) if left else matrix(4, 3, dtype=dtype, seed=1)
        agree("linalg.solve", matrix(*batch, 3, 3, dtype=dtype), B, left=left)

    @pytest.mark.parametrize("upper", [True, False])
    @pytest.mark.parametrize("left", [True, False])
    @pytest.mark.parametrize("unitriangular", [True, False])
    def test_solve_triangular(
        self, upper: bool, left: bool, unitriangular: bool, batch: tuple[int, ...], dtype: Any
    ) -> None:
        B = matrix(*(3, 2) if left else (2, 3), dtype=dtype, seed=1)
        A = matrix(*batch, 3, 3, dtype=dtype)
        agree("linalg.solve_triangular", A, B, upper=upper, left=left, unitriangular=unitriangular)

    @pytest.mark.parametrize("upper", [True, False])
    def test_cholesky(self, upper: bool, batch: tuple[int, ...], dtype: Any) -> None:
        A = positive(*batch, 3, 3, dtype=dtype)
        agree("linalg.cholesky", A, upper=upper)
        agree("cholesky_inverse", A, upper)
        agree("cholesky_solve", matrix(3, 2, dtype=dtype, seed=1), A, upper)

    def test_eigen(self, batch: tuple[int, ...], dtype: Any) -> None:
        A = positive(*batch, 3, 3, dtype=dtype)

        def well_defined(result: Any) -> Any:
            return result[0], abs(result[1])

        agree("linalg.eigh", A, then=well_defined)
        agree("linalg.eigvalsh", A)
        agree("linalg.eig", matrix(*batch, 3, 3, dtype=dtype), then=well_defined)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", [(2, 4, 3), (3, 5)])
class TestAnyShape:
    def test_qr(self, shape: tuple[int, ...], dtype: Any) -> None:
        agree("linalg.qr", matrix(*shape, dtype=dtype))
        if shape[-2] <= shape[-1]:
            agree("linalg.qr", matrix(*shape, dtype=dtype), mode="complete")
        agree("linalg.qr", matrix(*shape, dtype=dtype).detach(), mode="r")

    @pytest.mark.parametrize("full", [True, False])
    def test_svd(self, full: bool, shape: tuple[int, ...], dtype: Any) -> None:
        def well_defined(result: Any) -> Any:
            U, S, Vh = result
            k = S.shape[-1]
            return U[..., :k] @ Vh[..., :k, :], S

        agree("linalg.svd", matrix(*shape, dtype=dtype), full_matrices=full, then=well_defined)
        agree("linalg.svdvals", matrix(*shape, dtype=dtype))

    def test_pinv_and_lstsq(self, shape: tuple[int, ...], dtype: Any) -> None:
        agree("linalg.pinv", matrix(*shape, dtype=dtype))
        B = matrix(*shape[:-1], 2, dtype=dtype, seed=1)
        for driver in ("gels", "gelsy", "gelsd"):
            agree("linalg.lstsq", matrix(*shape, dtype=dtype), B, driver=driver)

    def test_lu(self, shape: tuple[int, ...], dtype: Any) -> None:
        agree("linalg.lu", matrix(*shape, dtype=dtype))

    @pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
    def test_matrix_norm(self, order: Any, shape: tuple[int, ...], dtype: Any) -> None:
        for keepdim in (False, True):
            agree("linalg.matrix_norm", matrix(*shape, dtype=dtype), order, keepdim=keepdim)

    @pytest.mark.parametrize("order", [0, 0.5, 1, 1.5, 2, 3, np.inf, -np.inf])
    def test_vector_norm(self, order: Any, shape: tuple[int, ...], dtype: Any) -> None:
        for dim in (None, 0, (0, 1)):
            agree("linalg.vector_norm", matrix(*shape, dtype=dtype), order, dim)


def test_determinants_of_singular_matrices_have_cofactors() -> None:
    A = ours.tensor(
        [[[1.0, 2.0], [2.0, 4.0]], [[0.0, 0.0], [0.0, 3.0]], [[1.0, 2.0], [3.0, 4.0]]],
        requires_grad=True,
    )
    ours.linalg.det(A).sum().backward()
    ours.testing.assert_close(
        A.grad,
        ours.tensor(
            [[[4.0, -2.0], [-2.0, 1.0]], [[3.0, 0.0], [0.0, 0.0]], [[4.0, -3.0], [-2.0, 1.0]]]
        ),
    )


def test_norms_of_zero_have_zero_gradients() -> None:
    for order in (1, 2, 3, np.inf):
        agree(
            "linalg.vector_norm",
            real.zeros(3, dtype=real.float64, requires_grad=True),
            order,
            double=False,
        )


def test_torch_norm_and_dist() -> None:
    x, y = matrix(2, 3), matrix(2, 3, seed=1)
    for p in ("fro", "nuc", 1, 2.5, float("inf")):
        agree("norm", x, p)
    agree("norm", x, 2, 1, True)
    agree("norm", x, dtype=real.float64)
    agree("dist", x, y, 3)
    assert ours.tensor([3.0, 4.0]).norm().item() == 5


@pytest.mark.parametrize("dtype", KINDS)
def test_products_and_views(dtype: Any) -> None:
    a, b = matrix(2, 3, dtype=dtype), matrix(2, 3, dtype=dtype, seed=1)
    agree("trace", matrix(3, 3, dtype=dtype))
    agree("linalg.cross", a, b)
    agree("cross", a, b, dim=1)
    agree("linalg.vecdot", a, b)
    agree("linalg.vander", a, N=4)
    agree("linalg.diagonal", matrix(2, 3, 3, dtype=dtype), offset=1)
    agree("linalg.multi_dot", [a, matrix(3, 4, dtype=dtype), matrix(4, 2, dtype=dtype)])
    agree(
        "linalg.tensorinv",
        matrix(6, 6, dtype=dtype).detach().reshape(2, 3, 6).requires_grad_(),
        ind=2,
    )
    agree(
        "linalg.tensorsolve",
        matrix(6, 6, dtype=dtype).detach().reshape(2, 3, 6).requires_grad_(),
        a,
    )


def test_reflections() -> None:
    A, tau = real.geqrf(matrix(4, 3).detach())
    A, tau = A.requires_grad_(), tau.requires_grad_()
    agree("geqrf", matrix(4, 3).detach())
    agree("linalg.householder_product", A, tau)
    for left, transpose in [(True, False), (True, True), (False, False), (False, True)]:
        other = matrix(*(4, 2) if left else (2, 4), seed=2)
        agree("ormqr", A, tau, other, left, transpose)


def test_lu_and_ldl_solve() -> None:
    A, B = matrix(2, 3, 3), matrix(2, 3, 2, seed=1)
    LU, pivots = real.linalg.lu_factor(A.detach())
    for adjoint in (False, True):
        agree("linalg.lu_solve", LU.clone().requires_grad_(), pivots, B, adjoint=adjoint)
    agree("lu_unpack", LU.clone().requires_grad_(), pivots)
    agree(
        "linalg.lu_solve",
        LU.clone().requires_grad_(),
        pivots,
        B.mT.detach().requires_grad_(),
        left=False,
    )
    S = positive(3, 3).detach()
    agree("linalg.ldl_factor", S)
    agree("linalg.ldl_solve", *real.linalg.ldl_factor(S), matrix(3, 2).detach())


def test_rank_and_condition() -> None:
    low = matrix(4, 2).detach() @ matrix(2, 4, seed=1).detach()
    options: list[dict[str, Any]] = [{}, {"atol": 1e-3}, {"rtol": 0.9}, {"hermitian": True}]
    for kwargs in options:
        agree("linalg.matrix_rank", low @ low.mT, **kwargs)
    for p in (None, 1, 2, -2, "fro", "nuc", float("inf")):
        agree("linalg.cond", matrix(3, 3), p)


def test_single_precision_stays_single() -> None:
    A = ours.tensor([[2.0, 1.0], [1.0, 3.0]])
    for result in (
        ours.linalg.inv(A),
        ours.linalg.svd(A).S,
        ours.linalg.det(A),
        ours.linalg.qr(A).Q,
    ):
        assert result.dtype is ours.float32
    assert ours.linalg.eig(A).eigenvalues.dtype is ours.complex64


def test_results_have_names_and_out() -> None:
    A = ours.tensor([[2.0, 1.0], [1.0, 3.0]])
    U, S, Vh = ours.linalg.svd(A)
    assert ours.linalg.svd(A).S.tolist() == S.tolist()
    ours.testing.assert_close(U @ ours.diag(S) @ Vh, A)
    out = ours.empty(2, 2)
    assert ours.linalg.inv(A, out=out) is out
    ours.testing.assert_close(out @ A, ours.eye(2))


SINGULAR = real.ones(2, 2)
WRONG = [
    ("linalg.inv", (SINGULAR,)),
    ("linalg.inv", (real.stack([real.eye(2), SINGULAR]),)),
    ("linalg.solve", (SINGULAR, real.ones(2))),
    ("linalg.cholesky", (-real.eye(3),)),
    ("linalg.lu_factor", (real.zeros(2, 2),)),
    ("linalg.inv", (real.ones(2, 3),)),
    ("linalg.det", (real.ones(3),)),
    ("linalg.det", (real.ones(3, 3, dtype=real.int64),)),
    ("linalg.det", (real.ones(3, 3, dtype=real.float16),)),
    ("linalg.solve", (real.eye(3), real.ones(2, 2))),
    ("linalg.solve", (real.eye(3), real.ones(3, 2, dtype=real.float64))),
    ("linalg.eigh", (real.ones(2, 3),)),
    ("linalg.eigh", (real.eye(2), "X")),
    ("linalg.qr", (real.eye(2), "none")),
    ("linalg.matrix_norm", (real.ones(3),)),
    ("linalg.matrix_norm", (real.ones(3, 3), 7)),
    ("linalg.matrix_norm", (real.ones(3, 3), "fro", (0, 0))),
    ("linalg.norm", (real.ones(2, 2, 2), 2)),
    ("linalg.vector_norm", (real.ones(0), float("inf"))),
    ("linalg.vector_norm", (real.ones(3, dtype=real.int64),)),
    ("linalg.cross", (real.ones(2, 4), real.ones(2, 4))),
    ("linalg.cross", (real.ones(2, 3), real.ones(3))),
    ("linalg.matrix_power", (real.ones(2, 3), 2)),
    ("linalg.householder_product", (real.ones(2, 3), real.ones(3))),
    ("linalg.lstsq", (real.ones(3, 2), real.ones(4, 2))),
    ("linalg.tensorinv", (real.ones(2, 3, 4),)),
    ("linalg.vander", (real.ones(3), 2)),
    ("trace", (real.ones(3),)),
    ("cross", (real.ones(2, 2), real.ones(2, 2))),
    ("cholesky_solve", (real.ones(3), real.eye(3))),
]


@pytest.mark.parametrize(("name", "args"), WRONG)
def test_wrong_input_raises_what_pytorch_raises(name: str, args: tuple[Any, ...]) -> None:
    agree(name, *args)


def test_linalg_error_names_the_matrix() -> None:
    A = ours.stack([ours.eye(2), ours.ones(2, 2)])
    with pytest.raises(
        ours.linalg.LinAlgError, match=r"linalg.inv: \(Batch element 1\): .*diagonal element 2"
    ):
        ours.linalg.inv(A)
    inverse, info = ours.linalg.inv_ex(A)
    assert info.tolist() == [0, 2]
    assert inverse[0].tolist() == ours.eye(2).tolist()
    assert issubclass(ours.linalg.LinAlgError, RuntimeError)


def test_low_rank_factors_rebuild_a_matrix_of_low_rank() -> None:
    ours.manual_seed(0)
    A = ours.randn(20, 3) @ ours.randn(3, 10)
    for U, S, V in (ours.svd_lowrank(A, 4), ours.pca_lowrank(A, 4, center=False)):
        ours.testing.assert_close(U @ ours.diag(S) @ V.mT, A, rtol=1e-4, atol=1e-4)


def test_views_and_strides_do_not_matter() -> None:
    A = matrix(6, 6).detach()[::2, ::2]
    mine = to_ours(A)
    ours.testing.assert_close(
        ours.linalg.inv(mine), to_ours(real.linalg.inv(A)), rtol=1e-10, atol=1e-10
    )
    ours.testing.assert_close(
        ours.linalg.inv(mine.mT), to_ours(real.linalg.inv(A.mT)), rtol=1e-10, atol=1e-10
    )
