"""The Torch floor: that of the installed library, on top of the files of this folder.

A workspace has this file as `minitorch/torch/__init__.py`. `import minitorch.torch` then finds the
installed package, whose modules take `minitorch.module` and the like from the workspace.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


def _installed() -> Path:
    """The folder `minitorch/torch` of the installed library."""
    here = Path(__file__).resolve().parent
    own = here.parents[1]
    elsewhere = [entry for entry in sys.path if Path(entry or ".").resolve() != own]
    for finder in sys.meta_path:
        found = finder.find_spec("minitorch", elsewhere)
        for place in (found and found.submodule_search_locations) or ():
            folder = Path(place).resolve() / "torch"
            if folder != here and (folder / "__init__.py").is_file():
                return folder
    raise ImportError("minitorch.torch needs the installed library: pip install minitorch")


def _replace_this_module() -> None:
    folder = _installed()
    places = [str(folder)]
    spec = spec_from_file_location(
        __name__, folder / "__init__.py", submodule_search_locations=places
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder} cannot be imported")
    module = module_from_spec(spec)
    sys.modules[__name__] = module
    spec.loader.exec_module(module)


_replace_this_module()
