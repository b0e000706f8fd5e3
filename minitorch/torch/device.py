"""Where a tensor's memory is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .overriding import TorchFunctionMode, thread

KINDS = {"cpu", "cuda", "meta", "mps", "xpu"}
"""The names of kinds of devices, here or not."""


class device:  # noqa: N801
    """A place for tensors: `device("cpu")`."""

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
            if not number.isdigit() or index is not None:
                raise RuntimeError(f"Invalid device string: '{name}:{number}'")
            index = int(number)
        if name not in KINDS:
            raise RuntimeError(
                f"Expected one of {', '.join(sorted(KINDS))} device type at start of device string: {name}"
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
        DeviceContext(self).__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        thread.modes[-1].__exit__()

    def __reduce__(self) -> tuple[type, tuple[str, int | None]]:
        return device, (self.type, self.index)


CPU = device("cpu")


class DeviceContext(TorchFunctionMode):
    """Gives functions that make tensors a device, where a call gives none."""

    makers = frozenset(
        [
            "arange",
            "as_tensor",
            "empty",
            "empty_permuted",
            "empty_quantized",
            "empty_strided",
            "eye",
            "fftfreq",
            "from_file",
            "full",
            "hann_window",
            "hamming_window",
            "bartlett_window",
            "blackman_window",
            "kaiser_window",
            "linspace",
            "logspace",
            "normal",
            "ones",
            "rand",
            "randint",
            "randn",
            "randperm",
            "range",
            "rfftfreq",
            "scalar_tensor",
            "sparse_coo_tensor",
            "tensor",
            "tril_indices",
            "triu_indices",
            "zeros",
        ]
    )

    def __init__(self, place: device) -> None:
        self.device = place

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func.__name__ in self.makers and kwargs.get("device") is None:
            kwargs = {**kwargs, "device": self.device}
        return func(*args, **kwargs)


class DeviceError(AssertionError, RuntimeError):
    """A device that is not here; Torch raises the one or the other, as it was built."""
