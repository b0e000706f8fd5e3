"""Which Torch this behaves as."""

from .torch_version import TorchVersion

__version__ = TorchVersion("2.13.0+minitorch")
cuda = None
hip = None
git_version = None
debug = False
