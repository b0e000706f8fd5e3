"""Logs that TensorBoard shows; needs the package `tensorboard`."""

try:
    import tensorboard as _tensorboard  # noqa: F401  # type: ignore[import-not-found]
except ImportError:
    raise ImportError(
        "torch.utils.tensorboard needs TensorBoard, which is not installed; "
        "get it with: pip install tensorboard"
    ) from None

from .writer import FileWriter as FileWriter
from .writer import SummaryWriter as SummaryWriter
