"""Run a Torch program, unchanged, on MiniTorch: `minitorch run script.py arguments...`.

`import torch`, and every module below it, gives `minitorch.torch`, whether or not PyTorch is
installed. Everything else is as with `python script.py`. Names of Torch's that are not here
are reported before the script starts.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import multiprocessing
import multiprocessing.spawn
import os
import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from . import aliases
from .script_check import Missing, missing_names, names_in


def run_script(path: str, args: Sequence[str] = (), check: bool = True) -> int:
    """Run a file as the main program."""
    try:
        source = Path(path).read_bytes()
    except OSError as error:
        sys.stderr.write(f"minitorch run: can't open file {path!r}: {error}\n")
        return 2
    file = os.path.abspath(path)
    _prepare([path, *args], os.path.dirname(os.path.realpath(path)))
    if check and _report(missing_names(Path(file))):
        return 1
    module = _main_module()
    module.__file__ = file
    module.__loader__ = importlib.machinery.SourceFileLoader("__main__", file)
    return _exit_code(lambda: exec(compile(source, file, "exec", dont_inherit=True), vars(module)))


def run_text(text: str, args: Sequence[str] = ()) -> int:
    """Run a text as the main program, as `python -c` does."""
    _prepare(["-c", *args], "")
    names = vars(_main_module())
    return _exit_code(lambda: exec(compile(text, "<string>", "exec", dont_inherit=True), names))


def run_module(name: str, args: Sequence[str] = (), check: bool = True) -> int:
    """Run a module as the main program, as `python -m` does."""
    _prepare([name, *args], os.getcwd())
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except ImportError as error:
        sys.stderr.write(f"minitorch run: {error}\n")
        return 1
    if spec is None:
        sys.stderr.write(f"minitorch run: No module named {name}\n")
        return 1
    if check and spec.origin and _report(missing_names(Path(spec.origin), Path.cwd())):
        return 1
    return _exit_code(lambda: runpy.run_module(name, run_name="__main__", alter_sys=True))


def check_package(name: str) -> int:
    """Print the names that a package, module or script uses and minitorch.torch lacks."""
    files = _files_of(name)
    if not files:
        sys.stderr.write(f"minitorch run: no package, module or script is named {name!r}\n")
        return 2
    found = sorted({each for file in files for each in names_in(file)})
    for each in found:
        mark = "" if each.certain else "  (may never run)"
        sys.stdout.write(f"{each.name}  {each.file}:{each.line}: {each.text}{mark}\n")
    certain = {each.name for each in found if each.certain}
    others = {each.name for each in found} - certain
    sys.stdout.write(
        f"{name}: {len(files)} files, names missing from minitorch.torch: {len(certain)}, "
        f"in code that may never run: {len(others)} more\n"
    )
    return 1 if certain else 0


def _files_of(name: str) -> list[Path]:
    """The Python files of a script, a folder, or a package that is not imported for that."""
    places = [Path(name)]
    if not places[0].exists():
        spec = importlib.machinery.PathFinder.find_spec(name)
        found = [] if spec is None else spec.submodule_search_locations or [spec.origin]
        places = [Path(place) for place in found if place is not None]
    return [
        f for place in places for f in (sorted(place.rglob("*.py")) if place.is_dir() else [place])
    ]


def _main_module() -> ModuleType:
    """An empty main program."""
    module = ModuleType("__main__")
    vars(module).update(__builtins__=__builtins__, __cached__=None, __annotations__={})
    sys.modules["__main__"] = module
    return module


def _prepare(argv: list[str], folder: str) -> None:
    """Set up `sys.argv` and `sys.path` as `python` does, and install our modules as Torch's."""
    sys.argv = argv
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = folder
    install()


def install() -> None:
    """Make `import torch` give our modules, in this process and in those that it spawns."""
    aliases.install()
    _install_in_workers()


def _exit_code(program: Callable[[], Any]) -> int:
    """Run a program; an exception is shown as Python shows it, without our own lines."""
    try:
        program()
    except SystemExit:
        raise
    except BaseException as error:
        trace = _without_us(error.__traceback__)
        sys.last_value = error  # as Python notes it
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _without_us(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of this file."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


def report_missing(path: str) -> bool:
    """Say which names in a script are not supported, if any; a file that cannot be read has none."""
    return os.path.isfile(path) and _report(missing_names(Path(os.path.abspath(path))))


def _report(missing: Sequence[Missing]) -> bool:
    """Say which names are not supported, if any."""
    if not missing:
        return False
    count = len({each.name for each in missing})
    names = "1 name that is" if count == 1 else f"{count} names that are"
    lines = [f"minitorch run: the script needs {names} not in minitorch.torch:"]
    for each in missing:
        lines.append(f'  File "{each.file}", line {each.line}: {each.name}\n    {each.text}')
    lines.append(
        "Nothing was run. With --no-check the script starts, and fails at the first of these that it needs."
    )
    sys.stderr.write("\n".join(lines) + "\n")
    return True


# --- Processes that the script starts ----------------------------------------------------


class _InstallAliases:
    """Unpickled in a new process, it installs the aliases there."""

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return aliases.install, ()


def _install_in_workers() -> None:
    """Install our modules in processes that `multiprocessing` spawns, too, before they import any."""
    spawn: Any = multiprocessing.spawn
    prepare = spawn.get_preparation_data
    if getattr(prepare, "installs_aliases", False):
        return

    def get_preparation_data(name: str) -> dict[str, Any]:
        return {"minitorch_aliases": _InstallAliases(), **prepare(name)}

    get_preparation_data.installs_aliases = True  # type: ignore[attr-defined]
    spawn.get_preparation_data = get_preparation_data
    if "forkserver" in multiprocessing.get_all_start_methods():
        multiprocessing.set_forkserver_preload([])  # the server knows no aliases: no script there
