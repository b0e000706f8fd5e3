"""Connectionist temporal classification: the loss of a sequence of labels over all its alignments.

The labels are extended with blanks between them; `alpha[t, s]` is the log probability of
all paths that are at state s after step t, `beta` the same from the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.interface import as_numpy
from ..interpreters import composite
from ..tensor import Array, Tensor, wrap_beside
from .comparison import where
from .loss import how_reduced
from .precision import require_floats
from .record import Op, bind
from .surface import FUNCTIONS


def _laid_out(targets: Array, blank: int) -> tuple[Array, Array]:
    """Labels with blanks around them (N, 2 S + 1), and the states that can be reached by skipping a blank."""
    labels = np.full((len(targets), 2 * targets.shape[1] + 1), blank)
    labels[:, 1::2] = targets
    leaps = np.zeros(labels.shape, bool)
    leaps[:, 2:] = labels[:, 2:] != labels[:, :-2]
    return labels, leaps


def _emitted(log_probs: Array, labels: Array) -> Array:
    """The log probability of each state's label at each step (T, N, states)."""
    return np.take_along_axis(
        log_probs, np.broadcast_to(labels, (len(log_probs), *labels.shape)), 2
    )


def _shifted(x: Array, by: int) -> Array:
    out = np.full_like(x, -np.inf)
    if by < x.shape[1]:
        out[:, by:] = x[:, :-by]
    return out


def _advance(x: Array, leaps: Array) -> Array:
    """Log-sum of three transitions: stay, advance by one, skip a blank."""
    moved = np.logaddexp(x, _shifted(x, 1))
    return np.where(leaps, np.logaddexp(moved, _shifted(x, 2)), moved)


def _ctc(
    log_probs: Array, targets: Array, input_lengths: Array, target_lengths: Array, blank: int
) -> tuple[Array, Array]:
    labels, leaps = _laid_out(targets, blank)
    emitted = _emitted(log_probs, labels)
    alpha = np.full_like(emitted, -np.inf)
    n = np.arange(len(labels))
    if len(log_probs):
        alpha[0, :, 0] = emitted[0, :, 0]
        some = target_lengths > 0
        alpha[0, some, 1:2] = emitted[0, some, 1:2]
    for t in range(1, len(log_probs)):
        alpha[t] = _advance(alpha[t - 1], leaps) + emitted[t]
    if not len(log_probs):
        return np.where(target_lengths == 0, 0, np.inf).astype(log_probs.dtype), alpha
    end = alpha[np.maximum(input_lengths - 1, 0), n]
    last, before = end[n, 2 * target_lengths], end[n, np.maximum(2 * target_lengths - 1, 0)]
    total = np.where(target_lengths > 0, np.logaddexp(last, before), last)
    nothing = np.where(target_lengths == 0, 0, -np.inf)
    return -np.where(input_lengths > 0, total, nothing).astype(log_probs.dtype), alpha


def _beta(emitted: Array, leaps: Array, input_lengths: Array, target_lengths: Array) -> Array:
    """The backward recursion; each sample begins at its own last step and last state."""
    beta = np.full_like(emitted, -np.inf)
    place = np.arange(emitted.shape[2])
    last = (place == 2 * target_lengths[:, None]) | (place == 2 * target_lengths[:, None] - 1)
    leaps = _leaps_back(leaps)
    for t in range(len(emitted) - 1, -1, -1):
        begun = np.where(last, emitted[t], -np.inf)
        if t + 1 < len(emitted):
            going = _advance(beta[t + 1][:, ::-1], leaps)[:, ::-1] + emitted[t]
            begun = np.where((input_lengths - 1 == t)[:, None], begun, going)
        beta[t] = np.where((t < input_lengths)[:, None], begun, -np.inf)
    return beta


def _leaps_back(leaps: Array) -> Array:
    """The skips, for the backward recursion."""
    turned = np.zeros_like(leaps)
    turned[:, 2:] = leaps[:, ::-1][:, :-2]
    return turned


def _ctc_backward(
    grad: Array, log_probs: Array, losses: Array, alpha: Array, targets: Array, input_lengths: Array,
    target_lengths: Array, blank: int, zero_infinity: bool,
) -> Array:  # fmt: skip
    labels, leaps = _laid_out(targets, blank)
    both = alpha + _beta(_emitted(log_probs, labels), leaps, input_lengths, target_lengths)
    at = np.full_like(log_probs, -np.inf)
    t, n = np.arange(len(log_probs))[:, None, None], np.arange(len(labels))[:, None]
    np.logaddexp.at(at, (t, n, labels), both)
    out = (np.exp(log_probs) - np.exp(at + losses[:, None] - log_probs)) * grad[:, None]
    over = np.arange(len(log_probs))[:, None] >= input_lengths
    unused = over | (np.isinf(losses) & zero_infinity)
    return np.where(unused[:, :, None], out.dtype.type(0), out)


