"""Einstein's notation: letters name dimensions, and letters that the result lacks are summed."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..tensor import Tensor
from .precision import kind_name

LETTERS = string.ascii_uppercase + string.ascii_lowercase
_SIGNS = LETTERS + " ."


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
    inputs, output = _parse(equation, tuple([x.ndim for x in operands]))
    sizes = _sizes(inputs, operands)
    pairs = [_distinct(x, letters) for x, letters in zip(operands, inputs, strict=True)]
    x, letters = pairs[0]
    for n, (other, right) in enumerate(pairs[1:], 2):
        later = set(output).union(*(names for _, names in pairs[n:]))
        x, letters = _product(x, letters, other, right, later, sizes)
    return x if letters == output and len(pairs) > 1 else _only(x, letters, output)


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


def _sizes(inputs: list[str], operands: Sequence[Tensor]) -> dict[str, int]:
    """The size of each letter; RuntimeError where operands do not agree on it."""
    sizes: dict[str, int] = {}
    for i, (letters, x) in enumerate(zip(inputs, operands, strict=True)):
        for c, size in zip(letters, x._array.shape, strict=True):
            if sizes.setdefault(c, size) == 1:
                sizes[c] = size
            elif size not in (1, sizes[c]):
                raise RuntimeError(
                    f"einsum(): subscript {c} has size {size} for operand {i} which does not broadcast "
                    f"with previously seen size {sizes[c]}"
                )
    return sizes


# --- Multiplying ------------------------------------------------------------------------------------


def _distinct(x: Tensor, letters: str) -> tuple[Tensor, str]:
    """A letter that occurs twice selects a diagonal, which becomes the last dimension."""
    for c in dict.fromkeys(letters):
        while letters.count(c) > 1:
            i, j = letters.index(c), letters.rindex(c)
            x = x.diagonal(0, i, j)
            letters = letters[:i] + letters[i + 1 : j] + letters[j + 1 :] + c
    return x, letters


def _product(
    a: Tensor, left: str, b: Tensor, right: str, later: set[str], sizes: dict[str, int]
) -> tuple[Tensor, str]:
    """Two operands as one, and its letters: shared ones are kept, or summed in a batched matrix product."""
    both = [c for c in left if c in right]
    single = {c for x, names in ((a, left), (b, right)) for c, n in zip(names, x.shape, strict=True) if n == 1}  # fmt: skip
    inner = [c for c in both if c not in later and c not in single]
    if not inner:
        kept = [c for c in dict.fromkeys(left + right) if c in later]
        return _beside(a, left, kept) * _beside(b, right, kept), "".join(kept)
    if a.dtype is not b.dtype:
        names = kind_name(a._array), kind_name(b._array)
        raise RuntimeError(f"expected scalar type {names[0]} but found {names[1]}")
    batch = [c for c in both if c in later]
    rows = [c for c in left if c in later and c not in both]
    columns = [c for c in right if c in later and c not in both]
    product = _shaped(a, left, [batch, rows, inner], sizes) @ _shaped(
        b, right, [batch, inner, columns], sizes
    )
    made = [*batch, *rows, *columns]
    return _reshaped(product, [sizes[c] for c in made]), "".join(made)


def _beside(x: Tensor, letters: str, kept: list[str]) -> Tensor:
    """An operand with a dimension for each letter of a product, of size 1 for letters that it lacks."""
    x = _ordered(x, letters, [c for c in kept if c in letters])
    own = iter(x._array.shape)
    return _reshaped(x, [next(own) if c in letters else 1 for c in kept])


def _shaped(x: Tensor, letters: str, groups: list[list[str]], sizes: dict[str, int]) -> Tensor:
    """An operand with each group of letters flattened to one dimension; sizes of 1 are expanded."""
    wanted = [c for group in groups for c in group]
    x = _ordered(x, letters, wanted)
    shape = [sizes[c] for c in wanted]
    if x._array.shape != tuple(shape):
        x = x.expand(shape)
    return _reshaped(x, [math.prod([sizes[c] for c in group]) for group in groups])


def _reshaped(x: Tensor, shape: list[int]) -> Tensor:
    return x if x._array.shape == tuple(shape) else x.reshape(shape)


def _ordered(x: Tensor, letters: str, wanted: list[str]) -> Tensor:
    """An operand with its letters in an order; unused letters are summed unless their size is 1."""
    if 1 in x._array.shape:
        kept = [(c, n) for c, n in zip(letters, x.shape, strict=True) if n != 1 or c in wanted]
        x, letters = _reshaped(x, [n for _, n in kept]), "".join(c for c, _ in kept)
    return x if list(letters) == wanted else _only(x, letters, wanted)


def _only(x: Tensor, letters: str, wanted: Sequence[str]) -> Tensor:
    """An operand summed over unused letters, with the others in order."""
    gone = [i for i, c in enumerate(letters) if c not in wanted]
    if gone:
        x = x.sum(gone)
        letters = "".join(c for c in letters if c in wanted)
    return x.permute([letters.index(c) for c in wanted])
