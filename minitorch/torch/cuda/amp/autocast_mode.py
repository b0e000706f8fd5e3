"""The old form of `torch.amp.autocast('cuda')`."""

from __future__ import annotations

import warnings

from ... import dtypes
from ...amp.autocast_mode import autocast as _autocast


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
