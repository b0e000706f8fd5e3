"""The page functions."""

from minitorch.app.frame import begin

room = begin("functions")
