"""The page guide."""

from minitorch.app.frame import begin

room = begin("guide")
