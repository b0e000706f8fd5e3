"""The page convolution."""

from minitorch.app.frame import begin

room = begin("convolution")
