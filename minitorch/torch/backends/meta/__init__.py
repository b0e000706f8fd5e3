"""Tensors without memory: shapes, strides and types go through every operation, and no element is ever there."""
