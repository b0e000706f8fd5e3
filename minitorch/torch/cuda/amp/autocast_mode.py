"""The old form of `torch.amp.autocast('cuda')`."""

from __future__ import annotations

import functools
import warnings

from ... import dtypes
from ...amp.autocast_mode import autocast as _autocast
from ...amp.autocast_mode import custom_bwd as _custom_bwd
from ...amp.autocast_mode import custom_fwd as _custom_fwd


class autocast(_autocast):  # noqa: N801
    """A region of mixed precision."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: dtypes.dtype = dtypes.float16,
        cache_enabled: bool = True,
    ) -> None:
        warnings.warn(
            "`torch.cuda.amp.autocast(args...)` is deprecated. Please use "
            "`torch.amp.autocast('cuda', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cuda", dtype, enabled, cache_enabled)


custom_fwd = functools.partial(_custom_fwd, device_type="cuda")
custom_bwd = functools.partial(_custom_bwd, device_type="cuda")
