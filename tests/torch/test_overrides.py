"""`__torch_function__`, function modes, dispatch modes and devices as contexts, beside PyTorch's."""

from __future__ import annotations

import operator
import threading

import pytest
import torch as oracle

import minitorch.torch as torch

BOTH = pytest.mark.parametrize("lib", [torch, oracle], ids=["ours", "PyTorch"])


def _logging(lib):
    """A subclass that writes down what it is asked."""
    log = []

    class Logging(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            log.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    return Logging, log


OPERATORS = (
    "add sub mul truediv floordiv mod pow matmul lt le gt ge eq ne iadd isub imul itruediv".split()
)
CALLS = {
    "neg": lambda lib, x, y: -x,
    "abs": lambda lib, x, y: abs(x),
    "getitem": lambda lib, x, y: x[0],
    "setitem": lambda lib, x, y: x.__setitem__(0, 1),
    "len": lambda lib, x, y: len(x),
    "float": lambda lib, x, y: float(x[0]),
    "shape": lambda lib, x, y: x.shape,
    "dtype": lambda lib, x, y: x.dtype,
    "grad": lambda lib, x, y: x.grad,
    "method": lambda lib, x, y: x.exp(),
    "method with arguments": lambda lib, x, y: x.clamp(0, 1),
    "in place": lambda lib, x, y: x.relu_(),
    "function": lambda lib, x, y: lib.exp(x),
    "second argument": lambda lib, x, y: lib.add(y, x),
    "in a list": lambda lib, x, y: lib.cat([y, x]),
    "by name": lambda lib, x, y: lib.add(input=y, other=x),
    "several results": lambda lib, x, y: x.max(0),
    "parts": lambda lib, x, y: x.split(1),
    "functional": lambda lib, x, y: lib.nn.functional.relu(x),
    "composite": lambda lib, x, y: lib.nn.functional.cross_entropy(x[None], lib.tensor([1])),
    "linalg": lambda lib, x, y: lib.linalg.norm(x),
    "fft": lambda lib, x, y: lib.fft.fft(x),
    "backward": lambda lib, x, y: (x * 2).requires_grad_().sum().backward(),
    "to numpy": lambda lib, x, y: x.numpy(),
}


def _both(run):
    mine, theirs = run(torch), run(oracle)
    assert mine == theirs
    return mine


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_asked(name):
    def run(lib):
        seen = []
        for order in ("xy", "yx", "2x"):
            kind, log = _logging(lib)
            x, y = lib.tensor([3.0, 4.0]).as_subclass(kind), lib.tensor([1.0, 2.0])
            operands = [{"x": x, "y": y, "2": 2}[c] for c in order]
            log.clear()
            try:
                result = getattr(operator, name)(*operands)
            except TypeError:
                seen.append("TypeError")
                continue
            seen.append((log[:1], type(result).__name__, result.as_subclass(lib.Tensor).tolist()))
        return str(seen).replace("__rdiv__", "__rtruediv__").replace("'__eq__'", "'eq'")

    _both(run)


@pytest.mark.parametrize("name", CALLS)
def test_functions_methods_and_properties_are_asked(name):
    def run(lib):
        kind, log = _logging(lib)
        x, y = lib.tensor([0.5, -0.5]).as_subclass(kind), lib.tensor([1.0, 2.0])
        log.clear()
        result = CALLS[name](lib, x, y)
        parts = [type(r).__name__ for r in result] if isinstance(result, tuple) else []
        names = [n.removeprefix("linalg_").removeprefix("fft_") for n in log]
        return names, type(result).__name__.replace("return_types.", ""), parts

    _both(run)


@BOTH
def test_plain_subclasses_keep_their_class_and_history(lib):
    class Named(lib.Tensor):
        name = "none"

    x = lib.ones(3, requires_grad=True)
    y = x.as_subclass(Named)
    z = (y * 2).exp().sum()
    assert type(y) is type(z) is Named
    z.backward()
    assert x.grad.tolist() == pytest.approx([2 * 2.718281828459045**2] * 3, rel=1e-6)
    y.name = "mine"
    assert y.name == "mine"
    assert type(lib.nn.Parameter(lib.ones(2)) * 2) is lib.Tensor
    with pytest.raises(TypeError, match="does not inherit from Tensor"):
        x.as_subclass(int)


@BOTH
def test_foreign_classes_and_their_order(lib):
    class Diagonal:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, [t.__name__ for t in types]

    class Child(Diagonal):
        pass

    class Silent:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    assert lib.mean(Diagonal()) == ("mean", ["Diagonal"])
    assert lib.add(Diagonal(), Child()) == ("add", ["Child", "Diagonal"])
    assert lib.ones(2) + Diagonal() == ("add", ["Diagonal"])
    assert lib.nn.functional.linear(Diagonal(), lib.ones(2, 2)) == ("linear", ["Diagonal"])
    assert lib.stack([lib.ones(2), Diagonal()]) == ("stack", ["Diagonal"])
    with pytest.raises(TypeError, match="returned NotImplemented"):
        lib.mean(Silent())


@BOTH
def test_modes_see_what_programs_call(lib):
    class Log(lib.overrides.TorchFunctionMode):
        def __init__(self, name):
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append((self.name, func.__name__))
            return func(*args, **(kwargs or {}))

    log: list[tuple[str, str]] = []
    x = lib.ones(2, 2)
    with Log("outer"):
        with Log("inner"):
            lib.nn.functional.softmax(x, 0)
        _ = x + 1
        x.exp()
    x.exp()
    assert log == [
        ("inner", "softmax"), ("outer", "softmax"), ("outer", "add"), ("outer", "exp"),
    ]  # fmt: skip
    with pytest.raises(ZeroDivisionError), Log("failing"):
        _ = 1 // 0
    log.clear()
    x.exp()
    thread = threading.Thread(target=lambda: x.exp())
    with Log("here"):
        thread.start()
        thread.join()
    assert not log


@BOTH
def test_modes_may_answer_and_be_left_out(lib):
    class Zero(lib.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return "zero" if func.__name__ == "exp" else func(*args, **(kwargs or {}))

    x = lib.ones(2)
    with Zero():
        assert lib.exp(x) == "zero" == x.exp()
        assert lib.log(x).tolist() == [0, 0]


@BOTH
def test_own_functions_can_be_overridden(lib):
    class Answer:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, args, kwargs

    over = lib.overrides

    @over.wrap_torch_function(lambda a, b=None: (a, b))
    def mine(a, b=None):
        return a

    assert mine(3) == 3
    given = Answer()
    assert mine(1, given) == ("mine", (1, given), {})
    assert over.has_torch_function((1, given))
    assert not over.has_torch_function((1, lib.ones(2), lib.nn.Parameter(lib.ones(2))))
    assert over.is_tensor_like(given)
    assert over.is_tensor_like(lib.ones(1))
    assert not over.is_tensor_like(3)
    assert over.is_tensor_method_or_property(lib.Tensor.add)
    assert over.is_tensor_method_or_property(lib.Tensor.shape.__get__)
    assert not over.is_tensor_method_or_property(lib.add)
    names = {over.resolve_name(f) for f in (lib.add, lib.Tensor.add, lib.nn.functional.relu)}
    assert names == {"torch.add", "torch.Tensor.add", "torch.nn.functional.relu"}
    assert over.resolve_name(lib.Tensor.shape.__get__) == "torch.Tensor.shape.__get__"


def test_what_pytorch_can_override_can_be_here():
    """Every function that PyTorch lists, and that is here, asks."""
    ours = {
        torch.overrides.resolve_name(f)
        for functions in torch.overrides.get_overridable_functions().values()
        for f in functions
    }
    missing = []
    for functions in oracle.overrides.get_overridable_functions().values():
        for f in functions:
            name = oracle.overrides.resolve_name(f)
            here = torch
            for part in (name or "").split(".")[1:]:
                here = getattr(here, part, None)
            known = here is not None and not isinstance(here, type) and not hasattr(here, "asks")
            if name and known and not name.endswith("__get__") and name not in ours:
                missing.append(name)
    python = ["torch.sym_max", "torch.sym_min", "torch.sym_sqrt"]  # functions of Python's own
    assert sorted(missing) == python


@BOTH
def test_devices_are_contexts(lib):
    with lib.device("cpu") as place:
        assert place.type == "cpu"
        assert lib.ones(2).device.type == lib.tensor([1]).device.type == "cpu"
    seen = []
    with lib.device("cuda"):
        for make in (lib.ones, lib.zeros, lib.randn):
            with pytest.raises((RuntimeError, AssertionError)):
                make(2)
        seen.append(lib.ones(2, device="cpu") + 1)
    assert lib.ones(1).device.type == "cpu"


def test_dispatch_modes_see_operations():
    class Count(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            log.append(str(func))
            return func(*args, **(kwargs or {}))

    log: list[str] = []
    with Count():
        torch.nn.functional.linear(torch.ones(2, 3), torch.zeros(4, 3)).relu_()
    names = ["ones", "zeros", "linear", "relu_"]
    assert log == [f"aten.{name}.default" for name in names]


@BOTH
def test_no_class_answers_what_it_is(lib):
    class Refuses:
        @classmethod
        def __torch_function__(cls, *_):
            raise NotImplementedError

    assert not lib.is_tensor(Refuses())
    assert not lib.is_storage(Refuses())
    assert "Refuses" in lib.typename(Refuses())
