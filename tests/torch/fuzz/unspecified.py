"""Known differences in answers that are not specified, or arbitrary."""

from __future__ import annotations

from ..oracle import leaves
from .difference import (
    Difference,
    has_ties,
    has_twins,
    in_order,
    is_extreme,
    not_finite,
    put_places,
    shares_places,
)

UNSPECIFIED = (
    Difference(
        "Which of several values written to one element stays is not specified.",
        "values",
        names=r"(Tensor\.)?as_strided_scatter",
        when=shares_places,
    ),
    Difference(
        "Uninitialized memory has arbitrary values.",
        "(written )?values",
        names=r"(Tensor\.)?(new_)?empty\w*",
    ),
    Difference(
        "`histogram` with edges that are not sorted, or NaN, depends on each library's search.",
        "values",
        names=r"(Tensor\.)?histogram(dd)?",
        when=lambda call: (
            not all(
                bool((e[1:] >= e[:-1]).all())
                for e in leaves((call.args[1:2], call.kwargs.get("bins")))
            )
        ),
    ),
    Difference(
        "Grid sampling at coordinates that are NaN or infinite, or overflow, reads any pixel.",
        "(gradient )?values",
        names=r"(nn\.functional\.)?grid_sampler?(_2d|_3d)?|nn\.functional\.grid_sample",
        when=is_extreme,
    ),
    Difference(
        "Which of several equal elements is found is not specified.",
        "(written )?values",
        names=r"(Tensor\.)?(topk|kthvalue|median|nanmedian|mode|sort)",
        text="output 1",
        when=has_twins,
    ),
    Difference(
        "The order of `topk` with `sorted=False` is not specified.",
        "(written )?values",
        names=r"(Tensor\.)?topk",
        when=lambda call: call.kwargs.get("sorted", call.args[4:5] != [False]) is False,
    ),
    Difference(
        "Which of several equal elements is found is not specified.",
        "(written )?values",
        names=r"(Tensor\.)?argsort",
        when=lambda call: call.kwargs.get("stable") is not True and has_twins(call),
    ),
    Difference(
        "PyTorch's `mode` sorts NaN arbitrarily.",
        "values",
        names=r"(Tensor\.)?mode",
        when=lambda call: any(bool(t.isnan().any()) for t in leaves(call.args[:1])),
    ),
    Difference(
        "Which of several values written to one element stays is not specified.",
        "(gradient |written )?values",
        names=r"(Tensor\.)?put_?",
        when=lambda call: any(t.unique().numel() < t.numel() for t in put_places(call)),
    ),
    Difference(
        "PyTorch's `nanmedian` of a tensor whose elements overlap in memory is arbitrary.",
        "values",
        names=r"(Tensor\.)?(nan)?median",
        when=lambda call: 0 in call.args[0].stride(),
    ),
    Difference(
        "PyTorch's polynomials of NaN are uninitialized memory.",
        "values",
        names=r"special\.(\w*chebyshev|laguerre|legendre)_polynomial_\w",
        when=not_finite,
    ),
    Difference(
        "`searchsorted` and `bucketize` in rows that are not sorted depend on each library's search.",
        "values",
        names=r"searchsorted|bucketize",
        when=lambda call: not in_order(call),
    ),
    Difference(
        "PyTorch's mean of `multi_margin_loss` and `multilabel_margin_loss` over no samples is uninitialized memory.",
        "values",
        names=r"nn\.functional\.multi(label)?_margin_loss",
        text=r"\((nan|0\.0)\), expected",
        when=lambda call: not call.args[0].numel() or not call.args[0].shape[0],
    ),
    Difference(
        "Which of several equal elements is found is not specified.",
        "values",
        names=r"(Tensor\.)?multinomial",
        when=has_ties,
    ),
)
"""Known differences in answers that are not specified, or arbitrary."""
