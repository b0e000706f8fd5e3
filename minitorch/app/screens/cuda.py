"""The page cuda."""

from minitorch.app.frame import begin

room = begin("cuda")
