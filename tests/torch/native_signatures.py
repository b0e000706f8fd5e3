"""Write `minitorch/torch/ops/signatures.txt`: what PyTorch's own functions and methods take.

Run `python -m tests.torch.native_signatures`. Functions that PyTorch writes in Python check no types
and are left out, and so are names that `minitorch.torch` has not.
"""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

import torch as real

import minitorch.torch as ours

PAGE = Path(ours.__file__).parent / "ops" / "signatures.txt"
STUBS = Path(real.__file__).parent / "_C"

KINDS = (
    ("Tensor", r"Tensor(?! \| None, \.\.\.)|Tensor$"), ("number", r"Number|_complex|number|complex|Scalar(?!Type)"),
    ("int", r"_int|\bint\b|SymInt"), ("float", r"_float|float"), ("bool", r"_bool|\bbool\b|Literal\[(True|False)\]"),
    ("dtype", r"_dtype|ScalarType"), ("device", r"Device|_device"), ("layout", r"_layout|Layout"),
    ("memory_format", r"memory_format|MemoryFormat"), ("str", r"\bstr\b"), ("Generator", "Generator"),
)  # fmt: skip
SEQUENCES = {
    "int": "ints",
    "float": "floats",
    "number": "numbers",
    "Tensor": "Tensors",
    "bool": "bools",
}
Overload = list[str]
CONVERSIONS = (
    "float double half bfloat16 int long short char byte bool cfloat cdouble chalf".split()
)
"""Methods that take `memory_format=`, though the stubs do not say so."""
TAKING_NUMBERS = "add sub subtract mul multiply div divide true_divide floor_divide copy to".split()
"""Functions that take numbers where their signatures say tensors."""

_MADE = "dtype? dtype=", "layout? layout=", "device? device="
_MOVED = "*", "memory_format? memory_format="
_STFT = [
    *("int n_fft", "int? hop_length=", "int? win_length=", "Tensor? window=", "any? center="),
    *("any? pad_mode=", "bool normalized=", "bool? onesided=", "bool? return_complex=", "bool? align_to_window="),
]  # fmt: skip
CORRECTED: dict[str, list[Overload]] = {
    "Tensor.requires_grad_": [["bool requires_grad="]],
    "Tensor.istft": [
        [
            "int n_fft",
            "int? hop_length=",
            "int? win_length=",
            "Tensor? window=",
            "bool center=",
            "bool normalized=",
            "bool? onesided=",
            "int? length=",
            "bool return_complex=",
        ]
    ],
    "Tensor.norm": [["any? p=", "int|ints? dim=", "bool keepdim=", "dtype? dtype="]],
    "Tensor.split": [["any split_size", "int dim="]],
    "torch.norm": [
        ["Tensor input", "any? p=", "any? dim=", "bool keepdim=", "any? out=", "dtype? dtype="]
    ],
    "Tensor.stft": [_STFT],
    "torch.stft": [["Tensor input", *_STFT]],
    "Tensor.type": [["type|dtype|str? dtype=", "bool non_blocking="]],
    "torch.tensor": [
        [
            "any? data",
            "*",
            "dtype? dtype=",
            "device? device=",
            "bool requires_grad=",
            "bool pin_memory=",
        ]
    ],
    "Tensor.to": [
        ["dtype dtype", "bool non_blocking=", "bool copy=", *_MOVED],
        ["device? device=", "dtype? dtype=", "bool non_blocking=", "bool copy=", *_MOVED],
        ["Tensor|number tensor", "bool non_blocking=", "bool copy=", *_MOVED],
    ],
    "torch.can_cast": [["dtype from_", "dtype to"]],
    "Tensor.unique": [["bool sorted=", "bool return_inverse=", "bool return_counts=", "int? dim="]],
    **{
        f"fft.{name}": [
            ["int n", "float d=", "*", *_MADE, "bool? pin_memory="],
            ["int n", "float d=", "*", *_MADE, "Tensor? out="],
        ]
        for name in ("fftfreq", "rfftfreq")
    },
}
"""Functions of which stubs and schemas say another name or less than they take, and functions in Python whose
arguments are checked by those that they call."""


