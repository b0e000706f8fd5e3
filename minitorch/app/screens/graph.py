"""The page graph."""

from minitorch.app.frame import begin

room = begin("graph")
