"""Lesson 2: storage seen through a shape and strides; broadcasting of indices."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch
from minitorch import (
    IndexingError,
    TensorData,
    broadcast_index,
    index_to_position,
    shape_broadcast,
    strides_from_shape,
    to_index,
)

from .strategies import broadcastable, shapes, tensor_data


def ints(*values: int) -> Any:
    return np.array(values, dtype=np.int32)


# --- Task 2.0 --------------------------------------------------------------------


@pytest.mark.task2_0
def test_import() -> None:
    assert minitorch.MAX_DIMS == 32
    assert issubclass(IndexingError, RuntimeError)
    for name in [
        "Storage",
        "Shape",
        "Strides",
        "Index",
        "OutIndex",
        "UserShape",
        "UserStrides",
        "UserIndex",
    ]:
        assert hasattr(minitorch, name)
    assert minitorch.SimpleBackend.cuda is False


# --- Task 2.1: indexing --------------------------------------------------------------


@pytest.mark.task2_1
@pytest.mark.parametrize(
    ("index", "strides", "position"),
    [
        ((3, 1), (2, 1), 7),  # the guide's (5, 2) matrix, contiguous
        ((1, 3), (1, 2), 7),  # its transpose
        ((1, 2, 3), (100, 10, 1), 123),
        ((1, 2, 3), (1, 10, 100), 321),
        ((4,), (3,), 12),
        ((0, 0), (5, 1), 0),
        ((), (), 0),
    ],
)
def test_index_to_position(index: Any, strides: Any, position: int) -> None:
    assert index_to_position(ints(*index), ints(*strides)) == position


@pytest.mark.task2_1
def test_index_to_position_of_a_longer_buffer() -> None:
    """Compiled kernels reuse one buffer of MAX_DIMS."""
    assert index_to_position(ints(1, 2, 9, 9), ints(3, 1)) == 5


def compiled(fn: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives that Numba has compiled, as lesson 3 does."""
    from numba import njit
    from numba.core.errors import NumbaError

    try:
        return njit(fn)(*arguments)
    except NumbaError as error:
        why = [line for line in str(error).splitlines() if line.strip()][1:4]
        pytest.fail(f"lesson 3 compiles {fn.__name__}, which Numba cannot:\n" + "\n".join(why))


@pytest.mark.task2_1
def test_index_functions_can_be_compiled() -> None:
    buffer = ints(7, 7, 7)
    compiled(to_index, 5, ints(2, 3), buffer)
    assert buffer.tolist() == [1, 2, 7]
    assert compiled(index_to_position, buffer, ints(3, 1)) == 5


@pytest.mark.task2_1
@given(shapes())
def test_to_index_counts_through_the_shape(shape: Any) -> None:
    out = ints(*[0] * len(shape))
    seen = []
    for ordinal in range(int(np.prod(shape))):
        to_index(ordinal, ints(*shape), out)
        seen.append(tuple(out.tolist()))
    assert seen == list(itertools.product(*[range(n) for n in shape]))


@pytest.mark.task2_1
def test_to_index_changes_only_the_index() -> None:
    shape = ints(2, 3)
    out = ints(9, 9)
    assert to_index(4, shape, out) is None
    assert out.tolist() == [1, 1]
    assert shape.tolist() == [2, 3]


@pytest.mark.task2_1
def test_to_index_fills_a_longer_buffer() -> None:
    """Compiled kernels reuse one buffer of MAX_DIMS."""
    out = ints(7, 7, 7, 7)
    to_index(5, ints(2, 3), out)
    assert out.tolist() == [1, 2, 7, 7]


@pytest.mark.task2_1
@pytest.mark.parametrize(
    ("shape", "strides"),
    [((5, 2), (2, 1)), ((2, 3, 3), (9, 3, 1)), ((4,), (1,)), ((), ()), ((1, 1), (1, 1))],
)
def test_strides_from_shape(shape: Any, strides: Any) -> None:
    assert tuple(strides_from_shape(shape)) == strides


@pytest.mark.task2_1
def test_layout() -> None:
    data = TensorData([0] * 15, (3, 5), (5, 1))
    assert data.is_contiguous()
    assert data.shape == (3, 5)
    assert data.strides == (5, 1)
    assert data.dims == 2
    assert data.size == 15
    assert data.index((1, 0)) == 5
    assert data.index((1, 2)) == 7
    assert not TensorData([0] * 15, (5, 3), (1, 5)).is_contiguous()
    assert TensorData([0] * 15, (5, 3)).strides == (3, 1)


@pytest.mark.task2_1
def test_size_one_dimensions_do_not_matter_for_contiguity() -> None:
    assert TensorData([0] * 6, (2, 1, 3), (3, 1, 1)).is_contiguous()
    assert TensorData([0] * 6, (1, 2, 3)).permute(1, 0, 2).is_contiguous()
    assert TensorData([0], (1, 1, 1), (0, 0, 0)).is_contiguous()


