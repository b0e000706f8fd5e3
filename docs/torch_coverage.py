"""Write `docs/torch-coverage.md`: which of PyTorch's public names `minitorch.torch` has.

Run `python docs/torch_coverage.py` with PyTorch installed. A name that is here counts as
supported, unless `PARTLY` says in what way it is less than PyTorch's.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from types import BuiltinFunctionType, ModuleType
from typing import Any

PAGE = Path(__file__).parent / "torch-coverage.md"
COMMAND = "python docs/torch_coverage.py"

SECTIONS = (
    "torch", "torch.Tensor", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special",
    "torch.autograd", "torch.autograd.functional", "torch.autograd.graph", "torch.random",
    "torch.serialization", "torch.testing", "torch.sparse", "torch.masked", "torch.signal.windows",
    "torch.utils", "torch.utils.checkpoint", "torch.utils.data", "torch.utils.dlpack",
    "torch.cuda", "torch.accelerator", "torch.jit", "torch.fx", "torch.nn", "torch.nn.init",
    "torch.nn.utils", "torch.nn.utils.rnn", "torch.optim", "torch.optim.lr_scheduler", "torch.amp",
    "torch.func", "torch.compiler", "torch.distributions", "torch.distributed", "torch.overrides",
    "torch.profiler", "torch.hub", "torch.export", "torch.onnx", "torch.nested", "torch.nn.attention", "torch.nn.attention.bias",
    "torch.utils.benchmark",
)  # fmt: skip

_AS_IT_IS = "returns its argument, with a warning"
_PYTHON = "runs the Python that it was given, with a warning; its code is what a file gets"
_NOTED = "the wish is noted; it changes nothing here"
PARTLY: dict[str, dict[str, str]] = {
    "torch": {
        "set_flush_denormal": "denormal numbers are always kept",
        "set_num_interop_threads": _NOTED,
        "use_deterministic_algorithms": "noted; all algorithms here are deterministic",
        "set_deterministic_debug_mode": "noted; all algorithms here are deterministic",
        "set_float32_matmul_precision": "for products on a GPU; those on the CPU are always in full precision",
    },
    "torch.Tensor": {
        "pin_memory": "returns the tensor: copies to a GPU do not wait for it anyway",
        "record_stream": "does nothing: memory is kept for the stream that it was taken for",
        "share_memory_": "returns the tensor: processes do not share memory",
        "to_sparse": "coordinates only, no compressed rows or columns",
    },
    "torch.jit": {
        "script": _PYTHON,
        "trace": _PYTHON,
        "script_if_tracing": _AS_IT_IS,
        "ignore": "marks nothing: all functions run as Python",
        "unused": "marks nothing: all functions run as Python",
        "is_tracing": "always False: nothing is compiled",
        "optimized_execution": _NOTED,
        "save": "PyTorch reads traced modules if all their operations have names in Torch; scripted ones are read here",
        "trace_module": _PYTHON,
        "freeze": _AS_IT_IS,
        "interface": _AS_IT_IS,
        "optimize_for_inference": _AS_IT_IS,
        "run_frozen_optimizations": _AS_IT_IS,
        "script_method": _AS_IT_IS,
        "fork": "calls the function at once",
        "set_fusion_strategy": _NOTED,
    },
    "torch.func": {
        "jacfwd": "the numbers of `jacrev`, found the same way",
        "vmap": "at once where a record's formula takes stacks, else one call for each example",
    },
    "torch.export": {
        "export": "sizes that may change are found by comparing three traces; each value that a program reads is an error",
        "draft_export": "the same as export",
        "save": "a format of its own: JSON and tensors",
        "load": "files of its own format",
    },
    "torch.onnx": {
        "export": "operator sets 18 to 23; an operation without a form is an error that names it",
        "ONNXProgram": "weights are part of the file; running it needs onnxruntime",
    },
    "torch.nested": {
        "nested_tensor": "functions of a table, others are errors; both layouts",
        "as_nested_tensor": "functions of a table, others are errors; both layouts",
    },
    "torch.nn.attention": {"sdpa_kernel": _NOTED},
    "torch.hub": {
        "load": "from a local folder; no code is fetched",
        "list": "from a local folder; no code is fetched",
        "help": "from a local folder; no code is fetched",
    },
    "torch.fx": {
        "wrap": "returns its argument: nothing is traced",
        "symbolic_trace": "refuses: programs are not traced into graphs",
    },
}
"""What is here but is less than PyTorch's, and how; `*` stands for all names of a section."""

GONE = {"eig", "lstsq", "matrix_rank", "solve", "symeig"}
"""Names that PyTorch itself keeps only to say that they are gone."""


# --- What PyTorch has ---------------------------------------------------------------------------


def public_names(section: str) -> list[str]:
    """The public names of a module of PyTorch, or of its Tensor class."""
    owner = _find("torch", section)
    if not isinstance(owner, ModuleType):
        return [n for n in dir(owner) if not n.startswith("_") and n not in GONE]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some names say that they are deprecated
        return [n for n in dir(owner) if _is_public(owner, n)]


def _is_public(module: ModuleType, name: str) -> bool:
    """Whether a name is for users: listed, or made by the module; not a part of the C++ core."""
    found = getattr(module, name)
    if name.startswith("_") or isinstance(found, ModuleType):
        return False
    if name == "Tensor" or (module.__name__ == "torch" and name in GONE):
        return False
    if _is_of_core(found):
        return False
    home = getattr(found, "__module__", None) or type(found).__module__
    if isinstance(found, BuiltinFunctionType):
        return home.startswith("torch") and home != "torch._C"
    is_error = inspect.isclass(found) and issubclass(found, Exception)
    made_here = home.startswith("torch" if is_error else module.__name__)
    return made_here or name in getattr(module, "__all__", ())


