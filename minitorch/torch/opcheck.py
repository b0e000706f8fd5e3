"""Whether a program's own operation does what was said of it."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .tensor import Tensor
from .utils._pytree import tree_leaves, tree_map

if TYPE_CHECKING:
    from .library import CustomOpDef


class OpCheckError(Exception):
    """An operation that does not do what was said of it."""


def check(
    op: CustomOpDef,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    test_utils: str | Iterable[str] | None = None,
    raise_exception: bool = True,
    **_: Any,
) -> dict[str, Any]:
    """Call an operation on arguments, and look.

    Returns:
        for each test `"SUCCESS"` or the error: it writes only into what it names, it can be differentiated
        where arguments want that, and tensors without memory have the shapes and types of real ones
    """
    chosen = (
        _TESTS
        if test_utils is None
        else [test_utils]
        if isinstance(test_utils, str)
        else test_utils
    )
    found: dict[str, Any] = {}
    for name in chosen:
        try:
            _TESTS[name](op, args, kwargs)
            found[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            found[name] = error
    return found


def _copied(tree: Any) -> Any:
    return tree_map(lambda x: x.detach().clone() if isinstance(x, Tensor) else x, tree)


def _test_schema(op: CustomOpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Only arguments that the operation names are written."""
    args, kwargs = _copied((args, kwargs))
    tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
    named = inspect.signature(op.kernel(tensors)).bind(*args, **kwargs).arguments
    before = _copied(dict(named))
    op(*args, **kwargs)
    for name, value in named.items():
        pairs = zip(tree_leaves(before[name]), tree_leaves(value), strict=True)
        written = any(isinstance(a, Tensor) and not a.equal(b) for a, b in pairs)
        if written and op.mutates_args != "unknown" and name not in op.mutates_args:
            raise RuntimeError(f"Argument {name} is not defined as mutable but was mutated")


def _test_autograd(op: CustomOpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Where arguments want a gradient, results have a derivative."""
    for result in tree_leaves(op(*args, **kwargs)):
        if isinstance(result, Tensor) and result.requires_grad:
            inputs = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
            result.sum().backward(inputs=[x for x in inputs if x.requires_grad])


def _test_fake(op: CustomOpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Results without memory are like real ones."""
    args, kwargs = _copied((args, kwargs))
    bare = tree_map(lambda x: x.to("meta") if isinstance(x, Tensor) else x, (args, kwargs))
    said, done = (tree_leaves(op(*a, **k)) for a, k in (bare, (args, kwargs)))
    for fake, real in zip(said, done, strict=True):
        if isinstance(real, Tensor) and (fake.shape, fake.dtype) != (real.shape, real.dtype):
            raise RuntimeError(
                f"the fake result is {fake.dtype} of {list(fake.shape)}, and the real one "
                f"{real.dtype} of {list(real.shape)}"
            )


_TESTS = {
    "test_schema": _test_schema,
    "test_autograd_registration": _test_autograd,
    "test_faketensor": _test_fake,
}
