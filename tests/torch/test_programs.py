"""Random programs give PyTorch's values, histories, versions and gradients."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .programs import random_program, run

SMALL = st.integers(0, 59)
STEP = st.tuples(
    st.integers(0, 9_999), st.integers(0, 9_999), st.integers(0, 11), st.integers(0, 11)
)


@given(st.lists(st.tuples(SMALL, SMALL), min_size=1, max_size=3), st.lists(STEP, max_size=13))
@settings(max_examples=500)
def test_programs_that_hypothesis_finds(leaves: list, steps: list) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(leaves, steps)


@pytest.mark.parametrize("first", range(0, 1500, 250))
def test_programs_by_number(first: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(first, first + 250):
            run(*random_program(seed))
