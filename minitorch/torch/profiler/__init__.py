"""The profiler: where a program spends its time."""

from .events import EventList as EventList
from .events import FunctionEvent as FunctionEvent
from .profiler import ProfilerAction as ProfilerAction
from .profiler import ProfilerActivity as ProfilerActivity
from .profiler import profile as profile
from .profiler import schedule as schedule
from .profiler import supported_activities as supported_activities
from .profiler import tensorboard_trace_handler as tensorboard_trace_handler
from .recording import record_function as record_function


def kineto_available() -> bool:
    """Whether `profile` is available."""
    return True
