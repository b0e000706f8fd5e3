"""The parts of a DataLoader: how samples become batches, and what worker processes do."""

from . import collate as collate
from . import fetch as fetch
from . import worker as worker
