"""CUDA: threads of a grid, the trace of a kernel, its score, and a puzzle solved in three tries."""

from tests.app.browser import Visit

NEEDS_CODE = False


def walk(visit: Visit) -> None:
    visit.see("12 threads for 10 elements: 2 do nothing")
    visit.click("1,0,2,0")
    visit.see(r"1 \* 4 \+ 2 = 6")
    visit.slide("Size", 1)
    visit.see("for 11 elements: 1 does nothing")
    visit.choose("Puzzles")
    visit.see("two threads must do nothing")
    puzzle(visit)
    visit.choose("Trace")
    if visit.code == "stubs":
        visit.see("Task 3.3 is still open")
        visit.press("Use the reference")
    visit.see("The result is right in every cell")
    visit.see("threads read a_storage")
    visit.choose("Score")
    visit.see("Reads of global memory for each output")
    visit.choose("Trace")
    trace(visit)


def trace(visit: Visit) -> None:
    visit.select("Kernel", "_sum_practice: sum in shared memory")
    visit.see("of shared memory, for 3 outputs")
    visit.settle()  # until the pictures, too, are those of this kernel
    for _ in range(2):
        visit.main.get_by_role("button", name="One step forward").click()
    visit.see("All wait")


def puzzle(visit: Visit) -> None:
    field = visit.main.get_by_role("textbox", name="What one thread does")
    for code, answer in (
        ("i = cuda.threadIdx.x\nout[i] = a[i] + 10", r"read a\[6\]; a has length 6"),
        ("while True:\n    pass", "loops are written with for"),
        ("i = cuda.threadIdx.x\nif i < size:\n    out[i] = a[i] + 10", "Solved. 6 reads"),
    ):
        field.fill(code)
        visit.press("Run it")
        visit.see(answer)
