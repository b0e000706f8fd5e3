"""`torch.profiler.profile`: recordings, of everything or of some steps."""

from __future__ import annotations

import gzip
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from .events import EventList
from .recording import Recorder


class ProfilerActivity(Enum):
    """What can be recorded."""

    CPU = 0
    XPU = 1
    CUDA = 2
    MTIA = 3


class ProfilerAction(Enum):
    """The action of a profiler in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """What can be recorded here."""
    return {ProfilerActivity.CPU}


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """A function from a step to an action: wait, warm up, record, and repeat."""
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} "
            f"(need >= 0), active={active} (need > 0), repeat={repeat} (need >= 0), "
            f"skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn(
            "Profiler won't be using warmup, this can skew profiler results", stacklevel=2
        )
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        step += wait if skip_first_wait else 0
        if repeat > 0 and step / length >= repeat:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Any], None]:
    """A function that writes each recording into a folder."""

    def write(recorded: Any) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        ending = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"
        recorded.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}{ending}"))

    return write


class profile:  # noqa: N801
    """Record what a program does: `with profile() as p: ...`, then `p.key_averages().table()`.

    Args:
        activities: what to record; there is the CPU
        schedule: the action in each step; the program calls `step` at the end of each
        on_trace_ready: called with this object after each recording
        record_shapes: whether to note the shapes of inputs
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        **_: Any,
    ) -> None:
        self.activities = set(activities) if activities else supported_activities()
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.step_num = 0
        self.current_action = self.schedule(0)
        self._recorder: Recorder | None = None
        self._recorded = EventList()
        self._metadata: dict[str, str] = {}

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with the action of the first step."""
        if self.current_action in RECORDING:
            self._begin()

    def stop(self) -> None:
        """End, and finish the current recording."""
        if self._recorder is not None:
            self._finish()

    def step(self) -> None:
        """End a step of the program."""
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        goes_on = before is ProfilerAction.RECORD and self.current_action in RECORDING
        if self._recorder is not None and not goes_on:
            self._finish()
        if self._recorder is None and self.current_action in RECORDING:
            self._begin()

    def _begin(self) -> None:
        self._recorder = Recorder(self.record_shapes)
        self._recorder.start()

    def _finish(self) -> None:
        assert self._recorder is not None
        self._recorder.stop()
        self._recorded = EventList(self._recorder.events)
        self._recorder = None
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    # --- What was recorded -----------------------------------------------------------------------

    def events(self) -> EventList:
        """The events of the last recording."""
        return self._recorded

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, **_: Any
    ) -> EventList:
        """The sums of the last recording, by name."""
        return self._recorded.key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path: str) -> None:
        """Write the last recording as a file that chrome://tracing shows."""
        path = os.fspath(path)
        if not path.endswith(".gz"):
            self._recorded.export_chrome_trace(path)
            return
        self._recorded.export_chrome_trace(path[:-3])
        with open(path[:-3], "rb") as plain, gzip.open(path, "wb") as packed:
            packed.writelines(plain)
        os.unlink(path[:-3])

    def add_metadata(self, key: str, value: str) -> None:
        """Add metadata to the recording."""
        self._metadata[key] = value

    add_metadata_json = preset_metadata_json = add_metadata
