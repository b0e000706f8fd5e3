"""PyTorch's own sample inputs (OpInfo), run through both libraries.

`python -m tests.torch.opinfo` prints how many of its operations agree;
`python -m tests.torch.opinfo add sum` says for some of them what differs.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import torch as real

import minitorch.torch as ours

from .conditioning import allowance
from .drawing import draw_on_the_cpu
from .oracle import DEVICE, Mismatch, compare, compare_errors, leaves

DTYPES = (
    real.float64,
    real.float32,
    real.int64,
    real.bool,
    real.complex128,
    real.bfloat16,
    real.uint8,
)


@cache
def all_operations() -> dict[str, Any]:
    """PyTorch's operations with samples, by name and variant."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    return {
        info.full_name if hasattr(info, "full_name") else _full_name(info): info for info in op_db
    }


def _full_name(info: Any) -> str:
    return f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name


# Operations whose samples name the arguments in another order than the function does.
_ORDER = {
    "einsum": (1, 0), "polygamma": (1, 0), "special.polygamma": (1, 0), "where": (1, 0, 2),
    "nn.functional.embedding": (1, 0), "nn.functional.embedding_bag": (1, 0),
}  # fmt: skip


def core_operations() -> list[str]:
    """What real programs call most, with the variants that samples exist for."""
    names = (Path(__file__).parent / "core_operations.txt").read_text().split()
    return [full for full, info in all_operations().items() if info.name in names]


# Operations that exist as methods that write only.
_FILLING = "cauchy exponential geometric log_normal normal.in_place uniform".split()


def resolve(root: Any, info: Any) -> Any:
    """An operation's function, or else its method; None if there is neither."""
    full, name = _full_name(info), info.name
    if full in _FILLING:
        return getattr(root.Tensor, f"{name}_", None)
    found = root
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None or isinstance(found, (real.dtype, ours.dtype)):
        found = getattr(root.Tensor, name, None)
    if found is not None and not callable(found):  # a property
        return lambda x: getattr(x, name)
    order = _ORDER.get(name)
    return found if order is None or found is None else _reordered(found, order)


def _reordered(fn: Any, order: tuple[int, ...]) -> Any:
    return lambda *args, **kwargs: fn(*(args[i] for i in order), *args[len(order) :], **kwargs)


def samples(info: Any, dtype: Any, requires_grad: bool, limit: int) -> Iterator[Any]:
    """Sample inputs of an operation, the first so many."""
    if dtype is None:
        return
    # Not by `info.sample_inputs`, which looks through the stack for every sample.
    made = iter(info.sample_inputs_func(info, "cpu", dtype, requires_grad))
    for i in range(limit):
        real.default_generator.manual_seed(1234 + i)
        sample = next(made, None)
        if sample is None:
            return
        yield sample


# Where PyTorch itself is wrong.
_WRONG_TYPES = {"matrix_exp": {real.bfloat16}}  # NaN, where float32 gives numbers
_WRONG_GRADIENTS = {"as_strided_scatter"}  # it goes to what was overwritten, not to the rest


def check(name: str, limit: int = 1000, dtypes: tuple[Any, ...] = DTYPES) -> int:
    """Compare an operation on its samples; `Mismatch` or any error says what is wrong.

    Returns:
        how many samples were compared
    """
    info = all_operations()[name]
    mine, theirs = resolve(ours, info), resolve(real, info) or info.op
    if mine is None:
        raise NotImplementedError(f"{info.name} is not there")
    count = 0
    for dtype in dtypes:
        if not info.supports_dtype(dtype, "cpu") or dtype in _WRONG_TYPES.get(name, ()):
            continue
        grad = (
            (dtype in (real.float64, real.complex128))
            and name not in _WRONG_GRADIENTS
            and info.supports_autograd
            and dtype in info.supported_backward_dtypes("cpu")
        )
        for i, sample in enumerate(samples(info, dtype, grad, limit)):
            what = f"{name}[{dtype}, sample {i}]({_brief(sample)})"
            process = sample.output_process_fn_grad
            try:
                _compare_steadily(
                    comparable(mine, info.name, process), comparable(theirs, info.name, process), (sample.input, *sample.args), sample.kwargs,
                    what=what, gradients=grad, double=grad and info.supports_gradgrad, ulps=ULPS_FOR.get(info.name, 64.0),
                )  # fmt: skip
            except Mismatch:
                raise
            except Exception as e:
                raise Mismatch(f"{what}: raised {type(e).__name__}: {e}") from e
            count += 1
    return count


