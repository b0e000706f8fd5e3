"""Optimizers whose state is shared out among the ranks."""

from .zero_redundancy_optimizer import ZeroRedundancyOptimizer as ZeroRedundancyOptimizer
