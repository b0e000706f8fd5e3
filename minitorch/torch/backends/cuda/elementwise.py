"""Elementwise operations and steps of optimizers on a GPU, each one kernel made from its function of numbers.

A kernel is written for the types of its arrays and for how they lie in memory: all in one row, or each
with strides of its own, which is how broadcast and transposed arrays are read without a copy.
Half precision is computed in float32 and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import prod
from struct import pack
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]
import numpy as np

from ...dtypes import bfloat16
from ...ops.layout import laid_out
from ..interface import Array
from .launching import Kernel
from .source import HALVES, PRELUDE, Code, Program, Unsupported, called
from .sources import RAW

BLOCK = 256
EACH = 4
"""How many elements a thread computes; of two bytes, twice as many."""

BOOL = np.dtype(bool)

# Names of types in memory, of the type that is computed in, how one is read, and how it is written.
TYPES = {
    np.dtype(np.float32): ("float", "float", "{}", "{}"),
    np.dtype(np.float64): ("double", "double", "{}", "{}"),
    np.dtype(np.float16): ("unsigned short", "float", "from_half({})", "to_half({})"),
    bfloat16.numpy: ("unsigned short", "float", "__uint_as_float((unsigned)({}) << 16)", "to_bfloat16({})"),
    BOOL: ("bool", "float", "{}", "{}"),
}  # fmt: skip
INT = np.dtype(np.int64)
IN_ELEMENTWISE = {**TYPES, INT: ("long long", "long long", "{}", "{}")}
ON_WHOLE = frozenset(("add", "sub", "mul", "eq", "ne", "lt", "le", "gt", "ge"))
"""Records whose functions are right for whole numbers as they stand."""
IN_ORDER = frozenset(("masked_fill",))
"""Records whose results lie in memory in order, however their inputs do."""
HEAD = """
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
__device__ float from_half(unsigned short h) { float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h)); return f; }
__device__ unsigned short to_half(float f) { unsigned short h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f)); return h; }
__device__ unsigned short to_bfloat16(float f) {
#if __CUDA_ARCH__ >= 800
    unsigned short h; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f)); return h;
#else
    unsigned b = __float_as_uint(f);
    return f != f ? 0x7fc0 : (unsigned short)((b + 0x7fff + (b >> 16 & 1)) >> 16);
