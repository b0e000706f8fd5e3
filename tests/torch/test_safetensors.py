"""safetensors: files of ours in the package safetensors and the reverse; strict headers."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitorch.torch import dtypes, safetensors, serialization
from minitorch.torch.safetensors import SafetensorError, load, load_file, safe_open, save, save_file
from minitorch.torch.tensor import Tensor, wrap

DTYPES = [d for d in dtypes.ALL if d is not dtypes.complex128]


def some(dtype: dtypes.dtype, *shape: int) -> Tensor:
    values = np.random.default_rng(0).integers(0, 2, shape)
    return wrap(values.astype(dtype.numpy))


def everything() -> dict[str, Tensor]:
    """Tensors of every dtype, and of unusual shapes."""
    tensors = {d.name: some(d, 2, 3) for d in DTYPES}
    shapes = {"scalar": (), "empty": (0, 3), "ünï": (1,)}
    return tensors | {name: some(dtypes.float32, *shape) for name, shape in shapes.items()}


def same(a: dict[str, Tensor], b: dict[str, Tensor]) -> None:
    assert a.keys() == b.keys()
    for name in a:
        assert a[name].dtype is b[name].dtype
        assert a[name].shape == b[name].shape
        assert a[name]._array.tobytes() == b[name]._array.tobytes()


# --- With the package ----------------------------------------------------------------------


@pytest.fixture
def theirs() -> Any:
    return pytest.importorskip("safetensors.torch")


def as_torch(tensors: dict[str, Tensor]) -> dict[str, Any]:
    import torch

    names = {name: getattr(torch, t.dtype.name) for name, t in tensors.items()}
    return {
        name: torch.frombuffer(bytearray(t._array.tobytes()), dtype=names[name]).reshape(t.shape)
        if t._array.size
        else torch.empty(t.shape, dtype=names[name])
        for name, t in tensors.items()
    }


def test_both_ways(theirs: Any, tmp_path: Path) -> None:
    tensors, metadata = everything(), {"format": "pt", "ä": "ö"}
    path = tmp_path / "ours.safetensors"
    save_file(tensors, path, metadata)
    expected = as_torch(tensors)
    for name, tensor in theirs.load_file(path).items():
        assert tensor.dtype == expected[name].dtype
        assert tensor.equal(expected[name])
    theirs.save_file(expected, tmp_path / "theirs.safetensors", metadata)
    same(load_file(tmp_path / "theirs.safetensors"), tensors)
    same(load(theirs.save(expected)), tensors)
    with safe_open(tmp_path / "theirs.safetensors") as file:
        assert file.metadata() == metadata


def test_the_bytes_are_the_packages(theirs: Any) -> None:
    tensors = everything()
    assert save(tensors) == theirs.save(as_torch(tensors))
    assert save({}, {"a": "b"}) == theirs.save({}, {"a": "b"})


# --- Without it ------------------------------------------------------------------------------


def test_round_trip(tmp_path: Path) -> None:
    tensors = everything()
    same(load(save(tensors)), tensors)
    save_file(tensors, tmp_path / "a.safetensors")
    same(serialization.load(tmp_path / "a.safetensors"), tensors)
    assert [p.name for p in tmp_path.iterdir()] == ["a.safetensors"]
    loaded = load_file(tmp_path / "a.safetensors")
    loaded["float32"]._array[:] = 5
    assert safetensors.torch.load_file is load_file


def test_safe_open(tmp_path: Path) -> None:
    tensor = wrap(np.arange(12.0, dtype=np.float32).reshape(3, 4))
    path = tmp_path / "a.safetensors"
    save_file({"b": tensor, "a": wrap(np.array([True, False])), "e": wrap(np.empty((0, 2)))}, path)
    with safe_open(str(path), framework="pt", device="cpu") as file:
        assert file.keys() == list(file) == ["a", "b", "e"]
        assert file.offset_keys() == ["e", "b", "a"]
        assert file.metadata() is None
        part = file.get_slice("b")
        assert (part.get_shape(), part.get_dtype()) == ([3, 4], "F32")
        for index in ((slice(1, 3), 2), 1, (2, 3), ..., (slice(None), slice(0, 4, 2))):
            np.testing.assert_array_equal(part[index]._array, tensor._array[index])
        assert file.get_slice("e")[:].shape == (0, 2)
        with pytest.raises(SafetensorError, match="does not contain tensor c"):
            file.get_tensor("c")
    with pytest.raises(SafetensorError, match="framework"):
        safe_open(path, framework="np")
    with pytest.raises(RuntimeError, match="cuda"):
        load_file(path, device="cuda")


def test_what_cannot_be_saved() -> None:
    base = np.zeros((2, 3))
    wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"a": wrap(base.T)}, ValueError, "non contiguous tensor: `a`"),
        ({"a": wrap(base), "b": wrap(base[1:])}, RuntimeError, "share memory.*`a` and `b`"),
        ({"a": wrap(base), "b": wrap(base)}, RuntimeError, "share memory"),
        ({"a": base}, ValueError, "Key `a` is invalid"),
        ({"a": wrap(np.zeros(1, np.complex128))}, KeyError, "complex128"),
    ]
    for tensors, error, message in wrong:
        with pytest.raises(error, match=message):
            save(tensors)
    with pytest.raises(TypeError, match="metadata"):
        save({}, {"a": 1})  # type: ignore[dict-item]
    halves = {"a": wrap(base[:1]), "b": wrap(base[1:])}
    same(load(save(halves)), halves)


def file_of(header: Any, body: bytes = b"1234", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + body


ENTRY = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
TWICE = b'{"a":%s,"a":%s}' % ((json.dumps(ENTRY).encode(),) * 2)
BROKEN = {
    "nothing": b"",
    "half a length": b"abc",
    "no header": struct.pack("<Q", 10),
    "a header too long": file_of({"a": ENTRY}, length=10**9),
    "a header past the end": file_of({"a": ENTRY}, length=1000),
    "too few bytes": file_of({"a": ENTRY}, b"123"),
    "too many bytes": file_of({"a": ENTRY}, b"12345"),
    "a name twice": file_of(TWICE),
    "bytes used twice": file_of({"a": ENTRY, "b": ENTRY}),
    "a gap": file_of({"a": {**ENTRY, "data_offsets": [4, 8]}}, bytes(8)),
    "offsets backwards": file_of({"a": {**ENTRY, "data_offsets": [4, 0]}}),
    "offsets below 0": file_of({"a": {**ENTRY, "data_offsets": [-4, 0]}}),
    "three offsets": file_of({"a": {**ENTRY, "data_offsets": [0, 4, 4]}}),
    "a shape too large": file_of({"a": {**ENTRY, "shape": [2]}}),
    "a shape below 0": file_of({"a": {**ENTRY, "shape": [-1, -1]}}),
    "a shape that overflows": file_of({"a": {**ENTRY, "shape": [2**62, 4], "data_offsets": [0, 0]}}, b""),
    "a shape of floats": file_of({"a": {**ENTRY, "shape": [1.0]}}),
    "a shape of truth": file_of({"a": {**ENTRY, "shape": [True]}}),
    "an unknown dtype": file_of({"a": {**ENTRY, "dtype": "F128"}}),
    "a dtype of lists": file_of({"a": {**ENTRY, "dtype": ["F32"]}}),
    "no dtype": file_of({"a": {"shape": [1], "data_offsets": [0, 4]}}),
    "no entry": file_of({"a": 1}),
    "a list": file_of([1], b""),
    "no JSON": file_of(b"{a", b""),
    "no text": file_of(b"\xff\xfe", b""),
    "deep JSON": file_of(b"[" * 100_000, b""),
    "metadata of numbers": file_of({"__metadata__": {"a": 1}}, b""),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(SafetensorError):
        load(BROKEN[name])
    path = tmp_path / "a.safetensors"
    path.write_bytes(BROKEN[name])
    with pytest.raises(SafetensorError):
        load_file(path)


def test_bytes_of_booleans_are_0_or_1() -> None:
    header = {"a": {"dtype": "BOOL", "shape": [4], "data_offsets": [0, 4]}}
    assert load(file_of(header, b"\0\x01\x02\xff"))["a"]._array.view(np.uint8).tolist() == [
        0,
        1,
        1,
        1,
    ]


@given(st.data())
def test_damaged_files(data: st.DataObject) -> None:
    content = bytearray(save({"a": some(dtypes.float32, 2, 3), "b": some(dtypes.int8, 3)}))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        load(bytes(content))
    except SafetensorError:
        return


def test_a_model_computes_the_same_in_the_other_library(tmp_path: Path) -> None:
    """Weights of one library, through a safetensors file, in a network of the other."""
    import safetensors.torch as reference
    import torch as theirs

    import minitorch.torch as ours

    def network(torch: Any) -> Any:
        nn = torch.nn
        layers = (nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5))
        return nn.Sequential(*layers).eval()

    x = np.random.default_rng(0).standard_normal((2, 1, 8, 8)).astype(np.float32)
    ours.manual_seed(1)
    theirs.manual_seed(2)
    mine, other = network(ours), network(theirs)
    save_file(mine.state_dict(), tmp_path / "mine.safetensors")
    reference.save_file(other.state_dict(), tmp_path / "other.safetensors")
    again, back = network(theirs), network(ours)
    again.load_state_dict(reference.load_file(tmp_path / "mine.safetensors"))
    back.load_state_dict(load_file(tmp_path / "other.safetensors"))
    for a, b in ((mine, again), (back, other)):
        np.testing.assert_allclose(
            a(ours.from_numpy(x)).detach().numpy(),
            b(theirs.from_numpy(x)).detach().numpy(),
            2e-6,
            2e-6,
        )


# --- Modules -----------------------------------------------------------------------------------------


def tied(lib: Any) -> Any:
    """A module two of whose names are one tensor."""
    lib.manual_seed(0)
    model = lib.nn.ModuleDict({"embed": lib.nn.Embedding(5, 3), "head": lib.nn.Linear(3, 5)})
    model["head"].weight = model["embed"].weight
    return model


def parts(path: Path) -> tuple[Any, bytes]:
    """A file's header and the rest."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def test_modules_with_shared_tensors(theirs: Any, tmp_path: Path) -> None:
    import torch

    import minitorch.torch as ours

    safetensors.save_model(tied(ours), tmp_path / "ours", {"by": "us"})
    theirs.save_model(tied(torch), str(tmp_path / "theirs"), {"by": "us"})
    assert parts(tmp_path / "ours") == parts(tmp_path / "theirs")  # whose notes are in any order
    model = tied(ours)
    with ours.no_grad():
        model["head"].weight.zero_()
    assert safetensors.load_model(model, tmp_path / "theirs") == (set(), [])
    assert model["head"].weight is model["embed"].weight
    assert model["head"].weight.equal(tied(ours)["embed"].weight)
    other = ours.nn.ModuleDict(
        {"embed": ours.nn.Embedding(5, 3), "more": ours.nn.Linear(1, 1, bias=False)}
    )
    expected = ({"more.weight"}, ["head.bias"])
    assert safetensors.load_model(other, tmp_path / "ours", strict=False) == expected
    with pytest.raises(RuntimeError, match="Missing key") as error:
        safetensors.load_model(other, tmp_path / "ours")
    assert "Unexpected key" in str(error.value)
