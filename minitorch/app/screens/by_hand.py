"""The page by_hand."""

from minitorch.app.frame import begin

room = begin("by_hand")