def _compare_steadily(
    mine: Any, theirs: Any, args: Any, kwargs: Any, *, ulps: float, **options: Any
) -> None:
    """`compare`, allowing for what PyTorch's own answers move by when its inputs are moved a little."""
    try:
        compare(mine, theirs, args, kwargs, ulps=ulps, **options)
    except Mismatch as e:
        if "values differ" not in str(e):
            raise
        moved = allowance(theirs, args, kwargs, options["gradients"], options["double"])
        if moved <= ulps:
            raise
        compare(mine, theirs, args, kwargs, ulps=moved, **options)


def _found(place: int, result: Any, args: Any, kwargs: Any) -> Any:
    """Values and where they were found; of equal elements, which one it was does not count."""
    if isinstance(result, tuple) and not kwargs.get("stable"):
        values, indices = result
        dim = kwargs.get("dim", args[place] if len(args) > place else -1)
        at = indices if indices.ndim == args[0].ndim else indices.unsqueeze(dim)
        return values, args[0].detach().gather(dim, at).reshape(values.shape)
    return result


def _sorted_by(result: Any, args: Any, kwargs: Any) -> Any:
    """What an order of indices makes of the input; of equal elements, either may come first."""
    dim = kwargs.get("dim", args[1] if len(args) > 1 else -1)
    return result if kwargs.get("stable") else args[0].detach().gather(dim, result)


def _unfilled(result: Any, args: Any, kwargs: Any) -> Any:
    """Memory that nobody has filled holds anything."""
    return result.detach().zero_().requires_grad_(result.requires_grad)


_WELL_DEFINED: dict[str, Any] = {
    **dict.fromkeys(("sort", "median", "mode", "nanmedian"), partial(_found, 1)),
    **dict.fromkeys(("topk", "kthvalue"), partial(_found, 2)),
    **dict.fromkeys(("argsort",), _sorted_by),
    **dict.fromkeys("empty empty_like empty_permuted empty_strided".split(), _unfilled),
    **dict.fromkeys("new_empty new_empty_strided".split(), _unfilled),
}
"""What is well defined of a result, where not all of it is."""


def comparable(fn: Any, name: str, process: Any) -> Any:
    """A function followed by what makes its result comparable: eigenvectors may be turned round."""
    defined = _WELL_DEFINED.get(name, lambda result, args, kwargs: result)

    def call(*args: Any, **kwargs: Any) -> Any:
        return process(defined(fn(*args, **kwargs), args, kwargs))

    return call


# PyTorch's values are correct to single precision only, also in float64 (mpmath agrees with ours).
_IN_SINGLE_PRECISION = "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1"
ULPS_FOR: dict[str, float] = {f"special.{n}": 2.0**37 for n in _IN_SINGLE_PRECISION.split()}
"""Operations whose rounding differs for a known reason, and by how much."""


# --- Other places in memory, other shapes -----------------------------------------------------


def _reversed(t: Any) -> Any:
    """A copy that lies in memory with its first dimension innermost."""
    backwards = tuple(range(t.ndim))[::-1]
    return t.permute(backwards).clone(memory_format=real.contiguous_format).permute(backwards)


def _with_gaps(t: Any) -> Any:
    """A copy whose elements do not lie side by side."""
    return real.stack([t, t], -1).select(-1, 0)


def _channels_last(t: Any) -> Any:
    return t.to(memory_format=real.channels_last) if t.ndim == 4 else t


def _expanded(t: Any) -> Any:
    """The first of each row in all of its places."""
    return t.narrow(-1, 0, 1).expand(t.shape) if t.ndim and t.shape[-1] else t