def _is_of_core(thing: Any) -> bool:
    """Whether a class or an instance is C++'s; classes that Python derives from such have Python's methods."""
    if "pybind11_type" not in (type(thing).__name__, type(type(thing)).__name__):
        return False
    return not (inspect.isclass(thing) and any(map(inspect.isfunction, vars(thing).values())))


def _find(package: str, section: str) -> Any:
    """A module or class by PyTorch's name for it, in a package; None if it is not there."""
    name = section.replace("torch", package, 1)
    if section.endswith(".Tensor"):
        return importlib.import_module(package).Tensor
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


# --- What is here -------------------------------------------------------------------------------


@dataclass
class Coverage:
    """What of one section is here: names with a line each, how some are less, what is missing."""

    supported: dict[str, str] = field(default_factory=dict)
    partly: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def sets(self) -> tuple[set[str], set[str], set[str]]:
        """The names alone."""
        return set(self.supported), set(self.partly), set(self.missing)


def coverage(section: str) -> Coverage:
    """Which names of a section are here."""
    owner, notes, found = _find("minitorch.torch", section), PARTLY.get(section, {}), Coverage()
    for name in public_names(section):
        if owner is None or not hasattr(owner, name):
            found.missing.append(name)
        elif note := notes.get(name, notes.get("*")):
            found.partly[name] = note
        else:
            find = inspect.getattr_static if isinstance(owner, type) else getattr
            found.supported[name] = doc_line(find(owner, name))
    return found


def beyond() -> Coverage:
    """Functions and methods here that PyTorch does not have under that name."""
    torch, ours = importlib.import_module("torch"), importlib.import_module("minitorch.torch")
    functions = importlib.import_module("minitorch.torch.ops").FUNCTIONS
    found = Coverage()
    for name, function in sorted(functions.items()):
        if not name.startswith("_") and not hasattr(torch, name):
            found.supported[name] = doc_line(function)
    for name, method in sorted(vars(ours.Tensor).items()):
        if not name.startswith("_") and not hasattr(torch.Tensor, name):
            found.supported[f"Tensor.{name}"] = doc_line(method)
    return found


def doc_line(thing: Any) -> str:
    """The first line of what a thing says about itself, or its class if that is ours."""
    if isinstance(thing, (staticmethod, classmethod)):
        thing = thing.__func__
    if not callable(thing) and not isinstance(thing, property):
        thing = type(thing)
        if not thing.__module__.startswith("minitorch"):
            return ""
    return (inspect.getdoc(thing) or "").partition("\n")[0]


# --- The page -----------------------------------------------------------------------------------

BEYOND = "Beyond Torch"


def full_coverage() -> dict[str, Coverage]:
    """The coverage of all sections, by name."""
    return {**{section: coverage(section) for section in SECTIONS}, BEYOND: beyond()}


def render(covered: dict[str, Coverage]) -> str:
    """The page."""
    version = importlib.import_module("torch").__version__.partition("+")[0]
    lines = [
        "# What of Torch is here",
        "",
        f"The public names of PyTorch {version}, and which of them `minitorch.torch` has.",
        f"This page is written by `{COMMAND}`.",
        "",
        *_totals(covered),
    ]
    for section, found in covered.items():
        lines += _section(section, found)
    return "\n".join(lines) + "\n"


def _totals(covered: dict[str, Coverage]) -> list[str]:
    rows = ["| section | names | supported | partly | not |", "|---|---:|---:|---:|---:|"]
    for section, found in covered.items():
        if section != BEYOND:
            counts = [len(names) for names in found.sets()]
            link = f"[{section}](#{section.lower().replace('.', '')})"
            rows.append(f"| {link} | {sum(counts)} | {' | '.join(map(str, counts))} |")
    return rows


def _section(section: str, found: Coverage) -> list[str]:
    lines = ["", f"## {section}"]
    for title, names in (("Supported", found.supported), ("Partly", found.partly)):
        if names:
            lines += ["", f"### {title}", "", "| name | |", "|---|---|"]
            lines += [f"| `{name}` | {_in_table(said)} |" for name, said in names.items()]
    if found.missing:
        lines += ["", "### Not", "", " ".join(f"`{name}`" for name in found.missing)]
    return lines


def _in_table(text: str) -> str:
    return text.replace("|", "\\|")


def read(page: str) -> dict[str, tuple[set[str], ...]]:
    """The names that a page calls supported, partly there and missing, by section."""
    said: dict[str, tuple[set[str], ...]] = {}
    for part in page.split("\n## ")[1:]:
        section, _, body = part.partition("\n")
        kinds: dict[str, set[str]] = {"Supported": set(), "Partly": set(), "Not": set()}
        for block in body.split("\n### ")[1:]:
            title, _, text = block.partition("\n")
            pattern = r"`([^`]+)`" if title == "Not" else r"^\| `([^`]+)` \|"
            kinds[title] = set(re.findall(pattern, text, re.MULTILINE))
        said[section] = tuple(kinds.values())
    return said


if __name__ == "__main__":
    sys.path.insert(0, str(PAGE.parent.parent))
    PAGE.write_text(render(full_coverage()))
