"""Models from local folders, and weights from URLs: `load("folder", "model", source="local")`."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlparse as urlparse
from urllib.request import Request, urlopen

from .serialization import load as _load

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_CHUNK = 1 << 17


class _Folder:
    """The folder for downloads; `set_dir` changes it."""

    chosen: str | None = None


def get_dir() -> str:
    """The folder for downloads: `hub` in `TORCH_HOME` or in the user's cache."""
    return _Folder.chosen or os.path.join(_get_torch_home(), "hub")


def _get_torch_home() -> str:
    """Torch's folder: `TORCH_HOME`, or `torch` in the user's cache."""
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the folder for downloads."""
    _Folder.chosen = os.path.expanduser(d)


# --- Models of a folder -----------------------------------------------------------------------------


def load(
    repo_or_dir: str | os.PathLike[str],
    model: str,
    *args: Any,
    source: str = "github",
    **kwargs: Any,
) -> Any:
    """Call a function of a folder's `hubconf.py`, and return its result.

    Args:
        repo_or_dir: the folder
        model: the name of the function
        args: its arguments
        source: "local"; repositories are not downloaded
        kwargs: its keyword arguments, and options for downloads
    """
    for name in ("trust_repo", "force_reload", "verbose", "skip_validation"):
        kwargs.pop(name, None)
    return _entry(_hubconf(repo_or_dir, source), model)(*args, **kwargs)


def list(repo_or_dir: str | os.PathLike[str], source: str = "github", **_: Any) -> Any:  # noqa: A001
    """The names of the functions of a folder's `hubconf.py`."""
    names = vars(_hubconf(repo_or_dir, source))
    return [name for name, value in names.items() if callable(value) and not name.startswith("_")]


def help(repo_or_dir: str | os.PathLike[str], model: str, source: str = "github", **_: Any) -> str:  # noqa: A001
    """The docstring of a function of a folder's `hubconf.py`."""
    return _entry(_hubconf(repo_or_dir, source), model).__doc__


def _hubconf(folder: str | os.PathLike[str], source: str) -> ModuleType:
    """The module `hubconf.py` of a folder, imported with the folder on the search path."""
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise RuntimeError(
            f"minitorch.torch does not download code: clone {folder} and load it with source='local'"
        )
    path = os.path.join(folder, "hubconf.py")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    if spec is None or spec.loader is None or not os.path.isfile(path):
        raise FileNotFoundError(f"there is no hubconf.py in {os.fspath(folder)!r}")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.fspath(folder))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(os.fspath(folder))
    return module


def _entry(module: ModuleType, name: str) -> Any:
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    found = vars(module).get(name)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return found


# --- Files at addresses ------------------------------------------------------------------------------


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Download a file; it is written atomically, after its digest was checked.

    Args:
        url: its address; `file:` URLs are supported, too
        dst: the path to write to
        hash_prefix: how its SHA-256 digest begins
        progress: unused: a library prints nothing
    """
    digest = hashlib.sha256()
    folder = os.path.dirname(os.path.expanduser(dst)) or "."
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".part", delete=False) as part:
        try:
            with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as source:
                while chunk := source.read(_CHUNK):
                    part.write(chunk)
                    digest.update(chunk)
            part.close()
            found = digest.hexdigest()
            if hash_prefix is not None and not found.startswith(hash_prefix):
                raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{found}")')
            shutil.move(part.name, os.path.expanduser(dst))
        finally:
            Path(part.name).unlink(missing_ok=True)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """Load a file by `torch.load`, after downloading it unless it is cached.

    Args:
        url: of the file
        model_dir: the folder for downloads; None: `checkpoints` in `get_dir()`
        map_location: as in `torch.load`
        progress: unused: a library prints nothing
        check_hash: whether the name ends in the beginning of the digest, as `resnet18-f37072fd.pth`
        file_name: the name to store it under
        weights_only: as in `torch.load`
    """
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    kept = os.path.join(folder, file_name or os.path.basename(urlparse(url).path))
    if not os.path.exists(kept):
        named = HASH_REGEX.search(os.path.basename(kept)) if check_hash else None
        download_url_to_file(url, kept, named[1] if named else None, progress)
    if zipfile.is_zipfile(kept):
        with zipfile.ZipFile(kept) as archive:
            inside = archive.infolist()
            if len(inside) == 1 and not inside[0].is_dir():  # one file, zipped
                archive.extract(inside[0], folder)
                kept = os.path.join(folder, inside[0].filename)
    return _load(kept, map_location=map_location, weights_only=weights_only)


def __getattr__(name: str) -> Any:
    """`tqdm`, from the package of that name, or a class that counts without printing."""
    if name != "tqdm":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        return _Bar
    return tqdm


class _Bar:
    """A progress bar that only counts."""

    def __init__(self, total: int | None = None, **_: Any) -> None:
        self.total, self.n = total, 0

    def update(self, n: int) -> None:
        """Add to the count."""
        self.n += n

    def set_description(self, *_: Any, **__: Any) -> None:
        """Nothing is shown."""

    def close(self) -> None:
        """There is nothing to close."""

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
