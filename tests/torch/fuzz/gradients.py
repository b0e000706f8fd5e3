"""Known differences in the gradients of calls that both libraries answer."""

from __future__ import annotations

from dataclasses import replace

import torch as real

from ..oracle import leaves
from .calls import Call
from .difference import (
    Difference,
    has_blank,
    has_empty,
    has_larger_source,
    has_long,
    has_nan_number,
    has_tiny,
    has_type,
    has_zero,
    is_complex,
    is_deficient,
    is_extreme,
    no_freedom,
    not_finite,
    not_finite_places,
)
from .judging import of_twin


def with_float_exponents(call: Call) -> Call:
    """The same call of `ldexp` with exponents of the first tensor's type."""
    args, kind = call.args, call.args[0].dtype
    if len(args) > 1:
        return replace(call, args=[args[0], args[1].to(kind)])
    return replace(call, kwargs={"other": call.kwargs["other"].to(kind)})


GRADIENTS = (
    Difference(
        "PyTorch has a gradient with respect to the source of a scatter only if the index has the source's shape.",
        "gradient values",
        names=r"(Tensor\.)?scatter_reduce_?",
        text="gradient of input [23]",
        when=lambda call: (
            any(
                isinstance(v, str) and v in ("amax", "amin", "prod")
                for v in (*call.args, *call.kwargs.values())
            )
            and has_larger_source(call)
        ),
    ),
    Difference(
        "PyTorch's gradient of `cumprod` of complex numbers as real ones is that of the complex product.",
        "gradient values",
        names=r"(Tensor\.)?cumprod",
        when=lambda call: (
            is_complex(call) and call.run(real, call.args, call.kwargs).is_floating_point()
        ),
    ),
    Difference(
        "PyTorch's derivative of `celu` rounds `alpha` to float32, and those of `elu_` with a negative `scale` and of "
        "`celu_` with an infinite `alpha` use another number than the given one.",
        "gradient (accepted|values)",
        names=r"(nn\.functional\.)?(celu|elu)_?",
        when=lambda call: any(
            isinstance(v, (int, float)) and (v < 0 or float(real.tensor(v).float()) != v)
            for v in (*call.args, *call.kwargs.values())
        ),
    ),
    Difference(
        "PyTorch's derivatives of `xlogy` and `xlog1py` compute the logarithm of an integer in float32.",
        "gradient values",
        names=r"(Tensor\.|special\.)?xlog(1p)?y_?",
        when=lambda call: any(
            not (t.is_floating_point() or t.is_complex()) for t in leaves((call.args, call.kwargs))
        ),
        finite=True,
    ),
    Difference(
        "PyTorch's gradients of `binary_cross_entropy_with_logits`, and of `normalize` in half precision, overflow "
        "before they are scaled.",
        "gradient values",
        names=r"(nn\.functional\.)?(binary_cross_entropy_with_logits|normalize)",
        text=r"\(-?\d[^)]*\), expected .*\(-?inf\)",
        when=lambda call: is_extreme(call) or has_type(real.float16)(call),
        finite=True,
    ),
    Difference(
        "PyTorch's gradient of `as_strided_scatter` with respect to its input goes to the overwritten elements.",
        "gradient values",
        names=r"(Tensor\.)?as_strided_scatter",
        text="gradient of input 0",
    ),
    Difference(
        "PyTorch's gradient of `as_strided_scatter` with respect to its source is read as if the input were "
        "contiguous.",
        "gradient values",
        names=r"(Tensor\.)?as_strided_scatter",
        text="gradient of input 1",
        when=lambda call: not call.args[0].is_contiguous(),
    ),
    Difference(
        "PyTorch's gradient of `soft_margin_loss`, exp(-xy) / (1 + exp(-xy)), overflows in between.",
        "gradient values",
        names=r"nn\.functional\.soft_margin_loss",
        text=r"\(-?\d[^)]*\), expected .*\((-?inf|nan)\)",
        finite=True,
    ),
    Difference(
        "PyTorch's gradients of `softplus` with a threshold above the range of exp, and of `soft_margin_loss` with "
        "unsigned or boolean targets, overflow, wrap around or fail.",
        "gradient values",
        names=r"nn\.functional\.softplus",
        text=r"expected .*\(nan\)",
        finite=True,
    ),
    Difference(
        "PyTorch's gradients of `softplus` with a threshold above the range of exp, and of `soft_margin_loss` with "
        "unsigned or boolean targets, overflow, wrap around or fail.",
        "gradient (values|accepted)",
        names=r"nn\.functional\.soft_margin_loss",
        when=has_type(real.uint8, real.bool),
    ),
    Difference(
        "The derivative of the factors of a singular matrix is undefined.",
        "gradient values",
        names=r"(Tensor\.|linalg\.)?qr",
        when=lambda call: any(0 in t.stride() for t in leaves(call.args[:1])),
    ),
    Difference(
        "Eigenvectors and singular vectors are determined only up to sign or phase.",
        "gradient values",
        names=r"(linalg\.|Tensor\.)?(eigh?|svd|pca_lowrank|svd_lowrank|lobpcg)",
    ),
    Difference(
        "The derivative of a product with infinite elements and two zeros is NaN; PyTorch's `prod` returns 0.",
        "gradient values",
        names=r"(Tensor\.)?prod",
        text=r"\(-?nan",
        when=lambda call: not_finite(call) and has_zero(call),
    ),
    Difference(
        "A label of `ctc_loss` that is the blank is counted once or twice at the last step.",
        "gradient values",
        names=r"(nn\.functional\.)?ctc_loss",
        when=has_blank,
    ),
    Difference(
        "PyTorch's gradient of `rms_norm` of numbers whose squares overflow is infinity times 0.",
        "gradient values",
        names=r"(nn\.functional\.)?rms_norm",
        text=r"\(-?0\.0\), expected .*\(nan\)",
        when=is_extreme,
        finite=True,
    ),
    Difference(
        "PyTorch's derivative of `xlogy` at 0 is 0 also if the logarithm is NaN.",
        "gradient values",
        names=r"(Tensor\.|special\.)?xlogy_?",
        text=r"\(nan\), expected .*\(0\.0\)",
        when=has_nan_number,
    ),
    Difference(
        "The derivative of the power 0.5 at -0 is infinite with either sign, in half precision and in float32.",
        "gradient values",
        names=r"(Tensor\.)?(pow|float_power|__i?pow__)_?",
        text=r"\(-?inf\), expected .*\(-?inf\)",
        when=has_zero,
    ),
    Difference(
        "The derivative of the log-determinant of a singular matrix does not exist; PyTorch's is infinite.",
        "gradient values",
        names=r"(Tensor\.|linalg\.)?(logdet|slogdet)",
        text=r"expected .*inf",
        when=is_deficient,
    ),
    Difference(
        "PyTorch's gradient of the determinant of a singular matrix is 0, not the cofactors.",
        "gradient values",
        names=r"(Tensor\.|linalg\.)?det",
        text=r"expected .*\(-?0(\.0)?[-+0.j]*\)",
        when=is_deficient,
        elsewhere=lambda call: [
            (real.linalg.matrix_rank(a.detach()) < a.shape[-1])[..., None, None].expand(a.shape)
            for a in leaves((call.args[:1], call.kwargs))
        ],
    ),
    Difference(
        "PyTorch's gradient of `lu_solve` with singular factors is NaN even if there is nothing to solve.",
        "gradient values",
        names=r"(Tensor\.|linalg\.)?lu_solve",
        text=r"\(-?0\.0\), expected .*\(nan\)",
        when=has_empty,
        finite=True,
    ),
    Difference(
        "PyTorch's gradient of `binary_cross_entropy` in half precision is infinite with the other sign at -0.",
        "gradient values",
        names=r"nn\.functional\.binary_cross_entropy",
        text=r"\(-inf\), expected .*\(inf\)",
        when=has_type(real.float16),
        elsewhere=lambda call: [
            (t == 0) & t.signbit() for t in leaves((call.args[:1], call.kwargs.get("input")))
        ],
    ),
    Difference(
        "PyTorch's gradient of powers of a number from 2**63 on is NaN.",
        "gradient values",
        names=r"(Tensor\.)?(pow|__rpow__)",
        text=r"expected .*\(nan\)",
        when=has_long,
        finite=True,
    ),
    Difference(
        "PyTorch's gradient of `polar` has the wrong sign for a negative length, and is 0 or NaN for one whose square "
        "underflows or overflows.",
        "gradient values",
        names="polar",
        text="gradient of input 0",
        elsewhere=lambda call: [
            ~((t > real.finfo(t.dtype).tiny ** 0.5) & (t < real.finfo(t.dtype).max ** 0.5))
            for t in leaves((call.args[:1], call.kwargs.get("abs")))
        ],
    ),
    Difference(
        "PyTorch's gradient of `narrow_copy` with a negative start is 0.",
        "gradient values",
        names=r"(Tensor\.)?narrow_copy",
        instead=of_twin("narrow"),
    ),
    Difference(
        "PyTorch's gradient of `native_dropout` with `train=None` is not scaled, although the result is.",
        "gradient values",
        names="native_dropout",
        when=lambda call: (*call.args[2:], call.kwargs.get("train"))[0] is None,
        instead=lambda call: replace(
            call, args=call.args[:2], kwargs={**call.kwargs, "train": True}
        ),
    ),
    Difference(
        "PyTorch's gradient of `var` and `std` over an empty list of dimensions, which means all, divides by 1.",
        "gradient values",
        names=r"(Tensor\.)?(var|std)(_mean)?",
        when=lambda call: any(
            v in ([], ())
            for v in (*call.args[1:2], call.kwargs.get("dim"))
            if type(v) in (list, tuple)
        ),
    ),
    Difference(
        "PyTorch's derivative of `logit` at 0 and -0 is infinite with a sign that depends on the position in memory.",
        "gradient values",
        names=r"(Tensor\.|special\.)?logit_?",
        text=r"\(-?inf\), expected .*\(-?inf\)",
        when=has_zero,
    ),
    Difference(
        "If numbers overflow or are infinite, a gradient that is infinite by one formula is NaN by another.",
        "gradient values",
        text=r"\((-?inf|nan)\), expected .*\((-?inf|nan)\)",
        when=is_extreme,
        finite=True,
    ),
    Difference(
        "The derivatives of `logit`, `hardswish`, `hardtanh`, `relu6`, `hardshrink`, `softshrink`, `elu`, `celu` and "
        "`selu` at NaN are NaN or a number in PyTorch, which depends on the position in memory.",
        "gradient values",
        names=r"(special\.|Tensor\.|nn\.functional\.)?(logit|hardswish|hardtanh|relu6|hardshrink|softshrink|elu|celu|selu)_?",
        elsewhere=not_finite_places,
    ),
    Difference(
        "The derivatives of `i1` and `i1e` at NaN are numbers in PyTorch.",
        "gradient values",
        names=r"special\.i1e?",
        text=r"\(nan\)",
        when=not_finite,
    ),
    Difference(
        "PyTorch's gradient of `ldexp` with integer exponents is an integer power: 0 for negative ones, and with "
        "overflow.",
        "gradient values",
        names=r"(Tensor\.)?ldexp_?",
        instead=with_float_exponents,
    ),
    Difference(
        "The derivative of a variance without degrees of freedom is infinite or NaN, depending on the formula.",
        "gradient values",
        names=r"(Tensor\.)?(var|std)(_mean)?",
        text=r"expected .*(nan|inf)",
        when=no_freedom,
    ),
    Difference(
        "PyTorch's gradient of `embedding_bag` with `scale_grad_by_freq` divides by another row's count.",
        "gradient values",
        names=r"(nn\.functional\.)?_?embedding_bag(_forward_only)?",
        when=lambda call: (
            call.kwargs.get("scale_grad_by_freq")
            or (*call.args, *[None] * 6)[5 if "functional" in call.name else 3] is True
        ),
    ),
    Difference(
        "Which of several equal elements is found is not specified.",
        "gradient values",
        names=r"(Tensor\.)?(nan)?quantile",
        when=lambda call: call.args[0].unique().numel() < call.args[0].numel(),
    ),
    Difference(
        "A quotient by a number near 0 that overflows is infinite by one formula and NaN by another.",
        "gradient values",
        names=r"linalg\.(lu_solve|qr)|(Tensor\.)?(lu_solve|qr)",
        text=r"\((-?inf|nan)\), expected .*\((-?inf|nan)\)",
        when=lambda call: is_deficient(call) or has_tiny(call) or is_extreme(call),
        finite=True,
    ),
    Difference(
        "The derivative of the factor that `cholesky_ex` returns for a matrix that is not positive definite is "
        "undefined.",
        "gradient values",
        names=r"linalg\.cholesky_ex",
        when=lambda call: bool(real.linalg.cholesky_ex(call.args[0].detach()).info.any()),
    ),
    Difference(
        "The gradient of eigenvalues whose ratio exceeds the precision of the dtype is lost in MKL's eigenvectors.",
        "gradient values",
        names=r"linalg\.eigvals",
        when=is_extreme,
    ),
    Difference(
        "PyTorch's gradient of a distance divides by it last: NaN if the product before overflows.",
        "gradient values",
        names=r"cdist|(nn\.functional\.)?pdist",
        text=r"expected .*\(nan\)",
        when=is_extreme,
        finite=True,
    ),
)
"""Known differences in the gradients of calls that both libraries answer."""
