"""Parallel: lanes above and below the threshold, memory, Numba's diagnosis, a race, speed."""

from tests.app.browser import Visit

NEEDS_CODE = False


def walk(visit: Visit) -> None:
    visit.see("runs on 4 threads")
    visit.slide("Threads", 1)
    visit.see("runs on 5 threads")
    visit.slide("Elements", -4)
    visit.see("below the threshold of 32,768: one thread")
    visit.choose("Memory")
    visit.see("262,144 products")
    visit.slide("Rows of a", 1)
    visit.see("524,288 products")
    visit.choose("Diagnosis")
    visit.press("Ask Numba")
    if visit.code == "stubs":
        visit.see("is still open")
        visit.press("Use the reference")
        visit.press("Ask Numba")
    visit.see("runs in parallel: its turns are shared out")
    visit.choose("Speed")
    visit.press("Measure")
    visit.see("plain")
    visit.press("Stop")
    visit.choose("Race")
    visit.see("Two threads, one index")
    visit.press("Run with 1 and with 4 threads")
    visit.see("No cell was wrong this time|Right with 1 thread, wrong with 4")
