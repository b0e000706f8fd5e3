"""Torch's `export`: a module as a graph of operations that needs no Python.

>>> import minitorch.torch as torch
>>> program = torch.export.export(
...     torch.nn.Linear(2, 3), (torch.ones(4, 2),), dynamic_shapes=({0: torch.export.Dim("batch")},)
... )
>>> [node.name for node in program.graph.nodes]
['p_weight', 'p_bias', 'input_1', 'linear', 'output']
>>> program.module()(torch.ones(7, 2)).shape
torch.Size([7, 3])
"""

from __future__ import annotations

from .dynamic_shapes import Dim as Dim
from .dynamic_shapes import dims as dims
from .exported_program import ExportedProgram as ExportedProgram
from .exporting import draft_export as draft_export
from .exporting import export as export
from .graph_signature import ExportGraphSignature as ExportGraphSignature
from .saving import load as load
from .saving import save as save
