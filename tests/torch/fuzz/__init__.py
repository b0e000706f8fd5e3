"""Random calls, right and wrong, compared with PyTorch: `python -m tests.torch.fuzz 2000`."""
