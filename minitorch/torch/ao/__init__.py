"""Where Torch keeps tools of quantization."""
