"""A module on several devices at once, or on several ranks."""

from ...lazy_attributes import lazy_attributes
from .data_parallel import DataParallel as DataParallel
from .data_parallel import data_parallel as data_parallel

__getattr__ = lazy_attributes(
    __name__,
    (),
    {
        "DistributedDataParallel": ".distributed",  # which imports all of torch.distributed
        "gather": ".scatter_gather",
        "scatter": ".scatter_gather",
    },
)