_LAYOUTS = {"reversed": _reversed, "gaps": _with_gaps, "channels last": _channels_last}
# Operations whose results lie in memory in a way of their own.
_OWN_LAYOUT = {
    "einsum",  # a product without a sum: by the order of its letters
    "nn.functional.conv2d",  # one image beside a weight with its channels last
    "nn.functional.conv_transpose2d",  # the same
    "nn.functional.pixel_shuffle",  # an image with its channels last
    "nn.functional.scaled_dot_product_attention",  # by the kernel that PyTorch chooses
    "stack",  # images with their channels last, one dimension more
}
# Operations that PyTorch refuses, or not, by accident.
_OWN_EDGES = {
    "__getitem__",  # the samples' indices are out of bounds
    "nn.functional.avg_pool2d",  # a tensor without dimensions: IndexError, in others RuntimeError
    "nn.functional.max_unpool2d",  # the same
    "to_sparse",  # a sparse number
}
_VIEWS_ONLY = {"take_along_dim"}  # PyTorch refuses what does not lie in order, where it need not


def check_layouts(name: str, limit: int) -> int:
    """Compare values and strides for inputs that lie in memory in other ways."""
    info = all_operations()[name]
    mine, theirs = resolve(ours, info), resolve(real, info) or info.op
    dtype = _main_type(info)
    count = 0
    if info.name in _VIEWS_ONLY:
        return 0
    for how, change in _LAYOUTS.items():
        for i, sample in enumerate(samples(info, dtype, False, limit)):
            moved = sample.transform(lambda t, c=change: c(t) if _is_plain(t) else t)
            _compare_steadily(
                comparable(mine, info.name, sample.output_process_fn_grad),
                comparable(theirs, info.name, sample.output_process_fn_grad),
                (moved.input, *moved.args), moved.kwargs, what=f"{name}[{how}, sample {i}]({_brief(sample)})",
                gradients=False, double=False, ulps=ULPS_FOR.get(info.name, 64.0), strides=info.name not in _OWN_LAYOUT,
            )  # fmt: skip
            count += 1
    return count


def _is_plain(t: Any) -> bool:
    return isinstance(t, real.Tensor) and t.layout == real.strided and t.ndim > 1


def _main_type(info: Any) -> Any:
    """The type to try an operation with: float64 if it takes that."""
    return next((d for d in DTYPES if info.supports_dtype(d, "cpu")), None)


EDGES = [(), (1,), (0,), (0, 3), (2, 0, 1)]
"""Shapes at which operations are tried whose samples have tensors of one shape."""


def check_edges(name: str) -> int:
    """Compare an operation on tensors of one element or none, where all have one shape."""
    info = all_operations()[name]
    mine, theirs = resolve(ours, info), resolve(real, info) or info.op
    sample = next(iter(samples(info, _main_type(info), False, 1)), None)
    if sample is None or info.name in _OWN_EDGES:
        return 0
    if len({t.shape for t in leaves((sample.input, sample.args, sample.kwargs))}) != 1:
        return 0
    for shape in EDGES:
        small = sample.transform(
            lambda t, s=shape: _shaped(t, s) if isinstance(t, real.Tensor) else t
        )
        compare(
            comparable(mine, info.name, lambda x: x), comparable(theirs, info.name, lambda x: x),
            (small.input, *small.args), small.kwargs, what=f"{name}[of shape {shape}]({_brief(small)})", gradients=False,
        )  # fmt: skip
    return len(EDGES)


def _shaped(t: Any, shape: tuple[int, ...]) -> Any:
    """A tensor of a shape of one element or none."""
    size = 0 if 0 in shape else 1
    return t.reshape(-1)[:size].reshape(shape) if t.numel() else t.new_ones(shape)


# Wrong inputs that are wrong by accident.
_ACCIDENTS = {
    ("narrow_copy", 1),  # RuntimeError, where `narrow` has IndexError
    ("gather", 7),  # an `out=` of the wrong size: PyTorch grows it in place, over the index
}