def main() -> None:
    """Write the file."""
    PAGE.write_text(text())


def text() -> str:
    """The file: a line for each way to call a function."""
    lines = []
    for name, overloads in sorted(native().items()):
        lines += [f"{name}({', '.join(o)})" for o in overloads]
    return "\n".join(lines) + "\n"


def native() -> dict[str, list[Overload]]:
    """The ways to call each function and method that both libraries have."""
    found: dict[str, list[Overload]] = {}
    compiled: Any = real._C
    functions = _from_stub((STUBS / "_VariableFunctions.pyi").read_text(), None)
    for name, overloads in functions.items():
        if hasattr(compiled._VariableFunctions, name) and hasattr(ours, name):
            found[f"torch.{name}"] = [_with_numbers(name, o) for o in overloads]
    for name, overloads in _from_stub((STUBS / "__init__.pyi").read_text(), "TensorBase").items():
        method = getattr(real.Tensor, name, None)
        if name in CONVERSIONS:
            continue
        if type(method).__name__ == "method_descriptor" and callable(
            getattr(ours.Tensor, name, None)
        ):
            found[f"Tensor.{name}"] = [_with_numbers(name, _without_out(o)) for o in overloads]
            found[f"Tensor.{name}"] += _old_forms(name, found[f"Tensor.{name}"])
    for section in ("linalg", "fft", "special", "nn.functional"):
        found |= _from_schemas(section, functions)
    found |= _from_python() | CORRECTED
    return {
        name: _distinct([_with_sizes(name, o) for o in overloads])
        for name, overloads in found.items()
        if name.rpartition(".")[2][:1] != "_"
    }


def _old_forms(name: str, overloads: list[Overload]) -> list[Overload]:
    """Ways with numbers before tensors, which functions still show and methods take without saying so."""
    plain = name.removesuffix("_")
    if plain in ("add", "sub"):
        return [["number alpha", "Tensor|number other"]]
    tensors = overloads[0][:2]
    if plain in ("addcmul", "addcdiv"):
        return [["number value", *tensors]]
    if plain in ("addmm", "addmv", "addr", "addbmm", "baddbmm"):
        return [["number beta", *tensors], ["number beta", "number alpha", *tensors]]
    return []


def _with_sizes(name: str, overload: Overload) -> Overload:
    """Sizes and places, which schemas call SymInt, may be tensors of one element: an `index`."""
    section, _, own = name.rpartition(".")
    operator = f"{section}_{own}" if section in ("fft", "linalg", "special") else own
    schemas = real._C._jit_get_schemas_for_operator(f"aten::{operator}")
    sizes = {
        a.name for s in schemas for a in s.arguments if re.search(r"SymInt\??[ ,]", _typed(s, a))
    }
    return [
        re.sub(r"^int\b(?!\|)", "index", p) if p.split(" ")[-1].rstrip("=") in sizes else p
        for p in overload
    ]


def _typed(schema: Any, argument: Any) -> str:
    """The type and name of an argument, as its schema writes them."""
    found = re.search(rf"[\w\[\]?]+ {argument.name}\b", str(schema))
    return found[0] if found else ""


def _with_numbers(name: str, overload: Overload) -> Overload:
    """Some take numbers where their signatures say tensors."""
    if name.removesuffix("_") not in TAKING_NUMBERS:
        return overload
    return [re.sub(r"^Tensor (?=input|other|src)", "Tensor|number ", p) for p in overload]


def _distinct(overloads: list[Overload]) -> list[Overload]:
    """Each once, and none that another one with `out=` says too."""
    without = [_without_out(o) for o in overloads if _without_out(o) != o]
    plain = [o for o in overloads if o not in without]
    return [o for i, o in enumerate(plain) if o not in plain[:i]]


def _without_out(overload: Overload) -> Overload:
    kept = [p for p in overload if p not in ("Tensor? out=", "Tensors? out=")]
    return kept[:-1] if kept[-1:] == ["*"] else kept


