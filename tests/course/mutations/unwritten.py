"""The library as a student has it in the middle of the course: later tasks are not written yet."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

_SCALAR = "Mul Inv Neg Sigmoid ReLU Exp LT EQ"
_TENSOR = "Neg Inv Add Mul Sigmoid ReLU Log Exp Sum All LT EQ IsClose Permute View Copy MatMul"

WRITTEN_BY: dict[str, list[str]] = {
    "task0_1": [
        f"operators:{name}"
        for name in [
            "mul",
            "id",
            "add",
            "neg",
            "lt",
            "eq",
            "max",
            "is_close",
            "sigmoid",
            "relu",
            "log",
            "exp",
            "inv",
            "log_back",
            "inv_back",
            "relu_back",
        ]
    ],
    "task0_2": [],
    "task0_3": [
        f"operators:{name}"
        for name in ["map", "zipWith", "reduce", "negList", "addLists", "sum", "prod"]
    ],
    "task0_4": [
        f"module:Module.{name}" for name in ["train", "eval", "named_parameters", "parameters"]
    ],
    "task1_1": ["autodiff:central_difference"],
    "task1_2": [
        *[f"scalar_functions:{name}.forward" for name in _SCALAR.split()],
        *[
            f"scalar:Scalar.{name}"
            for name in [
                "__lt__",
                "__gt__",
                "__sub__",
                "__neg__",
                "__add__",
                "log",
                "exp",
                "sigmoid",
                "relu",
            ]
        ],
    ],
    "task1_3": ["scalar:Scalar.chain_rule"],
    "task1_4": [
        "autodiff:topological_sort",
        "autodiff:backpropagate",
        *[f"scalar_functions:{name}.backward" for name in (_SCALAR + " Add Log").split()],
    ],
    "task2_1": [
        "tensor_data:index_to_position",
        "tensor_data:to_index",
        "tensor_data:TensorData.permute",
    ],
    "task2_2": ["tensor_data:broadcast_index", "tensor_data:shape_broadcast"],
    "task2_3": [
        "tensor_ops:tensor_map",
        "tensor_ops:tensor_zip",
        "tensor_ops:tensor_reduce",
        "tensor:Tensor.__init__",
    ],
    "task2_4": [
        "tensor:Tensor.chain_rule",
        "tensor:Tensor.expand",
        *[f"tensor_functions:{name}.backward" for name in _TENSOR.split()],
    ],
    "task3_1": ["fast_ops"],
    "task3_2": ["fast_ops:FastOps.matrix_multiply", "tensor_functions:MatMul.forward"],
    "task4_1": ["fast_conv"],
    "task4_2": ["fast_conv:conv2d"],
    "task4_3": ["nn:tile", "nn:avgpool2d"],
    "task4_4": [
        f"nn:{name}"
        for name in [
            "argmax",
            "Max.forward",
            "max",
            "softmax",
            "logsoftmax",
            "dropout",
            "maxpool2d",
        ]
    ],
}
"""module:name of what each task writes, or the module alone where it writes all of it."""

TASKS = list(WRITTEN_BY)


def take_away_after(task: str) -> None:
    """Make everything that tasks after this one write raise NotImplementedError."""
    import minitorch

    for name in ("cuda_ops", "cuda_conv"):
        sys.modules[f"minitorch.{name}"] = None  # type: ignore[assignment]
    gone: set[str] = set()
    for later in TASKS[TASKS.index(task) + 1 :]:
        for place in WRITTEN_BY[later]:
            module, _, path = place.partition(":")
            if module in gone:
                continue
            if not path:
                gone.add(module)
                sys.modules[f"minitorch.{module}"] = None  # type: ignore[assignment]
            else:
                importlib.import_module(f"minitorch.{module}")
                _take_away(sys.modules[f"minitorch.{module}"], path, later)
    assert minitorch


def _take_away(module: Any, path: str, task: str) -> None:
    *owners, name = path.split(".")
    stub = _unwritten(path, task)
    if owners:
        owner = getattr(module, owners[0])
        is_static = isinstance(vars(owner).get(name), staticmethod)
        setattr(owner, name, staticmethod(stub) if is_static else stub)
        return
    original = getattr(module, name)
    for loaded in [m for n, m in sys.modules.items() if m and n.split(".")[0] == "minitorch"]:
        for alias, value in list(vars(loaded).items()):
            if value is original:
                setattr(loaded, alias, stub)


def _unwritten(path: str, task: str) -> Callable[..., Any]:
    def stub(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{path} is written in {task}")

    return stub
