"""GPUs as devices: what CuPy's and the simulated ones have in common.

A record computes with NumPy's functions, and those leave CuPy's arrays to CuPy. What that cannot
do has a kernel here, by the record's name; what has neither is computed on the CPU, with copies there and back,
with a warning.
"""

from __future__ import annotations

import math
import os
import traceback
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from itertools import zip_longest
from typing import Any

import numpy as np

from ...device import CPU, DeviceError, OutOfMemoryError, device
from ...generator import Generator, chosen
from ...sampling import check_multinomial, multinomial, normal
from ...sampling import permutation as permutation_of_the_cpu
from ..interface import Array, Backend, Shape, register
from .graphs import Graph, recording, refuse_in_graph
from .philox import EACH_P, RECIPES, Launch, Recipe, launch_of, numbers, permutation

DRAWN_BY_THE_CPU = frozenset(("poisson", "binomial", "_standard_gamma", "_sample_dirichlet"))
"""Distributions by rejection: the CPU makes them of words of the GPU's generator."""

MOST = 1 << 56
"""No GPU holds so many elements; the bytes of more might be a small number again, in 64 bits."""

Case = tuple[str, Any]
"""A record's name, and the type of its first array."""


class Cuda(Backend):
    """NVIDIA's GPUs, or what stands in for them.

    Attributes:
        first_seed: what generators start from, where a program has set it
        on_cpu: the records that were found to have no form for this device, with the reason
    """

    kind = "cuda"
    is_traced = True
    first_seed: int | None = None

    def __init__(self) -> None:
        self.on_cpu: dict[Case, str] = {}
        self._computing: dict[tuple[Any, int | None], Any] = {}  # by records and devices
        self._written: set[Case] = set()  # by records that are known to write here
        self._devices: dict[int, device] = {}
        self._generators: dict[int, Any] = {}
        self._known: dict[int, Any] = {}
        self.kernels = {"multinomial": self.multinomial, "normal": self.normal}

    def device_of(self, array: Array) -> device:
        if self.only is not None:
            return self.only
        index = self.index_of(array)
        found = self._devices.get(index)
        if found is None:
            found = self._devices[index] = device("cuda", index)
        return found

    def readable(self, array: Array) -> Array:
        return self.to_numpy(array)  # which raises what kernels have noted

    def computing(self, op: Any, where: device) -> Any:
        """A record by a kernel, or by NumPy's functions; where they do not reach this device, on the CPU.

        An error of the CPU's is the caller's to see: the input was at fault.
        """
        key = op, where.index
        found = self._computing.get(key)
        if found is None:
            found = self._computing[key] = self.kernels.get(op.name) or self._chosen(op, where)
        return found

    def _chosen(self, op: Any, where: device) -> Any:
        """A kernel of ours if it can, else a formula; on the arrays' GPU, where there are several."""
        kernel = self.kernel_of(op)

        def compute(*arrays: Any, **params: Any) -> Any:
            try:
                result = None if kernel is None else kernel(*arrays, **params)
                return self._by_formula(op, where, arrays, params) if result is None else result
            except self.out_of_memory as error:
                raise OutOfMemoryError(f"CUDA out of memory. {error}") from None

        def compute_there(*arrays: Any, **params: Any) -> Any:
            with self.on(where):
                return compute(*arrays, **params)

        return compute_there if self.only is None else compute

    def on(self, where: device) -> AbstractContextManager[Any]:
        """Use a device for a while."""
        return nullcontext()

    def _by_formula(self, op: Any, where: device, arrays: Any, params: dict[str, Any]) -> Any:
        if "generator" in params and params["generator"] is None:
            params["generator"] = self.generator(where.index or 0)
        shapes = [x.shape for x in arrays if isinstance(x, self.array)]
        check_size(max(map(math.prod, shapes), default=0))
        if op.scalar is not None:
            reverse = (shape[::-1] for shape in shapes)
            check_size(math.prod(max(sizes) for sizes in zip_longest(*reverse, fillvalue=1)))
        if op.name in DRAWN_BY_THE_CPU:
            return self._on_cpu(op, where, arrays, params)
        if self.on_cpu and _case(op.name, arrays) in self.on_cpu:
            return self._on_cpu(op, where, arrays, params)
        try:
            result = op.compute(*arrays, **params)
        except self.out_of_memory:
            raise
        except Exception as error:
            refuse_in_graph(op.name, error)
            reason = error
        else:
            if type(result) is tuple:
                return tuple([self._uploaded(r, where) for r in result])
            result = self._uploaded(result, where)
            return (
                self._rounded(result, arrays) if not {"dtype", "kind"} & params.keys() else result
            )
        if op.view:
            raise reason
        result = self._on_cpu(op, where, arrays, params)
        self._note(_case(op.name, arrays), reason)
        return result

    def write(self, op: Any, where: device, target: Array, *others: Any, **params: Any) -> None:
        """Let a record write into an array; where NumPy's functions cannot, on the CPU."""
        case = _case(f"{op.name}_", (target,))
        reason = None
        if case not in self.on_cpu:
            before = None if case in self._written else target.copy()
            try:
                op.write(target, *others, **params)
                self._written.add(case)
                return
            except Exception as error:
                refuse_in_graph(op.name, error)
                if before is not None:
                    target[...] = before
                elif not isinstance(error, (NotImplementedError, AttributeError)):
                    raise
                reason = error  # of what CuPy has not: nothing was written
        host = self.to_numpy(target)
        op.write(host, *map(self._downloaded, others), **_each(params, self._downloaded))
        target[...] = self.from_numpy(host, where)
        if reason is not None:
            self._note(case, reason)

    def _on_cpu(self, op: Any, where: device, arrays: Any, params: dict[str, Any]) -> Any:
        """A record computed on copies of arrays on the CPU, the results moved back."""
        result = op.compute(*map(self._downloaded, arrays), **_each(params, self._downloaded))
        if type(result) is tuple:
            return tuple([self.from_numpy(np.asarray(r), where) for r in result])
        return self.from_numpy(np.asarray(result), where)

    def _uploaded(self, value: Any, where: device) -> Any:
        """A result that does not depend on the input, and so was made on the CPU, on the device."""
        return self.from_numpy(value, where) if isinstance(value, np.ndarray) else value

    def _rounded(self, result: Array, arrays: Any) -> Array:
        """A result in half precision, where all floating point inputs are: CuPy widens beside numbers."""
        if result.dtype != np.float32:
            return result
        kinds = {x.dtype for x in arrays if isinstance(x, self.array) and x.dtype.kind in "fV"}
        halves = len(kinds) == 1 and next(iter(kinds)).itemsize == 2
        return result.astype(kinds.pop()) if halves else result

    def _downloaded(self, value: Any) -> Any:
        return self.to_numpy(value) if isinstance(value, self.array) else value

    def _note(self, case: Case, reason: Exception) -> None:
        """Remember that a record is computed on the CPU, and say so once."""
        place = traceback.extract_tb(reason.__traceback__)
        ours = [f for f in place if "minitorch" in f.filename and "cuda" not in f.filename]
        where = f" ({ours[-1].filename.split('minitorch/')[-1]}:{ours[-1].lineno})" if ours else ""
        self.on_cpu[case] = f"{type(reason).__name__}: {str(reason)[:100]}{where}"
        warnings.warn(
            f"'{case[0]}' of {case[1]} has no GPU kernel yet: its inputs are copied to the CPU, and the result back",
            UserWarning,
            stacklevel=6,
        )

    def kernel_of(self, op: Any) -> Any:
        """What computes a record by a kernel, or finds that it cannot, and returns None; None where there is nothing."""
        return None

    # --- Random numbers ----------------------------------------------------------------------------------

    def generator(self, index: int) -> Any:
        """What a GPU's random numbers come from."""
        found = self._generators.get(index)
        if found is None:
            found = self._generators[index] = Generator(device("cuda", index))
            if self.first_seed is not None:
                found.manual_seed(self.first_seed)
        return found

    def draw(
        self, distribution: Any, shape: Any, dtype: Any, where: device, *args: Any, **named: Any
    ) -> Array:
        generator = self._generator_for(where, named.pop("generator", None))
        named = _each(named, self._downloaded)
        kind, recipe = np.dtype(dtype), RECIPES.get(distribution.__name__)
        if distribution.__name__ == "bernoulli" and isinstance(args[0], self.array):
            return self._draw_each(generator, shape, kind, where, args[0])
        if recipe is None:
            args = tuple(map(self._downloaded, args))
            drawn = distribution(shape, kind, *args, generator=generator, **named)
            return self.from_numpy(drawn, where)
        distribution((0,), kind, *args, generator=generator, **named)  # checks its arguments
        if kind.kind != "c":
            return self._draw(recipe(kind, *args, **named), generator, shape, kind, where)
        real = np.dtype(f"f{kind.itemsize // 2}")
        drawn = recipe(real, *args, **named)
        if distribution.__name__ == "normal":
            drawn = drawn._replace(b=drawn.b / math.sqrt(2))
        pairs = self._draw(drawn, generator, (*shape, 2), real, where)
        return pairs.view(kind).reshape(shape)

    def _draw(
        self, recipe: Recipe, generator: Any, shape: Shape, kind: Any, where: device
    ) -> Array:
        """Numbers of a recipe; a generator's counter moves on."""
        n = math.prod(shape)
        if not n:
            return self.empty(shape, kind, where)
        launch = launch_of(recipe, n, kind, self._properties(where.index or 0))
        if recording.graph is not None:
            place = recording.graph.draw(generator, launch.words)
            return self.fill_from_words(launch, recording.graph, place, kind, where).reshape(shape)
        seed, offset = generator.initial_seed(), generator.advance(launch.words)
        return self.fill_random(launch, seed, offset, kind, where).reshape(shape)

    def _draw_each(
        self, generator: Any, shape: Shape, kind: Any, where: device, chances: Array
    ) -> Array:
        """0 or 1, each with a chance of its own."""
        wide = np.dtype(np.float64 if chances.dtype == np.float64 else np.float32)
        if ((chances < 0) | (chances > 1)).any():
            raise RuntimeError("bernoulli_ expects all p to be in [0, 1]")
        drawn = self._draw(EACH_P, generator, shape, np.dtype(np.float32), where)
        return (drawn.astype(wide) <= chances.astype(wide)).astype(kind)

    def permutation(self, n: int, dtype: Any, where: device, generator: Any) -> Array:
        permutation_of_the_cpu(min(n, 0), dtype)  # checks its arguments
        found = permutation(
            n, self._generator_for(where, generator), self._properties(where.index or 0)
        )
        return self.from_numpy(found.astype(dtype), where)

    def multinomial(
        self, weights: Array, num_samples: int, replacement: bool, generator: Any
    ) -> Array:
        """Places drawn by weight: where the first of events at the rates of the weights happens."""
        check_multinomial(weights, num_samples, replacement)
        where = self.device_of(weights)
        generator = self._generator_for(where, generator)
        if replacement and num_samples > 1:
            drawn = multinomial(self.to_numpy(weights), num_samples, True, generator)
            return self.from_numpy(drawn, where)
        rate = RECIPES["exponential"](weights.dtype)
        keys = weights / self._draw(rate, generator, weights.shape, weights.dtype, where)
        keys = keys.astype(np.float32) if keys.dtype.itemsize == 2 else keys  # which CuPy can sort
        if num_samples == 1:
            return keys.argmax(axis=-1)[..., None]
        return np.argsort(-keys, axis=-1)[..., :num_samples]

    def normal(self, mean: Any, std: Any, generator: Any) -> Array:
        """Normal numbers with a mean or a deviation each."""
        like = mean if isinstance(mean, self.array) else std
        where, own = self.device_of(like), isinstance(std, self.array)
        if own and bool((std < 0).any()):
            raise RuntimeError("normal expects all elements of std >= 0.0")
        shape = np.broadcast_shapes(np.shape(mean), np.shape(std))
        drawn = self.draw(
            normal, shape, like.dtype, where, 0.0, 1.0 if own else std, generator=generator
        )
        drawn = (drawn * std).astype(like.dtype) if own else drawn
        return (drawn + mean).astype(like.dtype)

    def _generator_for(self, where: device, given: Any) -> Any:
        """The generator that was given, if it is of this device; or the GPU's own."""
        if given is None:
            return self.generator(where.index or 0)
        if chosen(given).device.type != "cuda":
            raise RuntimeError(
                f"Expected a 'cuda' device type for generator but found '{given.device.type}'"
            )
        return given

    def _properties(self, index: int) -> Any:
        found = self._known.get(index)
        if found is None:
            found = self._known[index] = self.properties(index)
        return found

    def fill_random(
        self, launch: Launch, seed: int, offset: int, kind: Any, where: device
    ) -> Array:
        """The numbers of a launch, in one row."""
        return self.from_numpy(numbers(launch, seed, offset, kind), where)

    # --- Graphs ------------------------------------------------------------------------------------------

    def new_graph(self, where: device, split: bool) -> Graph:
        """A graph of a GPU, in which nothing is captured yet, with work in its first half or not."""
        raise NotImplementedError

    def fill_from_words(
        self, launch: Launch, graph: Graph, place: int, kind: Any, where: device
    ) -> Array:
        """The numbers of a launch of a graph, whose words at a place are the seed and the counter."""
        raise NotImplementedError

    def update_from_words(
        self, formula: Any, columns: Sequence[list[Array]], numbers: Sequence[float], graph: Graph, place: int
    ) -> bool:  # fmt: skip
        """A step of an optimizer in a graph, for parameters that share their numbers, which are words at a place.

        Args:
            numbers: as they are now; which of them are 0 stays so

        Returns:
            False where there is no kernel for it
        """
        raise NotImplementedError

    # --- Pinned memory -----------------------------------------------------------------------------------

    def pin(self, array: np.ndarray) -> np.ndarray:
        """A copy in memory of the CPU that a GPU reads by itself."""
        memory = self.pinned(max(array.nbytes, 1))
        copy = np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
        copy[...] = array
        return copy

    def is_pinned(self, array: np.ndarray) -> bool:
        """Whether an array of the CPU is in such memory."""
        owner: Any = array
        while isinstance(owner, np.ndarray) and owner.base is not None:
            owner = owner.base
        owner = owner.obj if isinstance(owner, memoryview) else owner
        return isinstance(owner, self.pinned_memory)

    # --- What a kind of GPU says of itself ---------------------------------------------------------------

    out_of_memory: type[BaseException] = MemoryError
    pinned_memory: type

    def pinned(self, size: int) -> Any:
        """Bytes of the CPU that a GPU reads by itself, an object of the class `pinned_memory`."""
        raise NotImplementedError

    def index_of(self, array: Array) -> int:
        """Which GPU an array is on."""
        raise NotImplementedError

    def current(self) -> int:
        """Which GPU is in use."""
        raise NotImplementedError

    def use(self, index: int) -> None:
        """Use a GPU from now on, in this thread."""
        raise NotImplementedError

    def synchronize(self, index: int) -> None:
        """Wait until a GPU has done all its work."""
        raise NotImplementedError

    def properties(self, index: int) -> Any:
        """A GPU's name, version, memory, number of processors."""
        raise NotImplementedError

    def memory(self, index: int) -> tuple[int, int, int, int]:
        """How many bytes arrays take on a GPU, now and at most, and how many are held for them."""
        raise NotImplementedError

    def reset_peak(self, index: int) -> None:
        """Reset the peak of allocated bytes."""

    def free_and_total(self, index: int) -> tuple[int, int]:
        """How many bytes of a GPU are free, and how many it has."""
        raise NotImplementedError

    def release(self) -> None:
        """Give back the memory that no array takes."""

    def new_stream(self, priority: int) -> Any:
        """A new order of work."""
        raise NotImplementedError

    def current_stream(self) -> Any:
        """The order that new work joins."""
        raise NotImplementedError

    def default_stream(self) -> Any:
        """The order that new work joins if nothing else is said."""
        raise NotImplementedError

    def set_stream(self, stream: Any) -> None:
        """Let new work join a stream from now on, in this thread."""
        raise NotImplementedError

    def new_event(self, timed: bool) -> Any:
        """A moment to be noted."""
        raise NotImplementedError

    def milliseconds(self, start: Any, end: Any) -> float:
        """The time between two moments."""
        raise NotImplementedError


