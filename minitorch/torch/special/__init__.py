"""Special functions, under Torch's names."""
