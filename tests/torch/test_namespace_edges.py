"""What `nn.functional`, `fft`, `linalg` and `special` take and refuse: rows as in `test_edges`."""

from __future__ import annotations

from typing import Any

from .test_edges import INF, NAN, Call, check, with_gradients

ODD = [0.0, 1.0, 2.0, -1.0, NAN, 0.5, 0.7, INF, -INF]


def functional(name: str, first: Any, *args: Any, **options: Any) -> Call:
    """The row of a function of `nn.functional`; for its first argument, a shape stands for ones."""
    return lambda t: getattr(t.nn.functional, name)(
        t.ones(first) if isinstance(first, tuple) else first, *args, **options
    )


def normed(name: str, kind: str, *parameters: str) -> Call:
    """The row of a norm whose weight and bias are of other types than its input."""
    before = {"group_norm": (2,), "layer_norm": ((4,),), "batch_norm": (None, None)}[name]

    def run(t: Any) -> Any:
        x = (t.arange(48.0) % 5).reshape(3, 4, 4).to(getattr(t, kind))
        affine = (t.ones(4, dtype=getattr(t, k)) for k in parameters)
        return getattr(t.nn.functional, name)(
            x, *before, *affine, **({"training": True} if name == "batch_norm" else {})
        )

    return run


def mixed_loss(t: Any, name: str, input: str, target: str) -> Any:
    """A loss of two types: its type, and its value to float32, in which one of the two is given."""
    ones = (t.ones(2, dtype=getattr(t, kind)) for kind in (input, target))
    loss = getattr(t.nn.functional, name)(*ones)
    return t.zeros(0, dtype=loss.dtype), loss.float()


def weighed(
    name: str, dtype: str = "float32", wants: bool = False, argument: str = "weight"
) -> Call:
    """The row of a loss with a weight of some type, which may want a gradient."""

    def run(t: Any) -> Any:
        target = (
            t.tensor([0, 1])
            if name in ("nll_loss", "cross_entropy", "multi_margin_loss")
            else t.ones(2, 3)
        )
        weight = t.ones(3, dtype=getattr(t, dtype)).requires_grad_(wants)
        return getattr(t.nn.functional, name)(t.ones(2, 3) / 2, target, **{argument: weight})

    return run


def pivoted(name: str, pivots: list[int], *rest: Any, dtype: str = "int32") -> Call:
    """The row of a function that takes pivots."""
    return lambda t: getattr(t.linalg if "solve" in name else t, name)(
        t.eye(3),
        t.tensor(pivots, dtype=getattr(t, dtype)),
        *(rest or (t.ones(3, 1),) * ("solve" in name)),
    )


LOSSES = "nll_loss cross_entropy multi_margin_loss".split()
POLYNOMIALS = [f"{s}chebyshev_polynomial_{k}" for s in ("", "shifted_") for k in "tuvw"] + [
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]  # fmt: skip

