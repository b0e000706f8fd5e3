"""What to say when the student's network does not learn: are the settings to blame, or the code?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .differences import find_difference

Epochs = Sequence[dict[str, Any]]
"""One dictionary an epoch: epoch, loss."""

WAITING = "The loss does not fall as it should. The reference is trained with the same settings to see why."


def second_opinion(message: str, mine: Epochs, theirs: Epochs, their_message: str) -> str:
    """Advice about the settings, unless the reference learns with them.

    Args:
        message: what there is to say about the student's training
        mine: its epochs
        theirs: those of the reference, from the same seed with the same settings
        their_message: what there is to say about the reference's training; empty if it learns
    """
    if len(theirs) < len(mine) and not their_message:
        return WAITING
    pairs = list(zip(mine, theirs, strict=False))
    parted = next(
        (n for n, (a, b) in enumerate(pairs) if find_difference(a["loss"], b["loss"])), -1
    )
    if parted < 0:
        return message  # the same numbers: the code is right, the settings are not
    a, b = pairs[parted]
    where = (
        f"The losses differ from epoch {a['epoch']} on: {a['loss']:.6g} with yours, {b['loss']:.6g} with "
        "the reference."
    )
    if their_message:
        return f"{message} The reference does not learn with these settings either. {where}"
    return (
        f"Your loss is {mine[-1]['loss']:.4g} after epoch {mine[-1]['epoch']}; the reference, with "
        f"the same settings and weights, is at {pairs[-1][1]['loss']:.4g} and learns. So it is not "
        f"the rate, the seed or the units: look for a mistake in your code. {where}"
    )
