"""Random programs and single operations, compiled, give what eager calls give, to the bit."""

from __future__ import annotations

import warnings

import pytest

from . import compiled_operations, compiled_programs, compiled_training


@pytest.mark.parametrize("first", range(0, 120, 30))
def test_programs_by_number(first: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = [compiled_programs.run(seed) for seed in range(first, first + 30)]
    assert outcomes.count("played") >= 15


def test_training_runs_by_number() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = [compiled_training.run(seed) for seed in range(6)]
    assert outcomes.count("played") >= 5


@pytest.mark.parametrize("name", compiled_operations.OPERATIONS[::20])
def test_operations_with_values_in_another_order(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled_operations.check(name, 2)


@pytest.mark.parametrize(
    "name", ["mm", "nn.functional.linear", "softmax", "nn.functional.layer_norm"]
)
def test_operations_as_native_programs(name: str) -> None:
    with compiled_programs.native(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert compiled_operations.check_natively(name, 2)["played"]


def test_strides_of_dimensions_of_size_1() -> None:
    """What a compiled program makes lies in memory as its tape says, where no element depends on it, too."""
    with compiled_programs.native(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert compiled_programs.run(31000002, exactly=False) == "played"


def test_a_number_read_while_tracing_is_not_kept() -> None:
    outcomes = compiled_operations.check("_segment_reduce.offsets", 2)
    assert not outcomes["played"]
