"""All figures: importing this registers them in `style.FIGURES`."""

from . import autodiff as autodiff
from . import efficiency as efficiency
from . import foundations as foundations
from . import networks as networks
from . import ranks as ranks
from . import tensors as tensors
from . import transformers as transformers
from . import upper_floor as upper_floor
