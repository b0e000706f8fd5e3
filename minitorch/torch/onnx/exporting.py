"""`torch.onnx.export`: a module as an ONNX file."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from ..compiler.exceptions import UserError
from ..export import Dim, ExportedProgram
from ..export import export as export_program
from ..export.exporting import names_of
from ..fx.recording import ValuesReadError
from ..nn.modules.module import Module
from ..tensor import Tensor
from .errors import OnnxExporterError
from .program import ONNXProgram

OLDEST, NEWEST, DEFAULT = 18, 23, 18
"""Versions of ONNX's operations."""


class TrainingMode(IntEnum):
    """In which mode a module is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(IntEnum):
    """Which operations a file may have: ONNX's."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class _State:
    exporting = False


def is_in_onnx_export() -> bool:
    """Whether a program is being written to such a file just now."""
    return _State.exporting


def export(
    model: Module | ExportedProgram,
    args: Any = (),
    f: Any = None,
    *,
    kwargs: dict[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    dynamic_axes: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    export_params: bool = True,
    training: int = TrainingMode.EVAL,
    custom_translation_table: Any = None,
    **_: Any,
) -> ONNXProgram | None:
    """Run a module on an example, and write what it computed as an ONNX file.

    Args:
        model: a module, or what `torch.export.export` gave
        args: the example: a tuple of arguments, or one tensor; a dict at its end is given by name
        f: where to write it; None: nowhere, it can be saved later
        kwargs: arguments given by name
        input_names: of the inputs in the file, in order
        output_names: of the outputs
        opset_version: of ONNX's operations
        dynamo: whether the program is returned; False: None, as older programs expect it
        dynamic_axes: sizes that may change: for names of inputs, dicts from dimensions to names, or lists of dimensions
        dynamic_shapes: the same, as `torch.export` has it
        export_params: must be True: weights are part of the file
        training: whether the module computes as in training: only `TrainingMode.EVAL`
        custom_translation_table: must be empty: forms of operations are the library's
    """
    if custom_translation_table:
        raise NotImplementedError("torch.onnx.export: custom_translation_table must be empty")
    if not export_params:
        raise NotImplementedError("torch.onnx.export: export_params=False is not there: weights are part of the file")  # fmt: skip
    opset = _version(opset_version)
    if isinstance(model, ExportedProgram):
        program = model
    else:
        args, named = _arguments(args, kwargs)
        shapes = dynamic_shapes or _shapes(
            model, args, named, list(input_names or ()), dynamic_axes
        )
        program = _exported(model, args, named, shapes, training)
    made = ONNXProgram(program, input_names, output_names, opset)
    if f is not None:
        made.save(f)
    return made if dynamo else None


def _version(wanted: int | None) -> int:
    if wanted is None:
        return DEFAULT
    if wanted > NEWEST:
        raise ValueError(f"opset_version {wanted} is not known: {OLDEST} to {NEWEST} are")
    if wanted < OLDEST:
        warnings.warn(
            f"Setting ONNX exporter to use operator set version {OLDEST} because the requested opset_version {wanted} is "
            "a lower version than we have implementations for.",
            stacklevel=3,
        )
    return max(wanted, OLDEST)


def _arguments(args: Any, kwargs: dict[str, Any] | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The example as arguments by place and by name."""
    given = (
        (args,) if isinstance(args, Tensor) or not isinstance(args, (tuple, list)) else tuple(args)
    )
    if given and isinstance(given[-1], dict) and not kwargs:
        return given[:-1], dict(given[-1])
    return given, dict(kwargs or {})


def _shapes(model: Module, args: tuple[Any, ...], named: dict[str, Any], input_names: list[str], axes: Any) -> Any:  # fmt: skip
    """`dynamic_axes` as `dynamic_shapes`: what is said of outputs follows from the inputs."""
    if not axes:
        return None
    arguments = [*names_of(model, len(args)), *named]
    values = [*args, *named.values()]
    given = dict(zip(input_names, arguments, strict=False))
    dims: dict[str, Dim] = {}
    shapes: dict[str, Any] = dict.fromkeys(arguments)
    for name, which in axes.items():
        argument = given.get(name, name)
        if argument not in shapes:
            continue
        if not isinstance(values[arguments.index(argument)], Tensor):
            raise OnnxExporterError(f"dynamic_axes: the input {name!r} is no tensor")
        named_axes = which if isinstance(which, Mapping) else {d: f"{name}_dim_{d}" for d in which}
        shapes[argument] = {
            d: dims.setdefault(_identifier(n), Dim(_identifier(n))) for d, n in named_axes.items()
        }
    return shapes


def _identifier(name: str) -> str:
    return name if name.isidentifier() else "".join(c if c.isalnum() else "_" for c in f"d_{name}")


def _exported(model: Module, args: Any, named: dict[str, Any], shapes: Any, training: int) -> ExportedProgram:  # fmt: skip
    if training != TrainingMode.EVAL:
        raise NotImplementedError("torch.onnx.export writes modules as they compute in eval()")
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    _State.exporting = True
    try:
        return export_program(model, args, named, dynamic_shapes=shapes)
    except (UserError, ValuesReadError) as error:
        raise OnnxExporterError(f"Failed to export the model: {error}") from error
    finally:
        _State.exporting = False
        for module, mode in modes:
            module.training = mode
