"""Names of types that compiled functions are annotated with."""

from typing import Any, Dict, List, Optional, Tuple  # noqa: UP035

from ..futures import Future

__all__ = ["Any", "Dict", "Future", "List", "Optional", "Tuple"]
