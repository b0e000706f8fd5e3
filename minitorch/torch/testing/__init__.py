"""Comparing tensors, and making them for tests."""

from .comparison import assert_close as assert_close
from .making import make_tensor as make_tensor
