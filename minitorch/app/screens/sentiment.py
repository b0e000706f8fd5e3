"""The page sentiment."""

from minitorch.app.frame import begin

room = begin("sentiment")