@pytest.mark.task2_1
@pytest.mark.parametrize(
    "index", [(5, 2), (1, 5), (3, 0), (-1, 0), (0, -1), (1,), (1, 0, 0), (), 0]
)
def test_wrong_index(index: Any) -> None:
    data = TensorData([0] * 15, (3, 5))
    with pytest.raises(IndexingError, match=r"\(3, 5\)"):
        data.index(index)
    with pytest.raises(IndexingError):
        data.get(index)
    with pytest.raises(IndexingError):
        data.set(index, 1.0)


@pytest.mark.task2_1
@given(tensor_data())
def test_every_index_reads_its_own_place(data: TensorData) -> None:
    indices = list(data.indices())
    assert indices == list(itertools.product(*[range(n) for n in data.shape]))
    positions = [data.index(i) for i in indices]
    assert sorted(positions) == list(range(data.size))
    for i, position in zip(indices, positions, strict=True):
        assert data.get(i) == data._storage[position]
        assert data.get(i) == data.to_numpy()[i]


@pytest.mark.task2_1
@given(tensor_data(), st.data())
def test_set_changes_one_element(data: TensorData, draw: st.DataObject) -> None:
    index = draw.draw(st.sampled_from(list(data.indices())))
    expected = data.to_numpy()
    data.set(index, 1234.5)
    expected[index] = 1234.5
    assert data.get(index) == 1234.5
    assert (data.to_numpy() == expected).all()


@pytest.mark.task2_1
@given(tensor_data())
def test_sample_gives_valid_indices(data: TensorData) -> None:
    valid = set(data.indices())
    assert all(data.sample() in valid for _ in range(20))


@pytest.mark.task2_1
def test_sample_reaches_every_index() -> None:
    data = TensorData(list(range(6)), (2, 3))
    assert {data.sample() for _ in range(400)} == set(data.indices())


@pytest.mark.task2_1
@given(tensor_data(), st.data())
def test_permute(data: TensorData, draw: st.DataObject) -> None:
    order = draw.draw(st.permutations(range(data.dims)))
    moved = data.permute(*order)
    assert moved.shape == tuple(data.shape[d] for d in order)
    assert moved.strides == tuple(data.strides[d] for d in order)
    assert moved._storage is data._storage
    for index in data.indices():
        assert moved.get([index[d] for d in order]) == data.get(index)
    assert (moved.to_numpy() == data.to_numpy().transpose(order)).all()
    assert moved.permute(*np.argsort(order)).shape == data.shape


@pytest.mark.task2_1
def test_tuple_is_what_kernels_take() -> None:
    storage, shape, strides = TensorData(list(range(6)), (2, 3)).permute(1, 0).tuple()
    assert storage.dtype == np.float64
    assert storage.tolist() == [0, 1, 2, 3, 4, 5]
    assert shape.dtype == strides.dtype == np.int32
    assert shape.tolist() == [3, 2]
    assert strides.tolist() == [1, 3]


@pytest.mark.task2_1
def test_storage_is_shared_where_it_can_be() -> None:
    storage = np.arange(6.0)
    assert TensorData(storage, (2, 3))._storage is storage
    assert TensorData([1, 2], (2,))._storage.dtype == np.float64


@pytest.mark.task2_1
def test_storage_must_fit_the_shape() -> None:
    with pytest.raises(IndexingError, match=r"5 .*\(2, 3\)"):
        TensorData([0] * 5, (2, 3))
    with pytest.raises(IndexingError):
        TensorData([0] * 6, (2, 3), (1,))


@pytest.mark.task2_1
def test_to_string() -> None:
    assert TensorData([1, 2], (2,)).to_string() == "[1.00 2.00]"
    assert TensorData(list(range(6)), (2, 3)).to_string() == (
        "[\n    [0.00 1.00 2.00]\n    [3.00 4.00 5.00]]"
    )
    assert TensorData(list(range(6)), (2, 3)).permute(1, 0).to_string() == (
        "[\n    [0.00 3.00]\n    [1.00 4.00]\n    [2.00 5.00]]"
    )
    assert TensorData(list(range(4)), (1, 2, 2)).to_string() == (
        "[\n    [\n        [0.00 1.00]\n        [2.00 3.00]]]"
    )


@pytest.mark.task2_1
def test_without_dimensions() -> None:
    data = TensorData([3.0], ())
    assert data.size == 1
    assert data.dims == 0
    assert list(data.indices()) == [()]
    assert data.get(()) == 3.0
    assert data.get(0) == 3.0
    assert data.to_string() == "3.00"


# --- Task 2.2: broadcasting ------------------------------------------------------------


