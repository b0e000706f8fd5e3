"""Einstein's notation: letters name dimensions, and what the result lacks is summed."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor


def contract(equation: str, operands: list[Tensor]) -> Tensor:
    """Multiply and sum tensors as an equation says, two at a time from the left."""
    inputs, output = _parse(equation, operands)
    sizes = _sizes(inputs, operands)
    operands = [_distinct(x, s) for x, s in zip(operands, inputs, strict=True)]
    inputs = ["".join(dict.fromkeys(s)) for s in inputs]
    while len(operands) > 1:
        a, b = operands.pop(0), operands.pop(0)
        left, right = inputs.pop(0), inputs.pop(0)
        later = set(output).union(*inputs) if inputs else set(output)
        kept = [c for c in dict.fromkeys(left + right) if c in later]
        operands.insert(0, _pair(a, left, b, right, kept, sizes))
        inputs.insert(0, "".join(kept))
    result, letters = operands[0], inputs[0]
    gone = [i for i, c in enumerate(letters) if c not in output]
    if gone:
        result = result.sum(gone)
        letters = "".join(c for c in letters if c in output)
    return result.permute([letters.index(c) for c in output]) if output else result


def _parse(equation: str, operands: list[Tensor]) -> tuple[list[str], str]:
    """The letters of each operand and of the result; an ellipsis becomes letters of its own."""
    if not isinstance(equation, str):
        raise TypeError(f"einsum(): argument 'equation' must be str, not {type(equation).__name__}")
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        more = "fewer" if len(terms) > len(operands) else "more"
        raise RuntimeError(
            f"einsum(): {more} operands were provided than specified in the equation '{equation}'"
        )
    for c in left.replace("...", "").replace(",", "") + right.replace("...", ""):
        if not c.isalpha():
            raise RuntimeError(f"einsum(): invalid subscript given: {c!r} in '{equation}'")
    dots = [x.ndim - len(t) + 3 for t, x in zip(terms, operands, strict=True) if "..." in t]
    spare = "".join(chr(0x2460 + i) for i in range(max(dots, default=0)))
    inputs = []
    for i, (term, x) in enumerate(zip(terms, operands, strict=True)):
        if "..." in term:
            covered = x.ndim - len(term) + 3
            term = term.replace("...", spare[len(spare) - covered :]) if covered >= 0 else term
        if len(term) != x.ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(term)}) does not match the "
                f"number of dimensions ({x.ndim}) for operand {i} and no ellipsis was given"
            )
        inputs.append(term)
    if arrow:
        output = right.replace("...", spare)
    else:
        letters = "".join(inputs)
        output = spare + "".join(sorted(c for c in set(letters) - set(spare) if letters.count(c) == 1))
    for c in output:
        if output.count(c) > 1:
            raise RuntimeError(f"einsum(): output subscript {c} appears more than once in the output")
        if not any(c in s for s in inputs):
            raise RuntimeError(
                f"einsum(): output subscript {c} does not appear in the equation for any input operand"
            )
    return inputs, output


def _sizes(inputs: list[str], operands: list[Tensor]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for i, (letters, x) in enumerate(zip(inputs, operands, strict=True)):
        for d, c in enumerate(letters):
            size = x._array.shape[d]
            if sizes.setdefault(c, size) == 1:
                sizes[c] = size
            elif size not in (1, sizes[c]):
                raise RuntimeError(
                    f"einsum(): subscript {c} has size {size} for operand {i} which does not broadcast "
                    f"with previously seen size {sizes[c]}"
                )
    return sizes


def _distinct(x: Tensor, letters: str) -> Tensor:
    """A letter that comes twice means the diagonal."""
    while len(set(letters)) < len(letters):
        c = next(c for c in letters if letters.count(c) > 1)
        i = letters.index(c)
        j = letters.index(c, i + 1)
        x = x.diagonal(0, i, j)
        letters = letters[:i] + letters[i + 1 : j] + letters[j + 1 :] + c
        order = list(dict.fromkeys(letters))
        x = x.permute([letters.index(o) for o in order]) if len(order) == len(letters) else x
    return x


def _pair(
    a: Tensor, left: str, b: Tensor, right: str, kept: list[str], sizes: dict[str, int]
) -> Tensor:
    """Two operands as one batched matrix product: shared letters kept, shared letters summed."""
    summed = [c for c in dict.fromkeys(left + right) if c not in kept]
    both = [c for c in left if c in right]
    batch = [c for c in both if c in kept]
    inner = [c for c in both if c in summed]
    rows = [c for c in left if c in kept and c not in both]
    columns = [c for c in right if c in kept and c not in both]
    a = _only(a, left, [*batch, *rows, *inner])
    b = _only(b, right, [*batch, *inner, *columns])
    a, b = _spread(a, [*batch, *rows, *inner], sizes, set(inner + batch)), _spread(b, [*batch, *inner, *columns], sizes, set(inner + batch))
    shape_of: Any = lambda letters: [sizes[c] for c in letters]  # noqa: E731
    n_batch, n_inner = _product(shape_of(batch)), _product(shape_of(inner))
    product = a.reshape(n_batch, -1 if a.numel() else _product([a.shape[len(batch) + i] for i in range(len(rows))]), n_inner) @ b.reshape(
        n_batch, n_inner, -1 if b.numel() else _product([b.shape[len(batch) + len(inner) + i] for i in range(len(columns))])
    )
    made = [*batch, *rows, *columns]
    shape = shape_of(batch) + list(a.shape[len(batch) : len(batch) + len(rows)]) + list(b.shape[len(batch) + len(inner) :])
    return product.reshape(shape).permute([made.index(c) for c in kept]) if made else product.reshape(())


def _only(x: Tensor, letters: str, wanted: list[str]) -> Tensor:
    """Sum the letters that nobody wants, and order the others."""
    gone = [i for i, c in enumerate(letters) if c not in wanted]
    if gone:
        x = x.sum(gone)
        letters = "".join(c for c in letters if c in wanted)
    return x.permute([letters.index(c) for c in wanted]) if letters else x


def _spread(x: Tensor, letters: list[str], sizes: dict[str, int], shared: set[str]) -> Tensor:
    """Sizes of 1 grow to the size that the letter has elsewhere."""
    return x.expand([sizes[c] if c in shared else -1 for c in letters]) if letters else x


def _product(sizes: list[int]) -> int:
    total = 1
    for s in sizes:
        total *= s
    return total