#endif
}
"""

_kernels: dict[Any, Any] = {}


def elementwise(
    op: Any, arrays: Sequence[Any], constants: tuple[Any, ...], out: Array | None = None
) -> Array | None:
    """What an elementwise record computes; None where there is no kernel for it.

    Args:
        op: the record
        arrays: of one type and one device, masks, and plain numbers
        constants: what its function takes after the elements
        out: where to write the result, if it fits there
    """
    kind: Any = None
    shape: Any = None
    first: Any = None
    lined = True
    signature = []
    for x in arrays:
        if type(x) is not cupy.ndarray:
            if type(x) is not float and type(x) is not int:
                return None
            signature.append(None)
            continue
        own = x.dtype
        signature.append(own)
        if own is not BOOL:
            if kind is None:
                kind = own
            elif own is not kind and own != kind:
                return None
        if shape is None:
            shape = first = x.shape
        elif x.shape != shape:
            try:
                shape = np.broadcast_shapes(shape, x.shape)
            except ValueError:
                return None  # the formula says what is wrong
        lined = lined and x.shape == first and x._c_contiguous and not x.data.ptr & 31
    if kind is None or kind not in IN_ELEMENTWISE:
        return None
    if kind == INT and not (op.name in ON_WHOLE and all(map(_is_whole, arrays))):
        return None
    dims = 0 if lined and shape == first else len(shape)
    key = op, *signature, len(constants), dims
    found = _kernels.get(key)
    if found is None:
        found = _kernels[key] = _compiled(op.scalar, kind, signature, len(constants), dims)
    out = _launched(found, arrays, constants, shape, dims, out) if found else None
    if out is None or not dims or out is arrays[0] or op.name in IN_ORDER:
        return out
    return laid_out(out, arrays)


def _launched(
    found: Any, arrays: Sequence[Any], constants: tuple[Any, ...], shape: Any, dims: int, out: Array | None
) -> Array | None:  # fmt: skip
    """What a kernel makes of arrays in a shape; None where it cannot be, or not in the place of `out`."""
    launch, result, number, each = found
    size = prod(shape)
    if size >= 1 << 31:
        return None
    if out is None:
        out = cupy.ndarray(shape, result)
    elif not out._c_contiguous or out.shape != shape or out.dtype != result:
        return None
    if not size:
        return out
    args: list[Any] = [x if type(x) is cupy.ndarray else number(x) for x in arrays]
    if constants:
        args += [number(c) for c in constants]
    if dims:
        args += shape
        for x in arrays:
            if type(x) is cupy.ndarray:
                args += _strides(x, dims)
    launch((-(-size // (BLOCK * each)),), (BLOCK,), (*args, out, size))
    return out


def _is_whole(x: Any) -> bool:
    """Whether an operand is an array of int64, or a number that it holds."""
    if type(x) is cupy.ndarray:
        return x.dtype == INT
    return type(x) is int and -(1 << 63) <= x < 1 << 63


def _strides(x: Array, dims: int) -> list[int]:
    """Strides in elements, with 0 for dimensions in which an array is repeated."""
    own = [0 if n == 1 else s // x.itemsize for n, s in zip(x.shape, x.strides, strict=True)]
    return [0] * (dims - x.ndim) + own


def _compiled(
    scalar: Callable[..., Any], kind: Any, signature: list[Any], constants: int, dims: int
) -> Any:
    """A kernel's launcher, the types of its result and of its numbers, and how many elements a thread has; False where there is none."""
    program = Program()
    elements, params, reads, loads = [], [], [], []
    for i, own in enumerate(signature):
        if own is None:
            params.append(f"T x{i}")
        else:
            name, _, read, _ = IN_ELEMENTWISE[own]
            params.append(f"const {name}* a{i}")
            element = f"a{i}[at{i}]" if dims else f"l{i}.v[k]"
            reads.append(f"{'bool' if own == BOOL else 'T'} x{i} = {read.format(element)};")
            loads.append((i, name))
        elements.append(program.variable(f"x{i}", own == BOOL))
    params += [f"T c{i}" for i in range(constants)]
    elements += [program.variable(f"c{i}") for i in range(constants)]
    params += [f"long long n{d}" for d in range(dims)]
    params += [f"long long s{i}_{d}" for i, _ in loads for d in range(dims)]
    try:
        out = called(scalar, *elements, halves=kind.itemsize == 2)
    except Unsupported:
        return False
    if not isinstance(out, Code):
        return False
    result = BOOL if out.logical else kind
    name, _, _, write = IN_ELEMENTWISE[result]
    lines = (
        " ".join(reads) + "\n" + program.text("      ") + f"\n      r = {write.format(out.name)};"
    )
    each = EACH if dims or kind.itemsize > 2 else 2 * EACH
    loop = _strided_loop(loads, dims, lines) if dims else _lined_loop(loads, name, lines, each)
    source = f"""{HEAD}
typedef {IN_ELEMENTWISE[kind][1]} T;
{"" if kind == INT else PRELUDE}{HALVES if kind.itemsize == 2 else ""}
{RAW}template <typename E> union Some {{ E v[{each}]; typename Raw<sizeof(E) * {each}>::type all; }};
extern "C" __global__ void kernel({", ".join(params)}, {name}* out, long long size) {{
  {name} r;
{loop}
}}"""
    number = kind.type if kind.itemsize == 8 else np.float32
    return Kernel(source, "kernel"), result, number, each


