"""Comparing tensors, and making them for tests."""
