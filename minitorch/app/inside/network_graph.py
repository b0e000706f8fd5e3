"""The graph behind the loss of a network of the playground, as the library recorded it."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.datasets import Graph

from .networks import Plan, ScalarModel, TensorModel, Training

POINTS = 4
"""Points whose loss is drawn, with tensors; with scalars it is one."""
MOST = 150
"""Boxes that can be drawn."""


def graph(weights: list[Any], **plan: Any) -> dict[str, Any]:
    """Boxes and arrows with shapes, from the parameters to the loss; only their number if too many."""
    training = Training(Plan(**plan))
    model, data = training.model, training.train
    model.write([np.array(array, float) for array in weights])
    if isinstance(model, ScalarModel):
        _, loss = model.loss(data.X[0], data.y[0])
    elif isinstance(model, TensorModel):
        _, loss = model.loss(Graph(min(POINTS, data.N), data.X[:POINTS], data.y[:POINTS]))
    else:
        raise ValueError("the graph of Torch is on the page Torch graph")
    names = {p.value.unique_id: name for name, p in model.network.named_parameters()}
    return describe(loss, names)


def describe(loss: Any, names: dict[int, str]) -> dict[str, Any]:
    """The graph that leads to a variable: `names` are those of the parameters, by their id."""
    boxes: dict[int, dict[str, Any]] = {}
    arrows: list[dict[str, Any]] = []
    waiting = [loss]
    while waiting:
        variable = waiting.pop()
        if variable.unique_id in boxes:
            continue
        boxes[variable.unique_id] = _box(variable, names.get(variable.unique_id, ""))
        for source in variable.history.inputs if variable.history else ():
            if hasattr(source, "unique_id"):
                shape = boxes.get(source.unique_id, _box(source, ""))["shape"]
                ends = {"from": source.unique_id, "to": variable.unique_id}
                arrows.append({**ends, "shape": shape})
                waiting.append(source)
    if len(boxes) > MOST:
        return {"count": len(boxes)}
    numbers = {key: number for number, key in enumerate(boxes)}
    for arrow in arrows:
        arrow["from"], arrow["to"] = numbers[arrow["from"]], numbers[arrow["to"]]
    return {"count": len(boxes), "nodes": list(boxes.values()), "arrows": arrows}


def _box(variable: Any, name: str) -> dict[str, Any]:
    shape = list(variable.shape) if hasattr(variable, "shape") else []
    made_by = variable.history.last_fn if variable.history else None
    if made_by is not None:
        return {"label": made_by.__name__, "kind": "operation", "shape": shape}
    kind = "parameter" if name else "data"
    return {"label": name or "data", "kind": kind, "shape": shape, "numbers": int(np.prod(shape))}