def check_errors(name: str) -> int:
    """Compare an operation on the wrong inputs that OpInfo has for it: both must raise one class."""
    info = all_operations()[name]
    mine, theirs = resolve(ours, info), resolve(real, info) or info.op
    if mine is None or info.error_inputs_func is None:
        return 0
    count = 0
    for i, bad in enumerate(info.error_inputs_func(info, "cpu")):
        sample = bad.sample_input
        what = f"{name}[wrong input {i}]({_brief(sample)})"
        args = (sample.input, *sample.args)
        beyond = any(t.is_meta or t.ndim > 64 for t in leaves((args, sample.kwargs)))
        if not beyond and (name, i) not in _ACCIDENTS:
            count += compare_errors(mine, theirs, args, sample.kwargs, what)
    return count


def _brief(sample: Any) -> str:
    def one(v: Any) -> str:
        if isinstance(v, real.Tensor):
            return f"{str(v.dtype).removeprefix('torch.')}{list(v.shape)}"
        if isinstance(v, (list, tuple)):
            return "[" + ", ".join(one(x) for x in v) + "]"
        return repr(v)

    given = [
        one(sample.input),
        *map(one, sample.args),
        *(f"{k}={one(v)}" for k, v in sample.kwargs.items()),
    ]
    return ", ".join(given)[:300]


def compare_all(check: Callable[[str, int], int], about: str | None) -> int:
    """A command that compares operations, all of them or those named, and says which do not agree.

    Args:
        check: compares an operation's samples, so many of each type; returns how many calls it compared
        about: what the command is for
    """
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="operations; by default all")
    parser.add_argument("--limit", type=int, default=1000, help="samples of each type")
    parser.add_argument("--part", default="0/1", help="1/4: the second quarter of the operations")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    part, parts = map(int, options.part.split("/"))
    wrong, compared, calls = {}, 0, 0
    for name in (options.names or sorted(all_operations()))[part::parts]:
        try:
            count = check(name, options.limit)
        except Exception as error:
            wrong[name] = f"{type(error).__name__}: {error}".split("\n")[0]
            continue
        calls += count
        compared += count > 0
    for name, reason in wrong.items():
        print(f"{name}: {reason[:300]}")
    print(f"{compared} operations agree ({calls} calls), {len(wrong)} do not")
    return 1 if wrong else 0


def main(argv: list[str] | None = None) -> int:
    """Check operations and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", help="operations (all variants); none: all of them")
    parser.add_argument("--limit", type=int, default=1000, help="samples per operation and type")
    parser.add_argument(
        "--list", choices=["passing", "failing", "missing"], help="print only these names"
    )
    parser.add_argument(
        "--part",
        type=int,
        nargs=2,
        default=(0, 1),
        metavar=("K", "N"),
        help="every Nth of them from the Kth",
    )
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    if DEVICE != "cpu":
        draw_on_the_cpu(pytest.MonkeyPatch())
        ours.set_default_device(DEVICE)
    chosen = [
        n
        for n in all_operations()
        if not options.names
        or n in options.names
        or n.split(".")[0] in options.names
        or all_operations()[n].name in options.names
    ]
    chosen = chosen[options.part[0] :: options.part[1]]
    state: dict[str, str] = {}
    for name in chosen:
        try:
            count = check(name, options.limit)
            errors = check_errors(name)
            state[name] = "passing"
            text = f"ok      {name}: {count} samples, {errors} errors"
        except NotImplementedError as e:
            state[name] = "missing" if "is not there" in str(e) else "failing"
            text = f"{state[name]} {name}: {e}"
        except Exception as e:
            state[name] = "failing"
            text = f"failing {name}: {str(e) if isinstance(e, Mismatch) else repr(e)}"
        if options.list is None:
            print(text[:700], flush=True)
        elif state[name] == options.list:
            print(name, flush=True)
    tally = {k: sum(v == k for v in state.values()) for k in ("passing", "failing", "missing")}
    print(
        f"{tally['passing']} of {len(chosen)} agree, {tally['failing']} differ, {tally['missing']} are not there"
    )
    return 0 if tally["failing"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
