"""The old form of `torch.amp.autocast('cpu')`."""

from __future__ import annotations

import warnings

from ... import dtypes
from ...amp.autocast_mode import autocast as _autocast


class autocast(_autocast):  # noqa: N801
    """A region of mixed precision."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: dtypes.dtype = dtypes.bfloat16,
        cache_enabled: bool = True,
    ) -> None:
        warnings.warn(
            "`torch.cpu.amp.autocast(args...)` is deprecated. Please use "
            "`torch.amp.autocast('cpu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cpu", dtype, enabled, cache_enabled)
