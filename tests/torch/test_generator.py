"""Random numbers are PyTorch's: the same bits, and the same state after each call."""

from __future__ import annotations

import copy
import itertools
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
import torch

from minitorch.torch import c_math, random_words, sampling, sampling_kernels
from minitorch.torch import generator as generator_module
from minitorch.torch.generator import DEFAULT_SEED, Generator, default_generator

from .oracle import FUSED

SIZES = (0, 1, 2, 7, 15, 16, 17, 31, 32, 100, 1000, 10_001)
SEEDS = (0, 1, 1234, 2**32 + 5, 2**64 - 1)
TYPES: dict[str, tuple[Any, torch.dtype]] = {
    "float16": (np.float16, torch.float16),
    "bfloat16": (ml_dtypes.bfloat16, torch.bfloat16),
    "float32": (np.float32, torch.float32),
    "float64": (np.float64, torch.float64),
    "complex64": (np.complex64, torch.complex64),
    "complex128": (np.complex128, torch.complex128),
    "bool": (np.bool_, torch.bool),
    "uint8": (np.uint8, torch.uint8),
    "int8": (np.int8, torch.int8),
    "int16": (np.int16, torch.int16),
    "int32": (np.int32, torch.int32),
    "int64": (np.int64, torch.int64),
}
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
STANDARD_GAMMA: Any = getattr(torch, "_standard_gamma")  # noqa: B009
DIRICHLET: Any = getattr(torch, "_sample_dirichlet")  # noqa: B009


class Case(NamedTuple):
    """One way of drawing: ours and theirs, each from (count, type, generator).

    Attributes:
        sums: the size of the terms that are added to a product, if any are. Processors with
            a fused multiply-and-add round this once, on others PyTorch rounds it twice.
    """

    name: str
    types: tuple[str, ...]
    ours: Callable[[int, Any, Generator], Any]
    theirs: Callable[[int, Any, torch.Generator], torch.Tensor]
    sums: float | None = None


def in_place(method: str, *args: Any) -> Callable[[int, Any, torch.Generator], torch.Tensor]:
    """PyTorch's method, on a new tensor."""
    return lambda n, d, g: getattr(torch.empty(n, dtype=d), method)(*args, generator=g)


def uniform(low: float, high: float, types: tuple[str, ...] = FLOATS + COMPLEX) -> Case:
    ours = lambda n, d, g: sampling.uniform((n,), d, low, high, g)  # noqa: E731
    theirs, largest = in_place("uniform_", low, high), max(abs(low), abs(high))
    return Case(f"uniform({low}, {high})", types, ours, theirs, largest)


def normal(mean: float, std: float) -> Case:
    ours = lambda n, d, g: sampling.normal((n,), d, mean, std, g)  # noqa: E731
    theirs, largest = in_place("normal_", mean, std), abs(mean) + 4 * std
    return Case(f"normal({mean}, {std})", FLOATS + COMPLEX, ours, theirs, largest)


def integers(low: int, high: int | None, *types: str) -> Case:
    ours = lambda n, d, g: sampling.integers((n,), d, low, high, g)  # noqa: E731
    return Case(f"integers({low}, {high})", types, ours, in_place("random_", low, high))


def weights(n: int) -> torch.Tensor:
    return torch.rand(max(n, 1), generator=torch.Generator().manual_seed(n))


def multinomial(count: int, replacement: bool) -> Case:
    return Case(
        f"multinomial({count}, {replacement})",
        ("float32", "float64"),
        lambda n, d, g: sampling.multinomial(weights(n).numpy().astype(d), count, replacement, g),
        lambda n, d, g: torch.multinomial(weights(n).to(d), count, replacement, generator=g),
    )


def of_array(name: str, scale: float, theirs: Callable[..., torch.Tensor], *types: str) -> Case:
    """A distribution with a parameter for each number."""
    ours = getattr(sampling, name)
    return Case(
        f"{name} of arrays up to {scale}",
        types,
        lambda n, d, g: ours((weights(n).double().numpy() * scale).astype(d), g),
        lambda n, d, g: theirs((weights(n).double() * scale).to(d), generator=g),
    )


