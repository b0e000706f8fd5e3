"""Differences that are known and meant, as data: `docs/torch-differences.md` lists them.

Each is a case where PyTorch itself is at fault, where the answer is an accident of its code, or
where we do more than it does.
"""

from __future__ import annotations

from .calls import Call
from .derivatives import DERIVATIVES
from .errors import ERRORS
from .gradients import GRADIENTS
from .judging import Finding
from .matrices import ON_MATRICES
from .overflow import OVERFLOW
from .unspecified import UNSPECIFIED
from .values import VALUES

DIFFERENCES = (
    *ERRORS,
    *VALUES,
    *OVERFLOW,
    *UNSPECIFIED,
    *ON_MATRICES,
    *GRADIENTS,
    *DERIVATIVES,
)
"""All of them."""


def reason_for(call: Call, finding: Finding) -> str | None:
    """Why a difference is known, or None."""
    return next((d.reason for d in DIFFERENCES if d.covers(call, finding)), None)
