"""What libraries of others reach for: attributes of tensors, records of files, counts of operations, `torch.ops`."""

from __future__ import annotations

import collections
import copy
import io
import pickle
from typing import Any

import pytest
import torch as real
from torch.utils import _pytree as real_pytree
from torch.utils.flop_counter import FlopCounterMode as RealCounter

import minitorch.torch as ours
from minitorch.torch.utils import _pytree as pytree
from minitorch.torch.utils.flop_counter import FlopCounterMode

# --- Attributes ----------------------------------------------------------------------------------


def use_attributes(torch: Any) -> list[Any]:
    x = torch.ones(2, requires_grad=True)
    seen: list[Any] = [dict(x.__dict__)]
    x.a = 1
    x.__dict__["b"] = 2
    x.__dict__.update(c=3)
    seen += [dict(vars(x)), x.b, x.__dict__.pop("a"), hasattr(x, "a")]
    seen.append(x.__dict__.setdefault("d", 4) + x.d)
    copied = copy.copy(x.__dict__)
    copied["e"] = 5
    seen += [hasattr(x, "e"), copy.deepcopy(x.__dict__), pickle.loads(pickle.dumps(x.__dict__))]
    x.__dict__ = {"z": 1}
    seen += [dict(x.__dict__), hasattr(x, "b"), x.tolist(), x.requires_grad]
    y = torch.zeros(2)
    y.other = True
    torch.utils.swap_tensors(x, y)
    return [*seen, dict(x.__dict__), dict(y.__dict__), x.tolist(), y.tolist(), y.requires_grad]


def test_dict_of_a_tensor_has_what_a_program_has_set() -> None:
    assert use_attributes(ours) == use_attributes(real)


def asked(torch: Any) -> list[Any]:
    """The functions that a subclass hears of, while it becomes a tensor and back."""
    heard: list[Any] = []

    class Watched(torch.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            heard.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    made = (torch.ones(2, requires_grad=True) * 2).as_subclass(Watched)
    plain = made.as_subclass(torch.Tensor)
    again = torch.Tensor.as_subclass(made, Watched)
    return [*heard, type(plain) is torch.Tensor, type(again) is Watched, plain.requires_grad]


def test_as_subclass_asks_nobody() -> None:
    assert asked(ours) == asked(real)


# --- Files ---------------------------------------------------------------------------------------


def map_a_file(torch: Any, path: Any) -> list[Any]:
    """A file's bytes as memory, of one's own and shared; tensors over parts of it."""
    path.write_bytes(bytes(range(8)))
    own = torch.UntypedStorage.from_file(str(path), False, 8)
    part = torch.asarray(own[4:8], dtype=torch.uint8)
    part[0] = 99
    seen = [own.tolist(), path.read_bytes(), part.view(torch.int32).tolist()]
    shared = torch.UntypedStorage.from_file(str(path), shared=True, nbytes=10)
    shared[1] = 77
    del shared
    none = torch.asarray(own[4:4], dtype=torch.uint8).view(torch.float32)
    return [*seen, path.read_bytes(), none.shape, len(torch.UntypedStorage.from_file(str(path)))]


def test_a_file_is_the_memory_of_tensors(tmp_path: Any) -> None:
    path = tmp_path / "bytes"
    assert map_a_file(ours, path) == map_a_file(real, path)


def test_records_of_a_file_can_be_read_and_written_one_by_one(tmp_path: Any) -> None:
    path = str(tmp_path / "weights.pt")
    real.save({"w": real.arange(6.0)}, path)
    mine, theirs = ours.PyTorchFileReader(path), real.PyTorchFileReader(path)
    assert sorted(mine.get_all_records()) == sorted(theirs.get_all_records())
    assert mine.get_record("data.pkl") == theirs.get_record("data.pkl")
    assert mine.has_record("data/0")
    assert not mine.has_record("data/1")
    memory = mine.get_storage_from_record("data/0", 24, ours.UntypedStorage)
    assert bytes(memory.untyped_storage()) == real.arange(6.0).numpy().tobytes()
    with pytest.raises(RuntimeError, match="data/1 is missing"):
        mine.get_record("data/1")

    file = io.BytesIO()
    writer = ours.PyTorchFileWriter(file)
    writer.write_record("data.pkl", b"N.", 2)
    writer.write_record("some", ours.ones(2).to(ours.uint8).untyped_storage(), 2)
    writer.write_end_of_file()
    file.seek(0)
    written = real.PyTorchFileReader(file)
    assert (written.get_record("data.pkl"), written.get_record("some")) == (b"N.", b"\x01\x01")


# --- Counting operations ---------------------------------------------------------------------------


def count(torch: Any, counter: Any) -> tuple[int, dict[str, int]]:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(4, 6, 3, stride=2), nn.ConvTranspose2d(6, 2, 2), nn.Flatten(), nn.Linear(32, 5)
    )  # fmt: skip
    x = torch.ones(3, 4, 8, 8, requires_grad=True)
    with counter(display=False) as counted:
        model(x).sum().backward()
        torch.einsum("ij,jk->ik", torch.ones(2, 3), torch.ones(3, 4))
        torch.baddbmm(torch.ones(1, 2, 2), torch.ones(1, 2, 3), torch.ones(1, 3, 2))
    with counter(display=False) as forward:
        model(x)
    by_place = {k: sum(v.values()) for k, v in forward.get_flop_counts().items()}
    return counted.get_total_flops(), by_place