@pytest.mark.task2_2
@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((1,), (5, 5), (5, 5)),
        ((5, 5), (1,), (5, 5)),
        ((1, 5, 5), (5, 5), (1, 5, 5)),
        ((5, 1, 5, 1), (1, 5, 1, 5), (5, 5, 5, 5)),
        ((2, 5), (5,), (2, 5)),
        ((5, 3), (3,), (5, 3)),
        ((5, 3), (5, 1), (5, 3)),
        ((2, 3, 1), (7, 2, 1, 5), (7, 2, 3, 5)),
        ((), (2, 3), (2, 3)),
        ((1,), (1,), (1,)),
        ((0,), (1,), (0,)),
        ((2, 0), (2, 1), (2, 0)),
        ((0, 3), (3,), (0, 3)),
    ],
)
def test_shape_broadcast(one: Any, other: Any, expected: Any) -> None:
    """The shape is a tuple; a size may be 0."""
    assert shape_broadcast(one, other) == expected
    assert shape_broadcast(other, one) == expected
    assert TensorData.shape_broadcast(one, other) == expected


@pytest.mark.task2_2
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((5, 2), (5,)),
        ((5, 7, 5, 1), (1, 5, 1, 5)),
        ((2, 3), (3, 2)),
        ((3,), (2,)),
        ((2, 5), (2,)),
        ((0,), (2,)),
    ],
)
def test_shapes_that_do_not_broadcast(one: Any, other: Any) -> None:
    with pytest.raises(IndexingError):
        shape_broadcast(one, other)
    with pytest.raises(IndexingError):
        shape_broadcast(other, one)


@pytest.mark.task2_2
@given(broadcastable())
def test_shape_broadcast_is_like_numpy(pair: Any) -> None:
    one, other = pair
    assert tuple(shape_broadcast(one, other)) == np.broadcast_shapes(one, other)


@pytest.mark.task2_2
@given(shapes(), shapes())
def test_shape_broadcast_fails_where_numpy_does(one: Any, other: Any) -> None:
    try:
        expected = np.broadcast_shapes(one, other)
    except ValueError:
        with pytest.raises(IndexingError):
            shape_broadcast(one, other)
    else:
        assert tuple(shape_broadcast(one, other)) == expected


@pytest.mark.task2_2
@pytest.mark.parametrize(
    ("big_index", "big_shape", "shape", "expected"),
    [
        ((1, 2), (2, 3), (2, 3), (1, 2)),
        ((1, 2), (2, 3), (1, 3), (0, 2)),
        ((1, 2), (2, 3), (2, 1), (1, 0)),
        ((1, 2), (2, 3), (3,), (2,)),  # aligned at the right, not at the left
        ((1, 2), (2, 3), (1,), (0,)),
        ((4, 1, 2), (5, 2, 3), (1, 3), (0, 2)),
        ((4, 1, 2), (5, 2, 3), (5, 1, 1), (4, 0, 0)),
        ((1, 1), (2, 2), (), ()),
    ],
)
def test_broadcast_index(big_index: Any, big_shape: Any, shape: Any, expected: Any) -> None:
    out = ints(*[9] * len(shape))
    broadcast_index(ints(*big_index), ints(*big_shape), ints(*shape), out)
    assert tuple(out.tolist()) == expected


@pytest.mark.task2_2
@given(broadcastable(count=1, max_dims=4), st.data())
def test_broadcast_index_is_like_numpy(made: Any, draw: st.DataObject) -> None:
    (shape,) = made
    extra = draw.draw(shapes(0, 2))
    big_shape = extra + tuple(n if n > 1 else random.randint(1, 3) for n in shape)
    numbered = np.arange(int(np.prod(shape))).reshape(shape)
    expected = np.broadcast_to(numbered, big_shape)
    out = ints(*[0] * len(shape))
    for big_index in itertools.product(*[range(n) for n in big_shape]):
        broadcast_index(ints(*big_index), ints(*big_shape), ints(*shape), out)
        assert numbered[tuple(out)] == expected[big_index]


@pytest.mark.task2_2
def test_broadcast_index_changes_only_its_output() -> None:
    big_index, big_shape, shape, out = ints(1, 2), ints(2, 3), ints(1, 3), ints(9, 9)
    assert broadcast_index(big_index, big_shape, shape, out) is None
    assert big_index.tolist() == [1, 2]
    assert big_shape.tolist() == [2, 3]
    assert shape.tolist() == [1, 3]


@pytest.mark.task2_2
def test_broadcast_index_can_be_compiled() -> None:
    out = ints(7, 7)
    compiled(broadcast_index, ints(1, 2), ints(2, 3), ints(3), out)
    assert out.tolist() == [2, 7]


@pytest.mark.task2_2
def test_broadcast_index_fills_a_longer_buffer() -> None:
    """Compiled kernels reuse buffers of MAX_DIMS, for both indices."""
    out = ints(7, 7, 7)
    broadcast_index(ints(1, 2, 8, 8), ints(2, 3), ints(3), out)
    assert out.tolist() == [2, 7, 7]
