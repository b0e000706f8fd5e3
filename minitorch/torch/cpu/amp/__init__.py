"""The old names of mixed precision, with the device in the name."""

from .autocast_mode import autocast as autocast
from .grad_scaler import GradScaler as GradScaler
