"""Torch's way to ONNX files.

>>> import io
>>> import minitorch.torch as torch
>>> program = torch.onnx.export(
...     torch.nn.Linear(2, 3), (torch.ones(1, 2),), input_names=["x"], output_names=["y"]
... )
>>> program.save(io.BytesIO())
>>> program.output_names
['y']
"""

from __future__ import annotations

from .errors import OnnxExporterError as OnnxExporterError
from .errors import UnsupportedOperatorError as UnsupportedOperatorError
from .exporting import OperatorExportTypes as OperatorExportTypes
from .exporting import TrainingMode as TrainingMode
from .exporting import export as export
from .exporting import is_in_onnx_export as is_in_onnx_export
from .program import ONNXProgram as ONNXProgram
