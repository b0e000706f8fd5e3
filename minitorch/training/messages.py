"""What a run says about its epochs: one format of a line, and words where training goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence

STALL_EPOCHS = 40


def epoch_line(
    epoch: int | str,
    loss: float,
    correct: str,
    validation: str | None = None,
    seconds: float | None = None,
) -> str:
    """The one format of a line about an epoch.

    >>> epoch_line("10/500", 12.34, "46/50", seconds=0.035)
    'Epoch 10/500 | loss 12.34 | correct 46/50 | 0.035 s/epoch'
    """
    parts = [f"Epoch {epoch}", f"loss {loss:.2f}", f"correct {correct}"]
    if validation is not None:
        parts.append(f"validation {validation}")
    if seconds is not None:
        parts.append(f"{seconds:.3f} s/epoch")
    return " | ".join(parts)


class Watcher:
    """Says, once each, that the loss goes up or stands still, and why.

    Args:
        points: how many points can be right
        rate: the learning rate, for messages
        explain_stall: says in words why the loss may stand still and what to try
    """

    def __init__(
        self, points: int, rate: float | None = None, explain_stall: Callable[[], str] | None = None
    ) -> None:
        self.points = points
        self.rate = rate
        self.explain_stall = explain_stall
        self._rise_said = self._stall_said = False

    def messages(self, losses: Sequence[float], correct: int) -> list[str]:
        """What there is to say after an epoch, given the losses of all so far."""
        if len(losses) <= STALL_EPOCHS or correct >= self.points:
            return []
        recent = losses[-STALL_EPOCHS:]
        said = []
        if not self._rise_said and min(recent) > 1.5 * losses[0]:
            self._rise_said = True
            rate = "" if self.rate is None else f" {self.rate:g}"
            said.append(
                f"Loss went up from {losses[0]:.2f} to {losses[-1]:.2f}: the rate{rate} is too high. "
                "Try a tenth of it."
            )
        if not self._stall_said and max(recent) - min(recent) < 0.002 * max(recent):
            self._stall_said = True
            why = self.explain_stall() if self.explain_stall else ""
            why = why or "Try another seed, a larger model, or another rate."
            since = len(losses) - STALL_EPOCHS
            said.append(f"Loss stands still since epoch {since}: {why}")
        return said
