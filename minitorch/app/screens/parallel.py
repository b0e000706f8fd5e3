"""The page parallel."""

from minitorch.app.frame import begin

room = begin("parallel")
