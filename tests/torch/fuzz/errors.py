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
        "PyTorch has no kernel for a type, and we compute: half precision in some special functions, unsigned "
        "whole numbers in most operations.",
        "(gradient )?accepted",
        text=r"not implemented for '|not supported for|dtype .*not supported|Could not run 'aten::|Promotion for uint16",
        instead=in_wider_types,
    ),
    Difference(
        "PyTorch's autograd refuses some types that we differentiate: unsigned whole numbers beside floating point, "
        "complex results of some functions.",
        "(gradient )?accepted",
        text="Autograd not support dtype|does not support automatic differentiation for outputs with complex",
    ),
    Difference(
        "Both refuse a call that is wrong; PyTorch names another of its faults, or the same one with another "
        "class of error.",
        "(gradient )?error class",
        text=_CLEAN,
    ),
    Difference(
        "There are no complex numbers in half precision here.",
        "(gradient )?(dtype|accepted|refused|error class)",
        text="complex32|ComplexHalf",
    ),
    Difference(
        "PyTorch cannot grow an `out=` tensor whose memory came from elsewhere.",
        "accepted|error class",
        text="Trying to resize storage",
    ),
    Difference(
        "Functions that PyTorch composes of others take `out=` beside inputs that require grad, and lose the "
        "gradient; we refuse, as most functions do.",
        "refused",
        text="functions with out=... arguments don't support automatic differentiation",
    ),
    Difference(
        "PyTorch does not record `logical_and_` and its like: they write into leaves that require grad, and the "
        "gradient passes as if nothing had been written.",
        "refused|gradient values",
        names=r"(Tensor\.)?logical_(and|or|xor|not)_",
        text=r"leaf Variable|: np\.\w+\([-+0.j]*\), expected",
    ),
    Difference(
        "`addbmm_` gives its tensor the shape of the product, in PyTorch; here a write keeps the shape.",
        "refused",
        names=r"Tensor\.addbmm_",
        text="doesn't match the broadcast shape",
    ),
    Difference(
        "PyTorch does not look at factors out of range where there is nothing to multiply, nor at a number that "
        "fills a single element of two bytes.",
        "refused",
        names=r"(Tensor\.)?(add\w*m[mv]_?|full\w*|fill_?|new_full|masked_fill_?|index_fill_?)",
        text="without overflow",
    ),
    Difference(
        "Numbers for modes that `grid_sampler` has not give PyTorch's result of memory that nobody has filled.",
        "refused",
        names=r"grid_sampler\w*",
        text="is none of",
    ),
    Difference(
        "PyTorch's cells of recurrent networks add biases of any shape that broadcasts.",
        "refused",
        names=r"\w+_cell",
        text="b_.h has shape",
    ),
    Difference(
        "PyTorch lets some functions write into memory that a tensor shows more than once.",
        "refused",
        text="more than one element of the written-to tensor",
    ),
    Difference(
        "PyTorch fails an assertion of its own, and asks to report a bug.",
        "(gradient )?(accepted|error class)",
        text="INTERNAL ASSERT FAILED",
    ),
    Difference(
        "Some of PyTorch's functions fail where memory cannot be seen in one row: `isin` of unique elements, "
        "`take_along_dim` without a dimension, `native_group_norm`, `kron`, `matrix_exp`, the derivative of `max_unpool3d`.",
        "(gradient )?accepted",
        names=r"(Tensor\.|linalg\.)?(isin|take_along_dim|native_group_norm|kron|matrix_exp)|nn\.functional\.max_unpool\dd",
        text="view size is not compatible|is_contiguous",
    ),
    Difference(
        "PyTorch's `logsumexp` over an empty list of dimensions, and `norm_except_dim` of a dimension of size 0, "
        "fail inside.",
        "accepted",
        names=r"(Tensor\.|special\.)?(logsumexp|norm_except_dim)",
        text="doesn't match the broadcast shape|is ambiguous",
    ),
    Difference(
        "`torch.unique_consecutive(x, True)`, by place, does not give PyTorch's inverse.",
        "(result|shape|values|answer)",
        names="unique_consecutive",
        when=lambda call: len(call.args) > 1,
    ),
    Difference(
        "PyTorch's `segment_reduce` reads beyond its data.",
        "refused|values",
        names="_?segment_reduce",
        text="exceeds dimension size|must be non-negative|out of range",
    ),
    Difference(
        "PyTorch's batches of matrices may have different types where there are no elements.",
        "refused",
        names=r"(Tensor\.)?(\w*bmm|matmul|__r?matmul__)_?|linalg\.(matmul|multi_dot)",
        text="same dtype",
        when=has_empty,
    ),
    Difference(
        "`x.__pow__(other=y)`, by name, is NotImplemented in PyTorch.",
        "result|refused",
        names=r"Tensor\.__i?pow__",
        when=lambda call: "other" in call.kwargs,
    ),
    Difference(
        "PyTorch's `torch.split` calls the method `split` of whatever it is given.",
        "refused|error class",
        names="split",
        text="'(str|bytes)' object",
    ),
    Difference(
        "PyTorch's Fourier transforms of empty tensors end in an error of MKL.",
        "(gradient )?(accepted|error class)",
        text="MKL FFT error",
    ),
    Difference(
        "PyTorch's `conv_tbc` and transposed convolutions of one and two dimensions take a bias of another type, and "
        "cast it; we refuse, as all its other convolutions do.",
        "refused",
        names=r"(nn\.functional\.)?conv_(transpose[12]d|tbc)|convolution",
        text="weight or bias type",
    ),
    Difference(
        "PyTorch's convolutions with padding as a word take a bias of another type in some of their kernels, and refuse "
        "it in others; here all take it.",
        "accepted",
        names=r"(nn\.functional\.)?conv[123]d",
        text="bias",
        when=lambda call: any(isinstance(v, str) for v in (*call.args, *call.kwargs.values())),
    ),
    Difference(
        "PyTorch's recurrent networks let a sequence without a batch, or with a row for a matrix of weights, broadcast.",
        "refused",
        names="rnn_(relu|tanh)|gru|lstm",
        text="expected an input of 3 dimensions|has shape",
        when=lambda call: call.args[0].ndim == 2,
    ),
    Difference(
        "PyTorch's `tril_indices` and `triu_indices` of an offset at the ends of eight bytes overflow.",
        "accepted",
        names="tri[lu]_indices",
        text="negative dimension",
    ),
    Difference(
        "PyTorch expands nothing to negative sizes.",
        "refused",
        names=r"(Tensor\.)?(expand|broadcast_to)(_copy)?",
        text="a size must not be negative|isn't allowed in a leading, non-existing dimension",
        when=lambda call: not call.args[0].ndim or has_empty(call),
    ),
    Difference(
        "PyTorch's `linear_cross_entropy` whose `options` cut the work casts its operands to one type.",
        "refused",
        names=r"nn\.functional\.linear_cross_entropy",
        text="must have the same dtype",
        when=lambda call: call.kwargs.get("options") is not None,
    ),
    Difference(
        "Laguerre's and Legendre's polynomials of degrees above a million are refused; PyTorch computes for minutes.",
        "refused",
        names=r"special\.\w*polynomial_\w",
        text="takes too long",
    ),
    Difference(
        "`lu_unpack` with too few pivots reads past them in PyTorch.",
        "refused|error class",
        names=r"lu_unpack",
        text="expected pivots of shape",
    ),
    Difference(
        "PyTorch fails inside `index_put` without an index, and inside the derivative of `channel_shuffle` into no "
        "groups.",
        "(gradient )?accepted",
        text="called on an undefined Tensor|mask with dtype nullptr|groups to divide channels in must be positive",
    ),
    Difference(
        "PyTorch fails inside `index_put` without an index, and inside the derivative of `channel_shuffle` into no "
        "groups.",
        "(gradient )?accepted",
        names=r"(Tensor\.)?index_put_?",
        text='"index_put" not implemented for \'UInt|at least one index must be provided',
        when=lambda call: not leaves((call.args[1:2], call.kwargs.get("indices"))),
    ),
    Difference(
        "PyTorch's `fill_diagonal_` goes on past the end of memory that a tensor shows more than once.",
        "refused",
        names=r"Tensor\.fill_diagonal_",
        text="out of bounds for storage",
        when=lambda call: 0 in call.args[0].stride(),
    ),
    Difference(
        "PyTorch's `instance_norm` does not compare the types of running statistics; we refuse, as `batch_norm` does.",
        "refused",
        names=r"(nn\.functional\.)?instance_norm",
        text="mixed dtype",
    ),
    Difference(
        "PyTorch lets a negative `label_smoothing` pass, and does nothing about it.",
        "refused",
        names=r"nn\.functional\.(linear_)?cross_entropy",
        text="label_smoothing must be between",
    ),
    Difference(
        "`cross_entropy` of one sample whose class is in a row of one fails inside PyTorch if labels are smoothed.",
        "accepted",
        names=r"nn\.functional\.(linear_)?cross_entropy",
        text=r"output with shape \[\] doesn't match",
    ),
    Difference(
        "PyTorch takes a whole number of at most eight bytes, and some functions not the smallest of them; here each is "
        "as good where it is only compared.",
        "accepted",
        text="Overflow when unpacking long long|cannot be represented as a SymInt|int too big to convert|negative int to unsigned|attempted to promote (UInt64 and (Long|Bool)|(Long|Bool) and UInt64)|only concrete integers",
        when=has_long,
    ),
    Difference(
        "PyTorch does not look at indices where there are no elements to read or write.",
        "refused",
        names=r"(Tensor\.)?(index|index_put_?|__getitem__)",
        text="is out of bounds for dimension",
        when=lambda call: not call.args[0].numel(),
    ),
    Difference(
        "PyTorch's `round` has no kernel for whole numbers where `decimals` are given, be it 0 of them, nor has "
        "`special.round`.",
        "accepted",
        names=r"(special\.|Tensor\.)?round_?",
        text="round_vml_cpu",
        instead=lambda call: replace(call, name="round", args=call.args[:1], kwargs={}),
    ),
    Difference(
        "PyTorch's `cummax` and `cummin` of no elements do not look at the dimension.",
        "refused",
        names=r"(Tensor\.)?cum(max|min)",
        text="Dimension out of range",
        when=has_empty,
    ),
    Difference(
        "PyTorch's `native_batch_norm` looks neither at the sizes of what it reads nor at a negative `eps`.",
        "refused",
        names="native_batch_norm",
        text="should contain|eps must be non-negative",
    ),
    Difference(
        "PyTorch's largest element of a window of `fractional_max_pool` without elements is -inf, at any place.",
        "refused",
        names=r"nn\.functional\.fractional_max_pool\dd(_with_indices)?",
        text="a window has no elements|cannot be converted to type int",
    ),
    Difference(
        "PyTorch's `adaptive_avg_pool` to one place takes a mean, of no elements if there are none.",
        "refused",
        names=r"(nn\.functional\.)?adaptive_avg_pool\dd",
        text="with non-zero size for non-batch dimensions",
        when=has_empty,
    ),
    Difference(
        "PyTorch's `split` takes no whole number of NumPy's, which its other functions take.",
        "accepted",
        names=r"(Tensor\.)?split",
        text="not numpy.int64",
    ),
    Difference(
        "PyTorch's attention of no queries does not look at the mask.",
        "refused",
        names=r"nn\.functional\.scaled_dot_product_attention",
        text="do not broadcast",
        when=has_empty,
    ),
    Difference(
        "PyTorch's `bincount` forgets the imaginary parts of weights.",
        "refused",
        names=r"(Tensor\.)?bincount",
        text="not implemented for 'Complex",
    ),
    Difference(
        "PyTorch's `as_strided` overflows where it checks an offset beyond 2**61.",
        "refused",
        names=r"(Tensor\.)?as_strided_?",
        text="are out of bounds for storage",
        when=lambda call: any(
            isinstance(v, int) and v >= 2**60 for v in (*call.args, *call.kwargs.values())
        ),
    ),
    Difference(
        "A tensor that holds True stands for dimension 1 in PyTorch.",
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
        "PyTorch's `trapezoid` takes an `x` without dimensions for no distances.",
        "refused",
        names="(cumulative_)?trapezoid|trapz",
        text="one `x` value for each sample point",
    ),
    Difference(
        "PyTorch's `cov` of one observation with weights writes into it, which is refused if it is a leaf.",
        "accepted",
        names=r"(Tensor\.)?cov",
        text="a view of a leaf Variable that requires grad is being used in an in-place operation",
    ),
    Difference(
        "PyTorch takes a tensor of one element for a dimension or a flag of `std` and `var`.",
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
        "PyTorch's `linear` takes a bias of another type, and casts it, where it or the input does not lie in one row of "
        "memory; we refuse, as it does elsewhere.",
        "refused",
        names=r"nn\.functional\.(linear|multi_head_attention_forward)",
        text="must have the same dtype",
        when=lambda call: any(not t.is_contiguous() for t in leaves((call.args, call.kwargs))),
    ),
    Difference(
        "Where there are no elements, some of PyTorch's functions do not look at types and values that they refuse "
        "elsewhere.",
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
        "PyTorch's `lp_pool` takes a tensor for the order, and powers that broadcast.",
        "refused|error class",
        names=r"nn\.functional\.lp_pool\dd",
        when=lambda call: any(
            isinstance(v, real.Tensor) for v in (*call.args[1:2], call.kwargs.get("norm_type"))
        ),
    ),
    Difference(
        "PyTorch's attention takes a NaN, or a negative number, for no dropout.",
        "refused",
        names=r"nn\.functional\.scaled_dot_product_attention",
        text="dropout probability .* got (nan|-)",
    ),
    Difference(
        "PyTorch's `istft` of frames of one sample, centred, looks for the end of the signal at its start.",
        "accepted",
        names=r"(Tensor\.)?istft",
        text=r"min\(\): Expected reduction dim",
    ),
    Difference(
        "PyTorch's `batch_norm` of no channels looks for the first weight.",
        "accepted",
        names=r"(native_|nn\.functional\.)?batch_norm",
        text=r"select\(\): index 0 out of range",
        when=has_empty,
    ),
    Difference(
        "The `options` of `linear_cross_entropy`, which say how PyTorch cuts the work, are not looked at.",
        "accepted",
        names=r"nn\.functional\.linear_cross_entropy",
        text="_adjust",
    ),
    Difference(
        "PyTorch's `inner` and `tensordot` of True and False have a kernel only where memory lies in steps.",
        "refused",
        names=r"(Tensor\.)?inner|tensordot",
        text="not implemented for 'Bool'",
        when=lambda call: any(not t.is_contiguous() for t in leaves((call.args, call.kwargs))),
    ),
    Difference(
        "PyTorch's functions of windows go through a tensor of whole numbers as through a tuple; here one of a single "
        "element is a number.",
        "refused|accepted",
        names=r"nn\.functional\.((un)?fold|\w*pool\w*|conv\w*)",
        text="must be int or tuple of ints, not Tensor|padding must be ints, not Tensor|iteration over a 0-d tensor|equals to 2, but got size 1",
        when=lambda call: any(isinstance(v, real.Tensor) for v in window_arguments(call)),
    ),
    Difference(
        "PyTorch's `linear_cross_entropy` does not compare the numbers of rows and targets where `options` cut the work.",
        "refused",
        names=r"nn\.functional\.linear_cross_entropy",
        text="to match target batch_size",
        when=lambda call: call.kwargs.get("options") is not None,
    ),
    Difference(
        "PyTorch gives `out=` a negative size where another size is 0.",
        "refused",
        text="negative dimension",
        when=lambda call: "out" in call.kwargs,
    ),
    Difference(
        "PyTorch's `embedding_bag` counts on from offsets that are not in order where its fast kernel does not refuse them.",
        "refused",
        names=r"nn\.functional\.embedding_bag",
        text="offsets must be in order",
    ),
    Difference(
        "Where there are no elements, some of PyTorch's functions do not look at types and values that they refuse "
        "elsewhere.",
        "refused",
        names="einsum",
        text="expected scalar type",
        when=lambda call: has_empty(call) and len({t.dtype for t in leaves(call.args)}) > 1,
    ),
    Difference(
        "Where there are no elements, some of PyTorch's functions do not look at types and values that they refuse "
        "elsewhere.",
        "refused",
        names=r"nn\.functional\.scaled_dot_product_attention",
        text="expected scalar type",
        when=lambda call: has_empty(call) and not call.args[0].is_floating_point(),
    ),
    Difference(
        "There are no shapes with negative sizes here; PyTorch makes them where another size is 0.",
        "refused",
        names=r"(Tensor\.)?as_strided|nn\.functional\.unfold",
        text="cannot have negative sizes|components must be",
        when=lambda call: any(n < 0 for n in call.run(real, call.args, call.kwargs).shape),
    ),
    Difference(
        "PyTorch's `tensor_split` fails at the smallest number of eight bytes.",
        "accepted",
        names=r"(Tensor\.)?tensor_split",
        text="cannot be represented as a SymInt",
        when=has_smallest,
    ),
    Difference(
        "PyTorch's gradient of `group_norm` with a bias and without weights looks for these.",
        "gradient accepted",
        names=r"(native_|nn\.functional\.)?group_norm",
        text="tensor does not have a device",
    ),
    Difference(
        "PyTorch's `std` and `var` of all elements in two bytes fail where `out=` is of a wider type.",
        "accepted",
        names="std|var",
        text="std_var_all: Unsupported dtype",
        when=lambda call: "out" in call.kwargs,
    ),
)
"""Known differences of which at least one library refuses the call, or its gradient."""
