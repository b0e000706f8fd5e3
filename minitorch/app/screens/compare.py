"""The page compare."""

from minitorch.app.frame import begin

room = begin("compare")