# --- Functions and methods, from the stubs for type checkers ------------------------------------


def _from_stub(source: str, owner: str | None) -> dict[str, list[Overload]]:
    body: list[Any] = ast.parse(source).body
    if owner is not None:
        body = next(n for n in body if isinstance(n, ast.ClassDef) and n.name == owner).body
    found: dict[str, list[Overload]] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(_overload(node.args, skip=owner is not None))
    return {n: o for n, o in found.items() if not any("unknown" in p for parts in o for p in parts)}


def _overload(args: ast.arguments, skip: bool) -> Overload:
    positional = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    pairs = list(zip(positional, defaults, strict=True))[1 if skip else 0 :]
    parts = [_argument(a, d) for a, d in pairs]
    if args.vararg is not None:
        parts.append("*" + _argument(args.vararg, None))
    elif args.kwonlyargs:
        parts.append("*")
    parts += [_argument(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    return parts


def _argument(arg: ast.arg, default: ast.expr | None) -> str:
    kinds = _kinds("" if arg.annotation is None else ast.unparse(arg.annotation))
    if default is not None and ast.unparse(default) == "()":  # None is a list of nothing, too
        kinds = kinds.rstrip("?") + "?"
    name = "input" if arg.arg == "self" and kinds != "number" else arg.arg.removesuffix("_")
    return f"{kinds} {name}" + ("=" if default is not None else "")


def _kinds(annotation: str) -> str:
    """An annotation in our few words."""
    if annotation == "None":
        return "int?"
    if annotation == "Tensor | list":
        return "unknown"
    sized = "_size" in annotation or re.search(r"Sequence|tuple|list|\[\d*\]", annotation)
    single = re.sub(
        r"(Sequence|tuple|list)\[[^\[\]]*(\[[^\[\]]*\])?[^\[\]]*\]|_size", "", annotation
    )
    words = [k for k, pattern in KINDS if re.search(pattern, single)]
    inside = annotation if single != annotation else ""
    if "_size" in inside and "Sequence" not in inside:
        words.append("ints")
    elif sized:
        words += [
            SEQUENCES[k] for k, pattern in KINDS if k in SEQUENCES and re.search(pattern, inside)
        ][:1]
    if "list" in annotation and "Tensors" not in words and "Tensor" in words:
        words.append("Tensors")
    if annotation.startswith("Tensor | tuple[Tensor"):  # an `out=` of several
        words = ["Tensors"]
    optional = "?" if annotation.endswith("None") and annotation.count("None") < 2 else ""
    return "|".join(words) + optional if words else "unknown"


# --- Other sections, from operator schemas ----------------------------------------------------------


def _from_schemas(section: str, functions: dict[str, list[Overload]]) -> dict[str, list[Overload]]:
    theirs, mine = real, ours
    for part in section.split("."):
        theirs, mine = getattr(theirs, part), getattr(mine, part)
    found = {}
    for name in dir(theirs):
        builtin = getattr(theirs, name)
        if not isinstance(builtin, BuiltinFunctionType) or not hasattr(mine, name):
            continue
        own = builtin.__name__
        if own in functions and section == "nn.functional":
            found[f"{section}.{name}"] = functions[own]
            continue
        schemas = real._C._jit_get_schemas_for_operator(f"aten::{own}")
        overloads = [_schema_overload(s) for s in schemas]
        overloads = [o for o in overloads if o is not None]
        if overloads:
            found[f"{section}.{name}"] = overloads
    return found


def _from_python() -> dict[str, list[Overload]]:
    """`nn.functional`'s functions in Python: what they hand on to functions that check it."""
    found = {}
    theirs, mine = real.nn.functional, ours.nn.functional
    for name in dir(theirs):
        fn = getattr(theirs, name)
        if name[:1] == "_" or not hasattr(mine, name) or not inspect.isfunction(fn):
            continue
        whole = getattr(theirs, f"{name}_with_indices", fn)  # which `return_indices` chooses
        parts = [_python_argument(name, p) for p in inspect.signature(whole).parameters.values()]
        if parts and "" not in parts and parts[0].startswith("Tensor"):
            found[f"nn.functional.{name}"] = [parts]
    return found


OWN_USE = re.compile(
    r".*\.(inplace|return_indices|size_average|reduce|norm_type|_stacklevel|hard|(in|out)put_lengths|target_lengths)"
    r"|interpolate\.(?!input).*|normalize\.(p|dim|eps)|affine_grid\.size"
    r"|gaussian_nll_loss\.(target|full|eps)|local_response_norm\.(?!input).*|multi_margin_loss\.p|multilabel_soft_margin_loss\.(target|weight)|gumbel_softmax\.(tau|eps)|max_unpool.*size"
    r"|multi_head_attention_forward\.(embed_\w+|num_heads|add_\w+|dropout_p|training|need_\w+|use_\w+|[qkv]_proj_\w+|average_\w+|is_causal)"
)
"""Arguments of functions in Python that use them there, and so take whatever Python takes."""
NUMBERS = "celu elu leaky_relu threshold rrelu multi_margin_loss local_response_norm".split()
"""Functions whose floats may be any numbers, as far as the annotations are checked."""
WINDOWS = re.compile(
    r"adaptive_max_pool1d(_with_indices)?\.output_size|(unfold|max_pool\dd(_with_indices)?)\.(kernel_size|stride|padding|dilation)"
)
"""Arguments without annotations that are handed on as a number for all dimensions, or one for each."""


def _python_argument(function: str, parameter: inspect.Parameter) -> str:
    if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
        return ""
    place, hint = f"{function}.{parameter.name}", str(parameter.annotation)
    match = re.fullmatch(
        r"(?:<class '|typing.Optional\[)?(?:torch\.)?(Tensor|float|int|bool|list\[int\])(?:'>|\])?( \| None)?", hint
    )  # fmt: skip
    kind = "any?"
    if WINDOWS.fullmatch(place):
        kind = "int|ints?" if parameter.default is None else "int|ints"
    elif parameter.name == "dtype":
        kind = "dtype?"
    elif match is not None and not OWN_USE.fullmatch(place):
        kind = "ints" if match[1] == "list[int]" else match[1]
        if function in NUMBERS and kind == "float":
            kind = "number"
        if match[2] or "Optional" in hint:
            kind += "?"
    return f"{kind} {parameter.name}" + ("" if parameter.default is parameter.empty else "=")


def _schema_overload(schema: Any) -> Overload | None:
    parts, out, stars = [], [], False
    inside = str(schema).split("(", 1)[1].rpartition(") ->")[0]
    for piece in re.split(r", (?![^\[\(]*[\]\)])", inside):
        if piece == "*":
            stars = True
            parts.append("*")
            continue
        kind, name = piece.split("=")[0].rsplit(" ", 1)
        name = "input" if name == "self" else name
        if "!" in kind and stars:
            out.append(name)
            continue
        words = _schema_kinds(re.sub(r"\(.*?\)", "", kind), name)
        if words == "unknown":
            return None
        if piece.endswith("=[]"):  # None is a list of nothing, too
            words = words.rstrip("?") + "?"
        parts.append(f"{words} {name}" + ("=" if "=" in piece else ""))
    if out:
        parts.append("Tensor? out=" if len(out) == 1 else "Tensors? out=")
    return parts


def _schema_kinds(kind: str, name: str) -> str:
    """A schema's type in our words."""
    optional, kind = kind.endswith("?"), kind.rstrip("?")
    named = {
        "dtype": "dtype",
        "layout": "layout",
        "memory_format": "memory_format",
        "device": "device",
    }
    match = re.fullmatch(r"(\w+)\??(\[(\d*)\])?", kind)
    if match is None:
        return "unknown"
    word = named.get(name) or next((k for k, p in KINDS if re.search(p, match[1])), "unknown")
    if match[2]:
        word = f"{word}|{SEQUENCES[word]}" if match[3] else SEQUENCES[word]
    return f"{word}?" if optional else word


if __name__ == "__main__":
    main()