CASES = [
    uniform(0, 1),
    uniform(-0.1, 0.1),
    uniform(0, 3.7),
    uniform(-5.3, 20),
    uniform(1e-3, 1.1e-3),
    uniform(-1e38, 1e38, ("float32", "float64")),
    uniform(-8e307, 9e307, ("float64",)),
    normal(0, 1),
    normal(0, 0.02),
    normal(0.3, 1.7),
    normal(-1e4, 1e-4),
    normal(2, 0),
    integers(0, 2, *INTEGERS, *FLOATS, "bool"),
    integers(-100, 100, "int8", "int16", "int32", "int64", *FLOATS),
    integers(3, 50_000, "int32", "int64", "float16", "float32", "float64"),
    integers(-(2**27), 2**27 - 1, "int32", "int64", "float32", "float64"),
    integers(-(2**27), 2**27, "int32", "int64", "float32", "float64"),
    integers(-(2**31), 2**31, "int32", "int64", "float32", "float64", "bfloat16"),
    integers(-(2**62), 2**62 + 12345, "int64", "float64"),
    integers(-(2**63), 2**63 - 1, "int64"),
    integers(-(2**63), None, "int64", "float32", "float64", "bfloat16"),
    integers(3, None, *INTEGERS, *FLOATS),
    integers(0, 65_504, "float16"),
    integers(-1023, 1021, "float16", "bfloat16"),
    Case(
        "integers_of_type",
        (*INTEGERS, *FLOATS, "bool"),
        lambda n, d, g: sampling.integers_of_type((n,), d, g),
        in_place("random_"),
    ),
    Case(
        "permutation",
        ("int64", "int32", "float32", "float64"),
        lambda n, d, g: sampling.permutation(n, d, g),
        lambda n, d, g: torch.randperm(n, dtype=d, generator=g),
    ),
    Case(
        "bernoulli(0.3)",
        (*INTEGERS, *FLOATS, "bool"),
        lambda n, d, g: sampling.bernoulli((n,), d, 0.3, g),
        in_place("bernoulli_", 0.3),
    ),
    Case(
        "bernoulli of arrays",
        FLOATS,
        lambda n, d, g: sampling.bernoulli(
            (max(n, 1),), d, weights(n).double().numpy().astype(d), g
        ),
        lambda n, d, g: torch.bernoulli(weights(n).double().to(d), generator=g),
    ),
    Case(
        "exponential(1.7)",
        FLOATS,
        lambda n, d, g: sampling.exponential((n,), d, 1.7, g),
        in_place("exponential_", 1.7),
    ),
    Case(
        "geometric(0.3)",
        FLOATS + INTEGERS,
        lambda n, d, g: sampling.geometric((n,), d, 0.3, g),
        in_place("geometric_", 0.3),
    ),
    Case(
        "cauchy(1.7, 0.3)",
        FLOATS,
        lambda n, d, g: sampling.cauchy((n,), d, 1.7, 0.3, g),
        in_place("cauchy_", 1.7, 0.3),
        sums=1.7,
    ),
    Case(
        "log_normal(0.5, 1.3)",
        FLOATS,
        lambda n, d, g: sampling.log_normal((n,), d, 0.5, 1.3, g),
        in_place("log_normal_", 0.5, 1.3),
        sums=0.5,
    ),
    multinomial(1, False),
    multinomial(1, True),
    multinomial(50, True),
    of_array("poisson", 3.0, torch.poisson, *FLOATS),
    of_array("poisson", 300.0, torch.poisson, *FLOATS),
    of_array("standard_gamma", 1.0, STANDARD_GAMMA, "float32", "float64"),
    of_array("standard_gamma", 9.0, STANDARD_GAMMA, "float32", "float64"),
    Case(
        "binomial",
        ("float32", "float64"),
        lambda n, d, g: sampling.binomial(
            (np.arange(max(n, 1)) % 200).astype(d), weights(n).numpy().astype(d), g
        ),
        lambda n, d, g: torch.binomial(
            (torch.arange(max(n, 1)) % 200).to(d), weights(n).to(d), generator=g
        ),
    ),
]


def pytorch_uses_mkl() -> bool:
    """Whether PyTorch takes Bernoulli numbers from Intel's library: then one word makes all."""
    g = torch.Generator()
    torch.empty(100).bernoulli_(0.5, generator=g)
    return int(g.get_state()[16:24].view(torch.int64)) < 200


