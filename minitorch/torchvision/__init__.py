"""The part of torchvision that programs use most: data sets, transforms, models.

Pictures are Pillow's, which is loaded when the first one is made.
"""

from . import datasets as datasets
from . import io as io
from . import models as models
from . import ops as ops
from . import transforms as transforms
from . import utils as utils
from .pillow import get_image_backend as get_image_backend
from .pillow import set_image_backend as set_image_backend

__version__ = "0.28.0"
