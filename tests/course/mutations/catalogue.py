"""The mistake catalogue is part of the library: students and guides use it, too."""

from minitorch.course.catalogue import MISTAKES as MISTAKES
from minitorch.course.catalogue import Mistake as Mistake
