"""Measuring how long statements take: `Timer`, what it measured, and tables of that.

>>> measured = Timer("x + 1", globals={"x": 1}).timeit(100)
>>> measured.number_per_run
100
"""

from __future__ import annotations

from .fuzzer import FuzzedParameter as FuzzedParameter
from .fuzzer import FuzzedTensor as FuzzedTensor
from .fuzzer import Fuzzer as Fuzzer
from .fuzzer import ParameterAlias as ParameterAlias
from .measurement import Measurement as Measurement
from .measurement import TaskSpec as TaskSpec
from .measurement import select_unit as select_unit
from .table import Compare as Compare
from .timer import Timer as Timer
from .timer import timer as timer
