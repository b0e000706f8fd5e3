"""A vector of a few floats, held in one register, for Numba kernels.

Numba turns loops over arrays into vector instructions by itself, but it cannot keep a
tile of running sums in registers over a long loop, which is what products live from. With
these verbs a kernel says so itself: `load`, `store`, `spread` (one number in every place),
`multiply_add` and `add_totals`. `get` and `put` are for single numbers, without the look at the
index's sign that keeps Numba from using vectors by itself. None of these checks bounds:
what surrounds them must.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import config, types
from numba.core.codegen import get_host_cpu_features
from numba.extending import intrinsic, models, register_model
from numba.np.arrayobj import make_array


def _register_size() -> int:
    """The size in bytes of a register of the processor that Numba compiles for."""
    told = config.CPU_FEATURES  # pyright: ignore[reportAttributeAccessIssue]
    features = get_host_cpu_features() if told is None else told
    return 64 if "+avx512f" in features.split(",") else 32


BYTES = _register_size()
"""The size of a vector: a register of AVX-512 or of AVX2, two of NEON."""


def lanes_of(dtype: Any) -> int:
    """How many elements of a type make a vector."""
    return BYTES * 8 // dtype.bitwidth


class Vector(types.Type):
    """The type of a vector of float32 or float64."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self.lanes = lanes_of(dtype)
        super().__init__(f"vector({dtype} x {self.lanes})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    """A vector is LLVM's own vector."""

    def __init__(self, manager: Any, vector: Any) -> None:
        element = ir.FloatType() if vector.dtype == types.float32 else ir.DoubleType()
        super().__init__(manager, vector, ir.VectorType(element, vector.lanes))


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    return builder.gep(make_array(array_type)(context, builder, array).data, [index])


def _load(typing: Any, array: Any, index: Any) -> Any:
    """The vector that begins at array[index]."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = context.get_value_type(signature.return_type)
        address = _address(context, builder, signature.args[0], *arguments)
        vector = builder.load(builder.bitcast(address, kind.as_pointer()))
        vector.align = signature.return_type.dtype.bitwidth // 8
        return vector

    return Vector(array.dtype)(array, types.intp), generate


def _store(typing: Any, array: Any, index: Any, vector: Any) -> Any:
    """Write a vector from array[index] on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, index, value = arguments
        address = _address(context, builder, signature.args[0], array, index)
        written = builder.store(value, builder.bitcast(address, value.type.as_pointer()))
        written.align = signature.args[2].dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), generate


def _spread(typing: Any, array: Any, index: Any) -> Any:
    """A vector with array[index] in every place."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = context.get_value_type(signature.return_type)
        number = builder.load(_address(context, builder, signature.args[0], *arguments))
        first = ir.Constant(ir.IntType(32), 0)
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), None)
        undefined = ir.Constant(kind, ir.Undefined)
        alone = builder.insert_element(undefined, number, first)
        return builder.shuffle_vector(alone, undefined, everywhere)

    return Vector(array.dtype)(array, types.intp), generate


def _get(typing: Any, array: Any, index: Any) -> Any:
    """array[index]."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, signature.args[0], *arguments))

    return array.dtype(array, types.intp), generate


def _put(typing: Any, array: Any, index: Any, number: Any) -> Any:
    """array[index] = number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, index, value = arguments
        builder.store(value, _address(context, builder, signature.args[0], array, index))
        return context.get_dummy_value()

    return types.void(array, types.intp, array.dtype), generate


def _zero(typing: Any, array: Any) -> Any:
    """A vector of zeros of the array's type."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(context.get_value_type(signature.return_type), None)

    return Vector(array.dtype)(array), generate


def _lanes(typing: Any, array: Any) -> Any:
    """How many of the array's elements make a vector."""
    count = lanes_of(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_constant(types.intp, count)

    return types.intp(array), generate


def _multiply_add(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c, in one instruction where there is one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, y, z = arguments
        return builder.fadd(builder.fmul(x, y, flags=("contract",)), z, flags=("contract",))

    return c(a, b, c), generate


def _evens(typing: Any, a: Any, b: Any) -> Any:
    """Every second place of two vectors, from the first on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        count = arguments[0].type.count
        chosen = ir.Constant(ir.VectorType(ir.IntType(32), count), list(range(0, 2 * count, 2)))
        return builder.shuffle_vector(*arguments, chosen)

    return a(a, b), generate


def _add_totals(typing: Any, array: Any, index: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """array[index : index + 4] += the sums of the places of four vectors."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, index, *sums = arguments

        def pick(a: Any, b: Any, places: list[int]) -> Any:
            chosen = ir.Constant(ir.VectorType(ir.IntType(32), len(places)), places)
            return builder.shuffle_vector(a, b, chosen)

        while (count := sums[0].type.count) > 4:
            low, high = list(range(count // 2)), list(range(count // 2, count))
            sums = [builder.fadd(pick(v, v, low), pick(v, v, high)) for v in sums]
        a, b, c, d = sums
        ab = builder.fadd(pick(a, b, [0, 4, 1, 5]), pick(a, b, [2, 6, 3, 7]))
        cd = builder.fadd(pick(c, d, [0, 4, 1, 5]), pick(c, d, [2, 6, 3, 7]))
        totals = builder.fadd(pick(ab, cd, [0, 1, 4, 5]), pick(ab, cd, [2, 3, 6, 7]))
        address = _address(context, builder, signature.args[0], array, index)
        address = builder.bitcast(address, totals.type.as_pointer())
        before = builder.load(address)
        written = builder.store(builder.fadd(before, totals), address)
        before.align = written.align = signature.args[0].dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(array, types.intp, a, b, c, d), generate


load: Any = intrinsic(_load)
store: Any = intrinsic(_store)
spread: Any = intrinsic(_spread)
get: Any = intrinsic(_get)
put: Any = intrinsic(_put)
zero: Any = intrinsic(_zero)
lanes: Any = intrinsic(_lanes)
multiply_add: Any = intrinsic(_multiply_add)
evens: Any = intrinsic(_evens)
add_totals: Any = intrinsic(_add_totals)

VERBS = {
    "load": load, "store": store, "spread": spread, "get": get, "zero": zero, "lanes": lanes,
    "multiply_add": multiply_add, "add_totals": add_totals,
}  # fmt: skip
"""What functions that are written out for a tile name."""
