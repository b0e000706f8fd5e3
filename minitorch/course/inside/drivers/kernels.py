"""Lessons 3 and 4: what a student's kernels, convolutions and pooling are asked."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import minitorch
from minitorch import operators

from .scalars import minus
from .tensors import elements, filled, leaf, numbers, ramp, shaped, without
from .values import text


def _fast() -> Any:
    return minitorch.TensorBackend(minitorch.FastOps)


def tenfold(x: float) -> float:
    return 10.0 * x


def hundredfold(x: float, y: float) -> float:
    return 100.0 * x + y


@cache
def _kernel(builder: str, fn: Any) -> Any:
    """A kernel of fast_ops.py, compiled once."""
    return getattr(minitorch.fast_ops, builder)(fn)


def fast_mapped(
    shape: Any, in_order: Any = None, to: Any = None, out_order: Any = None
) -> list[float]:
    out = filled(to or shape, out_order, 0.0)
    _kernel("tensor_map", tenfold)(*out.tuple(), *filled(shape, in_order).tuple())
    return elements(out)


def fast_zipped(a: Any, b: Any, b_order: Any = None, a_order: Any = None) -> list[float]:
    out = filled(np.broadcast_shapes(a, b), None, 0.0)
    kernel = _kernel("tensor_zip", hundredfold)
    kernel(*out.tuple(), *filled(a, a_order).tuple(), *filled(b, b_order).tuple())
    return elements(out)


def fast_reduced(shape: Any, dim: int, start: float, in_order: Any = None) -> list[float]:
    out = filled(without(shape, dim))
    out._storage[:] = start
    _kernel("tensor_reduce", operators.add)(*out.tuple(), *filled(shape, in_order).tuple(), dim)
    return elements(out)


def product(left: Any, right: Any, right_order: Any = None) -> list[float]:
    """A product on the fast backend, by each kernel there is: the first wrong one, if any."""
    a = ramp(*left, backend=_fast())
    b = minitorch.Tensor(filled(right, right_order), backend=_fast())
    expected = (a.to_numpy() @ b.to_numpy()).ravel().tolist()
    tried = numbers(a @ b)
    if text(tried) != text(expected):
        return tried
    if len(left) == len(right) == 3:
        for rung in minitorch.fast_ops.MATMUL_LADDER.values():
            out = a.zeros((max(left[0], right[0]), left[1], right[2]))
            rung(*out.tuple(), *a.tuple(), *b.tuple())
            if text(numbers(out)) != text(expected):
                return numbers(out)
    elif len(left) == len(right) == 2:
        for rung in minitorch.fast_ops.MATMUL_LADDER.values():
            out = a.zeros((1, left[0], right[1]))
            stacks = [t.view(1, *t.shape) for t in (a.detach(), b.contiguous())]
            rung(*out.tuple(), *stacks[0].tuple(), *stacks[1].tuple())
            if text(numbers(out)) != text(expected):
                return numbers(out)
    return tried


def products(left: Any, right: Any, left_order: Any = None, right_order: Any = None) -> list[Any]:
    """A product of stacks on the fast backend, and by each kernel there is."""
    a, b = (
        minitorch.Tensor(filled(*given), backend=_fast())
        for given in ((left, left_order), (right, right_order))
    )
    found = [shaped(a @ b)]
    for rung in minitorch.fast_ops.MATMUL_LADDER.values():
        out = a.zeros((max(left[0], right[0]), left[1], right[2]))
        rung(*out.tuple(), *a.tuple(), *b.tuple())
        found.append(shaped(out))
    return found


def product_back(left: Any, right: Any, out: Any, i: int) -> Any:
    a, b = ramp(*left), ramp(*right)
    (a @ b).backward(ramp(*out, start=5.0).detach())
    return numbers((a, b)[i].grad)


def fast_product_back(left: Any, right: Any) -> list[Any]:
    """A product on the fast backend, and its gradients."""
    a, b = ramp(*left, backend=_fast()), ramp(*right, backend=_fast())
    out = a @ b
    out.backward(ramp(*out.shape, backend=_fast()).detach())
    return [shaped(out), shaped(a.grad), shaped(b.grad)]


# --- CUDA ------------------------------------------------------------------------------------


def _cuda() -> Any:
    return minitorch.TensorBackend(minitorch.CudaOps)


def _launched(kernel: Any, out: Any, *inputs: Any) -> list[float]:
    arguments = [out, *inputs]
    tuples = [minitorch.cuda_device.launch_arguments(a) for a in arguments]
    kernel[1, 32](*tuples[0], out.size, *[x for t in tuples[1:] for x in t])
    return elements(out)


def _on_device(data: Any) -> Any:
    data.to_cuda_()
    return data


def cuda_mapped(shape: Any, out_order: Any) -> list[float]:
    out, a = _on_device(filled(shape, out_order, 0.0)), _on_device(filled(shape))
    return _launched(minitorch.cuda_ops.tensor_map(operators.neg), out, a)


def cuda_zipped(a: Any, b: Any, b_order: Any) -> list[float]:
    out, *inputs = (_on_device(filled(*given)) for given in ((a,), (a,), (b, b_order)))
    return _launched(minitorch.cuda_ops.tensor_zip(operators.mul), out, *inputs)


def on_cuda(shape: Any, order: Any = None) -> Any:
    return minitorch.Tensor(filled(shape, order), backend=_cuda())


def cuda_map_of(shape: Any, order: Any = None) -> list[Any]:
    return shaped(minitorch.CudaOps.map(operators.neg)(on_cuda(shape, order)))


def cuda_zip_of(a: Any, b: Any, a_order: Any = None, b_order: Any = None) -> list[Any]:
    return shaped(minitorch.CudaOps.zip(minus)(on_cuda(a, a_order), on_cuda(b, b_order)))


def cuda_reduced(shape: Any, dim: int, start: float, order: Any = None) -> list[float]:
    t = on_cuda(shape, order)
    return numbers(minitorch.CudaOps.reduce(operators.mul, start)(t, dim))


def cuda_flat(size: int, *steps: int) -> list[float]:
    """flat_map, or with two steps flat_zip: a step of 0 reads one number for all."""
    storages = [_on_device(filled((size if step else 1,))) for step in steps]
    out = _on_device(filled((size,), None, 0.0))
    make, fn = (("flat_map", operators.neg), ("flat_zip", minus))[len(steps) - 1]
    inputs = [x for data, step in zip(storages, steps, strict=True) for x in (data._storage, step)]
    getattr(minitorch.cuda_ops, make)(fn)[1, 32](out._storage, size, *inputs)
    return elements(out)


def cuda_ladder(left: Any, right: Any, side: int, orders: Any = (None, None, None)) -> list[Any]:
    """A product by the naive and by the tiled kernel, in blocks of any side."""
    a, b = (_on_device(filled(*given)) for given in ((left, orders[0]), (right, orders[1])))
    found = []
    for rung in (minitorch.cuda_matmul.naive, minitorch.cuda_matmul.tiled):
        batch = np.broadcast_shapes(left[:-2], right[:-2])
        out = _on_device(filled((*batch, left[-2], right[-1]), orders[2]))
        rung(side).launch(out, a, b)
        found.append(elements(out))
    return found


def sums_of_32(n: int) -> list[float]:
    return elements(minitorch.sum_practice(minitorch.Tensor(filled((n,)), backend=_cuda())))


def mm_practice(a: Any, b: Any) -> Any:
    return minitorch.mm_practice(a, b).to_numpy()


def matmul(a: Any, b: Any) -> Any:
    return (a @ b).to_numpy()


def cuda_product(multiply: Any, n: int) -> list[float]:
    a, b = (minitorch.Tensor(filled((n, n)), backend=_cuda()) for _ in range(2))
    return multiply(a, b).ravel().tolist()


def cuda_convolved(
    shape: Any, weight: Any, reverse: bool = False, out_order: Any = None
) -> list[float]:
    """A kernel of cuda_conv.py, by two threads to an output, and with threads to spare."""
    from minitorch import cuda_conv

    out = _on_device(filled((shape[0], weight[0], *shape[2:]), out_order, 0.0))
    inputs = [_on_device(filled(shape)), _on_device(filled(weight, None, 2.0))]
    tuples = [minitorch.cuda_device.launch_arguments(a) for a in (out, *inputs)]
    kernel = cuda_conv._tensor_conv1d if len(shape) == 3 else cuda_conv._tensor_conv2d
    threads = (2, cuda_conv.THREADS // 2)
    blocks = -(-out.size // threads[1])
    minitorch.cuda_device.jit(kernel)[blocks, threads](
        *tuples[0], out.size, *tuples[1], *tuples[2], reverse
    )
    return elements(out)


# --- Convolution, pooling and what follows -----------------------------------------------------


def convolved(name: str, shape: Any, weight: Any, order: Any = None) -> list[Any]:
    """A convolution and the gradients for both of its inputs."""
    inputs = leaf(shape, order), leaf(weight)
    out = getattr(minitorch, name)(*inputs)
    out.backward(ramp(*out.shape).detach())
    return [shaped(out), *[shaped(x.grad) for x in inputs]]


def conv1d_of(shape: Any, weight: Any) -> list[float]:
    return numbers(minitorch.conv1d(ramp(*shape), ramp(*weight)))


def conv2d_of(shape: Any, weight: Any) -> list[float]:
    return numbers(minitorch.conv2d(ramp(*shape), ramp(*weight)))


def conv1d_back(shape: Any, weight: Any, i: int) -> list[float]:
    return _convolution_back(minitorch.conv1d, shape, weight, i)


def conv2d_back(shape: Any, weight: Any, i: int) -> list[float]:
    return _convolution_back(minitorch.conv2d, shape, weight, i)


def _convolution_back(convolve: Any, shape: Any, weight: Any, i: int) -> list[float]:
    inputs = ramp(*shape), ramp(*weight, start=2.0)
    out = convolve(*inputs)
    out.backward(ramp(*out.shape, start=5.0).detach())
    return numbers(inputs[i].grad)


def tiled(shape: Any, kernel: Any) -> list[Any]:
    """Tiles, each sorted: in which order a tile holds its elements is free."""
    tiles, _, _ = minitorch.tile(ramp(*shape), kernel)
    return [tiles.shape, np.sort(tiles.to_numpy()).ravel().tolist()]


def tile_sizes(shape: Any, kernel: Any) -> list[int]:
    return list(minitorch.tile(ramp(*shape), kernel)[1:])


def windows(shape: Any, kernel: Any, order: Any = None) -> list[Any]:
    """Tiles, each sorted: in which order a tile holds its elements is free."""
    tiles, height, width = minitorch.tile(leaf(shape, order), kernel)
    return [list(tiles.shape), np.sort(tiles.to_numpy()).ravel().tolist(), height, width]


def pooled(name: str, shape: Any, kernel: Any, order: Any = None) -> list[Any]:
    """What pooling gives, and the gradient."""
    return with_gradient(getattr(minitorch, name), leaf(shape, order), kernel)


def averaged(shape: Any, kernel: Any) -> list[float]:
    return numbers(minitorch.avgpool2d(ramp(*shape), kernel))


def max_back(g: float) -> list[float]:
    x = minitorch.tensor([1.0, 3.0, 2.0])
    minitorch.max(x, 0).backward(minitorch.tensor([g]).detach())
    return numbers(x.grad)


def dropped(x: float, shape: Any, rate: float) -> list[Any]:
    """Dropout of a tensor that holds x everywhere, and its gradient where 1 comes in."""
    size = int(np.prod(shape))
    t = minitorch.Tensor(minitorch.TensorData([x] * size, shape))
    t.requires_grad_(True)
    out = minitorch.dropout(t, rate)
    out.sum().backward()
    return [numbers(out), numbers(t.grad)]


def with_gradient(fn: Any, t: Any, *arguments: Any) -> list[Any]:
    """What a function of a tensor gives, and the gradient for random numbers coming in."""
    t.requires_grad_(True)
    out = fn(t, *arguments)
    out.backward(ramp(*out.shape).detach())
    return [shaped(out), shaped(t.grad)]


def kept(rate: float) -> str:
    """Whether about as many are kept as should be."""
    share = float(np.mean(minitorch.dropout(ramp(20, 20), rate).to_numpy() != 0.0))
    return "as many as should be" if abs(share - (1.0 - rate)) < 0.15 else f"about {share:.0%}"


def largest_kept(rate: float) -> float:
    return float(minitorch.dropout(minitorch.tensor([1.0] * 50), rate).to_numpy().max())


def rows_differ() -> bool:
    out = minitorch.dropout(ramp(4, 30), 0.5).to_numpy() != 0.0
    return bool((out != out[:, :1]).any())
