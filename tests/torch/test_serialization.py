"""Files of tensors: PyTorch's `.pt` both ways, old ones, safetensors; strangers' and broken ones."""

from __future__ import annotations

import copy
import io
import os
import pickle
import signal
import stat
import struct
import subprocess
import sys
import zipfile
from collections import Counter, OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from minitorch.torch import dtypes, serialization, storage
from minitorch.torch.serialization import load, names, save
from minitorch.torch.serialization.archive import ArchiveWriter
from minitorch.torch.serialization.replacing import replacing
from minitorch.torch.tensor import Size, Tensor, wrap

REFUSED = (RuntimeError, pickle.UnpicklingError)
BROKEN = (*REFUSED, EOFError)
DTYPES = [d.name for d in dtypes.ALL]


def saved(obj: Any, **arguments: Any) -> io.BytesIO:
    """A file of ours."""
    file = io.BytesIO()
    save(obj, file, **arguments)
    file.seek(0)
    return file


def saved_by_torch(obj: Any, **arguments: Any) -> io.BytesIO:
    """A file of PyTorch's."""
    file = io.BytesIO()
    torch.save(obj, file, **arguments)
    file.seek(0)
    return file


def ours_to_theirs(obj: Any, **arguments: Any) -> Any:
    """Save with MiniTorch, load with PyTorch, safely."""
    return torch.load(saved(obj, **arguments), weights_only=True)


def theirs_to_ours(obj: Any, **arguments: Any) -> Any:
    """Save with PyTorch, load with MiniTorch."""
    return load(saved_by_torch(obj), **arguments)


def round_trip(obj: Any, **arguments: Any) -> Any:
    """Save and load with MiniTorch."""
    return load(saved(obj), **arguments)


