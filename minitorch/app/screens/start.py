"""The page start."""

from minitorch.app.frame import begin

room = begin("start")
