"""The older form of `torch.profiler`."""

from __future__ import annotations

from typing import Any

from ..profiler.events import EventList as EventList
from ..profiler.events import FunctionEvent as FunctionEvent
from ..profiler.recording import Recorder
from ..profiler.recording import record_function as record_function


class emit_nvtx:  # noqa: N801
    """Marks operations for NVIDIA's profiler, which is not supported: only `enabled=False` is."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes

    def __enter__(self) -> emit_nvtx:
        if self.enabled:
            raise NotImplementedError("emit_nvtx: minitorch.torch has no NVTX markers")
        return self

    def __exit__(self, *_: object) -> None:
        pass


class profile:  # noqa: N801
    """Record what a program does: `with profile() as p: ...`, then `p.key_averages().table()`."""

    def __init__(self, enabled: bool = True, *, record_shapes: bool = False, **_: Any) -> None:
        self.enabled = enabled
        self.record_shapes = record_shapes
        self.function_events = EventList()

    def __enter__(self) -> profile:
        if self.enabled:
            self._recorder = Recorder(self.record_shapes)
            self._recorder.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.enabled:
            self._recorder.stop()
            self.function_events = EventList(self._recorder.events)

    def key_averages(self, group_by_input_shape: bool = False, **_: Any) -> EventList:
        """The sums by name."""
        return self.function_events.key_averages(group_by_input_shape)

    def table(self, *args: Any, **kwargs: Any) -> str:
        """The events as text."""
        return self.function_events.table(*args, **kwargs)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a file that chrome://tracing shows."""
        self.function_events.export_chrome_trace(path)

    def total_average(self) -> Any:
        """The sum of all."""
        return self.key_averages().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """How long everything took."""
        return self.function_events.self_cpu_time_total

    def __str__(self) -> str:
        return str(self.function_events)
