"""Whether a program is traced: never."""


def get_proxy_mode() -> None:
    """What traces just now: nothing."""
