"""What stands behind the door can be built by strangers: a device of their own, a tracer of their own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import minitorch.torch as torch
from benchmarks.torch_steps import MODELS
from minitorch.torch.backends.interface import Backend, register, unregister
from minitorch.torch.interpreters import Composite, Interpreter

# --- A device ---------------------------------------------------------------------------------------

LOG: list[str] = []


def _plain(value):
    """NumPy's arrays in the place of ours, however nested."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain, value))
    return value.memory if isinstance(value, ToyArray) else value


def _ours(value):
    return ToyArray(value) if isinstance(value, (np.ndarray, np.generic)) else value


class ToyArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that is none of NumPy's: it keeps its memory to itself and logs what is done to it."""

    def __init__(self, memory):
        self.memory = np.asarray(memory)

    def __array__(self, *_, **__):
        raise TypeError("this memory cannot be read from the CPU")

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        LOG.append(ufunc.__name__)
        if out is not None:
            options["out"] = _plain(out)
        result = getattr(ufunc, method)(*_plain(inputs), **options)
        return _ours(result) if out is None else out[0]

    def __array_function__(self, function, types, args, kwargs):
        LOG.append(function.__name__)
        plain = {name: _plain(value) for name, value in kwargs.items()}
        return _ours(function(*_plain(args), **plain))

    def __getattr__(self, name):  # what an array has: shape, dtype, T, reshape, sum, ...
        found = getattr(self.memory, name)
        if not callable(found) or isinstance(found, np.dtype):
            return _ours(found)
        return lambda *args, **named: _ours(found(*_plain(args), **named))

    def __getitem__(self, key):
        return _ours(self.memory[_plain(key)])

    def __setitem__(self, key, value):
        self.memory[_plain(key)] = _plain(value)

    def __len__(self):
        return len(self.memory)

    def __bool__(self):
        return bool(self.memory)


class Toy(Backend):
    kind, array = "toy", ToyArray

    def empty(self, shape, dtype, where):
        return ToyArray(np.empty(shape, dtype))

    def strided(self, array, shape, strides):
        return ToyArray(np.lib.stride_tricks.as_strided(array.memory, shape, strides))

    def from_numpy(self, array, where):
        return ToyArray(array.copy())

    def to_numpy(self, array):
        return array.memory.copy()


def train(device: str) -> list[float]:
    torch.manual_seed(0)
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)).to(device)
    x, y = torch.randn(16, 4).to(device), torch.randn(16, 3).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.fixture
def toy() -> Iterator[Toy]:
    backend = Toy()
    register(backend)
    LOG.clear()
    yield backend
    unregister(backend)


def test_a_device_of_60_lines_trains_a_network(toy):
    assert train("toy") == pytest.approx(train("cpu"), rel=1e-6)
    assert {"tanh", "add", "multiply"} <= set(LOG)


def test_tensors_of_two_devices_do_not_meet(toy):
    x = torch.ones(2, device="toy")
    assert (str(x.device), x.tolist()) == ("toy:0", [1, 1])
    assert (x * torch.full((), 2.0)).cpu().tolist() == [2, 2]  # a number may be anywhere
    with pytest.raises(RuntimeError, match="at least two devices, toy:0 and cpu"):
        x.add(torch.ones(2))
    with pytest.raises(TypeError, match=r"Use Tensor\.cpu"):
        x.numpy()
    with pytest.raises(RuntimeError, match="toy:1"):
        x.to("toy:1")
    with pytest.raises(NotImplementedError, match="no kernel for the device toy:0"):
        torch.linalg.cholesky_ex(torch.eye(2, device="toy"))


def test_a_kernel_of_the_device_takes_the_place_of_a_record(toy):
    Toy.kernels = {"exp": lambda input: ToyArray(np.full(input.shape, 7.0, input.dtype))}
    try:
        assert torch.ones(2, device="toy").exp().tolist() == [7, 7]
        assert torch.ones(2).exp().tolist() != [7, 7]
    finally:
        Toy.kernels = {}