NAMESPACES: list[Call] = [
    *(lambda t, n=n, k=k: getattr(t.special, n)(t.tensor([1.0, -1.0, 0.5, 2.0, 0.0, 0.3, INF], dtype=t.float64), k)
      for n in POLYNOMIALS for k in (0, 1, 5, 9, -1, 2.7)),
    *(lambda t, n=n: getattr(t.special, n)(t.tensor([1.0, -1.0, 2.0, INF]), 2**31 - 5) for n in POLYNOMIALS[:3]),
    *(lambda t, n=n: getattr(t.special, n)(0.5, t.tensor([NAN, INF, -INF, 1e300], dtype=t.float64)) for n in POLYNOMIALS),
    *(with_gradients(lambda t, x, e=e: t.special.logit(x, e), [x for x in ODD if x == x]) for e in (None, 0.6, 0.1, 0.0, -1.0)),
    lambda t: t.special.logit(t.tensor(ODD), NAN),
    with_gradients(lambda t, x: t.special.sinc(x), [-1e-4, 0.0, 0.3, -2.0, 1e-200]),
    lambda t: t.special.multigammaln(t.tensor([True]), 1),
    *(with_gradients(lambda t, x, n=n, o=o: getattr(t.nn.functional, n)(x, t.zeros(9, dtype=t.float64), reduction="none", **o), ODD)
      for n, o in (("huber_loss", {"delta": 0.7}), ("smooth_l1_loss", {"beta": 0.7}), ("smooth_l1_loss", {"beta": 0}))),
    *(lambda t, n=n, k=k: getattr(t.fft, n)(t.ones(3), n=k) for n in ("fft", "rfft", "hfft", "irfft", "ihfft") for k in (-1, 0)),
    *(lambda t, k=k: t.fft.rfftfreq(k) for k in (-1, -2, -4, 0)), lambda t: t.fft.fftfreq(-1),
    lambda t: t.fft.fftfreq(3, dtype=t.complex64), lambda t: t.fft.fftshift(t.ones(())), lambda t: t.fft.ifftshift(t.ones(3), []),
    lambda t: t.fft.ifftshift(t.arange(6).reshape(3, 2), [-1, 0, -2, -1]),
    lambda t: t.linalg.cross(t.ones(3), t.ones(3).double()), lambda t: t.linalg.svdvals(t.ones(2, 2), driver="gesvd"),
    *(pivoted(n, p) for n in ("lu_unpack", "lu_solve", "ldl_solve") for p in ([1, 2, 9], [1, 2, 0], [1, 2, -9])),
    pivoted("lu_unpack", [1, 2, 9], True, False), pivoted("lu_unpack", [1, 2, 9], True, False, dtype="int64"),
    *(normed(n, k, *p) for n in ("layer_norm", "group_norm", "batch_norm") for k in ("float32", "float16")
      for p in (("float32", "float32"), ("float64", "float64"), ("float32", "float16"), ("float16", "float16"))),
    *(weighed(n, k, w) for n in LOSSES for k, w in (("float64", False), ("int64", False), ("float32", True))),
    weighed("binary_cross_entropy", wants=True), weighed("binary_cross_entropy_with_logits", wants=True),
    lambda t: t.nn.functional.nll_loss(t.tensor([1.0, 2.0]), t.tensor([0]), reduction="none"),
    lambda t: t.nn.functional.mse_loss(t.ones(2), t.zeros(2), reduce=False, weight=t.ones(2)),
    lambda t: t.nn.functional.hardtanh_(t.tensor([-1.0, 1.0, NAN]), 1.0, -1.0), functional("hardtanh", (2,), 1.0, -1.0),
    lambda t: t.nn.functional.elu_(t.tensor([-1.0, 1.0]), 1.0, 2.0, 3.0), lambda t: t.nn.functional.gumbel_softmax(t.ones(2).int()),
    lambda t: t.nn.functional.linear(t.ones(2, 2), t.ones(2, 2), out=t.zeros(2, 2)),
    *(functional(f"adaptive_{k}_pool2d", (1, 2, 4, 4), s) for k in ("max", "avg") for s in (2, (2,), (2, None), (0, 0), None, True, (2.5, 2), (1,) * 4)),
    functional("adaptive_max_pool1d", (1, 2, 4), (None,)), functional("fractional_max_pool2d", (1, 2, 4, 4), 4, 0),
    *(functional(n, (1, 2, 4, 4), 1, 2**40) for n in ("avg_pool2d", "max_pool2d")), functional("lp_pool1d", (1, 2, 4), 4, 1, 2**40),
    functional("max_pool2d", (1, 2, 4, 4), 2, ceil_mode=1), functional("max_pool2d", [1.0], 2),
    *(functional(n, (2, 4), *a, **o) for n, a, o in (
        ("group_norm", (2,), {"eps": "word"}), ("dropout", ("word",), {}), ("embedding", (True,), {}), ("glu", (1.5,), {}),
        ("layer_norm", (4,), {}), ("softmax", (), {"dtype": 1}), ("leaky_relu", ((),), {}), ("pad", (1,), {}), ("normalize", (2.0, 1), {}))),
    *(lambda t, n=n, k=k, z=z: getattr(t.ones(z, dtype=getattr(t, k)), n)(*((0.5,) * (n == "geometric_"))).dtype == getattr(t, k)
      for n in ("uniform_", "normal_", "log_normal_", "exponential_", "cauchy_", "geometric_") for k in ("int32", "complex64", "float16") for z in (2, 0)),
    *(lambda t, n=n, k=k, r=r: getattr(t.nn.functional, n)(t.ones(2, dtype=getattr(t, k)), t.ones(2, dtype=getattr(t, k)), reduction=r)
      for n in ("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "soft_margin_loss", "hinge_embedding_loss")
      for k in ("int64", "complex64", "float16") for r in ("mean", "sum") if (n[0], k[0]) not in (("l", "c"), ("s", "c"), ("h", "c"))),
    *(lambda t, n=n: getattr(t.special, n)(t.ones(2, dtype=t.complex64)) for n in (
        "i0", "i0e", "i1", "erf", "erfc", "ndtr", "logit", "entr", "gammaln", "digamma", "bessel_j0", "expit")),
    lambda t: t.special.zeta(2j, t.ones(2)), lambda t: t.special.xlogy(t.ones(2) * 1j, 1), lambda t: t.special.round(t.ones(2).long(), decimals=1),
    lambda t: t.nn.functional.dropout(t.ones(2) * 1j), lambda t: t.nn.init.uniform_(t.ones(2).int()),
    lambda t: t.nn.functional.adaptive_avg_pool2d(t.ones(2).int(), (1, 1)), functional("pdist", (2, 2), NAN),
    *(lambda t, n=n, a=a, b=b: mixed_loss(t, n, a, b)
      for n in ("soft_margin_loss", "binary_cross_entropy_with_logits")
      for a, b in (("float32", "float64"), ("float64", "float32"), ("float32", "int64"), ("float32", "bool"))),
    lambda t: t.nn.functional.binary_cross_entropy(t.ones(2), t.tensor([2.0, 0.0])), *(lambda t, n=n: getattr(t.nn.functional, n)(t.tensor([0.0, -1.0, 1.0]), INF) for n in ("elu", "celu")),
    lambda t: t.nn.functional.binary_cross_entropy_with_logits(t.ones(2), t.ones(2), t.ones(2, 2)), functional("hardtanh", (2,), NAN, 1.0),
    lambda t: t.nn.functional.alpha_dropout(t.ones(2).int(), training=True),
    lambda t: t.nn.functional.multi_margin_loss(t.tensor([[1.0, NAN, 2.0]]), t.tensor([0])),
    lambda t: t.nn.functional.multilabel_margin_loss(t.tensor([1.0, NAN, 2.0]), t.tensor([0, 2, -1])),
    *(lambda t, s=s, i=i: t.linalg.tensorinv(t.ones(s), i) for s in ((), (1,), (1, 1)) for i in (2, 5)),
    lambda t: t.linalg.vecdot(t.ones(2).int(), t.ones(2).int()),
    lambda t: t.linalg.ldl_solve(t.eye(2), t.tensor([1, 2]).int(), t.ones(2, 1).double()),
    *(lambda t, i=i, s=s: t.nn.functional.embedding(t.ones(1).long(), t.ones(s), i) for i in (0, -1, 5) for s in ((3, 2), (0,))),
]  # fmt: skip


def test_edges() -> None:
    for i, call in enumerate(NAMESPACES):
        try:
            check(call)
        except Exception as e:
            raise AssertionError(f"row {i}: {e}") from e