def strides(tensor: Tensor) -> tuple[int, ...]:
    return tuple(s // tensor._array.itemsize for s in tensor._array.strides)


def same(ours: Tensor, theirs: torch.Tensor) -> None:
    """The same dtype, shape, strides, place in memory, and bits."""
    assert isinstance(ours, Tensor)
    assert str(ours.dtype) == str(theirs.dtype)
    assert tuple(ours.shape) == tuple(theirs.shape)
    if theirs.numel():
        assert strides(ours) == theirs.stride()
        assert storage.locate(ours._array).offset == theirs.storage_offset()
    assert ours.requires_grad == theirs.requires_grad
    compact = theirs.detach().clone(memory_format=torch.contiguous_format)
    assert ours._array.tobytes() == bytes(compact.untyped_storage().tolist())


def numbers(name: str, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return (torch.randn(shape, dtype=torch.complex128, generator=generator) * 50).to(
        getattr(torch, name)
    )


# --- Tensors, both ways ------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_both_ways(name: str) -> None:
    tensors = [numbers(name, 3, 4), numbers(name), numbers(name, 0, 3), numbers(name, 2, 3).t()]
    loaded = theirs_to_ours(tensors)
    again = ours_to_theirs(loaded)
    for first, ours, last in zip(tensors, loaded, again, strict=True):
        same(ours, first)
        same(ours, last)


@given(st.data())
def test_views_both_ways(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(0, 4), max_size=3))
    stride = data.draw(st.lists(st.integers(0, 5), min_size=len(shape), max_size=len(shape)))
    offset = data.draw(st.integers(0, 5))
    base = torch.arange(64.0)
    views = [base, base.as_strided(shape, stride, offset)]
    for kind in (views, views[1:]):
        loaded = theirs_to_ours(kind)
        for ours, theirs, back in zip(loaded, kind, ours_to_theirs(loaded), strict=True):
            same(ours, theirs)
            same(ours, back)


def test_views_share_one_storage() -> None:
    base = torch.zeros(4, 5)
    first, second = theirs_to_ours([base.t(), base[1]])
    second._array[0] = 7
    assert first._array[0, 1] == 7
    assert storage.untyped_storage(first) == storage.untyped_storage(second)
    file = io.BytesIO()
    save([first, second], file)
    assert [n for n in zipfile.ZipFile(file).namelist() if "/data/" in n] == ["archive/data/0"]
    third, fourth = ours_to_theirs([first, second])
    fourth[0] = 9
    assert third[0, 1] == 9


def test_views_that_numpy_has_and_torch_has_not() -> None:
    base = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    odd = [base[::-1], base[:, ::-2], base.astype(">f4"), np.broadcast_to(base, (2, 3, 4))]
    buffer = np.frombuffer(bytes(13), np.uint8)[1:13].view(np.float32)
    for array in [*odd, buffer, np.asfortranarray(base), base.transpose()[1:]]:
        back = ours_to_theirs(wrap(array))
        np.testing.assert_array_equal(back.numpy(), array)
        np.testing.assert_array_equal(round_trip(wrap(array))._array, array)


def test_one_memory_as_two_types_is_refused() -> None:
    base = np.zeros(4, np.float32)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        save([wrap(base), wrap(base.view(np.int32))], io.BytesIO())


def test_lazy_conjugates_and_negatives() -> None:
    values = torch.tensor([1 + 2j, 3 - 4j])
    conjugate, negative = theirs_to_ours(values.conj()), theirs_to_ours(values.conj().imag)
    np.testing.assert_array_equal(conjugate._array, values.conj().resolve_conj().numpy())
    np.testing.assert_array_equal(negative._array, values.conj().imag.resolve_neg().numpy())


def test_gradients_are_not_saved_but_wanted_again() -> None:
    leaf = torch.ones(2, requires_grad=True)
    ours = theirs_to_ours([leaf, leaf * 2])
    assert [t.requires_grad for t in ours] == [True, True]
    assert [t.requires_grad for t in ours_to_theirs(ours)] == [True, True]


# --- Objects -----------------------------------------------------------------------------

PLAIN: list[Any] = [
    None, True, False, 0, -1, 255, 256, 65536, 2**31, -(2**63), 2**100, -(2**3000), 1.5, float("inf"),
    "", "text", "ü 漢字 \ud800", "x" * 300, b"bytes \xff", bytearray(b"array"), 3 - 4j,
    (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], [1, [2, [3]]], {}, {"a": {"b": [1, (2, None)]}},
    {1, 2, 3}, set(), OrderedDict(b=1, a=2), Counter("hello"), {(1, "a"): 2, None: 3, 1.5: 4},
    list(range(2000)), {str(i): i for i in range(2000)},
]  # fmt: skip


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_plain_objects(protocol: int) -> None:
    assert load(saved(PLAIN, pickle_protocol=protocol)) == PLAIN
    loaded = load(saved_by_torch(PLAIN, pickle_protocol=protocol))
    assert loaded == PLAIN
    assert [type(a) for a in loaded] == [type(a) for a in PLAIN]


def test_plain_objects_open_in_torch() -> None:
    objects = [obj for obj in PLAIN if obj != -(2**3000) and "\ud800" not in str(obj)]
    assert ours_to_theirs(objects) == objects


def test_an_object_in_two_places_is_one() -> None:
    shared: list[Any] = [1]
    shared.append(shared)
    first, second = round_trip([shared, shared])
    assert first is second is first[1]


def test_torchs_own_objects() -> None:
    theirs = {
        "size": torch.Size([2, 3]),
        "dtypes": [getattr(torch, name) for name in DTYPES],
        "devices": [torch.device("cpu"), torch.device("cuda", 1)],
        "storage": torch.ones(3).untyped_storage(),
    }
    ours = theirs_to_ours(theirs)
    assert type(ours["size"]) is Size
    assert ours["size"] == (2, 3)
    assert ours["dtypes"] == list(dtypes.ALL)
    assert [str(d) for d in ours["devices"]] == ["cpu", "cuda:1"]
    assert ours["storage"].tolist() == theirs["storage"].tolist()
    back = ours_to_theirs(ours)
    assert type(back["size"]) is torch.Size
    assert {**back, "storage": 0} == {**theirs, "storage": 0}
    assert back["storage"].tolist() == theirs["storage"].tolist()


def test_state_dict_of_a_module() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    steps = {0: {"step": torch.tensor(1.0), "exp_avg": torch.ones(4, 3)}}
    adam = {"state": steps, "param_groups": [{"lr": 1e-3, "betas": (0.9, 0.999), "params": [0]}]}
    state = model.state_dict()
    loaded, optimizer = theirs_to_ours([state, adam])
    assert type(loaded) is OrderedDict
    assert loaded._metadata == state._metadata  # type: ignore[attr-defined]
    for name, tensor in state.items():
        same(loaded[name], tensor)
    back, optimizer = ours_to_theirs([loaded, optimizer])
    assert back._metadata == state._metadata  # type: ignore[attr-defined]
    model.load_state_dict(back)
    assert optimizer["param_groups"] == adam["param_groups"]
    assert torch.equal(optimizer["state"][0]["exp_avg"], steps[0]["exp_avg"])


def test_parameters_and_attributes() -> None:
    parameter = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    marked, tensor = torch.nn.Parameter(torch.ones(2)), torch.ones(3)
    marked.lr = tensor.lr = 0.5  # type: ignore[attr-defined]
    ours = theirs_to_ours([parameter, marked, tensor])
    assert [t.requires_grad for t in ours] == [False, True, False]
    assert ours[1].lr == ours[2].lr == 0.5
    back = ours_to_theirs(ours)
    assert [getattr(t, "lr", None) for t in back] == [None, 0.5, 0.5]
    assert [t.requires_grad for t in back] == [False, True, False]


# --- The container -------------------------------------------------------------------------


def test_layout_of_the_archive(tmp_path: Path) -> None:
    tensors = [torch.arange(n, dtype=torch.float64) for n in (3, 100, 1)]
    save(theirs_to_ours(tensors), tmp_path / "ours.model.pt")
    torch.save(tensors, tmp_path / "theirs.model.pt")
    found = []
    for whose in ("ours", "theirs"):
        path = tmp_path / f"{whose}.model.pt"
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            found.append([n.replace(whose, "") for n in archive.namelist()])
            if whose == "ours":
                check_alignment(path.read_bytes(), archive)
    assert found[0] == found[1]
    with zipfile.ZipFile(tmp_path / "ours.model.pt") as archive:
        assert archive.read("ours.model/byteorder").decode() == sys.byteorder
        assert archive.read("ours.model/version") == b"3\n"
        assert archive.read("ours.model/.data/serialization_id").isdigit()


def check_alignment(data: bytes, archive: zipfile.ZipFile) -> None:
    for info in archive.infolist():
        name, extra = struct.unpack_from("<HH", data, info.header_offset + 26)
        start = info.header_offset + 30 + name + extra
        assert start % 64 == 0
        assert data[start : start + info.file_size] == archive.read(info)


def test_the_pickle_is_torchs_byte_for_byte() -> None:
    base = torch.arange(6.0).reshape(2, 3)
    obj = OrderedDict(
        a=base, b=base.t(), size=base.shape, dtype=base.dtype, rest=[1, "x", {2: 3.5}]
    )
    theirs = saved_by_torch(obj)
    ours = saved(load(theirs))
    pickles = [zipfile.ZipFile(f).read("archive/data.pkl") for f in (theirs, ours)]
    assert pickles[0] == pickles[1]


def test_paths_open_files_and_mapped_files(tmp_path: Path) -> None:
    tensor = theirs_to_ours(torch.arange(1000.0))
    save(tensor, tmp_path / "a.pt")
    save(tensor, str(tmp_path / "b.pt"))
    with open(tmp_path / "c.pt", "wb") as file:
        save(tensor, file)
    for name in "abc":
        path = tmp_path / f"{name}.pt"
        with open(path, "rb") as file:
            for loaded in (load(path), load(str(path)), load(file), load(path, mmap=True)):
                same(loaded, torch.arange(1000.0))
    mapped = load(tmp_path / "a.pt", mmap=True)
    mapped._array[:] = 0  # goes to memory, not to the file
    same(load(tmp_path / "a.pt"), torch.arange(1000.0))
    assert torch.equal(torch.load(tmp_path / "a.pt", mmap=True), torch.arange(1000.0))
    with pytest.raises(ValueError, match="must be a file path"):
        load(io.BytesIO(), mmap=True)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.pt")
    with pytest.raises(AttributeError, match="file-like object"):
        save(tensor, 3)


def test_files_of_the_other_byte_order() -> None:
    values = torch.tensor([1.5, -2.25]), torch.tensor([1 + 2j]), torch.tensor([True, False])
    theirs = saved_by_torch(values)
    other = {"little": "big", "big": "little"}[sys.byteorder]
    swapped = {"archive/byteorder": other.encode()}
    for i, size in enumerate([4, 4, 1]):
        data = zipfile.ZipFile(theirs).read(f"archive/data/{i}")
        swapped[f"archive/data/{i}"] = (
            np.frombuffer(data, np.uint8).reshape(-1, size)[:, ::-1].tobytes()
        )
    for ours, value in zip(load(rezipped(theirs, swapped)), values, strict=True):
        same(ours, value)


def rezipped(file: io.BytesIO, replaced: dict[str, bytes]) -> io.BytesIO:
    """A copy of an archive with other records."""
    out = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, replaced.get(name, old.read(name)))
    out.seek(0)
    return out