USES_MKL = pytorch_uses_mkl()


def agree(case: Case, ours: np.ndarray, theirs: torch.Tensor) -> bool:
    """Whether every bit is the same; where PyTorch rounds twice, all but the last ones."""
    if FUSED or case.sums is None:
        return same_bits(ours, theirs)
    return same_but_for_rounding(ours, theirs, case.sums)


def same_but_for_rounding(ours: np.ndarray, theirs: torch.Tensor, size: float = 4.0) -> bool:
    """Whether numbers agree up to a few roundings of numbers of a size, and their own."""
    eps = torch.finfo(theirs.dtype).eps
    wide = torch.complex128 if theirs.is_complex() else torch.float64
    got = torch.from_numpy(ours.astype(np.complex128 if theirs.is_complex() else np.float64))
    return torch.allclose(got, theirs.to(wide), rtol=8 * eps, atol=4 * eps * size)


def same_bits(ours: np.ndarray, theirs: torch.Tensor) -> bool:
    """Whether shape, and every bit, is the same."""
    raw = theirs.contiguous().view(torch.int16).numpy() if theirs.dtype == torch.bfloat16 else None
    other = theirs.numpy() if raw is None else raw
    return ours.shape == tuple(theirs.shape) and ours.tobytes() == other.tobytes()


def same_normals(ours: np.ndarray, theirs: torch.Tensor) -> bool:
    return same_bits(ours, theirs) if FUSED else same_but_for_rounding(ours, theirs)


def same_state(g: Generator, t: torch.Generator) -> bool:
    return g.state_array().tobytes() == t.get_state().numpy().tobytes()


@pytest.fixture(params=["numpy", "compiled"])
def loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs a test twice: with NumPy doing everything, and with compiled loops."""
    kernels = None
    if request.param == "compiled":
        from minitorch.torch import sampling_kernels as kernels
    for module in (c_math, generator_module, random_words, sampling):
        monkeypatch.setattr(module, "compiled_loops", lambda size: kernels)
    return request.param


@pytest.mark.filterwarnings("ignore:.*is out of bounds")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_bits_are_pytorchs(case: Case, loops: str) -> None:
    if case.name == "bernoulli(0.3)" and USES_MKL:
        pytest.skip("PyTorch draws these with Intel's library here")
    for name in case.types:
        ours_type, theirs_type = TYPES[name]
        for i, n in enumerate(SIZES if name == case.types[-1] else SIZES[1:-1]):
            seed = SEEDS[i % len(SEEDS)]
            g, t = Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
            ours = case.ours(n, ours_type, g)
            assert agree(case, ours, case.theirs(n, theirs_type, t)), (name, n, seed)
            assert same_state(g, t), (name, n, seed)


TRANSCENDENTAL = "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh power".split()


def off_by_one_bit(function: Callable[..., Any]) -> Callable[..., Any]:
    def computed(*args: Any, **keywords: Any) -> Any:
        exact = function(*args, **keywords)
        return np.nextafter(exact, exact.dtype.type(np.inf))

    return computed


@pytest.mark.usefixtures("loops")
@pytest.mark.filterwarnings("ignore:.*is out of bounds")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_bits_do_not_depend_on_numpys_loops(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NumPy picks its loops for exp, log and the like by processor; they differ by a bit."""
    if case.name == "bernoulli(0.3)" and USES_MKL:
        pytest.skip("PyTorch draws these with Intel's library here")
    for name in set(case.types) & {"float32", "float64"}:
        ours_type, theirs_type = TYPES[name]
        case.ours(1000, ours_type, Generator())  # kernels are compiled with NumPy as it is
        g, t = Generator().manual_seed(5), torch.Generator().manual_seed(5)
        with monkeypatch.context() as rough:
            for function in TRANSCENDENTAL:
                rough.setattr(np, function, off_by_one_bit(getattr(np, function)))
            ours = case.ours(1000, ours_type, g)
        assert agree(case, ours, case.theirs(1000, theirs_type, t)), name
        assert same_state(g, t)


