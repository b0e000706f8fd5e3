"""Torch's name for what its tracers know of each other."""


def active_fake_mode() -> None:
    """Under which mode operations make tensors without memory: none does that here, meta tensors are made as asked."""


__all__ = ["active_fake_mode"]