def test_files_without_checksums() -> None:
    torch.serialization.set_crc32_options(False)
    try:
        file = saved_by_torch(torch.ones(3))
    finally:
        torch.serialization.set_crc32_options(True)
    same(load(file), torch.ones(3))


def test_map_location() -> None:
    file = saved_by_torch(torch.ones(3))
    on_gpu = (
        zipfile.ZipFile(file)
        .read("archive/data.pkl")
        .replace(b"\x03\0\0\0cpu", b"\x06\0\0\0cuda:0")
    )
    gpu = rezipped(file, {"archive/data.pkl": on_gpu})
    seen = []

    def keep(memory: Any, place: str) -> Any:
        seen.append((memory.nbytes(), place))
        return memory

    wanted: list[Any] = ["cpu", {"cuda:0": "cpu"}, keep]
    for location in wanted:
        gpu.seek(0)
        same(load(gpu, map_location=location), torch.ones(3))
    assert seen == [(12, "cuda:0")]
    for location in (None, "cuda", {"cuda:1": "cpu"}, lambda memory, place: None):
        gpu.seek(0)
        with pytest.raises(RuntimeError, match="map_location"):
            load(gpu, map_location=location)


@pytest.mark.filterwarnings("ignore:TypedStorage")
def test_files_of_torch_before_1_6() -> None:
    base = torch.arange(12.0).reshape(3, 4)
    obj = {"a": base, "b": base.t()[1:], "mask": base > 5, "empty": torch.zeros(0), "n": [1, "x"]}
    file = io.BytesIO()
    torch.save(obj, file, _use_new_zipfile_serialization=False)
    data = file.getvalue()
    for weights_only in (True, False):
        loaded = load(io.BytesIO(data), weights_only=weights_only)
        for name in ("a", "b", "mask", "empty"):
            same(loaded[name], obj[name])
        assert loaded["n"] == obj["n"]
        assert np.shares_memory(loaded["a"]._array, loaded["b"]._array)
    for length in range(0, len(data), 7):
        with pytest.raises(BROKEN):
            load(io.BytesIO(data[:length]))
    with pytest.raises(ValueError, match="not saved"):
        save(obj, io.BytesIO(), _use_new_zipfile_serialization=False)


