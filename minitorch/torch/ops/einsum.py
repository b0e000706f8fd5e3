"""Einstein's notation: letters name dimensions, and letters that the result lacks are summed."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..tensor import Tensor
from .precision import kind_name

LETTERS = string.ascii_uppercase + string.ascii_lowercase
_SIGNS = LETTERS + " ."

Shape = tuple[int, ...]
Steps = list[tuple[str, Sequence[Any]]]


def contract(equation: Any, operands: Sequence[Any]) -> Tensor:
    """Multiply and sum tensors as an equation says, two at a time from the left."""
    if isinstance(equation, bytes):
        equation = equation.decode()
    if not isinstance(equation, str):
        equation, operands = _written_out((equation, *operands))
    if not operands:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    plan = _plan(equation, tuple([x._array.shape for x in operands]))
    x, *others = [_taken(x, steps) for x, steps in zip(operands, plan.diagonals, strict=True)]
    for other, (left, right, sums, after) in zip(others, plan.products, strict=True):
        if not sums:
            x = _taken(x, left) * _taken(other, right)
            continue
        if x.dtype is not other.dtype:
            names = kind_name(x._array), kind_name(other._array)
            raise RuntimeError(f"expected scalar type {names[0]} but found {names[1]}")
        x = _taken(_taken(x, left) @ _taken(other, right), after)
    return _taken(x, plan.last)


def _taken(x: Tensor, steps: Steps) -> Tensor:
    """A tensor after steps, each the name of a method and its arguments."""
    for name, args in steps:
        x = getattr(x, name)(*args)
    return x


# --- Reading an equation --------------------------------------------------------------------------


def _written_out(args: tuple[Any, ...]) -> tuple[str, list[Tensor]]:
    """The equation of a call by lists: `einsum(x, [0, 1], y, [1, 2], [0, 2])`."""
    count = len(args) // 2 * 2
    operands = list(args[:count:2])
    if not operands or not all(isinstance(x, Tensor) for x in operands):
        raise TypeError(
            f"einsum(): argument 'equation' (position 1) must be str, not {type(args[0]).__name__}"
        )
    terms = [_term(subscripts) for subscripts in args[1:count:2]]
    arrow = f"->{_term(args[-1])}" if len(args) > count else ""
    return ",".join(terms) + arrow, operands


def _term(subscripts: Any) -> str:
    for s in subscripts:
        if s is not Ellipsis and not 0 <= s < len(LETTERS):
            raise ValueError(
                f"einsum(): subscript {s} is not within the valid range [0, {len(LETTERS)})"
            )
    return "".join("..." if s is Ellipsis else LETTERS[s] for s in subscripts)


@lru_cache(1000)
def _parse(equation: str, ndims: tuple[int, ...]) -> tuple[list[str], str]:
    """The letters of each operand and of the result; an ellipsis becomes letters of its own."""
    _check_signs(equation)
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        more = "fewer" if len(terms) > len(ndims) else "more"
        raise RuntimeError(
            f"einsum(): {more} operands were provided than specified in the equation"
        )
    for i, term in enumerate(terms):
        _check_points(term, f"operand {i}", "an ellipsis was already found")
    _check_points(right, "output", "an ellipsis (...) was already found")
    covered = [n - len(t) + 3 for t, n in zip(terms, ndims, strict=True) if "..." in t]
    spare = "".join(chr(0x2460 + i) for i in range(max(covered, default=0)))
    inputs = [_named(i, t, n, spare) for i, (t, n) in enumerate(zip(terms, ndims, strict=True))]
    if arrow:
        output = right.replace("...", spare)
    else:
        letters = "".join(inputs)
        single = sorted(c for c in set(letters) - set(spare) if letters.count(c) == 1)
        output = spare + "".join(single)
    _check_output(output, inputs)
    return inputs, output


def _check_signs(equation: str) -> None:
    """RuntimeError for characters other than letters, dots, commas and one arrow."""
    arrow = equation.find("->")
    for i, c in enumerate(equation):
        if c in _SIGNS or 0 <= arrow <= i < arrow + 2 or (c == "," and not 0 <= arrow < i):
            continue
        raise RuntimeError(
            f"einsum(): invalid subscript given at index {i} in the equation string, subscripts must be in [a-zA-Z]"
        )


def _check_points(term: str, where: str, again: str) -> None:
    """RuntimeError unless the only dots are those of one ellipsis."""
    if "." in term.replace("...", "", 1):
        if "..." in term:
            word = "but" if where == "output" else "for which"
            raise RuntimeError(f"einsum(): found '.' for {where} {word} {again}")
        whole = " (...)" if where == "output" else ""
        raise RuntimeError(
            f"einsum(): found '.' for {where} that is not part of any ellipsis{whole}"
        )


def _named(i: int, term: str, ndim: int, spare: str) -> str:
    """An operand's letters, one for each dimension."""
    covered = ndim - len(term) + 3
    if "..." in term and covered >= 0:
        term = term.replace("...", spare[len(spare) - covered :])
    if "..." in term:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({len(term) - 3}) is more than the number of "
            f"dimensions ({ndim}) for operand {i}"
        )
    if len(term) != ndim:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({len(term)}) does not match the "
            f"number of dimensions ({ndim}) for operand {i} and no ellipsis was given"
        )
    return term


