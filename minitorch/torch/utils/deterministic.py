"""What `use_deterministic_algorithms` does to new memory."""

fill_uninitialized_memory = True
"""Accepted: `empty` gives what the memory held."""
