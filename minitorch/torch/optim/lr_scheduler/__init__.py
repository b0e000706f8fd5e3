"""Learning rate schedulers.

A scheduler sets the rate of each group when its `step` is called. Most compute the new rate from
the current one, so that several can work on one optimizer; `_get_closed_form_lr` computes it from
the number of the epoch, where one is given.
"""

from .cosines import CosineAnnealingLR as CosineAnnealingLR
from .cosines import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from .cycles import CyclicLR as CyclicLR
from .cycles import OneCycleLR as OneCycleLR
from .factors import ConstantLR as ConstantLR
from .factors import ExponentialLR as ExponentialLR
from .factors import LinearLR as LinearLR
from .factors import MultiStepLR as MultiStepLR
from .factors import PolynomialLR as PolynomialLR
from .factors import StepLR as StepLR
from .functions import LambdaLR as LambdaLR
from .functions import MultiplicativeLR as MultiplicativeLR
from .plateau import ReduceLROnPlateau as ReduceLROnPlateau
from .scheduler import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from .scheduler import LRScheduler as LRScheduler
from .scheduler import per_group
from .several import ChainedScheduler as ChainedScheduler
from .several import SequentialLR as SequentialLR

_LRScheduler, _format_param = LRScheduler, per_group
