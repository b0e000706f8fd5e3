"""What PyTorch's functions take: from its operator schemas, and from Python signatures."""

from __future__ import annotations

import inspect
import types
import typing
import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch as real

import minitorch.torch as ours

from ..opinfo import all_operations
from .calls import function

SECTIONS = {"": "", "Tensor": "", "nn.functional": "", "linalg": "linalg_", "fft": "fft_",
            "special": "special_", "nn.init": ""}  # fmt: skip
"""Parts of the library, and how PyTorch's operator schemas begin their names there."""

_STATE = """
    set_default_dtype set_default_device set_default_tensor_type set_printoptions set_num_threads
    set_num_interop_threads set_flush_denormal set_warn_always set_rng_state set_autocast_cache_enabled
    set_autocast_dtype set_autocast_enabled set_deterministic_debug_mode set_float32_matmul_precision
    use_deterministic_algorithms manual_seed seed initial_seed get_rng_state clear_autocast_cache
    set_grad_enabled is_grad_enabled is_inference_mode_enabled is_anomaly_enabled
    get_num_threads get_num_interop_threads get_deterministic_debug_mode get_float32_matmul_precision
    are_deterministic_algorithms_enabled is_deterministic_algorithms_warn_only_enabled
    is_warn_always_enabled is_autocast_cache_enabled get_autocast_cpu_dtype get_autocast_gpu_dtype
    get_default_device get_default_dtype get_device_module compiled_with_cxx11_abi
    """.split()
_PLACES = """
    data_ptr const_data_ptr storage untyped_storage numpy tolist share_memory_ is_shared module_load
    register_hook register_post_accumulate_grad_hook as_subclass apply_ map_ map2_ from_dlpack to_dlpack
    from_numpy frombuffer load save from_file typename new backward compile vmap retain_grad cuda pin_memory
    record_stream get_device hash_tensor resize_ resize_as_ set_ resize resize_as cond while_loop
    detach_ eig lstsq matrix_rank solve symeig sparse_coo_tensor sparse_compressed_tensor sparse_csr_tensor
    sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor to_sparse_csr to_sparse_csc
    to_sparse_bsr to_sparse_bsc
    """.split()
_DUNDERS = (
    "add sub mul truediv floordiv mod pow and or xor lshift rshift eq ne lt le gt ge matmul".split()
)
_NO_CALLS = {*_STATE, *_PLACES}
"""Names whose calls change how the libraries work, or answer with addresses and Python objects."""
_FREE_MEMORY = "empty empty_like empty_strided empty_permuted new_empty new_empty_strided".split()


@dataclass
class Argument:
    """One argument of a signature."""

    name: str
    type: str
    default: Any = inspect.Parameter.empty
    keyword_only: bool = False

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


Signature = list[Argument]


@cache
def schemas() -> dict[str, list[Any]]:
    """PyTorch's operator schemas, by name."""
    found: dict[str, list[Any]] = {}
    for schema in real._C._jit_get_all_schemas():
        if schema.name.startswith("aten::"):
            found.setdefault(schema.name.removeprefix("aten::"), []).append(schema)
    return found


@cache
def samples_of() -> dict[str, list[str]]:
    """OpInfo's entries with samples for a function, by the function's name."""
    found: dict[str, list[str]] = {}
    for full, info in all_operations().items():
        found.setdefault(info.name, []).append(full)
    return found


@cache
def all_names() -> list[str]:
    """Every public function that both libraries have and that can be compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [n for section in SECTIONS for n in _names_in(section)]


def _names_in(section: str) -> list[str]:
    theirs, mine = (function(lib, section) if section else lib for lib in (real, ours))
    dunders = {f"__{p}{n}__" for n in _DUNDERS for p in ("", "r", "i")}
    names = []
    for name in dir(theirs):
        found = getattr(theirs, name)
        public = not name.startswith("_") or (section == "Tensor" and name in dunders)
        plain = (
            callable(found)
            and not inspect.isclass(found)
            and not isinstance(found, types.ModuleType)
        )
        if (
            public
            and plain
            and hasattr(mine, name)
            and name not in _NO_CALLS
            and name[:4] != "sym_"
        ):
            full = f"{section}.{name}" if section else name
            if signatures(full) or sample_names(full):
                names.append(full)
    return names


def sample_names(name: str) -> list[str]:
    """Entries with samples for a function, a method or an in-place twin."""
    short = name.removeprefix("Tensor.")
    return samples_of().get(short, []) or samples_of().get(short.removesuffix("_"), [])


@cache
def signatures(name: str) -> list[Signature]:
    """What a function may be called with."""
    section, _, short = name.rpartition(".")
    if short.startswith("__"):
        if short == "__invert__":
            return [[Argument("self", "Tensor")]]
        return [[Argument("self", "Tensor"), Argument("other", t)] for t in ("Tensor", "number")]
    found = [_from_schema(s) for s in schemas().get(SECTIONS[section] + short, [])]
    found = [s for s in found if s]
    if not found or section.startswith("nn"):
        own = _from_python(function(real, name))
        return [own] if own else found
    if section == "Tensor":
        found = [s for s in found if s[0].type == "Tensor"]
    return found


def _from_schema(schema: Any) -> Signature:
    arguments = [
        Argument(
            a.name,
            str(a.real_type),
            a.default_value if a.has_default_value() else inspect.Parameter.empty,
            a.kwarg_only,
        )
        for a in schema.arguments
    ]
    strange = (
        "Storage",
        "Stream",
        "Dict",
        "Any",
        "t1",
        "t2",
        "RRef",
        "Future",
        "[t]",
        "List[str]",
        "List[t",
    )
    if any(a.type == "t" or any(s in a.type for s in strange) for a in arguments):
        return []
    return [a for a in arguments if a.name not in ("generator", "pin_memory", "layout", "names")]


def _from_python(fn: Any) -> Signature:
    try:
        given = inspect.signature(fn)
        hints = typing.get_type_hints(fn)
    except (TypeError, ValueError, NameError):
        return []
    arguments = []
    for p in given.parameters.values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) or p.name in ("generator", "_stacklevel"):
            continue
        kind = _kind_of(hints.get(p.name), p)
        arguments.append(Argument(p.name, kind, p.default, p.kind is p.KEYWORD_ONLY))
    return arguments


def _kind_of(hint: Any, parameter: Any) -> str:
    text = str(hint)
    optional = "None" in text or "Optional" in text or parameter.default is None
    for word, kind in (
        ("Tensor", "Tensor"),
        ("List", "List[int]"),
        ("bool", "bool"),
        ("str", "str"),
        ("int", "int"),
        ("float", "float"),
    ):
        if word in text:
            return f"Optional[{kind}]" if optional else kind
    default = type(parameter.default).__name__
    known = {"bool": "bool", "int": "int", "float": "float", "str": "str"}
    return known.get(
        default, "Tensor" if parameter.default is inspect.Parameter.empty else "Optional[number]"
    )