# --- Files from strangers --------------------------------------------------------------------


def archive_with(pickled: bytes, **records: bytes) -> io.BytesIO:
    """A `.pt` file around any pickle; records are storages by number."""
    file = io.BytesIO()
    with ArchiveWriter(file, "archive") as writer:
        writer.write("data.pkl", pickled)
        for name, data in records.items():
            writer.write(f"data/{name.removeprefix('_')}", data)
        writer.finish()
    file.seek(0)
    return file


def text(word: str) -> bytes:
    return b"X" + struct.pack("<I", len(word)) + word.encode()


def described(kind: str = "torch\nFloatStorage", count: bytes = b"K\x04") -> bytes:
    """The description of storage 0, of 4 elements."""
    return b"(" + text("storage") + f"c{kind}\n".encode() + text("0") + text("cpu") + count + b"tQ"


def tensor_of(offset: bytes, size: bytes, stride: bytes, storage: bytes = described()) -> bytes:
    """The pickle of a tensor over storage 0."""
    args = storage + offset + size + stride + b"\x89" + b"ccollections\nOrderedDict\n)R"
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + args + b"tR."


GOOD = tensor_of(b"K\0", b"K\x04\x85", b"K\x01\x85")[:-1]
MARKER = "MINITORCH_TEST_RAN"
RUN = f"__import__('os').environ.__setitem__('{MARKER}','1')"


class Malicious:
    """An object whose pickle runs code."""

    def __init__(self, function: Any, *args: Any) -> None:
        self.what = function, args

    def __reduce__(self) -> Any:
        return self.what


