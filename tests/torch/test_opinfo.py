"""PyTorch's own sample inputs: what agreed once must go on agreeing.

`agreeing.txt` lists the operations; `python -m tests.torch.opinfo --list passing` makes it,
and `python -m tests.torch.opinfo` checks every sample of every operation.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from .opinfo import all_operations, check, check_errors

AGREEING = (Path(__file__).parent / "agreeing.txt").read_text().split()
PARTS = 48


@pytest.mark.parametrize("part", range(PARTS))
def test_operations_agree_on_samples(part: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in AGREEING[part::PARTS]:
            check(name, limit=1)
            check_errors(name)


def test_most_operations_agree() -> None:
    assert set(AGREEING) <= set(all_operations())
    assert len(AGREEING) > 0.6 * len(all_operations())
