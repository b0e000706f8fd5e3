"""Torch's switches for products on NVIDIA's GPUs: they can be set, and change nothing here."""

from __future__ import annotations


class matmul:  # noqa: N801
    """How products are computed."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = False
    allow_bf16_reduced_precision_reduction = False


def is_built() -> bool:
    """Whether this library was built for such GPUs."""
    return False
