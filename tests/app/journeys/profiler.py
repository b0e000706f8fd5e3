"""Profiler: a step of the GPT, then of another model."""

from tests.app.browser import Visit

NEEDS_CODE = False


def walk(visit: Visit) -> None:
    visit.see("One step took .*: forward .*, backward .*, optimizer")
    visit.choose("LSTM")
    visit.see("One step took")
    visit.choose("GPT")
    visit.see("Where the time goes")