def check_size(n: int) -> None:
    """OutOfMemoryError if an array of n elements cannot be."""
    if n > MOST:
        raise OutOfMemoryError(
            f"CUDA out of memory. An array of {n} elements or more is asked for."
        )


def _case(name: str, arrays: Any) -> Case:
    """A record and the type of its first array."""
    return name, next((x.dtype for x in arrays if hasattr(x, "dtype")), None)


def _each(params: dict[str, Any], change: Any) -> dict[str, Any]:
    """Parameters with arrays, also those in tuples, changed."""

    def changed(value: Any) -> Any:
        if type(value) in (tuple, list):
            return type(value)(map(changed, value))
        return change(value)

    return {name: CPU if name == "device" else changed(value) for name, value in params.items()}


# --- Finding one -------------------------------------------------------------------------------------


@cache
def find_cuda() -> tuple[Cuda | None, str]:
    """The GPUs of this machine, now known as devices; or None, and what is missing."""
    wanted, _, number = os.environ.get("MINITORCH_CUDA", "").partition(":")
    if wanted == "off":
        return None, "MINITORCH_CUDA=off hides it"
    if wanted == "simulated":
        from .simulated import SimulatedCuda

        backend: Cuda = SimulatedCuda(int(number or 1))
    else:
        try:
            from .cupy_backend import CupyCuda

            backend = CupyCuda()
        except DeviceError as error:
            return None, str(error)
    register(backend)
    return backend, ""


def require_cuda() -> Cuda:
    """The GPUs of this machine; an error that says what is missing where there are none."""
    backend, missing = find_cuda()
    if backend is None:
        raise DeviceError(f"Torch not compiled with CUDA enabled: there is no GPU here. {missing}")
    return backend
