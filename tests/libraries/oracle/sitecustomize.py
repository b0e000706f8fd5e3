"""Lets torchvision be imported beside a PyTorch that its compiled part was not built for.

Its Python needs the names of its operations to be declared, which that part would have done.
"""

import sys

OPERATIONS = (
    "nms",
    "qnms",
    "roi_align",
    "roi_pool",
    "ps_roi_align",
    "ps_roi_pool",
    "deform_conv2d",
)


class DeclareOperations:
    """Declares them just before torchvision is imported."""

    def find_spec(self, name, path=None, target=None):
        if name == "torchvision":
            sys.meta_path.remove(self)
            import torch

            for each in OPERATIONS:
                torch.library.define(
                    f"torchvision::{each}", "(Tensor a, Tensor b, float c) -> Tensor"
                )


sys.meta_path.insert(0, DeclareOperations())