ATTACKS = {
    "eval": pickle.dumps(Malicious(eval, RUN), 2),
    "eval, new pickles": pickle.dumps(Malicious(eval, RUN), 4),
    "exec": pickle.dumps(Malicious(exec, RUN), 2),
    "os.system": pickle.dumps(Malicious(os.system, f"{MARKER}=1"), 2),
    "getattr": pickle.dumps(Malicious(getattr, 1, "__class__"), 2),
    "import": pickle.dumps(Malicious(__import__, "os"), 2),
    "reconstructor": b"\x80\x02ccopy_reg\n_reconstructor\n(cos\n_wrap_close\nc__builtin__\nobject\nNtR.",
    "INST": b"(" + text(RUN) + b"i__builtin__\neval\n.",
    "OBJ": b"(c__builtin__\neval\n" + text(RUN) + b"o.",
    "EXT1": b"\x80\x02\x82\x01.",
    "EXT4": b"\x80\x02\x84\x01\0\0\0.",
    "PERSID": b"P0\n.",
    "text instructions": b"cos\nsystem\n(S'echo'\ntR.",
    "dotted name": b"\x80\x04\x8c\x05torch\x8c\x14serialization.os.sys\x93.",
    "torch's own modules": b"\x80\x02ctorch.hub\nload\n" + text(RUN) + b"\x85R.",
    "our own modules": b"\x80\x02cminitorch.torch.serialization\nload\n" + text(RUN) + b"\x85R.",
    "a dtype called": b"\x80\x02ctorch\nfloat32\n)R.",
    "a storage class called": b"\x80\x02ctorch\nFloatStorage\nK\x05\x85R.",
    "a tensor class called": b"\x80\x02ctorch\nTensor\nK\x05\x85R.",
    "a tensor called": GOOD + b")R.",
    "a list called": b"\x80\x02])R.",
    "arguments in a list": b"\x80\x02c__builtin__\nset\n]R.",
    "new tensor": b"\x80\x02ctorch\nTensor\n)\x81.",
    "new of a function": b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)\x81.",
    "new of a value": b"\x80\x02K\x01)\x81.",
    "build a tensor": GOOD + b"}" + text("_array") + b"K\x01sb.",
    "build a class": b"\x80\x02ccollections\nOrderedDict\n}" + text("update") + b"K\x01sb.",
    "build a function": b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nN}" + text("x") + b"Ns\x86b.",
    "build a dtype": b"\x80\x02ctorch\nfloat32\n}" + text("itemsize") + b"K\x01sb.",
    "build a list": b"\x80\x02]}b.",
    "grow a dict as a list": b"\x80\x02}K\x01a.",
    "grow an OrderedDict as a list": b"\x80\x02ccollections\nOrderedDict\n)R(K\x01e.",
    "set items of a list": b"\x80\x02]K\0K\x01s.",
    "set items of a tensor": GOOD + b"K\0K\x01s.",
    "keys without value": b"\x80\x02}(K\x01u.",
    "unhashable key": b"\x80\x02}]K\x01s.",
    "deep key": b"\x80\x02})" + b"\x85" * 3000 + b"K\x01s.",
    "key that doubles": b"\x80\x02})" + b"2\x86" * 60 + b"K\x01s.",
    "deep key of a set": b"\x80\x02c__builtin__\nset\n])" + b"\x85" * 3000 + b"a\x85R.",
    "set of a tensor": b"\x80\x02c__builtin__\nset\n" + GOOD.removeprefix(b"\x80\x02") + b"\x85R.",
    "bytes by another codec": b"\x80\x02c_codecs\nencode\n" + text("x") + text("rot13") + b"\x86R.",
    "storage of a number": b"\x80\x02K\x01Q.",
    "storage of a word": b"\x80\x02" + text("storage") + b"Q.",
    "no storage at all": b"\x80\x02(" + text("module") + b"NNNNtQ.",
    "storage of no kind": b"\x80\x02" + described("collections\nOrderedDict") + b".",
    "storage of -1 elements": b"\x80\x02" + described(count=b"J\xff\xff\xff\xff") + b".",
    "storage of True elements": b"\x80\x02" + described(count=b"\x88") + b".",
    "storage too large": b"\x80\x02" + described(count=b"M\xff\xff") + b".",
    "storage much too large": b"\x80\x02" + described(count=b"\x8a\x08" + b"\xff" * 7 + b"\x7f") + b".",
    "storage of two kinds": b"\x80\x02" + described() + described("torch\nIntStorage") + b"\x86.",
    "tensor without storage": tensor_of(b"K\0", b"K\x04\x85", b"K\x01\x85", b"]"),
    "tensor too long": tensor_of(b"K\0", b"K\x05\x85", b"K\x01\x85"),
    "tensor with an offset too large": tensor_of(b"K\x01", b"K\x04\x85", b"K\x01\x85"),
    "tensor of no size with text": tensor_of(b"K\0", text("4"), b"K\x01\x85"),
    "offset below the memory": tensor_of(b"J\xff\xff\xff\xff", b"K\x04\x85", b"K\x01\x85"),
    "offset of a float": tensor_of(b"G" + bytes(8), b"K\x04\x85", b"K\x01\x85"),
    "strides too long": tensor_of(b"K\0", b"K\x02K\x02\x86", b"K\x03K\x01\x86"),
    "strides backwards": tensor_of(b"K\x03", b"K\x02\x85", b"J\xff\xff\xff\xff\x85"),
    "strides that overflow": tensor_of(b"K\0", b"K\x02\x85", b"\x8a\x08\0\0\0\0\0\0\0\x40\x85"),
    "strides of another length": tensor_of(b"K\0", b"K\x02\x85", b"K\x01K\x01\x86"),
    "sizes below nothing": tensor_of(b"K\0", b"J\xff\xff\xff\xff\x85", b"K\x01\x85"),
    "sizes without end": tensor_of(b"K\0", b"\x8a\x09" + bytes(8) + b"\x01\x85", b"K\0\x85"),
    "sizes whose product overflows": tensor_of(
        b"K\0", b"\x8a\x05\0\0\0\0\x01" * 2 + b"\x86", b"K\0K\0\x86"
    ),
    "attributes of the engine": b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n"
    b"_rebuild_tensor_v2\nctorch\nTensor\n" + tensor_of(b"K\0", b"K\x04\x85", b"K\x01\x85")[38:-2]
    + b"}" + text("_array") + b"K\x01stR.",
    "rebuilt by another function": b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n("
    b"c_codecs\nencode\nctorch\nTensor\n" + text("x") + b"\x85}tR.",
    "an empty pickle": b"",
    "no end": b"\x80\x02K\x01",
    "too much on the stack": b"\x80\x02K\x01K\x02.",
    "nothing on the stack": b"\x80\x02.",
    "a mark as the value": b"\x80\x02(.",
    "a protocol to come": b"\x80\x63K\x01.",
    "memo that is not there": b"\x80\x02h\x05.",
    "text that is not there": b"\x80\x02X\xff\xff\xff\xffabc.",
    "text of negative length": b"\x80\x02T\xff\xff\xff\xffabc.",
    "number of negative length": b"\x80\x02\x8b\xff\xff\xff\xff.",
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_malicious_and_broken_pickles_are_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(MARKER, raising=False)
    with pytest.raises(REFUSED):
        load(archive_with(ATTACKS[name], _0=bytes(16)))
    with pytest.raises(REFUSED):
        load(io.BytesIO(pickle.dumps(0x1950A86A20F9469CFC6C, 2) + ATTACKS[name]))
    assert MARKER not in os.environ


def test_what_the_attacks_are_made_of_works() -> None:
    same(load(archive_with(GOOD + b".", _0=bytes(16))), torch.zeros(4))
    assert load(archive_with(b"\x80\x02})\x85K\x01s.")) == {((),): 1}


def test_the_refused_name_is_in_the_error() -> None:
    for function, name in ((eval, "builtins.eval"), (np.frombuffer, "numpy")):
        with pytest.raises(pickle.UnpicklingError, match=f"GLOBAL {name}.*add_safe_globals"):
            load(archive_with(pickle.dumps(Malicious(function, ""), 2)))
    with pytest.raises(pickle.UnpicklingError, match=r"module (posix|nt) is blocked"):
        load(archive_with(ATTACKS["os.system"]))


def test_bytes_of_booleans_are_0_or_1() -> None:
    for kind in ("torch\nBoolStorage",):
        pickled = tensor_of(b"K\0", b"K\x04\x85", b"K\x01\x85", described(kind))
        loaded = load(archive_with(pickled, _0=b"\0\x01\x80\xff"))
        assert loaded._array.view(np.uint8).tolist() == [0, 1, 1, 1]


def test_cut_off_files() -> None:
    data = saved({"a": theirs_to_ours(torch.arange(40.0)), "b": [1, 2, 3]}).getvalue()
    for length in [*range(80), *range(80, len(data), 23), *range(len(data) - 30, len(data))]:
        with pytest.raises(BROKEN):
            load(io.BytesIO(data[:length]))


@given(st.data())
def test_damaged_files_give_a_clear_error_or_the_object(data: st.DataObject) -> None:
    file = saved({"a": theirs_to_ours(torch.arange(4.0)), "b": [1, {"c": (2.5, "x")}]})
    if data.draw(st.booleans()):
        content = bytearray(file.getvalue())
    else:
        content = bytearray(zipfile.ZipFile(file).read("archive/data.pkl"))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    whole = content.startswith(b"PK") or content[:1] != b"\x80"
    broken = io.BytesIO(content) if whole else archive_with(bytes(content), _0=bytes(16))
    with suppress(*BROKEN):
        load(broken)


def test_records_that_share_their_bytes_are_refused() -> None:
    file = archive_with(b"\x80\x02].", **{f"_{i}": bytes(64) for i in range(9)})
    content = bytearray(file.getvalue())
    first = content.index(b"PK\x01\x02", content.index(b"PK\x01\x02") + 1)
    for _ in range(9):  # the sizes of all, as the list of contents gives them
        at = content.index(b"PK\x01\x02", first)
        content[at + 20 : at + 28] = struct.pack("<II", 1000, 1000)
        first = at + 4
    with pytest.raises(RuntimeError, match="overlap"):
        load(io.BytesIO(content))


def test_records_that_begin_outside_of_the_file_are_refused() -> None:
    content = bytearray(archive_with(b"\x80\x02].").getvalue())
    at = content.index(b"PK\x01\x02")
    content[at + 42 : at + 46] = struct.pack("<I", 2**31)
    with pytest.raises(RuntimeError, match="begins outside of it"):
        load(io.BytesIO(content))


def test_lazy_conjugate_of_an_expanded_tensor_takes_the_storage_only() -> None:
    x = torch.tensor([1 + 2j])
    file = io.BytesIO()
    torch.save(x.expand(2**40).conj(), file)
    loaded = load(io.BytesIO(file.getvalue()))
    assert loaded.shape == (2**40,)
    assert loaded._array[-1] == 1 - 2j


def test_files_that_are_none(tmp_path: Path) -> None:
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("hello.txt", "hello")
    compressed = io.BytesIO()
    with zipfile.ZipFile(compressed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02]." + bytes(1000))
    for content in (
        other.getvalue(),
        compressed.getvalue(),
        b"hello world",
        b"\x93NUMPY",
        bytes(100),
    ):
        with pytest.raises(REFUSED):
            load(io.BytesIO(content))
    with pytest.raises(EOFError):
        load(io.BytesIO())


# --- Files that are trusted ---------------------------------------------------------------


class Settings:
    """A class of a program."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self.rate == other.rate


def test_classes_of_the_program() -> None:
    obj = {"settings": Settings(0.5), "array": np.arange(3), "number": np.float64(2.5)}
    data = saved(obj).getvalue()
    trusted = load(io.BytesIO(data), weights_only=False)
    assert trusted["settings"] == Settings(0.5)
    np.testing.assert_array_equal(trusted["array"], obj["array"])
    with pytest.raises(pickle.UnpicklingError, match="Settings"):
        load(io.BytesIO(data))
    reconstruct: Any = np.arange(3).__reduce__()[0]
    scalar: Any = np.float64(2.5).__reduce__()[0]  # type: ignore[index]
    kinds = [type(np.dtype(np.int64)), type(np.dtype(np.float64))]
    allowed = [Settings, np.ndarray, np.dtype, reconstruct, scalar, *kinds]
    with serialization.safe_globals(allowed):
        safe = load(io.BytesIO(data))
        assert len(serialization.get_safe_globals()) == len(allowed)
    assert safe["settings"] == Settings(0.5)
    assert safe["number"] == 2.5
    np.testing.assert_array_equal(safe["array"], obj["array"])
    with pytest.raises(pickle.UnpicklingError):
        load(io.BytesIO(data))


def test_safe_globals_by_name() -> None:
    file = saved(Settings(1.0))
    renamed = zipfile.ZipFile(file).read("archive/data.pkl").replace(b"Settings", b"Options")
    other = rezipped(file, {"archive/data.pkl": renamed})
    serialization.add_safe_globals([(Settings, f"{Settings.__module__}.Options")])
    try:
        assert load(other) == Settings(1.0)
    finally:
        serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []
    serialization.add_safe_globals([(os.system, "posix.system")])
    try:
        with pytest.raises(pickle.UnpicklingError, match="blocked"):
            load(archive_with(ATTACKS["os.system"]))
    finally:
        serialization.clear_safe_globals()


def test_trusted_files_of_torch() -> None:
    obj = {"a": torch.ones(2), "d": torch.float32, "c": torch.device("cpu"), "s": Settings(1)}
    loaded = theirs_to_ours(obj, weights_only=False)
    same(loaded["a"], obj["a"])
    assert loaded["d"] is dtypes.float32
    with pytest.raises(AttributeError, match=r"torch\.nowhere\.nothing"):
        names.find_torch_object("torch.nowhere", "nothing")


def test_other_pickle_modules() -> None:
    file = saved([1, wrap(np.ones(2))], pickle_module=pickle)
    assert load(file, pickle_module=pickle, weights_only=False)[0] == 1
    file.seek(0)
    assert load(file, pickle_module=pickle)[0] == 1
    file.seek(0)
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        load(file, pickle_module=pickle, weights_only=True)


# --- Saving whole or not at all --------------------------------------------------------------


class Unsaveable:
    def __reduce__(self) -> Any:
        raise KeyError("no")


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.pt"
    save([1, 2], path)
    before = path.read_bytes()
    with pytest.raises(KeyError):
        save([3, Unsaveable()], path)

    def fail(self: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(ArchiveWriter, "finish", fail)
    with pytest.raises(OSError, match="disk full"):
        save([3], path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model.pt"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_killed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    save(["old"], path)
    program = (
        "import os, signal, numpy as np\n"
        "from minitorch.torch import serialization\n"
        "from minitorch.torch.serialization.archive import ArchiveWriter\n"
        "from minitorch.torch.tensor import wrap\n"
        "ArchiveWriter.finish = lambda self: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"serialization.save(wrap(np.zeros(100000)), {str(path)!r})\n"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == -signal.SIGKILL
    assert load(path) == ["old"]
    save(["new"], path)
    assert load(path) == ["new"]


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_permissions_links_and_devices(tmp_path: Path) -> None:
    path, link = tmp_path / "model.pt", tmp_path / "link.pt"
    old = os.umask(0o027)
    try:
        save(1, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        link.symlink_to(path)
        save(2, link)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    assert link.is_symlink()
    assert load(path) == 2
    with replacing(os.devnull) as file:
        file.write(b"gone")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    with pytest.raises(RuntimeError, match=r"Parent directory .* does not exist"):
        save(1, tmp_path / "nowhere" / "model.pt")
    with pytest.raises(RuntimeError, match="directory"):
        save(1, tmp_path)


# --- Storages, pickle, deepcopy ---------------------------------------------------------------


def test_storages() -> None:
    base = wrap(np.arange(6, dtype=np.float32).reshape(2, 3))
    view = wrap(base._array[1:, ::2].T)
    untyped, typed = storage.untyped_storage(view), storage.storage(view)
    assert untyped.data_ptr() == base._array.ctypes.data == storage.storage(base).data_ptr()
    assert (untyped.nbytes(), untyped.size(), len(untyped), len(typed)) == (24, 24, 24, 6)
    assert typed.tolist() == [0, 1, 2, 3, 4, 5]
    assert list(untyped)[:8] == torch.arange(2.0).untyped_storage().tolist()
    typed[2] = 7
    untyped[0:4] = 0
    assert base._array[0].tolist() == [0, 1, 7]
    assert untyped == storage.untyped_storage(base)
    assert hash(untyped) == hash(storage.untyped_storage(base))
    clone = untyped.clone()
    assert clone != untyped
    assert clone.fill_(0).tolist() == [0] * 24
    assert pickle.loads(pickle.dumps(untyped)).tolist() == untyped.tolist()
    assert repr(typed).endswith(
        "[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 6]"
    )
    assert repr(clone).endswith("[torch.storage.UntypedStorage(device=cpu) of size 24]")
    assert storage.untyped_storage(wrap(np.empty(0))).data_ptr() == 0
    with pytest.raises(RuntimeError, match="out of bounds"):
        storage.tensor_over(untyped, dtypes.float32, 0, (7,), (1,))


@pytest.fixture
def picklable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors that Python's pickle and deepcopy know."""
    reduce, deep = serialization.reduce_tensor, serialization.deepcopy_tensor
    monkeypatch.setattr(Tensor, "__reduce_ex__", lambda self, protocol: reduce(self), raising=False)
    monkeypatch.setattr(Tensor, "__deepcopy__", deep, raising=False)


@pytest.mark.usefixtures("picklable")
@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("protocol", [2, 5])
def test_python_pickles(protocol: int) -> None:
    for name in DTYPES:
        theirs = [numbers(name, 3, 4), numbers(name), numbers(name, 0), numbers(name, 4, 3).t()[1:]]
        ours = theirs_to_ours(theirs)
        for a, b in zip(pickle.loads(pickle.dumps(ours, protocol)), theirs, strict=True):
            same(a, b)
    base = wrap(np.zeros((3, 4), order="F")).requires_grad_()
    base.lr = 0.5  # type: ignore[attr-defined]
    again = pickle.loads(pickle.dumps(base, protocol))
    assert (again.requires_grad, again.lr, strides(again)) == (True, 0.5, (1, 3))
    shared = wrap(np.zeros((3, 4)))
    first, second = pickle.loads(pickle.dumps([shared, wrap(shared._array[1:].T)], protocol))
    first._array[1, 2] = 5
    assert second._array[2, 0] == 5


DEEP = b"]" * 5000 + b"a" * 4999
"""A list of a list of a list, 5,000 deep, as a pickle has it."""


@pytest.mark.parametrize(
    "call",
    [
        b"c_codecs\nencode\n(X\x00\x00\x00\x00" + DEEP + b"tR.",
        b"ctorch.serialization\n_get_layout\n(" + DEEP + b"tR.",
        b"ctorch._utils\n_rebuild_sparse_tensor\n(" + DEEP + b"NtR.",
    ],
)
def test_messages_about_deep_values_are_short(call: bytes) -> None:
    with pytest.raises(pickle.UnpicklingError) as caught:
        load(archive_with(b"\x80\x02" + call))
    assert len(str(caught.value)) < 200


@pytest.mark.usefixtures("picklable")
def test_deep_copies() -> None:
    base = wrap(np.arange(12.0).reshape(3, 4)).requires_grad_()
    base.grad = gradient = wrap(np.ones((3, 4)))
    view = wrap(base._array.T[1:])
    first, second = copy.deepcopy([base, view])
    assert not np.shares_memory(first._array, base._array)
    assert np.shares_memory(first._array, second._array)
    assert (first.requires_grad, second.requires_grad) == (True, False)
    assert strides(second) == strides(view)
    np.testing.assert_array_equal(second._array, view._array)
    copied: Any = first.grad
    np.testing.assert_array_equal(copied._array, gradient._array)
    assert not np.shares_memory(copied._array, gradient._array)
    one, two = copy.deepcopy([base, base])
    assert one is two