def _check_output(output: str, inputs: list[str]) -> None:
    for c in output:
        if output.count(c) > 1:
            raise RuntimeError(
                f"einsum(): output subscript {c} appears more than once in the output"
            )
        if not any(c in letters for letters in inputs):
            raise RuntimeError(
                f"einsum(): output subscript {c} does not appear in the equation for any input operand"
            )


def _sizes(inputs: list[str], shapes: Sequence[Shape]) -> dict[str, int]:
    """The size of each letter; RuntimeError where operands do not agree on it."""
    sizes: dict[str, int] = {}
    for i, (letters, shape) in enumerate(zip(inputs, shapes, strict=True)):
        for c, size in zip(letters, shape, strict=True):
            if sizes.setdefault(c, size) == 1:
                sizes[c] = size
            elif size not in (1, sizes[c]):
                raise RuntimeError(
                    f"einsum(): subscript {c} has size {size} for operand {i} which does not broadcast "
                    f"with previously seen size {sizes[c]}"
                )
    return sizes


# --- Planning what to multiply ------------------------------------------------------------------------


class Plan(NamedTuple):
    """What to do with operands of given shapes.

    Attributes:
        diagonals: the steps of each operand by itself
        products: for each operand but the first, its product with what is to its left: the steps before, of the left
            and of the right one, whether it is a product of matrices, and the steps after
        last: the steps of the result
    """

    diagonals: list[Steps]
    products: list[tuple[Steps, Steps, bool, Steps]]
    last: Steps


@lru_cache(1000)
def _plan(equation: str, shapes: tuple[Shape, ...]) -> Plan:
    inputs, output = _parse(equation, tuple(map(len, shapes)))
    sizes = _sizes(inputs, shapes)
    operands = [_Operand(*pair) for pair in zip(shapes, inputs, strict=True)]
    for x in operands:
        x.take_diagonals()
    diagonals = [x.taken() for x in operands]
    products = []
    x = operands[0]
    for n, other in enumerate(operands[1:], 2):
        later = set(output).union(*(y.letters for y in operands[n:]))
        x, product = _product(x, other, later, sizes)
        products.append(product)
    if x.letters != output or len(operands) == 1:
        x.keep_only(output)
    return Plan(diagonals, products, x.taken())


