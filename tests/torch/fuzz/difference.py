"""A known difference: of which calls and findings it is, and the conditions that such rows name."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch as real

from ..oracle import leaves
from .calls import Call
from .judging import Finding, agrees_where_finite, answers_as, is_right


@dataclass(frozen=True)
class Difference:
    """A known difference.

    Attributes:
        reason: why it is one, as on the page
        kinds: of findings, as a pattern
        names: of functions, as a pattern
        text: what the finding says, as a pattern
        when: of which calls; None: all
        instead: another call, which PyTorch must answer as we answer this one
        truth: a function of single numbers, that ours must be near to wherever it is not PyTorch's
        finite: whether both libraries must agree wherever both are finite
        elsewhere: of which elements of the first tensor it is, as masks; all others' gradients must agree
    """

    reason: str
    kinds: str
    names: str = ".*"
    text: str = ""
    when: Callable[[Call], bool] | None = None
    instead: Callable[[Call], Call] | None = None
    truth: Callable[..., Any] | None = None
    finite: bool = False
    elsewhere: Callable[[Call], list[Any]] | None = None

    def covers(self, call: Call, finding: Finding) -> bool:
        """Whether a finding is this difference."""
        return (
            re.fullmatch(self.kinds, finding.kind) is not None
            and re.fullmatch(self.names, call.name) is not None
            and re.search(self.text, finding.text) is not None
            and (self.when is None or self.when(call))
            and (self.instead is None or answers_as(call, self.instead(call)))
            and (self.truth is None or is_right(call, self.truth))
            and (not self.finite or agrees_where_finite(call))
            and (self.elsewhere is None or agrees_where_finite(call, self.elsewhere(call)[0]))
        )


def has_type(*dtypes: Any) -> Callable[[Call], bool]:
    return lambda call: any(t.dtype in dtypes for t in leaves((call.args, call.kwargs)))


def not_finite(call: Call) -> bool:
    """Whether NaN or infinity go in."""
    given = leaves((call.args, call.kwargs))
    return any(not bool(t.detach().isfinite().all()) for t in given) or any(
        isinstance(v, float) and not abs(v) < 3.5e38 for v in (*call.args, *call.kwargs.values())
    )


def is_extreme(call: Call) -> bool:
    """Whether NaN, infinity or numbers go in whose products overflow."""
    given = [t.detach() for t in leaves((call.args, call.kwargs)) if t.numel()]
    huge = any(isinstance(v, int) and abs(v) > 2**31 for v in (*call.args, *call.kwargs.values()))
    return (
        not_finite(call)
        or huge
        or any(
            float(t.abs().max()) > float(real.finfo(t.dtype).max) ** 0.5
            for t in given
            if t.is_floating_point() or t.is_complex()
        )
    )


def has_long(call: Call) -> bool:
    """Whether a number goes in that eight bytes do not hold, or the smallest that they do."""
    given = [*call.args, *call.kwargs.values()]
    given += [v for several in given if isinstance(several, (list, tuple)) for v in several]
    return any(isinstance(v, int) and not -(2**63) < v < 2**63 for v in given)


def has_nan_number(call: Call) -> bool:
    """Whether a number, not a tensor, is NaN."""
    return any(isinstance(v, float) and v != v for v in (*call.args, *call.kwargs.values()))


def not_finite_places(call: Call) -> list[Any]:
    """Where the first tensor is NaN or infinite; everywhere, if a number is NaN."""
    given = leaves((call.args[:1], call.kwargs))
    return [~t.detach().isfinite() | has_nan_number(call) for t in given]


def is_large(call: Call, bound: float = 100) -> bool:
    """Whether a number above a bound goes in."""
    return any(t.numel() and float(t.detach().abs().max()) > bound for t in leaves(call.args))


def has_bool_bound(call: Call) -> bool:
    """Whether a bound of `rrelu` is True or False."""
    bounds = (*call.args[1:3], call.kwargs.get("lower"), call.kwargs.get("upper"))
    return any(isinstance(v, bool) for v in bounds)


def has_wide_exponent(call: Call) -> bool:
    """Whether exponents of eight bytes, the second argument, are beyond four."""
    exponents = [t for t in leaves((call.args[1:], call.kwargs)) if t.dtype is real.int64]
    return any(bool((t != t.int()).any()) for t in exponents)


def has_blank(call: Call) -> bool:
    """Whether the blank is among the labels of `ctc_loss`."""
    blank = call.kwargs.get("blank", (*call.args[4:5], 0)[0])
    return bool((call.args[1] == blank).any())


def has_smallest(call: Call) -> bool:
    """Whether the smallest number of a signed type goes in, which has no absolute value."""
    given = leaves((call.args, call.kwargs))
    whole = [
        t for t in given if not (t.is_floating_point() or t.is_complex() or t.dtype is real.bool)
    ]
    return any(t.numel() and real.iinfo(t.dtype).min == t.min().item() < 0 for t in whole)


def in_order(call: Call) -> bool:
    """Whether the rows that a call searches in are in order."""
    place, name = (0, "sorted_sequence") if call.name == "searchsorted" else (1, "boundaries")
    rows = call.args[place] if len(call.args) > place else call.kwargs[name]
    return bool((rows[..., 1:] >= rows[..., :-1]).all())


def has_zero(call: Call) -> bool:
    """Whether 0 goes in."""
    return any(bool((t == 0).any()) for t in leaves((call.args, call.kwargs)) if t.numel())


def has_equal(call: Call) -> bool:
    """Whether a column of the first matrices has the same size twice."""
    sizes = call.args[0].detach().abs().sort(-2).values
    return bool((sizes[..., 1:, :] == sizes[..., :-1, :]).any())


def is_singular(call: Call) -> bool:
    """Whether the first matrices, of finite numbers, have no inverse."""
    matrices = call.args[0].detach()
    if matrices.numel() and matrices.shape[-1] == matrices.shape[-2] and not not_finite(call):
        return bool((real.linalg.matrix_rank(matrices) < matrices.shape[-1]).any())
    return False


def is_deficient(call: Call) -> bool:
    """Whether the first matrices have fewer independent rows than rows and columns."""
    matrices = call.args[0].detach()
    full = min(matrices.shape[-2:])
    return bool(matrices.numel() and (real.linalg.matrix_rank(matrices) < full).any())


def has_empty(call: Call) -> bool:
    return any(not t.numel() for t in leaves((call.args, call.kwargs)))


def no_freedom(call: Call) -> bool:
    """Whether a correction is as large as the number of elements."""
    numbers = [v for v in (*call.args, *call.kwargs.values()) if isinstance(v, (int, float))]
    return bool(numbers) and max(numbers) >= min(call.args[0].shape, default=1)


def has_extreme_order(call: Call) -> bool:
    """Whether the order of a norm, the first number of a call, is NaN, tiny or huge."""
    numbers = [v for v in call.args if isinstance(v, (int, float))]
    p = call.kwargs.get("p", call.kwargs.get("pow", numbers[0] if numbers else 2))
    return isinstance(p, (int, float)) and p != 0 and not 1e-3 < abs(p) < 1e6


def is_complex(call: Call) -> bool:
    """Whether complex numbers go in, or are asked for."""
    asked = [v for v in (*call.args, *call.kwargs.values()) if isinstance(v, real.dtype)]
    return any(k.is_complex for k in (*asked, *(t.dtype for t in leaves((call.args, call.kwargs)))))


def has_tiny(call: Call) -> bool:
    """Whether a number goes in that is the smallest of its type, or smaller."""
    floats = [t.detach() for t in leaves((call.args, call.kwargs)) if t.is_floating_point()]
    return any(bool(((t != 0) & (t.abs() <= real.finfo(t.dtype).tiny)).any()) for t in floats)


def shares_places(call: Call) -> bool:
    """Whether the view that `as_strided_scatter` writes shows an element more than once."""
    names = ("size", "stride")
    size, stride = (
        call.kwargs.get(n, (*call.args[2:4], None, None)[i]) for i, n in enumerate(names)
    )
    places = real.zeros(1)
    for n, s in zip(size or (), stride or (), strict=True):
        places = places[..., None] + real.arange(n) * s
    return places.unique().numel() < places.numel()


def has_larger_source(call: Call) -> bool:
    """Whether the source of a scatter is of another shape than the index, the first tensor after the input."""
    index, source = leaves((call.args, call.kwargs))[1:3]
    return source.shape != index.shape


def window_arguments(call: Call) -> list[Any]:
    """The sizes, strides and paddings that a function of windows is given."""
    data = 3 if "conv" in call.name else 2 if "unpool" in call.name else 1
    named = {k: v for k, v in call.kwargs.items() if k not in ("weight", "bias", "indices")}
    return [*call.args[data:], *named.values()]


def put_places(call: Call) -> list[Any]:
    """The indices of `put`, counted from the front."""
    given = (*call.args[1:2], call.kwargs.get("index"))
    size = max(call.args[0].numel(), 1) if call.args else 1
    return [t % size for t in leaves(given)]


def has_twins(call: Call) -> bool:
    """Whether an element of the first tensor is there twice."""
    given = leaves((call.args[:1], call.kwargs))[0].detach()
    return bool(given.isnan().sum() > 1) or given.unique().numel() < given.numel()


def has_ties(call: Call) -> bool:
    """Whether `multinomial` without replacement may draw among equal keys: few digits, or more draws than chances."""
    chances = call.args[0].detach()
    draws = call.args[1] if len(call.args) > 1 else call.kwargs["num_samples"]
    return chances.element_size() == 2 or int((chances > 0).sum(-1).min()) < draws


MATRICES = r"linalg\.(?!cross|diagonal|vecdot|vander|vector_norm)\w+|(Tensor\.)?(p?inverse|cholesky\w*|lu|lu_solve|svd|qr|geqrf|ormqr|orgqr|det|(slog|log)det|matrix_exp|matrix_power|triangular_solve|lobpcg|(pca|svd)_lowrank)"
"""Functions that factorize matrices, or multiply several of them."""