@pytest.mark.filterwarnings("ignore:.*is out of bounds")
def test_long_arrays() -> None:
    """Several chunks and compiled words, with what is left of the last block."""
    n = 150_003
    for case in CASES:
        if case.name.startswith(("bernoulli(0", "standard", "poisson", "binomial")):
            continue
        ours_type, theirs_type = TYPES[case.types[-1]]
        g, t = Generator().manual_seed(7), torch.Generator().manual_seed(7)
        assert agree(case, case.ours(n, ours_type, g), case.theirs(n, theirs_type, t)), case.name
        assert same_state(g, t), case.name


@pytest.mark.filterwarnings("ignore:.*is out of bounds")
@pytest.mark.parametrize("seed", range(10))
def test_interleaved_calls(seed: int, loops: str) -> None:
    """Any sequence of calls stays in step: also the spare number of a pair of normal ones."""
    choose = random.Random(seed)
    g, t = Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
    for _ in range(40):
        case = choose.choice(CASES)
        if case.name == "bernoulli(0.3)" and USES_MKL:
            continue
        name, n = choose.choice(case.types), choose.choice(SIZES[:-1])
        ours_type, theirs_type = TYPES[name]
        ours, theirs = case.ours(n, ours_type, g), case.theirs(n, theirs_type, t)
        assert agree(case, ours, theirs), (case.name, name, n)
        assert same_state(g, t), (case.name, name, n)
        if choose.random() < 0.2:  # each continues from the other's state
            state = g.state_array()
            g.set_state_array(t.get_state().numpy())
            t.set_state(torch.from_numpy(state))


def test_shapes_and_strides() -> None:
    g, t = Generator().manual_seed(3), torch.Generator().manual_seed(3)
    for shape in ((), (3, 4), (2, 0), (5, 4, 3)):
        for d in ("float32", "complex64"):
            ours, theirs = TYPES[d]
            assert same_bits(
                sampling.uniform(shape, ours, 0, 1, g), torch.rand(shape, dtype=theirs, generator=t)
            )
            made = sampling.normal(shape, ours, 0, 1, g)
            assert same_normals(made, torch.randn(shape, dtype=theirs, generator=t))
            assert made.flags.c_contiguous
            assert made.flags.writeable


@pytest.mark.parametrize("d", FLOATS)
def test_normal_around_means_and_deviations(d: str) -> None:
    ours, theirs = TYPES[d]
    mean, std = torch.randn(5, 1).to(theirs), torch.rand(4).to(theirs)
    mean_array, std_array = (x.double().numpy().astype(ours) for x in (mean, std))
    g, t = Generator().manual_seed(3), torch.Generator().manual_seed(3)
    pairs: list[tuple[Any, Any, Any, Any]] = [
        (mean_array, std_array, mean, std),
        (mean_array, 0.3, mean, 0.3),
        (-2.0, std_array, -2.0, std),
    ]
    for mean_a, std_a, mean_t, std_t in pairs:
        made = sampling.normal_around(mean_a, std_a, g)
        assert same_normals(made, torch.normal(mean_t, std_t, generator=t))


