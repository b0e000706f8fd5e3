"""Mixed precision: operations that may run in less precision do, others keep float32."""

from .autocast_mode import autocast as autocast
from .autocast_mode import autocast_decorator as autocast_decorator
from .autocast_mode import custom_bwd as custom_bwd
from .autocast_mode import custom_fwd as custom_fwd
from .autocast_mode import is_autocast_available as is_autocast_available
from .grad_scaler import GradScaler as GradScaler