def _lined_loop(loads: list[tuple[int, str]], name: str, lines: str, each: int) -> str:
    """Arrays in one row: a thread reads neighbours at once. All loops are unrolled: a place known at run time would put registers into memory."""
    whole = " ".join(f"l{i}.all = ((const Some<{kind}>*)(a{i} + i))->all;" for i, kind in loads)
    parts = " ".join(f"l{i}.v[k] = a{i}[i + k];" for i, _ in loads)
    return f"""
  int i = (blockIdx.x * {BLOCK} + threadIdx.x) * {each};
  if (i >= size) return;
  {" ".join(f"Some<{kind}> l{i};" for i, kind in loads)} Some<{name}> all;
  int left = size - i < {each} ? size - i : {each};
  if (left == {each}) {{ {whole} }} else {{
#pragma unroll
    for (int k = 0; k < {each}; ++k) if (k < left) {{ {parts} }}
  }}
#pragma unroll
  for (int k = 0; k < {each}; ++k) {{
      {lines}
      all.v[k] = r;
  }}
  if (left == {each}) ((Some<{name}>*)(out + i))->all = all.all; else {{
#pragma unroll
    for (int k = 0; k < {each}; ++k) if (k < left) out[i + k] = all.v[k];
  }}"""


def _strided_loop(loads: list[tuple[int, str]], dims: int, lines: str) -> str:
    """Arrays with strides of their own."""
    return f"""
  int base = blockIdx.x * {BLOCK * EACH} + threadIdx.x;
  for (int k = 0; k < {EACH}; ++k) {{
      int i = base + k * {BLOCK};
      if (i >= size) break;
      {_places_of([i for i, _ in loads], dims)}
      {lines}
      out[i] = r;
  }}"""


def _places_of(places: list[int], dims: int) -> str:
    """Where in each array the element is whose place in the result is i."""
    lines = ["int rest = i;", *(f"long long at{i} = 0;" for i in places)]
    for d in reversed(range(dims)):
        lines.append(f"{{ int here = rest % (int)n{d}; rest /= (int)n{d};")
        lines += [f"at{i} += here * s{i}_{d};" for i in places]
        lines.append("}")
    return " ".join(lines)


# --- Optimizers -----------------------------------------------------------------------------------------


class _Given(Code):
    """A number of this step. Whether it is 0 is known: a kernel is made for that."""

    value: float

    def __ne__(self, other: Any) -> Any:
        return self.value != other

    def __eq__(self, other: Any) -> Any:
        return self.value == other

    __hash__ = None  # type: ignore[assignment]


TABLE = 480
"""How many numbers the table of a launch has at most: a kernel's arguments are 4,096 bytes."""


def update(
    formula: Callable[..., tuple[Any, ...]], columns: Sequence[list[Array]], numbers: Sequence[Any]
) -> bool:
    """A step of an optimizer, in one launch for as many parameters that share their numbers as its table holds.

    Returns:
        False where there is no kernel for it, and nothing was done
    """
    kind = columns[0][0].dtype
    if not _fit_update(columns):
        return False
    groups: dict[Any, Any] = {}
    if numbers.count(numbers[0]) == len(numbers):
        groups[tuple(map(float, numbers[0]))] = range(len(numbers))
    else:
        for k, own in enumerate(numbers):
            groups.setdefault(tuple(map(float, own)), []).append(k)
    launches = [(_kernel_for_update(formula, kind, len(columns), own), own) for own in groups]
    if not all(launch for launch, _ in launches):
        return False
    for (launch, own), members in zip(launches, groups.values(), strict=True):
        _launch_update(launch, columns, members, [kind.type(n) for n in own])
    return True


def update_from_words(
    formula: Callable[..., tuple[Any, ...]], columns: Sequence[list[Array]], numbers: Sequence[float], graph: Any, place: int
) -> bool:  # fmt: skip
    """A step of an optimizer in a graph, whose numbers are words at a place; False where there is no kernel for it."""
    if not _fit_update(columns):
        return False
    kind = columns[0][0].dtype
    launch = _kernel_for_update(formula, kind, len(columns), tuple(numbers), from_words=True)
    if launch:
        _launch_update(launch, columns, range(len(columns[0])), [graph.address(place)])
    return bool(launch)


