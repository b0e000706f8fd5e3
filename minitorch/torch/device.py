"""Where a tensor's memory is."""

from __future__ import annotations

import re
import threading
from reprlib import repr as brief
from typing import Any

STANDARD_KINDS = frozenset({"cpu", "cuda", "meta", "mps", "xpu"})
"""The names of kinds of devices that are always known, here or not."""

KINDS = set(STANDARD_KINDS)
"""Those, and the kinds that were registered."""

_INDEX = re.compile("0|[1-9][0-9]{0,9}")


class device:  # noqa: N801
    """Where a tensor's memory is: `device("cpu")`."""

    __slots__ = ("index", "type")

    def __init__(self, type: str | device | int, index: int | None = None) -> None:
        name: str = "cuda"
        if isinstance(type, device):
            name, index = type.type, type.index if index is None else index
        elif isinstance(type, int):
            index = type
        elif isinstance(type, str):
            name = type
        else:
            raise TypeError(
                f"argument 'device' must be torch.device, not {type.__class__.__name__}"
            )
        if ":" in name:
            name, _, number = name.partition(":")
            if not _INDEX.fullmatch(number) or index is not None:
                raise RuntimeError(f"Invalid device string: {brief(f'{name}:{number}')}")
            index = int(number)
        if index is not None and index < 0:
            raise RuntimeError("Device index must not be negative")
        if name not in KINDS:
            raise RuntimeError(
                f"Expected one of {', '.join(sorted(KINDS))} device type at start of device string: {brief(name)[1:-1]}"
            )
        self.type: str = name
        self.index: int | None = index

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __enter__(self) -> device:
        """Let new tensors be made here, unless a call says otherwise."""
        _thread.entered = (*_thread.entered, self)
        chosen.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _thread.entered = _thread.entered[:-1]
        chosen.remove(self)

    def __reduce__(self) -> tuple[type, tuple[str, int | None]]:
        return device, (self.type, self.index)


CPU = device("cpu")


class _Thread(threading.local):
    entered: tuple[device, ...] = ()  # by `with`, the innermost last
    default: device | None = None


_thread = _Thread()
chosen: list[Any] = []
"""What threads have entered, and whether one has set a default: while it is empty, new tensors go to the CPU."""


def where_new(given: Any = None) -> Any:
    """Where a new tensor goes: to the device that a call names, or one that was entered, or the default; None: the CPU."""
    if given is not None:
        return given
    entered = _thread.entered
    return entered[-1] if entered else _thread.default


def set_default(place: device | None) -> None:
    """Let new tensors of this thread be made on a device, where nothing else is said."""
    _thread.default = place
    if "default" not in chosen:
        chosen.append("default")


class DeviceError(AssertionError, RuntimeError):
    """A device that is not here; Torch raises the one or the other, as it was built."""


class OutOfMemoryError(RuntimeError):
    """A device has not enough memory for what was asked of it."""
