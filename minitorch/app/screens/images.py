"""The page images."""

from minitorch.app.frame import begin

room = begin("images")