def _fit_update(columns: Sequence[list[Array]]) -> bool:
    """Whether arrays are of one type that kernels compute in, without gaps."""
    kind = columns[0][0].dtype
    for column in columns:
        for x in column:
            if type(x) is not cupy.ndarray or not x._c_contiguous:
                return False
            if x.dtype is not kind and x.dtype != kind:
                return False
    return kind.char in "fd"


def _kernel_for_update(
    formula: Callable[..., Any], kind: Any, columns: int, numbers: tuple[Any, ...], from_words: bool = False
) -> Any:  # fmt: skip
    """A kernel for a formula; False where there is none. Which numbers are 0 is part of it."""
    key = formula, kind, columns, tuple(n != 0 for n in numbers), from_words
    found = _kernels.get(key)
    if found is None:
        found = _update_kernel(formula, TYPES[kind][0], columns, numbers, from_words)
        _kernels[key] = found
    return found


def _update_kernel(
    formula: Callable[..., Any], kind: str, columns: int, numbers: tuple[float, ...], from_words: bool = False
) -> Any:  # fmt: skip
    """A kernel; its numbers are given to it, or are words in memory."""
    program = Program()
    elements = [program.variable(f"x{i}") for i in range(columns)]
    given = []
    for i, value in enumerate(numbers):
        number = _Given(program, f"c{i}", False)
        number.value = value
        given.append(number)
    try:
        results = formula(np, *elements, *given)
    except Unsupported:
        return False
    written = [0, *range(2, columns)]  # all but the gradient
    reads = " ".join(f"T x{i} = ((T*)table.of[{i} * count + p])[i];" for i in range(columns))
    writes = " ".join(
        f"((T*)table.of[{i} * count + p])[i] = {r.name};"
        for i, r in zip(written, results, strict=True)
    )
    given = "".join(f", T c{i}" for i in range(len(numbers)))
    read = ""
    if from_words:
        given = ", const double* words"
        read = " ".join(f"T c{i} = words[{i}];" for i in range(len(numbers)))
    source = f"""{HEAD}
typedef {kind} T;
{PRELUDE}
struct Table {{ long long of[{TABLE}]; }};
extern "C" __global__ void kernel(Table table, int count{given}) {{
  {read}
  // the rows of the table after the arrays' addresses: sizes, and which block each array begins with
  int sizes = {columns} * count, first = sizes + count, low = 0, high = count - 1;
  while (low < high) {{
    int middle = (low + high + 1) / 2;
    if (table.of[first + middle] <= blockIdx.x) low = middle; else high = middle - 1;
  }}
  int p = low;
  long long base = (blockIdx.x - table.of[first + p]) * {BLOCK * EACH} + threadIdx.x;
  for (int k = 0; k < {EACH}; ++k) {{
    long long i = base + k * {BLOCK};
    if (i >= table.of[sizes + p]) break;
    {reads}
{program.text("    ")}
    {writes}
  }}
}}"""
    return Kernel(source, "kernel")


def _launch_update(
    launch: Any, columns: Sequence[list[Array]], members: Sequence[int], numbers: list[Any]
) -> None:
    """Launch a kernel for some of the parameters: its tables hold addresses, sizes and first blocks."""
    most = TABLE // (len(columns) + 2)
    for start in range(0, len(members), most):
        part = members[start : start + most]
        table = [column[k].data.ptr for column in columns for k in part]
        sizes = [columns[0][k].size for k in part]
        *first, grid = accumulate([-(-n // (BLOCK * EACH)) for n in sizes], initial=0)
        table += sizes
        table += first
        if grid:
            packed = pack(f"{len(table)}q", *table)
            launch((grid,), (BLOCK,), (packed, len(part), *numbers))
