"""What steps of `torch_steps.py` cost besides their time: peak memory, the time to compile them, and guards.

`torch_steps.py` with --memory, --compile-times, --host-times or --launch-times prints them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from torch_steps import LIBRARIES, ROOT, TURN, WARM_UP, prepared


def peak_memory(name: str, library: str, compiles: bool = False) -> float:
    """MiB that a model and ten of its steps add to a process, at their peak, once all that they need is imported and compiled."""
    code = (
        f"import sys, gc; sys.path.insert(0, {str(ROOT / 'benchmarks')!r})\n"
        f"import {library} as torch, torch_steps\n"
        "def warm():\n"
        f"    step = torch_steps.prepared({name!r}, torch, {compiles})[0]\n"
        f"    for _ in range({WARM_UP}): step()\n"
        "    return step\n"
        "for _ in range(3):  # kernels load when so many steps were done that they pay\n"
        f"    warm(); {compiles} and torch.compiler.reset(); gc.collect()\n"
        "status = lambda: dict(line.split(':') for line in open('/proc/self/status'))\n"
        "before = int(status()['VmRSS'].split()[0])\n"
        "step = warm()\n"
        "gc.collect(); open('/proc/self/clear_refs', 'w').write('5')  # the peak begins anew\n"
        "for _ in range(10): step()\n"
        "print(int(status()['VmHWM'].split()[0]) - before)"
    )
    given_back = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True,
        env=os.environ | given_back,  # what is freed does not stay with the process
    )  # fmt: skip
    return int(done.stdout) / 1024


def peak_memories(name: str) -> str:
    """The same of our eager and compiled steps."""
    eager, played = (peak_memory(name, LIBRARIES["ours"], compiles) for compiles in (False, True))
    return f"{name:18} peak memory of ten steps: eager {eager:6.2f} MiB, compiled {played:6.2f} MiB"


def host_times(name: str) -> str:
    """Microseconds of the processor that a played step takes on one core, and those of them that guards take."""
    import minitorch.torch as ours

    step: Any = prepared(name, ours, compiles=True)[0].args[0]  # type: ignore[attr-defined]
    for _ in range(WARM_UP):
        step()
    (traced,) = step.traced
    took = [min(_processor_time(call) for _ in range(9)) for call in (step, traced.around.hold)]
    return f"{name:18} a play {took[0]:9.1f} us, of which guards {took[1]:5.1f}"


def launch_times(name: str) -> str:
    """Milliseconds of the processor that an eager step on a GPU takes, without what the driver does: see `fake_gpu.py`."""
    import fake_gpu

    counts = fake_gpu.install()
    import minitorch.torch as ours

    step = prepared(name, ours, device="cuda")[0]
    for _ in range(WARM_UP):
        step()
    before = counts()
    step()
    made = [b - a for a, b in zip(before, counts(), strict=True)]
    took = min(_processor_time(step) for _ in range(60))
    return f"{name:18} {took / 1e3:7.3f} ms; launches, copies, products by cuBLAS and by cuBLASLt: {made}"


def _processor_time(call: Callable[[], Any]) -> float:
    """Microseconds of a call, over a turn of many."""
    count, start = 0, time.process_time()
    while time.process_time() - start < TURN["cpu"]:
        for _ in range(3):
            call()
        count += 3
    return 1e6 * (time.process_time() - start) / count


def compile_times(name: str) -> str:
    """What tracing and compiling a step add to its first calls in a new process, twice: nothing is on disk, then all is."""
    code = (
        f"import sys, time; sys.path.insert(0, {str(ROOT / 'benchmarks')!r})\n"
        "import minitorch.torch as torch, torch_steps\n"
        "clocks = time.perf_counter, time.process_time\n"
        "moments = [[clock() for clock in clocks]]\n"
        f"step, losses = torch_steps.prepared({name!r}, torch, True)\n"
        f"for _ in range({WARM_UP}): step(); moments.append([clock() for clock in clocks])\n"
        "for several in zip(*moments):\n"
        "    took = sorted(b - a for a, b in zip(several, several[1:]))\n"
        "    print(sum(took) - (len(losses) + len(took)) * took[0])\n"
        "print(time.process_time())"
    )
    texts = []
    with tempfile.TemporaryDirectory() as cache:
        for state in ("cold", "warm"):
            done = subprocess.run(
                [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True,
                env=os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONDONTWRITEBYTECODE": ""},  # as installed
            )  # fmt: skip
            wall, cpu, whole = map(float, done.stdout.split())
            texts.append(f"{state} {wall:5.2f} s, of the processor {cpu:5.2f} (whole process {whole:5.2f})")  # fmt: skip
    return f"{name:18} {'; '.join(texts)}"