class _Operand:
    """An operand's shape and letters, and the steps that led to them."""

    def __init__(self, shape: Sequence[int], letters: str) -> None:
        self.shape, self.letters, self.steps = tuple(shape), letters, []

    def taken(self) -> Steps:
        """The steps since it was last asked."""
        steps, self.steps = self.steps, []
        return steps

    def take_diagonals(self) -> None:
        """Select a diagonal for each letter that occurs twice: it becomes the last dimension."""
        for c in dict.fromkeys(self.letters):
            while self.letters.count(c) > 1:
                i, j = self.letters.index(c), self.letters.rindex(c)
                self.steps.append(("diagonal", (0, i, j)))
                rest = [d for d in range(len(self.shape)) if d not in (i, j)]
                size = min(self.shape[i], self.shape[j])
                self.shape = (*[self.shape[d] for d in rest], size)
                self.letters = "".join([self.letters[d] for d in rest]) + c

    def keep_only(self, wanted: Sequence[str]) -> None:
        """Sum over unused letters, and put the others in order."""
        gone = [i for i, c in enumerate(self.letters) if c not in wanted]
        if gone:
            self.steps.append(("sum", (gone,)))
            self.shape = tuple([n for i, n in enumerate(self.shape) if i not in gone])
            self.letters = "".join(c for c in self.letters if c in wanted)
        order = [self.letters.index(c) for c in wanted]
        self.steps.append(("permute", (order,)))
        self.shape, self.letters = tuple([self.shape[i] for i in order]), "".join(wanted)

    def order(self, wanted: list[str]) -> None:
        """Put letters in order; unused ones are summed unless their size is 1."""
        kept = [
            (c, n) for c, n in zip(self.letters, self.shape, strict=True) if n != 1 or c in wanted
        ]
        self.reshape([n for _, n in kept])
        self.letters = "".join(c for c, _ in kept)
        if list(self.letters) != wanted:
            self.keep_only(wanted)

    def spread(self, kept: list[str]) -> None:
        """Give it a dimension for each letter, of size 1 for letters that it lacks."""
        self.order([c for c in kept if c in self.letters])
        own = dict(zip(self.letters, self.shape, strict=True))
        self.reshape([own.get(c, 1) for c in kept])

    def group(self, groups: list[list[str]], sizes: dict[str, int]) -> None:
        """Flatten each group of letters to one dimension; sizes of 1 are expanded."""
        wanted = [c for group in groups for c in group]
        self.order(wanted)
        shape = [sizes[c] for c in wanted]
        if self.shape != tuple(shape):
            self.steps.append(("expand", (shape,)))
            self.shape = tuple(shape)
        self.reshape([math.prod([sizes[c] for c in group]) for group in groups])

    def reshape(self, shape: list[int]) -> None:
        if self.shape != tuple(shape):
            self.steps.append(("reshape", (shape,)))
            self.shape = tuple(shape)


def _product(
    a: _Operand, b: _Operand, later: set[str], sizes: dict[str, int]
) -> tuple[_Operand, tuple[Steps, Steps, bool, Steps]]:
    """Two operands as one: shared letters are kept, or summed in a batched matrix product."""
    left, right = a.letters, b.letters
    both = [c for c in left if c in right]
    single = {c for x in (a, b) for c, n in zip(x.letters, x.shape, strict=True) if n == 1}
    inner = [c for c in both if c not in later and c not in single]
    if not inner:
        kept = [c for c in dict.fromkeys(left + right) if c in later]
        a.spread(kept)
        b.spread(kept)
        shape = np.broadcast_shapes(a.shape, b.shape)
        return _Operand(shape, "".join(kept)), (a.taken(), b.taken(), False, [])
    batch = [c for c in both if c in later]
    rows = [c for c in left if c in later and c not in both]
    columns = [c for c in right if c in later and c not in both]
    stacked = [batch] if batch else []
    a.group([*stacked, *([rows] if rows or batch else []), inner], sizes)
    b.group([*stacked, inner, *([columns] if columns or batch else [])], sizes)
    made = [*batch, *rows, *columns]
    product = _Operand((*a.shape[:-1], *b.shape[len(stacked) + 1 :]), "".join(made))
    product.reshape([sizes[c] for c in made])
    return product, (a.taken(), b.taken(), True, product.taken())
