"""`@record`: the main function of a rank whose errors are kept for the launcher."""

from __future__ import annotations

import functools
import json
import os
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any


class ChildFailedError(Exception):
    """A rank has failed."""


class ErrorHandler:
    """Writes the error of a rank into the file that TORCHELASTIC_ERROR_FILE names; the launcher hears of it anyway."""

    def initialize(self) -> None:
        """Get ready: there is nothing to do."""

    def record_exception(self, e: BaseException) -> None:
        """Write an error."""
        path = os.environ.get("TORCHELASTIC_ERROR_FILE")
        if path is None:
            return
        said = {
            "message": f"{type(e).__name__}: {e}",
            "extraInfo": {
                "py_callstack": "".join(traceback.format_exception(e)),
                "timestamp": str(int(time.time())),
            },
        }
        Path(path).write_text(json.dumps({"message": said}))


def get_error_handler() -> ErrorHandler:
    """What keeps errors."""
    return ErrorHandler()


def record(fn: Callable[..., Any], error_handler: ErrorHandler | None = None) -> Callable[..., Any]:
    """A main function whose error is kept, and raised."""
    handler = error_handler or get_error_handler()

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            handler.record_exception(error)
            raise

    return wrapper
