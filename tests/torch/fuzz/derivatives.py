"""Known differences in what has a derivative: refused by one library, missing, or not recorded."""

from __future__ import annotations

import torch as real

from .difference import (
    Difference,
    has_empty,
    has_long,
    has_type,
    is_complex,
    is_extreme,
)
from .judging import of_twin

DERIVATIVES = (
    Difference(
        "PyTorch lacks a derivative for some in-place functions although the out-of-place ones have one (`asinh_`, "
        "`atanh_`, where dtypes are promoted).",
        "gradient accepted",
        names=r"(Tensor\.)?(a|arc)(sinh|cosh|tanh)_",
        text="inplace version of",
        instead=of_twin(""),
    ),
    Difference(
        "PyTorch's derivative raises an error: integers in `nansum`, `addcdiv` and `addr` beside floating point, "
        "losses whose target is of another dtype.",
        "gradient accepted",
        text="Expected isFloatingType|torch boolean negative|Found dtype|can't be cast to the desired output|must have the same dtype",
    ),
    Difference(
        "PyTorch has no derivative of a function that has one here (0, of random draws).",
        "gradient accepted",
        names=r"(Tensor\.)?(bernoulli|binomial|multinomial|normal|poisson|rrelu\w*|\w*dropout)_?",
        text="derivative for .* is not implemented",
    ),
    Difference(
        "PyTorch's gradient of `vander` raises an error: a saved tensor was modified in place.",
        "gradient accepted",
        names="vander",
        text="modified by an inplace operation",
    ),
    Difference(
        "PyTorch has a gradient with respect to the source of a scatter only if the index has the source's shape.",
        "gradient (accepted|error class)",
        names=r"(Tensor\.)?scatter\w*",
        text="returned an invalid gradient|must match the size of tensor",
    ),
    Difference(
        'PyTorch has no derivative of `scatter` with `reduce="multiply"`, `native_channel_shuffle`, and the remainder '
        "of a number by a tensor; here they have one.",
        "gradient accepted",
        names=r"(Tensor\.)?(scatter_?|native_channel_shuffle|__rmod__|remainder)|nn\.functional\.native_channel_shuffle",
        text="derivative for .* is not implemented",
    ),
    Difference(
        "PyTorch has no derivative of `elu_`, `celu_` and `leaky_relu_` with a negative slope, since it saves only "
        "the result.",
        "gradient accepted",
        text="In-place (elu|leakyReLu) backward calculation is triggered with a negative slope",
    ),
    Difference(
        "PyTorch's derivatives of `clamp` and `binary_cross_entropy_with_logits` fail if the bounds, or the target, "
        "have a larger shape than the input.",
        "gradient accepted",
        names=r"(Tensor\.)?(clamp|clip)\w*|binary_cross_entropy_with_logits",
        text="doesn't match the broadcast shape",
    ),
    Difference(
        "PyTorch's gradient of `cholesky` fails for empty matrices that are not square.",
        "gradient accepted",
        names=r"(Tensor\.)?cholesky",
        text="must be batches of square matrices",
        when=has_empty,
    ),
    Difference(
        "PyTorch's derivative of `dist` with p = 0 raises an error.",
        "gradient accepted",
        names=r"(Tensor\.)?dist",
        text="Expected a proper Tensor but got None",
    ),
    Difference(
        "PyTorch's derivative of `index_fill` with respect to the number fails for negative indices.",
        "gradient accepted",
        names=r"(Tensor\.)?index_fill_?",
        text="index out of range in self|element is out of DATA bounds",
    ),
    Difference(
        "PyTorch lacks a derivative for some in-place functions although the out-of-place ones have one (`asinh_`, "
        "`atanh_`, where dtypes are promoted).",
        "gradient accepted",
        names=r"(Tensor\.)?(a|arc)(sinh|cosh|tanh)_",
        text="inplace version of",
        when=lambda call: is_complex(call) and is_extreme(call),
    ),
    Difference(
        "PyTorch's derivative of `lu_unpack` fails if nothing was unpacked.",
        "gradient accepted",
        names="lu_unpack",
        text="triu: input tensor must have at least 2 dimensions",
    ),
    Difference(
        "PyTorch's derivatives of `adaptive_avg_pool1d` and `adaptive_max_pool3d` to a size of 0 fail.",
        "gradient accepted",
        names=r"(nn\.functional\.)?adaptive_(avg|max)_pool\dd(_with_indices)?",
        text="Expected grad_output to have non-zero size",
    ),
    Difference(
        "PyTorch has no derivative of `embedding` that is both sparse and scaled by frequency.",
        "gradient accepted",
        text="scale_grad_by_freq not supported with sparse",
    ),
    Difference(
        "PyTorch's derivative of `lerp` with a boolean weight raises an error.",
        "gradient accepted",
        names=r"(Tensor\.)?lerp_?",
        text="Subtraction, the `-` operator, with two bool tensors",
    ),
    Difference(
        "If a derivative is 0 everywhere, one library returns zeros and the other None.",
        "gradient (there|missing)",
        text="zero: True",
    ),
    Difference(
        "In PyTorch, integer tensors require grad after an in-place comparison with, or a fill by, a tensor that does.",
        "requires_grad|gradient there|gradient missing",
        names=r"(Tensor\.)?(eq|ne|lt|le|gt|ge|greater|less|greater_equal|less_equal|not_equal|fill|index_fill|masked_fill)_",
        text="False, expected True|zero: True",
    ),
    Difference(
        "PyTorch records results that do not depend on inputs that require grad: the second of `triangular_solve`, "
        "those of `native_group_norm`, `ormqr` without reflectors.",
        "requires_grad",
        names=r"(Tensor\.)?(triangular_solve|native_group_norm|ormqr)",
        text="False, expected True",
    ),
    Difference(
        "PyTorch's `linspace` and `logspace` between tensors record their `out=`, without a derivative.",
        "requires_grad",
        names="linspace|logspace",
        text="False, expected True",
        when=lambda call: "out" in call.kwargs,
    ),
    Difference(
        "PyTorch loses the gradient of `view_copy` with a dtype, unless `out=` is given.",
        "requires_grad",
        names="view_copy",
        text="False, expected True",
        when=lambda call: "out" in call.kwargs,
    ),
    Difference(
        "PyTorch silently loses the derivative of a function without one if it wrote into a view (`heaviside_`).",
        "gradient refused",
        names=r"(Tensor\.)?heaviside_",
        text="derivative for .* is not implemented",
        when=lambda call: call.args[0]._is_view() and not call.written,
    ),
    Difference(
        "PyTorch's derivatives of `pixel_shuffle` and `pixel_unshuffle` of empty tensors have another shape.",
        "gradient accepted",
        names=r"(nn\.functional\.)?pixel_(un)?shuffle",
        text="returned an invalid gradient",
        when=has_empty,
    ),
    Difference(
        "PyTorch's derivative of `repeat` and `tile` of an empty tensor a negative number of times fails.",
        "gradient accepted",
        names=r"(Tensor\.)?(repeat|tile)",
        text="is ambiguous|invalid",
        when=has_empty,
    ),
    Difference(
        "PyTorch's derivatives convert factors to another type, which overflows: `alpha` to int64, that of `addcdiv` to float16.",
        "gradient accepted",
        text="cannot be converted to type (int64_t|c10::Half) without overflow",
        when=lambda call: has_long(call) or has_type(real.float16)(call),
    ),
    Difference(
        "PyTorch's gradients of `nll_loss` and `cross_entropy` of one sample fail for a target that is a vector of "
        "one.",
        "gradient accepted",
        names=r"(nn\.functional\.)?(nll_loss\w*|cross_entropy\w*)",
        text=r"size mismatch \(got input: \[\d+\], target: \[1\]\)",
    ),
)
"""Known differences in what has a derivative: refused by one library, missing, or not recorded."""