def test_new_tensors_go_to_the_default_device(toy):
    torch.set_default_device("toy")
    try:
        assert str(torch.get_default_device()) == str(torch.zeros(2).device) == "toy:0"
        assert torch.nn.Linear(2, 3).weight.device.type == "toy"
        with torch.device("cpu"):
            assert torch.zeros(2).device.type == torch.get_default_device().type == "cpu"
        assert torch.rand(2, device="cpu").device.type == "cpu"
    finally:
        torch.set_default_device(None)
    assert str(torch.get_default_device()) == str(torch.zeros(2).device) == "cpu"


def test_gradients_return_to_where_a_tensor_came_from(toy):
    x = torch.ones(3, requires_grad=True)
    (x.to("toy") * 3).sum().backward()
    assert (x.grad.device.type, x.grad.tolist()) == ("cpu", [3, 3, 3])


# --- A tracer ---------------------------------------------------------------------------------------


def _tensors(value):
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in _tensors(v)]
    return [value] if isinstance(value, torch.Tensor) else []


def _replaced(value, now):
    if isinstance(value, (list, tuple)):
        return type(value)(_replaced(v, now) for v in value)
    return now.get(id(value._array), value) if isinstance(value, torch.Tensor) else value


class Tape(Interpreter):
    """Notes what a step does, prints it as a program, and does it again."""

    def __init__(self):
        self.calls = []

    def operation(self, op, inputs, params, perform):
        result = perform(op, inputs, params)
        if type(op) is not Composite:
            arrays = [t._array for t in _tensors(result)]
            self.calls.append((op, inputs, params, arrays))
        return result

    def __str__(self):
        names, lines = {}, []
        for op, inputs, _, arrays in self.calls:
            read = [names.setdefault(id(t._array), f"t{len(names)}") for t in _tensors(inputs)]
            made = [names.setdefault(id(a), f"t{len(names)}") for a in arrays]
            lines.append(f"{', '.join(made)} = {op.name}({', '.join(read)})")
        return "\n".join(lines)

    def play(self):
        """Do it again with the values of now; return the tensors of this time by the arrays of that."""
        now = {}
        with torch.no_grad():
            for op, inputs, params, arrays in self.calls:
                result = op.perform(_replaced(inputs, now), params)
                now.update(zip(map(id, arrays), _tensors(result), strict=True))
        return now


def test_parameters_of_operations_hold_no_memory():
    """Memory is an input, so that who notes calls need not keep it alive."""
    x, tape = torch.arange(12.0).reshape(3, 4), Tape()
    tape.install()
    try:
        x.t().as_strided((2, 2), (1, 4)).add_(1)
        torch.nn.functional.max_pool2d(x[None], 2).sum()
    finally:
        tape.remove()
    assert "as_strided" in str(tape)
    arrays = [v for _, _, params, _ in tape.calls for v in params.values()]
    assert not any(isinstance(v, np.ndarray) for v in arrays)


@pytest.mark.parametrize("name", MODELS)
def test_what_a_step_does_is_all_on_the_tape(name):
    torch.manual_seed(0)
    step = MODELS[name](torch)
    eager = [step() for _ in range(4)]
    torch.manual_seed(0)
    step, tape = MODELS[name](torch), Tape()
    losses = [step()]  # after which the optimizer's state is there
    tape.install()
    try:
        losses.append(step())
    finally:
        tape.remove()
    tape.play()  # the third step
    assert [*losses, step()] == [*eager[:2], eager[3]], str(tape)


# --- What stands before the door ----------------------------------------------------------------------


@pytest.mark.parametrize("room", ["formulas", "ops", "nn", "optim"])
def test_what_defines_operations_knows_no_device(room):
    folder = Path(torch.__file__).parent / room
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                devices = {"backends.cpu", "backends.cuda"}
                assert not any(node.module.startswith(d) for d in devices), (file, node.lineno)
