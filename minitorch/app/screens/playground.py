"""The page playground."""

from minitorch.app.frame import begin

room = begin("playground")
