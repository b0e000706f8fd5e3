"""All operations: importing a family declares its records."""

from . import elementwise as elementwise
from . import comparison as comparison  # isort: skip
from . import movement as movement  # isort: skip
from . import conversion as conversion  # isort: skip
from . import creation as creation  # isort: skip
from . import reduce as reduce  # isort: skip
from . import products as products  # isort: skip
from . import indexing as indexing  # isort: skip
from . import softmax as softmax  # isort: skip
from . import activation as activation  # isort: skip
from . import linalg as linalg  # isort: skip
from .surface import FUNCTIONS as FUNCTIONS
