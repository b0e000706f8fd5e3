"""Which Torch this behaves as."""

__version__ = "2.13.0+minitorch"
cuda = None
hip = None
git_version = None
debug = False
