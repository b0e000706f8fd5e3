"""Programs as strangers write them for torchrun and `mp.spawn`, run unchanged on PyTorch and on `minitorch.torch`."""
