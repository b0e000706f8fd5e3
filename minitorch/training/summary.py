"""The last words of a run with a validation set, shown and written below its log."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable

from .console import in_words
from .session import Session


def summarise(session: Session, remarks: Iterable[str] = ()) -> None:
    """Say what the best epoch was and how long the run took, after remarks of the caller's."""
    history = session.history
    lines = list(remarks)
    if history.validation:
        best = max(history.validation)
        epoch = history.validation.index(best) + 1
        share = best / max(session.validation_points, 1)
        lines.append(
            f"Best validation {share:.2%} ({best}/{session.validation_points}) after epoch {epoch}; "
            f"{history.epoch} epochs took {in_words(sum(history.seconds))} "
            f"({in_words(time.process_time())} of processor time in this process)"
        )
    text = "".join(f"{line}\n" for line in lines)
    sys.stdout.write(text)
    with open(session.log_path, "a", encoding="utf-8") as log:
        log.write(text)
