"""The old place of `torch.distributed.tensor`."""

from typing import Any

from .. import tensor
from ..device_mesh import DeviceMesh as DeviceMesh
from ..device_mesh import init_device_mesh as init_device_mesh


def __getattr__(name: str) -> Any:
    return getattr(tensor, name)
