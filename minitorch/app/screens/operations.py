"""The page operations."""

from minitorch.app.frame import begin

room = begin("operations")
