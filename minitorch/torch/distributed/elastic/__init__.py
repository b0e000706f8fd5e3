"""What programs for torchrun import from its launcher."""
