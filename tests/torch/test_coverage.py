"""The coverage page says what is true."""

from __future__ import annotations

import pytest

from docs import torch_coverage as coverage

SAID = coverage.read(coverage.PAGE.read_text())


@pytest.mark.parametrize("section", coverage.SECTIONS)
def test_page_is_up_to_date(section: str) -> None:
    true = coverage.coverage(section).sets()
    for kind, now, then in zip(("supported", "partly", "not"), true, SAID[section], strict=True):
        assert now == then, (
            f"{section}: these names are not on docs/torch-coverage.md as {kind} or should not be: "
            f"{sorted(now ^ then)}. Run `{coverage.COMMAND}`."
        )


def test_notes_are_about_names_that_are_here() -> None:
    for section, notes in coverage.PARTLY.items():
        there = coverage.coverage(section).partly
        assert set(notes) - {"*"} <= set(there), section


def test_the_page_reads_as_it_was_written() -> None:
    covered = {
        "torch.part": coverage.Coverage(
            {"add": "The sum of a | b."}, {"wrap": "as it is"}, ["x", "y"]
        )
    }
    page = coverage.render(covered)
    assert coverage.read(page) == {"torch.part": ({"add"}, {"wrap"}, {"x", "y"})}
    assert "| [torch.part](#torchpart) | 4 | 1 | 1 | 2 |" in page
    assert "| `add` | The sum of a \\| b. |" in page


def test_supported_names_of_the_core_say_what_they_do() -> None:
    for section in ("torch.linalg", "torch.fft", "torch.special", "torch.nn.functional"):
        silent = [name for name, said in coverage.coverage(section).supported.items() if not said]
        assert not silent, section
