"""The page tensors."""

from minitorch.app.frame import begin

room = begin("tensors")
