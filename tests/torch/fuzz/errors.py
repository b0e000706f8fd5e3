"""Known differences of which at least one library refuses the call, or its gradient."""

from __future__ import annotations

from dataclasses import replace

import torch as real

from ..oracle import leaves
from .difference import (
    Difference,
    has_empty,
    has_long,
    has_smallest,
    is_complex,
    window_arguments,
)
from .judging import in_wider_types

_CLEAN = r"raised (Assertion|Type|Device|Runtime|Index|Value|NotImplemented|LinAlg|Memory)Error\("
"""An error that the library raised on purpose."""
ERRORS = (
    Difference(
        "PyTorch lacks a kernel for some dtypes that we support: half precision in some special functions, unsigned "
        "integers in most operations.",
        "(gradient )?accepted",
        text=r"not implemented for '|not supported for|dtype .*not supported|Could not run 'aten::|Promotion for uint16",
        instead=in_wider_types,
    ),
    Difference(
        "PyTorch's autograd refuses some dtypes that we differentiate: unsigned integers beside floating point, "
        "complex results of some functions.",
        "(gradient )?accepted",
        text="Autograd not support dtype|does not support automatic differentiation for outputs with complex",
    ),
    Difference(
        "Both libraries refuse an invalid call, but report another of its errors, or another class of error.",
        "(gradient )?error class",
        text=_CLEAN,
    ),
    Difference(
        "There are no complex numbers in half precision here.",
        "(gradient )?(dtype|accepted|refused|error class)",
        text="complex32|ComplexHalf|complex<c10::Half>",
    ),
    Difference(
        "PyTorch cannot resize an `out=` tensor whose storage is not resizable.",
        "accepted|error class",
        text="Trying to resize storage",
    ),
    Difference(
        "PyTorch's composite functions accept `out=` although an input requires grad, and lose the gradient; we "
        "refuse it, as most functions do.",
        "refused",
        text="functions with out=... arguments don't support automatic differentiation",
    ),
    Difference(
        "PyTorch does not record `logical_and_` and similar functions: they can write into leaves that require grad, "
        "and the gradient passes as if nothing had been written.",
        "refused|gradient values",
        names=r"(Tensor\.)?logical_(and|or|xor|not)_",
        text=r"leaf Variable|: np\.\w+\([-+0.j]*\), expected",
    ),
    Difference(
        "PyTorch's `addbmm_` resizes its tensor to the shape of the product; here in-place operations keep the shape.",
        "refused",
        names=r"Tensor\.addbmm_",
        text="doesn't match the broadcast shape",
    ),
    Difference(
        "PyTorch does not check whether factors are out of range if there is nothing to multiply, nor a number that "
        "fills a single element in half precision.",
        "refused",
        names=r"(Tensor\.)?(add\w*m[mv]_?|full\w*|fill_?|new_full|masked_fill_?|index_fill_?)",
        text="without overflow",
    ),
    Difference(
        "For invalid mode numbers, PyTorch's `grid_sampler` returns uninitialized memory.",
        "refused",
        names=r"grid_sampler\w*",
        text="is none of",
    ),
    Difference(
        "PyTorch's recurrent cells accept biases of any shape that broadcasts.",
        "refused",
        names=r"\w+_cell",
        text="b_.h has shape",
    ),
    Difference(
        "PyTorch lets some functions write into a tensor whose elements overlap in memory.",
        "refused",
        text="more than one element of the written-to tensor",
    ),
    Difference(
        "PyTorch fails an internal assertion, and asks to report a bug.",
        "(gradient )?(accepted|error class)",
        text="INTERNAL ASSERT FAILED",
    ),
    Difference(
        "Some of PyTorch's functions fail for tensors that are not contiguous: `isin` with `assume_unique`, "
        "`take_along_dim` without a dimension, `native_group_norm`, `kron`, `matrix_exp`, the derivative of "
        "`max_unpool3d`.",
        "(gradient )?accepted",
        names=r"(Tensor\.|linalg\.)?(isin|take_along_dim|native_group_norm|kron|matrix_exp)|nn\.functional\.max_unpool\dd",
        text="view size is not compatible|is_contiguous",
    ),
    Difference(
        "PyTorch's `logsumexp` over an empty list of dimensions, and `norm_except_dim` over a dimension of size 0, "
        "raise internal errors.",
        "accepted",
        names=r"(Tensor\.|special\.)?(logsumexp|norm_except_dim)",
        text="doesn't match the broadcast shape|is ambiguous",
    ),
    Difference(
        "`torch.unique_consecutive(x, True)`, with a positional argument, does not return the inverse in PyTorch.",
        "(result|shape|values|answer)",
        names="unique_consecutive",
        when=lambda call: len(call.args) > 1,
    ),
    Difference(
        "PyTorch's `segment_reduce` reads out of bounds.",
        "refused|values",
        names="_?segment_reduce",
        text="exceeds dimension size|must be non-negative|out of range",
    ),
    Difference(
        "PyTorch accepts batches of matrices of different dtypes if they are empty.",
        "refused",
        names=r"(Tensor\.)?(\w*bmm|matmul|__r?matmul__)_?|linalg\.(matmul|multi_dot)",
        text="same dtype",
        when=has_empty,
    ),
    Difference(
        "`x.__pow__(other=y)`, with a keyword, is NotImplemented in PyTorch.",
        "result|refused",
        names=r"Tensor\.__i?pow__",
        when=lambda call: "other" in call.kwargs,
    ),
    Difference(
        "PyTorch's `torch.split` calls the method `split` of any object.",
        "refused|error class",
        names="split",
        text="'(str|bytes)' object",
    ),
    Difference(
        "PyTorch's Fourier transforms of empty tensors raise errors of MKL.",
        "(gradient )?(accepted|error class)",
        text="MKL FFT error",
    ),
    Difference(
        "PyTorch's `conv_tbc`, and its transposed convolutions of one and two dimensions, cast a bias of another "
        "dtype; we refuse it, as all its other convolutions do.",
        "refused",
        names=r"(nn\.functional\.)?conv_(transpose[12]d|tbc)|convolution",
        text="weight or bias type",
    ),
    Difference(
        "PyTorch's convolutions with padding given as a string accept a bias of another dtype in some kernels and "
        "refuse it in others; here all accept it.",
        "accepted",
        names=r"(nn\.functional\.)?conv[123]d",
        text="bias",
        when=lambda call: any(isinstance(v, str) for v in (*call.args, *call.kwargs.values())),
    ),
    Difference(
        "PyTorch's recurrent networks broadcast an input without a batch, or a vector given as a matrix of weights.",
        "refused",
        names="rnn_(relu|tanh)|gru|lstm",
        text="expected an input of 3 dimensions|has shape",
        when=lambda call: call.args[0].ndim == 2,
    ),
    Difference(
        "PyTorch's `tril_indices` and `triu_indices` overflow for offsets close to the limits of int64.",
        "accepted",
        names="tri[lu]_indices",
        text="negative dimension",
    ),
    Difference(
        "PyTorch accepts negative sizes in `expand` of empty or zero-dimensional tensors.",
        "refused",
        names=r"(Tensor\.)?(expand|broadcast_to)(_copy)?",
        text="a size must not be negative|isn't allowed in a leading, non-existing dimension",
        when=lambda call: not call.args[0].ndim or has_empty(call),
    ),
    Difference(
        "PyTorch's `linear_cross_entropy` with chunking `options` casts its operands to one dtype.",
        "refused",
        names=r"nn\.functional\.linear_cross_entropy",
        text="must have the same dtype",
        when=lambda call: call.kwargs.get("options") is not None,
    ),
    Difference(
        "Laguerre and Legendre polynomials of degrees above a million are refused here; PyTorch computes for minutes.",
        "refused",
        names=r"special\.\w*polynomial_\w",
        text="takes too long",
    ),
    Difference(
        "PyTorch's `lu_unpack` reads out of bounds if there are too few pivots.",
        "refused|error class",
        names=r"lu_unpack",
        text="expected pivots of shape",
    ),
    Difference(
        "PyTorch's `index_put` without an index, and its derivative of `channel_shuffle` with 0 groups, raise "
        "internal errors.",
        "(gradient )?accepted",
        text="called on an undefined Tensor|mask with dtype nullptr|groups to divide channels in must be positive",
    ),
    Difference(
        "PyTorch's `index_put` without an index, and its derivative of `channel_shuffle` with 0 groups, raise "
        "internal errors.",
        "(gradient )?accepted",
        names=r"(Tensor\.)?index_put_?",
        text='"index_put" not implemented for \'UInt|at least one index must be provided',
        when=lambda call: not leaves((call.args[1:2], call.kwargs.get("indices"))),
    ),
    Difference(
        "PyTorch's `fill_diagonal_` writes out of bounds in tensors whose elements overlap in memory.",
        "refused",
        names=r"Tensor\.fill_diagonal_",
        text="out of bounds for storage",
        when=lambda call: 0 in call.args[0].stride(),
    ),
    Difference(
        "PyTorch's `instance_norm` does not check the dtypes of running statistics; we refuse other ones, as "
        "`batch_norm` does.",
        "refused",
        names=r"(nn\.functional\.)?instance_norm",
        text="mixed dtype",
    ),
    Difference(
        "PyTorch accepts a negative `label_smoothing`, and ignores it.",
        "refused",
        names=r"nn\.functional\.(linear_)?cross_entropy",
        text="label_smoothing must be between",
    ),
    Difference(
        "PyTorch's `cross_entropy` with label smoothing raises an internal error for one sample whose target is a "
        "vector of one class.",
        "accepted",
        names=r"nn\.functional\.(linear_)?cross_entropy",
        text=r"output with shape \[\] doesn't match",
    ),
    Difference(
        "PyTorch requires integers to fit in int64, some functions even without the smallest int64; here any integer "
        "is accepted where it is only compared.",
        "accepted",
        text="Overflow when unpacking long long|cannot be represented as a SymInt|int too big to convert|negative int to unsigned|attempted to promote (UInt64 and (Long|Bool)|(Long|Bool) and UInt64)|only concrete integers",
        when=has_long,
    ),
    Difference(
        "PyTorch does not check indices if there are no elements to read or write.",
        "refused",
        names=r"(Tensor\.)?(index|index_put_?|__getitem__)",
        text="is out of bounds for dimension",
        when=lambda call: not call.args[0].numel(),
    ),
    Difference(
        "PyTorch's `round` and `special.round` do not support integers with `decimals`, even with 0 of them.",
        "accepted",
        names=r"(special\.|Tensor\.)?round_?",
        text="round_vml_cpu",
        instead=lambda call: replace(call, name="round", args=call.args[:1], kwargs={}),
    ),
    Difference(
        "PyTorch's `cummax` and `cummin` of empty tensors do not check the dimension.",
        "refused",
        names=r"(Tensor\.)?cum(max|min)",
        text="Dimension out of range",
        when=has_empty,
    ),
    Difference(
        "PyTorch's `native_batch_norm` checks neither the sizes of its arguments nor a negative `eps`.",
        "refused",
        names="native_batch_norm",
        text="should contain|eps must be non-negative",
    ),
    Difference(
        "PyTorch's maximum of an empty window of `fractional_max_pool` is -inf, with an arbitrary index.",
        "refused",
        names=r"nn\.functional\.fractional_max_pool\dd(_with_indices)?",
        text="a window has no elements|cannot be converted to type int",
    ),
    Difference(
        "PyTorch's `adaptive_avg_pool` to a size of 1 computes a mean even of an empty input.",
        "refused",
        names=r"(nn\.functional\.)?adaptive_avg_pool\dd",
        text="with non-zero size for non-batch dimensions",
        when=has_empty,
    ),
    Difference(
        "PyTorch's `split` refuses NumPy integers, which its other functions accept.",
        "accepted",
        names=r"(Tensor\.)?split",
        text="not numpy.int64",
    ),
    Difference(
        "PyTorch's attention without queries does not check the mask.",
        "refused",
        names=r"nn\.functional\.scaled_dot_product_attention",
        text="do not broadcast",
        when=has_empty,
    ),
    Difference(
        "PyTorch's `bincount` ignores the imaginary parts of weights.",
        "refused",
        names=r"(Tensor\.)?bincount",
        text="not implemented for 'Complex",
    ),
    Difference(
        "PyTorch's `as_strided` overflows in its check of an offset beyond 2**61.",
        "refused",
        names=r"(Tensor\.)?as_strided_?",
        text="are out of bounds for storage",
        when=lambda call: any(
            isinstance(v, int) and v >= 2**60 for v in (*call.args, *call.kwargs.values())
        ),
    ),
    Difference(
        "PyTorch accepts a tensor that holds True as dimension 1.",
        "refused",
        text="not Tensor|invalid combination of arguments",
        when=lambda call: any(
            t.dtype is real.bool and t.numel() == 1 for t in leaves((call.args[1:], call.kwargs))
        ),
    ),
    Difference(
        "PyTorch's `abs` of complex numbers casts to a complex `out=`; most such functions do not, nor does ours.",
        "refused",
        names="abs|absolute",
        text="Expected out tensor to have dtype",
        when=is_complex,
    ),
    Difference(
        "PyTorch's `trapezoid` takes a zero-dimensional `x` as if none were given.",
        "refused",
        names="(cumulative_)?trapezoid|trapz",
        text="one `x` value for each sample point",
    ),
    Difference(
        "PyTorch's `cov` of one observation with weights writes into it, which is an error for a leaf.",
        "accepted",
        names=r"(Tensor\.)?cov",
        text="a view of a leaf Variable that requires grad is being used in an in-place operation",
    ),
    Difference(
        "PyTorch accepts a tensor of one element as a dimension or a flag of `std` and `var`.",
        "refused",
        names=r"(Tensor\.)?(std|var)(_mean)?",
        text="invalid combination of arguments",
        when=lambda call: len(call.args) > 1 and isinstance(call.args[1], real.Tensor),
    ),
    Difference(
        "Some of PyTorch's functions ignore an `out=` that is a number.",
        "refused",
        when=lambda call: isinstance(call.kwargs.get("out"), (int, float, complex)),
    ),
    Difference(
        "PyTorch's `linear` casts a bias of another dtype if it or the input is not contiguous; we refuse it, as "
        "PyTorch does otherwise.",
        "refused",
        names=r"nn\.functional\.(linear|multi_head_attention_forward)",
        text="must have the same dtype",
        when=lambda call: any(not t.is_contiguous() for t in leaves((call.args, call.kwargs))),
    ),
    Difference(
        "Some of PyTorch's functions do not check dtypes and values of empty tensors that they refuse otherwise.",
        "refused",
        text="not implemented for|Low precision|without pivoting|pivots must|Expected a floating point|Sort currently|expects p to be|uniform_ expects|can't be cast to the desired output type|must have the same last size",
        when=has_empty,
    ),
    Difference(
        "PyTorch's `logsumexp` of complex numbers casts to a real `out=`; most functions do not, nor does ours.",
        "refused",
        names=r"(special\.)?logsumexp",
        text="result type Complex.* can't be cast",
    ),
    Difference(
        "PyTorch's `lp_pool` accepts a tensor as the order, and broadcasts the powers.",
        "refused|error class",
        names=r"nn\.functional\.lp_pool\dd",
        when=lambda call: any(
            isinstance(v, real.Tensor) for v in (*call.args[1:2], call.kwargs.get("norm_type"))
        ),
    ),
    Difference(
        "PyTorch's attention treats a dropout probability that is NaN or negative as 0.",
        "refused",
        names=r"nn\.functional\.scaled_dot_product_attention",
        text="dropout probability .* got (nan|-)",
    ),
    Difference(
        "PyTorch's `istft` with `center` and frames of one sample looks for the end of the signal at its start.",
        "accepted",
        names=r"(Tensor\.)?istft",
        text=r"min\(\): Expected reduction dim",
    ),
    Difference(
        "PyTorch's `batch_norm` without channels fails as it looks for the first weight.",
        "accepted",
        names=r"(native_|nn\.functional\.)?batch_norm",
        text=r"select\(\): index 0 out of range",
        when=has_empty,
    ),
    Difference(
        "The `options` of `linear_cross_entropy`, for chunking in PyTorch, are ignored here.",
        "accepted",
        names=r"nn\.functional\.linear_cross_entropy",
        text="_adjust",
    ),
    Difference(
        "PyTorch's `inner` and `tensordot` of booleans are supported only for tensors that are not contiguous.",
        "refused",
        names=r"(Tensor\.)?inner|tensordot",
        text="not implemented for 'Bool'",
        when=lambda call: any(not t.is_contiguous() for t in leaves((call.args, call.kwargs))),
    ),
    Difference(
        "PyTorch's pooling, convolutions and `fold` treat a tensor of integers as a tuple; here one of a single "
        "element is a number.",
        "refused|accepted",
        names=r"nn\.functional\.((un)?fold|\w*pool\w*|conv\w*)",
        text="must be int or tuple of ints, not Tensor|padding must be ints, not Tensor|iteration over a 0-d tensor|equals to 2, but got size 1",
        when=lambda call: any(isinstance(v, real.Tensor) for v in window_arguments(call)),
    ),
    Difference(
        "PyTorch's `linear_cross_entropy` with chunking `options` does not compare the numbers of rows and targets.",
        "refused",
        names=r"nn\.functional\.linear_cross_entropy",
        text="to match target batch_size",
        when=lambda call: call.kwargs.get("options") is not None,
    ),
    Difference(
        "PyTorch accepts a negative size for `out=` if another size is 0.",
        "refused",
        text="negative dimension",
        when=lambda call: "out" in call.kwargs,
    ),
    Difference(
        "PyTorch's `embedding_bag` accepts offsets that are not sorted where its fast kernel does not refuse them.",
        "refused",
        names=r"nn\.functional\.embedding_bag",
        text="offsets must be in order",
    ),
    Difference(
        "Some of PyTorch's functions do not check dtypes and values of empty tensors that they refuse otherwise.",
        "refused",
        names="einsum",
        text="expected scalar type",
        when=lambda call: has_empty(call) and len({t.dtype for t in leaves(call.args)}) > 1,
    ),
    Difference(
        "Some of PyTorch's functions do not check dtypes and values of empty tensors that they refuse otherwise.",
        "refused",
        names=r"nn\.functional\.scaled_dot_product_attention",
        text="expected scalar type",
        when=lambda call: has_empty(call) and not call.args[0].is_floating_point(),
    ),
    Difference(
        "Negative sizes are refused here; PyTorch accepts them if another size is 0.",
        "refused",
        names=r"(Tensor\.)?as_strided|nn\.functional\.unfold",
        text="cannot have negative sizes|components must be",
        when=lambda call: any(n < 0 for n in call.run(real, call.args, call.kwargs).shape),
    ),
    Difference(
        "PyTorch's `tensor_split` fails for the smallest int64.",
        "accepted",
        names=r"(Tensor\.)?tensor_split",
        text="cannot be represented as a SymInt",
        when=has_smallest,
    ),
    Difference(
        "PyTorch's gradient of `group_norm` with a bias and without weights fails.",
        "gradient accepted",
        names=r"(native_|nn\.functional\.)?group_norm",
        text="tensor does not have a device",
    ),
    Difference(
        "PyTorch's `std` and `var` of all elements in half precision fail if `out=` is of a wider dtype.",
        "accepted",
        names="std|var",
        text="std_var_all: Unsupported dtype",
        when=lambda call: "out" in call.kwargs,
    ),
    Difference(
        "PyTorch's `max_unpool` does not check the padding if `output_size=` is given.",
        "refused",
        names=r"nn\.functional\.max_unpool\dd",
        text="argument 'padding' must be int",
        when=lambda call: call.kwargs.get("output_size") is not None,
    ),
)
"""Known differences of which at least one library refuses the call, or its gradient."""
