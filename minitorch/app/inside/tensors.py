"""Shape, strides and storage: where the library finds the cells of a tensor."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import minitorch

FIRST = 10
"""The number in the first place of the storage, so that numbers and positions differ."""


def stages(
    shape: list[int],
    order: list[int],
    contiguous: bool,
    view: list[int],
    numbers: list[float] | None = None,
    strides: list[int] | None = None,
) -> dict[str, Any]:
    """A tensor as it is made, then permuted, copied and viewed as asked for.

    `view` empty leaves the shape as it is; a step that cannot be done ends the list with a
    `problem`. Without `numbers` they are 10, 11, 12, ...; without `strides` it is contiguous.
    """
    if numbers is None:
        numbers = [float(FIRST + i) for i in range(prod(shape))]
    try:
        data = minitorch.TensorData(numbers, tuple(shape), strides and tuple(strides))
    except minitorch.IndexingError as error:
        return {"stages": [{"name": "made", "problem": str(error)}], "storage": numbers}
    found = [_stage("made", data, data)]
    if order != list(range(len(shape))):
        data = data.permute(*order)
        found.append(_stage(f"permute{tuple(order)}", data, data))
    tensor = minitorch.Tensor(data)
    if contiguous:
        before, tensor = tensor, tensor.contiguous()
        found.append(_stage("contiguous()", tensor._tensor, before._tensor))
    if view:
        name = f"view({', '.join(map(str, view))})"
        try:
            before, tensor = tensor, tensor.view(*view)
            found.append(_stage(name, tensor._tensor, before._tensor))
        except minitorch.IndexingError as error:
            found.append({"name": name, "problem": str(error)})
    return {"stages": found, "storage": list(tensor._tensor._storage)}


def _stage(name: str, data: Any, before: Any) -> dict[str, Any]:
    return {
        "name": name,
        "shape": list(data.shape),
        "strides": list(data.strides),
        "contiguous": bool(data.is_contiguous()),
        "copied": data._storage is not before._storage,
    }


def positions(shape: list[int], strides: list[int]) -> list[int]:
    """What `index_to_position` gives for every index, in counting order."""
    steps = np.array(strides, dtype=np.int32)
    found = [
        minitorch.index_to_position(np.array(index, dtype=np.int32), steps)
        for index in np.ndindex(*shape)
    ]
    return [int(position) for position in found]


def counting(shape: list[int]) -> list[list[int]]:
    """What `to_index` writes for every ordinal."""
    sizes = np.array(shape, dtype=np.int32)
    out = np.zeros(len(shape), dtype=np.int32)
    found = []
    for ordinal in range(prod(shape)):
        minitorch.to_index(ordinal, sizes, out)
        found.append(out.tolist())
    return found


def look_up(shape: list[int], strides: list[int], index: list[int]) -> dict[str, Any]:
    """Where an index lies, `position` by `index_to_position` and `refusal` by the tensor."""
    data = minitorch.TensorData([0.0] * prod(shape), shape, strides)
    answer: dict[str, Any] = {"position": None, "refusal": ""}
    try:
        answer["position"] = int(data.index(tuple(index)))
    except (minitorch.IndexingError, IndexError) as error:
        answer["refusal"] = str(error)
    return answer
