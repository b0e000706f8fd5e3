"""The page broadcasting."""

from minitorch.app.frame import begin

room = begin("broadcasting")