def _gradient(
    g: Any,
    log_probs: Any,
    outs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int,
    zero_infinity: bool,
) -> Any:
    params = {"targets": targets, "input_lengths": input_lengths, "target_lengths": target_lengths}
    arrays = (g, log_probs, outs[0].detach(), outs[1].detach())
    return bind(CTC_BACKWARD, arrays, {**params, "blank": blank, "zero_infinity": zero_infinity})


def _refused(g: Any) -> Any:
    raise NotImplementedError("the derivative of _ctc_loss_backward is not implemented")


CTC = Op(
    "_ctc_loss", ("log_probs",),
    lambda log_probs, targets, input_lengths, target_lengths, blank, zero_infinity:
        _ctc(log_probs, targets, input_lengths, target_lengths, blank),
    {"log_probs": _gradient}, differentiable=1,
    doc="The negative log probability of all alignments of labels with steps.",
)  # fmt: skip
CTC_BACKWARD = Op(
    "_ctc_loss_backward", ("grad", "log_probs", "losses", "alpha"), _ctc_backward,
    {"grad": _refused, "log_probs": _refused, "losses": None, "alpha": None},
)  # fmt: skip


@composite
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: Any = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The negative log probability of all alignments of labels with steps.

    Args:
        log_probs: (T, N, C), or (T, C) for one sample
        targets: labels (N, S), or those of all samples concatenated
        input_lengths: how many steps each sample has
        target_lengths: how many labels each sample has
        blank: the class of the blank
        reduction: "none", "mean" (over each sample's labels, then samples) or "sum"
        zero_infinity: whether infinite losses, of samples without an alignment, count as 0
    """
    how = how_reduced(reduction)
    require_floats("ctc_loss_cpu", log_probs._array, "f")
    if log_probs.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {log_probs.ndim + 1}-dimensional tensor for argument #1 "
            "'log_probs' (while checking arguments for ctc_loss_allocate_outputs)"
        )
    batched = log_probs if log_probs.ndim == 3 else log_probs.unsqueeze(1)
    steps = _lengths("input_lengths", input_lengths)
    wanted = _lengths("target_lengths", target_lengths)
    _check("ctc_loss", batched._array.shape, steps, wanted, blank)
    if targets.ndim not in (1, 2):
        raise RuntimeError(f"Expected 1 to 2 dimensions of targets, but got {list(targets.shape)}")
    params = {
        "targets": _padded(as_numpy(targets._array), wanted),
        "input_lengths": steps,
        "target_lengths": wanted,
    }
    loss = bind(CTC, (batched,), {**params, "blank": blank, "zero_infinity": zero_infinity})[0]
    if zero_infinity:
        loss = where(loss == np.inf, 0, loss)
    if how == "mean":
        return (loss / wrap_beside(np.maximum(wanted, 1).astype(loss._array.dtype), loss)).mean()
    if how == "sum":
        return loss.sum()
    return loss if log_probs.ndim == 3 else loss.squeeze(0)


def _lengths(name: str, values: Any) -> Array:
    given = np.asarray(as_numpy(values._array) if isinstance(values, Tensor) else values)
    if (given.size or isinstance(values, Tensor)) and given.dtype.kind not in "iu":
        raise (RuntimeError if isinstance(values, Tensor) else TypeError)(
            f"{name} must be integral"
        )
    return given.astype(np.int64).reshape(-1)


def _check(name: str, shape: tuple[int, ...], steps: Array, wanted: Array, blank: int) -> None:
    time, batch, classes = shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for what, values in (("input_lengths", steps), ("target_lengths", wanted)):
        if len(values) != batch:
            raise RuntimeError(
                f"{what} must be of size batch_size: {len(values)} for {name} of {list(shape)}"
            )
        if values.size and values.min() < 0:
            raise RuntimeError(f"{what} must be non-negative in {name}")
    if steps.size and steps.max() > time:
        raise RuntimeError(
            f"Expected input_lengths to have value at most {time}, but got value {steps.max()}"
        )


def _padded(targets: Array, lengths: Array) -> Array:
    """The labels as (N, S), padded with zeros."""
    longest = int(lengths.max(initial=0))
    out = np.zeros((len(lengths), longest), np.int64)
    if targets.ndim == 1:
        starts = np.cumsum(lengths) - lengths
        if targets.size < lengths.sum():
            raise RuntimeError(
                f"Expected targets to have {lengths.sum()} labels, but got {targets.size}"
            )
        rows = [targets[a : a + n] for a, n in zip(starts, lengths, strict=True)]
    else:
        if longest > targets.shape[1]:
            raise RuntimeError(
                f"Expected tensor to have size at least {longest} at dimension 1, but got size {list(targets.shape)}"
            )
        rows = [row[:n] for row, n in zip(targets, lengths, strict=True)]
    for i, row in enumerate(rows):
        out[i, : len(row)] = row.real
    return out


FUNCTIONS["ctc_loss"] = (
    lambda log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False: (
        ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)
    )
)
