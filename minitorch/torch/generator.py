"""The source of random bits: mt19937 with PyTorch's seeds and PyTorch's states.

NumPy's MT19937 is the same generator, so the same seed gives both libraries the same
bits; what `sampling` makes of them is PyTorch's, too. A state has PyTorch's own layout:
one saved there continues here, and the reverse.
"""

from __future__ import annotations

import itertools
import operator
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_uint32
from functools import cached_property
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from ..threads import fork_waits_for
from .backends.cpu.dispatch import CALLS_BEFORE_COMPILING, COMPILES, kernels_from
from .backends.interface import resolve
from .device import CPU, device

if TYPE_CHECKING:
    from .tensor import Tensor

Array = Any
"""A NumPy array."""

DEFAULT_SEED = 67280421310721
"""The seed of a generator that was not given one."""

COMPILED_SIZE = kernels_from(1 << 14)
"""From this many numbers on, compiled loops make them: it pays to load Numba."""

_LOOPS = f"{__package__}.sampling_kernels"
_loops: list[Any] = []  # the module, once it is loaded
_calls = itertools.count()  # that had to do without it
_LENGTH = 624  # words in the generator's memory
_STATE = np.dtype(
    {
        "names": ["seed", "left", "seeded", "next", "words", "spare", "has_spare"],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", _LENGTH), "<f8", "<i4"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040],
        "itemsize": 5056,
    }
)


def compiled_loops(size: int) -> Any:
    """The module of compiled loops, if there was enough to do or it is loaded already; or None."""
    if _loops:
        return _loops[0]
    many = next(_calls) > CALLS_BEFORE_COMPILING["numba" in sys.modules]
    if size >= COMPILED_SIZE or (COMPILES and (many or _LOOPS in sys.modules)):
        _loops.append(import_module(_LOOPS))  # which waits while another thread loads it
        return _loops[0]
    return None


class _Twister:
    """NumPy's mt19937, seeded as PyTorch seeds it.

    Attributes:
        words: its 624 words
        cursor: how many of them were drawn
    """

    def __init__(self, seed: int) -> None:
        self.bits = np.random.MT19937()
        self._seeder = np.random.RandomState(self.bits)
        address = self.bits.ctypes.state_address
        memory = np.asarray((c_uint32 * (_LENGTH + 1)).from_address(address))
        self.words, self.cursor = memory[:_LENGTH], memory[_LENGTH:].view(np.int32)
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Start the stream that belongs to a seed."""
        self._seeder.seed(seed & 0xFFFFFFFF)


class Generator:
    """A stream of random bits, fixed by its seed; safe to share between threads.

    Attributes:
        device: where the numbers are made
        spare: the second number of a pair of normal ones, if the first alone was asked for
        lock: held while numbers are drawn, so that each caller's are consecutive
    """

    def __new__(cls, device: device | str | None = None) -> Generator:
        if cls is Generator and resolve(device).type == "cuda":
            from .backends.cuda.philox import PhiloxGenerator

            return object.__new__(PhiloxGenerator)
        return object.__new__(cls)

    def __init__(self, device: device | str | None = None) -> None:
        self.device = resolve(device)
        self.lock = RLock()
        self.manual_seed(DEFAULT_SEED)

    @cached_property
    def _twister(self) -> _Twister:
        return _Twister(self._seed)  # when numbers are first drawn: NumPy's take time to load

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream that belongs to a seed; negative seeds count from 2**64 down."""
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = operator.index(seed)
        if not -(1 << 63) <= seed < 1 << 64:
            raise ValueError(f"Overflow when unpacking long long: the seed {seed} exceeds 64 bits")
        with self.lock:
            self._seed = seed % (1 << 64)
            if "_twister" in self.__dict__:
                self._twister.seed(seed)
            self._untouched = True  # PyTorch writes this into its states
            self.spare: float | None = None
        return self

    def seed(self) -> int:
        """Start a stream that nobody can foretell; returns its seed."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """The seed that started the stream."""
        return self._seed

    def words(self, count: int) -> Array:
        """The next 32-bit words."""
        drawn = np.empty(count, np.uint32)
        if not self.fill(drawn, "words"):
            with self.lock:
                self._untouched &= count == 0
                drawn[...] = self._twister.bits.random_raw(count)
        return drawn

    def fill(self, out: Array, what: str, *args: Any) -> bool:
        """Let the compiled loop `fill_{what}(out, words, cursor, *args)` draw; False if none is loaded."""
        kernels = compiled_loops(out.size)
        if kernels is None:
            return False
        loop = getattr(kernels, f"fill_{what}")
        with self.lock:
            words = self._twister.words
            first = words[0] if self._untouched else None
            loop(out, words, self._twister.cursor, *args)
            self._untouched = first is not None and bool(words[0] == first)
        return True

    @contextmanager
    def memory(self) -> Iterator[tuple[Array, Array]]:
        """Hold the lock and lend the 624 words and the cursor, for a kernel to move on."""
        with self.lock:
            words, first = self._twister.words, self._twister.words[0]
            yield words, self._twister.cursor
            self._untouched &= bool(words[0] == first)

    # --- States ------------------------------------------------------------------------

    def state_array(self) -> Array:
        """The state as 5056 bytes in PyTorch's layout."""
        state = np.zeros((), _STATE)
        with self.lock:
            words, cursor = self._twister.words, self._twister.cursor
            state["seed"], state["seeded"], state["words"] = self._seed, 1, words
            state["left"] = _LENGTH + 1 - cursor[0]
            state["next"] = 0 if self._untouched else cursor[0]
            state["spare"], state["has_spare"] = self.spare or 0.0, self.spare is not None
        return state.reshape(1).view(np.uint8)

    def set_state_array(self, data: Array) -> None:
        """Continue from a state that `state_array` or PyTorch gave."""
        if data.size != _STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {_STATE.itemsize} but found the input "
                f"RNG state size to be {data.size}"
            )
        state = np.ascontiguousarray(data).reshape(-1).view(_STATE)[0]
        if not state["seeded"] or not 0 < state["left"] <= _LENGTH or state["next"] > _LENGTH:
            raise RuntimeError("Invalid mt19937 state")
        with self.lock:
            self._seed = int(state["seed"])
            self._untouched = not state["next"]
            self._twister.words[...] = state["words"]
            self._twister.cursor[0] = _LENGTH + 1 - state["left"]
            self.spare = float(state["spare"]) if state["has_spare"] else None

    def get_state(self) -> Tensor:
        """The state as a tensor of bytes."""
        from .tensor import wrap

        return wrap(self.state_array())

    def set_state(self, new_state: Tensor) -> Generator:
        """Continue from a state that `get_state` gave, here or in PyTorch."""
        data = getattr(new_state, "_array", None)
        if data is None:
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if data.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        self.set_state_array(data)
        return self

    def clone_state(self) -> Generator:
        """A generator that will give the same numbers."""
        copy = Generator(self.device)
        copy.set_state_array(self.state_array())
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.device, self.state_array())


def _restored(place: device, state: Array) -> Generator:
    """A generator in a given state."""
    generator = Generator(place)
    generator.set_state_array(state)
    return generator


def chosen(generator: Generator | None) -> Generator:
    """The generator that was given, or the default one."""
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise TypeError(f"'generator' must be torch.Generator, not {type(generator).__name__}")
    return generator


default_generator = Generator(CPU)
"""The stream that functions draw from when they are not given a generator."""
default_generator.seed()
fork_waits_for(default_generator.lock)