@pytest.mark.parametrize("d", FLOATS)
def test_multinomial_without_replacement(d: str) -> None:
    """The same order, except where two keys tie: then PyTorch's sort decides."""
    ours, theirs = TYPES[d]
    for n in (2, 50, 1000):
        w = torch.rand(3, n).to(theirs)
        array = w.double().numpy().astype(ours)
        g, t = Generator().manual_seed(n), torch.Generator().manual_seed(n)
        drawn = sampling.multinomial(array, n // 2, False, g)
        expected = torch.multinomial(w, n // 2, False, generator=t).numpy()
        assert same_state(g, t)
        keys = array / sampling.exponential(w.shape, ours, 1.0, Generator().manual_seed(n))
        pick = lambda indices: np.take_along_axis(keys, indices, axis=-1)  # noqa: E731, B023
        assert (pick(drawn) == pick(expected)).all()
        assert all(len(set(row)) == n // 2 for row in drawn.tolist())


@pytest.mark.parametrize("d", ["float32", "float64"])
def test_dirichlet(d: str) -> None:
    """The order in which PyTorch sums a row is its own: the last bits may differ."""
    ours, theirs = TYPES[d]
    w = torch.rand(20, 30, dtype=theirs) * 3
    g, t = Generator().manual_seed(3), torch.Generator().manual_seed(3)
    expected = DIRICHLET(w, generator=t).numpy()
    drawn = sampling.dirichlet(w.numpy(), g)
    assert drawn.dtype == ours
    assert same_state(g, t)
    np.testing.assert_allclose(drawn, expected, rtol=4 * np.finfo(ours).eps)


def test_seeds() -> None:
    g, t = Generator(), torch.Generator()
    assert g.initial_seed() == t.initial_seed() == DEFAULT_SEED
    for seed in (0, 5, -1, -(2**63), 2**63, 2**64 - 1):
        assert g.manual_seed(seed) is g
        assert g.initial_seed() == t.manual_seed(seed).initial_seed()
        assert same_state(g, t)
    assert g.manual_seed(np.int64(5)).initial_seed() == 5  # type: ignore
    assert g.seed() == g.initial_seed()
    assert g.seed() != g.initial_seed() + 1
    assert g.device.type == "cpu"


def test_bad_seeds_and_states() -> None:
    g = Generator()
    for bad in (1.5, "a", None, True):
        with pytest.raises(RuntimeError, match="manual_seed expected a long"):
            g.manual_seed(bad)  # type: ignore
    for bad in (2**64, -(2**63) - 1):
        with pytest.raises(ValueError, match="Overflow"):
            g.manual_seed(bad)
    with pytest.raises(RuntimeError, match="size to be 10"):
        g.set_state_array(np.zeros(10, np.uint8))
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        g.set_state_array(np.zeros(5056, np.uint8))
    with pytest.raises(TypeError, match="ByteTensor"):
        g.set_state([1, 2])  # type: ignore


def test_states_are_tensors() -> None:
    g = Generator().manual_seed(4)
    sampling.normal((3,), np.float32, 0, 1, g)
    state = g.get_state()
    first = sampling.normal((20,), np.float32, 0, 1, g)
    assert g.set_state(state) is g
    assert (sampling.normal((20,), np.float32, 0, 1, g) == first).all()


def test_copies_continue_alike() -> None:
    g = Generator().manual_seed(4)
    sampling.normal((3,), np.float32, 0, 1, g)
    twins = [g.clone_state(), copy.copy(g), copy.deepcopy(g), pickle.loads(pickle.dumps(g))]
    expected = sampling.normal((33,), np.float64, 0, 1, g)
    for twin in twins:
        assert twin.initial_seed() == 4
        assert (sampling.normal((33,), np.float64, 0, 1, twin) == expected).all()


def test_the_default_generator() -> None:
    default_generator.manual_seed(11)
    torch.manual_seed(11)
    assert same_bits(sampling.uniform((5,), np.float32), torch.rand(5))
    assert same_normals(sampling.normal((20,), np.float32), torch.randn(20))
    assert same_bits(sampling.permutation(20, np.int64), torch.randperm(20))


def test_threads_share_a_generator() -> None:
    """Each call takes consecutive words: no word is given twice or lost."""
    g, calls, n = Generator().manual_seed(2), 64, 1000
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda _: sampling.uniform((n,), np.float32, 0, 1, g), range(calls)))
    together = sampling.uniform((calls * n,), np.float32, 0, 1, Generator().manual_seed(2))
    expected = {row.tobytes() for row in together.reshape(calls, n)}
    assert {part.tobytes() for part in parts} == expected


BAD_CALLS: list[tuple[Callable[[], Any], str]] = [
    (lambda: sampling.uniform((2,), np.float32, 2, 1), "from=2 > to=1"),
    (lambda: sampling.uniform((2,), np.float32, 0, 1e39), "to is out of bounds"),
    (lambda: sampling.uniform((2,), np.float64, float("nan"), 1), "from is out of bounds"),
    (lambda: sampling.uniform((2,), np.float32, -3e38, 3e38), "exceed the limit"),
    (lambda: sampling.normal((2,), np.float32, 0, -1), "std >= 0.0"),
    (lambda: sampling.normal_around(np.zeros(2), -np.ones(2)), "all elements of std"),
    (lambda: sampling.integers((2,), np.int64, 5, 5), "from=5 >= to=5"),
    (lambda: sampling.integers((2,), np.uint8, 0, 300), "to - 1 is out of bounds"),
    (lambda: sampling.integers((2,), np.int8, -300, 3), "from is out of bounds"),
    (lambda: sampling.integers((2,), np.float16, 2051, 2052), "casted to dtype"),
    (lambda: sampling.permutation(-1, np.int64), "non-negative"),
    (lambda: sampling.permutation(300, np.uint8), "too large"),
    (lambda: sampling.permutation(5000, np.float16), "too large"),
    (lambda: sampling.bernoulli((2,), np.float32, 1.5), "p=1.5"),
    (lambda: sampling.bernoulli((2,), np.float32, np.array([0.5, np.nan])), "all p"),
    (lambda: sampling.exponential((2,), np.float32, 0), "lambda > 0.0"),
    (lambda: sampling.geometric((2,), np.float32, 1), "p=1"),
    (lambda: sampling.cauchy((2,), np.float32, 0, 0), "sigma > 0.0"),
    (lambda: sampling.log_normal((2,), np.float32, 0, 0), "std > 0.0"),
    (lambda: sampling.multinomial(np.ones((2, 2, 2)), 1), "1 or 2 dim"),
    (lambda: sampling.multinomial(np.ones(3, np.int64), 1), "floating-point"),
    (lambda: sampling.multinomial(np.ones(3), 0), "n_sample <= 0"),
    (lambda: sampling.multinomial(np.ones(3), 4), "without replacement"),
    (lambda: sampling.multinomial(-np.ones(3), 1), "element < 0"),
    (lambda: sampling.multinomial(np.full(3, np.inf), 1), "`inf`"),
    (lambda: sampling.multinomial(np.zeros(3), 1), "sum of probabilities"),
    (lambda: sampling.poisson(-np.ones(3)), "non-negative"),
]


@pytest.mark.parametrize(("call", "message"), BAD_CALLS)
def test_bad_arguments(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()


def test_types_that_are_not_sampled_in() -> None:
    for call in (sampling.standard_gamma, sampling.dirichlet):
        with pytest.raises(NotImplementedError):
            call(np.ones(3, np.float16))
    with pytest.raises(NotImplementedError):
        sampling.binomial(np.ones(3, np.int64), np.ones(3))
    with pytest.raises(NotImplementedError):
        sampling.poisson(np.ones(3, np.int64))


def test_small_draws_do_not_load_numba() -> None:
    program = (
        "import sys, numpy as np\n"
        "from minitorch.torch import sampling\n"
        "sampling.normal((10, 100), np.float64); sampling.uniform((999,), np.float64, 1, 2)\n"
        "sampling.permutation(1000, np.int64)\n"
        "assert not {'numba', 'scipy', 'ml_dtypes'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_compiled_loops_take_over_after_many_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    for calls in (10**9, 3):
        many = {True: calls, False: calls}
        monkeypatch.setattr(generator_module, "CALLS_BEFORE_COMPILING", many)
        monkeypatch.setattr(generator_module, "_calls", itertools.count())
        monkeypatch.setattr(generator_module, "_loops", [])
        monkeypatch.setattr(generator_module, "_LOOPS", "loops that nobody has loaded")
        monkeypatch.setattr(generator_module, "import_module", lambda name: sampling_kernels)
        g = Generator().manual_seed(4)
        normals = [sampling.normal((n,), np.float32, 0.5, 2.0, g) for n in (3, 20, 5, 1)]
        others = sampling.uniform((7,), np.float32, 0.0, 1.0, g), sampling.permutation(9, int, g)
        drawn.append([x.tobytes() for x in (*normals, *others)])
        assert bool(generator_module._loops) == (calls == 3)
    assert drawn[0] == drawn[1]


def test_permutations_of_two_words_each() -> None:
    """PyTorch takes two words for each of more than 214 million elements; here for a few."""
    g, same, order = Generator().manual_seed(3), Generator().manual_seed(3), np.arange(50)
    with g.memory() as (words, cursor):
        sampling_kernels.fill_permutation(order, words, cursor, 2)
    pairs, expected = same.words(2 * 49).tolist(), list(range(50))
    for i in range(49):
        other = i + (pairs[2 * i] << 32 | pairs[2 * i + 1]) % (50 - i)
        expected[i], expected[other] = expected[other], expected[i]
    assert order.tolist() == expected
    assert g.state_array().tobytes() == same.state_array().tobytes()
