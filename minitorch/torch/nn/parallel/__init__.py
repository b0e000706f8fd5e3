"""A module on several devices at once: with one CPU, the module itself."""

from .data_parallel import DataParallel as DataParallel
from .data_parallel import data_parallel as data_parallel