def test_flop_counter_counts_as_torch_does() -> None:
    total, places = count(ours, FlopCounterMode)
    expected, their_places = count(real, RealCounter)
    assert total == expected
    assert places == their_places


def test_flop_counter_takes_counts_of_others_and_prints(capsys: Any) -> None:
    mapping = {ours.ops.aten.mm: lambda *inputs, out_val: 7}
    with FlopCounterMode(custom_mapping=mapping) as counter:
        ours.mm(ours.ones(2, 3), ours.ones(3, 4))
    assert counter.get_flop_counts() == {"Global": {"mm": 7}}
    assert "Global" in capsys.readouterr().out


# --- Trees and operations by name ------------------------------------------------------------------


def test_kinds_of_nodes_are_keys_of_the_table() -> None:
    pair = collections.namedtuple("pair", "one two")
    for tree in (pair(1, 2), (1,), [1], {"a": 1}, 3):
        assert pytree._get_node_type(tree) is real_pytree._get_node_type(tree)
        known = pytree._get_node_type(tree) in pytree.SUPPORTED_NODES
        assert known is not pytree.tree_is_leaf(tree)
        assert known is not real_pytree.tree_is_leaf(tree)


ATEN: list[Any] = [
    lambda torch, aten: aten.slice.Tensor(torch.arange(12).view(3, 4), 1, 1, 4, 2),
    lambda torch, aten: aten.index.Tensor(
        torch.arange(12).view(3, 4), [None, torch.tensor([0, 2])]
    ),
    lambda torch, aten: aten.alias.default(torch.arange(3)),
    lambda torch, aten: aten._unsafe_view.default(torch.arange(6), [2, 3]),
    lambda torch, aten: aten.add.Tensor(torch.ones(2), torch.ones(2), alpha=3),
    lambda torch, aten: torch.tensor(aten._local_scalar_dense.default(torch.tensor(3))),
]


@pytest.mark.parametrize("call", ATEN)
def test_operations_by_name_compute(call: Any) -> None:
    assert call(ours, ours.ops.aten).tolist() == call(real, real.ops.aten).tolist()


def test_ways_to_call_an_operation_are_objects_of_their_own() -> None:
    for torch in (ours, real):
        aten = torch.ops.aten
        table = {aten.add.Tensor: 1, aten.add.Scalar: 2, aten.mul.Tensor: 3}
        assert [table[aten.add.Tensor], table[aten.add.Scalar], len(table)] == [1, 2, 3]
        assert aten.add.Tensor.overloadpacket is aten.add
        assert aten.add.Tensor.name() == "aten::add.Tensor"
