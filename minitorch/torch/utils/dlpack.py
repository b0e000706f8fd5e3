"""Memory shared with other libraries by DLPack."""

from ..ops.dlpack import from_dlpack as from_dlpack
from ..ops.dlpack import to_dlpack as to_dlpack
