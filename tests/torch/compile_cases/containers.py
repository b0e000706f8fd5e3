"""Containers of many kinds, modules, and the memory of tensors."""

from __future__ import annotations

import itertools
from collections import ChainMap, Counter, UserDict, defaultdict
from types import MappingProxyType, MethodType
from typing import Any

import numpy as np

import minitorch.torch as library

from .lookups import called
from .ways import data, way

torch: Any = library
nn = torch.nn


@way("eager")
def a_dictionary_with_defaults(compile):
    kept: defaultdict[str, float] = defaultdict(lambda: 2.0)

    def change(i):
        if i == 6:
            kept["a"] = 5.0

    return [called(compile(lambda x: x * kept["a"]), change), sorted(kept.items())]


@way("eager")
def a_default_factory_replaced(compile):
    kept: defaultdict[str, float] = defaultdict(lambda: 2.0)

    def change(i):
        kept.clear()
        kept.default_factory = lambda: float(i // 6)

    return [called(compile(lambda x: x * kept["a"]), change), sorted(kept.items())]


@way("played")
def counted_words(compile):
    counts = Counter("aab")
    return called(
        compile(lambda x: x * counts["a"] + counts["z"]), lambda i: counts.update("a" * (i == 6))
    )


@way("played")
def a_chain_of_dictionaries(compile):
    own: dict[str, float] = {}
    chain = ChainMap(own, {"scale": 2.0})

    def change(i):
        if i == 6:
            own["scale"] = 5.0

    return called(compile(lambda x: x * chain["scale"]), change)


@way("played")
def a_dictionary_of_a_user(compile):
    kept = UserDict(scale=1.0)
    return called(compile(lambda x: x * kept["scale"]), lambda i: kept.update(scale=float(i // 6)))


@way("played")
def a_proxy_of_a_dictionary(compile):
    kept = {"scale": 1.0}
    proxy = MappingProxyType(kept)
    return called(compile(lambda x: x * proxy["scale"]), lambda i: kept.update(scale=float(i // 6)))


@way("eager")
def views_of_a_dictionary(compile):
    kept = {"scale": 1.0}
    values = kept.values()
    return called(compile(lambda x: x * sum(values)), lambda i: kept.update(scale=float(i // 6)))


@way("eager")
def bytes_that_change(compile):
    kept = bytearray(b"\x01")

    def change(i):
        kept[0] = i // 6

    return called(compile(lambda x: x * kept[0]), change)


@way("eager")
def a_view_of_memory(compile):
    kept = bytearray(b"\x01")
    seen = memoryview(kept)

    def change(i):
        kept[0] = i // 6

    return called(compile(lambda x: x * seen[0]), change)


@way("eager")
def an_array_of_numpy_written(compile):
    kept = np.ones(2, np.float32)

    def change(i):
        kept[:] = i // 6

    return called(compile(lambda x: x * torch.from_numpy(kept)), change)


@way("played")
def a_tensor_over_an_array(compile):
    kept = np.ones(2, np.float32)
    shared = torch.from_numpy(kept)

    def change(i):
        kept[:] = i // 6

    return called(compile(lambda x: x * shared), change)


@way("played")
def a_forward_replaced_on_an_object(compile):
    model = nn.Linear(2, 2)
    model.weight.requires_grad_(False)

    def change(i):
        if i == 6:
            model.forward = MethodType(lambda self, x: x @ self.weight, model)
        if i == 9:
            del model.forward

    return called(compile(model), change)


@way("played")
def hooks_removed_and_added(compile):
    model = nn.Sequential(nn.Linear(2, 2))
    handles: list[Any] = []

    def change(i):
        if i in (3, 9):
            handles.append(model[0].register_forward_hook(lambda m, a, r: r * 2))
        if i == 6:
            handles.pop().remove()

    return called(compile(model), change)


@way("played")
def memory_of_parameters_swapped(compile):
    a, b = nn.Linear(2, 2), nn.Linear(2, 2)

    def change(i):
        if i % 4 == 3:
            a.weight.data, b.weight.data = b.weight.data, a.weight.data

    return called(compile(lambda x: a(x) - 2 * b(x)), change)


@way("played")
def memory_set_outside(compile):
    a, b = torch.ones(2), torch.full((2,), 3.0)

    def change(i):
        if i == 6:
            a.set_(b)
        b.add_(1)

    return called(compile(lambda x: x * a), change)


@way("played")
def a_buffer_reassigned(compile):
    model = nn.Module()
    model.register_buffer("scale", torch.ones(2))

    def change(i):
        if i == 6:
            model.scale = torch.full((2,), 3.0)
        if i == 9:
            model.register_buffer("scale", None)
            model.scale = torch.full((2,), 4.0)

    return called(compile(lambda x: x * model.scale), change)


@way("eager")
def a_buffer_reassigned_inside(compile):
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(2))

        def forward(self, x):
            self.mean = 0.5 * self.mean + x
            return self.mean * 2

    model = Own()
    return [called(compile(model)), model.mean]


@way("played")
def a_key_that_only_the_call_takes_away(compile):
    kept: dict[str, int] = {}

    def f(x):
        kept["a"] = 1
        y = x * len(kept)
        del kept["a"]
        return y

    return [called(compile(f)), kept]


@way("eager")
def a_result_kept_by_an_argument(compile):
    def f(x, kept):
        kept.append(x * 3)
        return x * 2

    g, out = compile(f), []
    for i in range(12):
        kept: list[Any] = []
        out += [g(torch.full((2,), float(i)), kept), kept]
    return out


@way("eager")
def a_dictionary_that_is_given_and_filled(compile):
    def f(x, kept):
        kept["y"] = x * 3
        return x * 2

    g, out = compile(f), []
    for _ in range(12):
        kept: dict[str, Any] = {}
        out += [g(data(2), kept), kept]
    return out


@way("played")
def whether_a_tensor_is_a_parameter(compile):
    w = [torch.ones(2)]

    def change(i):
        if i == 6:
            w[0] = nn.Parameter(torch.ones(2), requires_grad=False)

    return called(
        compile(lambda x: x * w[0] * (3 if isinstance(w[0], nn.Parameter) else 2)), change
    )


@way("played")
def memory_transposed_outside(compile):
    w = torch.arange(6.0).reshape(2, 3)

    def change(i):
        if i % 4 == 3:
            w.t_()

    return called(compile(lambda x: w.sum(0)[:2] * x), change)


@way("played")
def memory_resized_outside(compile):
    w = torch.ones(4)

    def change(i):
        if i == 6:
            w.resize_(2)

    return called(compile(lambda x: x * w.numel() + w.sum()), change)


@way("eager")
def a_version_that_is_read(compile):
    w = torch.ones(2)
    return called(compile(lambda x: x * w._version), lambda i: w.add_(1))


@way("played")
def whether_gradients_are_on(compile):
    f, out = compile(lambda x: x * (2 if torch.is_grad_enabled() else 3)), []
    for i in range(12):
        with torch.set_grad_enabled(i // 3 % 2 == 0):
            out.append(f(torch.ones(2)))
    return out


@way("played")
def a_state_dict_inside(compile):
    model = nn.Linear(2, 2)

    def change(i):
        if i == 6:
            with torch.no_grad():
                model.weight.mul_(2)

    return called(compile(lambda x: x * sum(v.sum() for v in model.state_dict().values())), change)


@way("played")
def sorted_by_a_key(compile):
    kept: Any = {"b": 1.0, "a": 2.0}

    def change(i):
        if i == 6:
            kept["a"] = 0.5

    return called(compile(lambda x: x * ord(min(kept, key=kept.get)) if kept else x), change)


@way("played")
def a_method_of_a_list_kept(compile):
    kept = [1.0]
    count = kept.__len__

    def change(i):
        if i == 6:
            kept.append(2.0)

    return called(compile(lambda x: x * count()), change)


@way("played")
def a_method_of_a_tensor_kept(compile):
    w = torch.ones(2)
    multiply = w.mul

    def change(i):
        w.add_(1)
        if i == 6:
            w.data = torch.full((2,), 9.0)

    return called(compile(lambda x: multiply(x)), change)


@way("eager")
def itertools_kept(compile):
    turns = itertools.cycle([1.0, 2.0, 3.0])
    return called(compile(lambda x: x * next(turns)))


@way("played")
def a_mapped_list(compile):
    kept = [1.0, 2.0]

    def change(i):
        kept[0] = float(i // 6)

    return called(compile(lambda x: x * sum(map(float, reversed(kept)))), change)
