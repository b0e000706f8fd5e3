"""Answers in the plain style of a student who read the guide, and nothing else.

A function under each line `== file function`. They do what the guide and the third hints say in the
way that comes to mind first, and must pass all checks: `minitorch course verify --full` sees to it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from textwrap import dedent, indent

from .stubs import body_of, with_body
from .tasks import Place
from .workspace import Workspace, material

PLAIN = """
== operators.py mul
return x * y
== operators.py id
return x
== operators.py add
return x + y
== operators.py neg
return -x
== operators.py lt
if x < y:
    return 1.0
else:
    return 0.0
== operators.py eq
if x == y:
    return 1.0
return 0.0
== operators.py max
if x > y:
    return x
return y
== operators.py is_close
return 1.0 if abs(x - y) < 1e-2 else 0.0
== operators.py sigmoid
if x >= 0:
    return 1.0 / (1.0 + math.exp(-x))
else:
    return math.exp(x) / (1.0 + math.exp(x))
== operators.py relu
return x if x > 0 else 0.0
== operators.py log
return math.log(x + EPS)
== operators.py exp
return math.exp(x)
== operators.py inv
return 1 / x
== operators.py log_back
return d * (1 / (x + EPS))
== operators.py inv_back
return -d / x**2
== operators.py relu_back
return d if x > 0 else 0.0
== operators.py map
def mapped(ls):
    return [fn(x) for x in ls]

return mapped
== operators.py zipWith
def zipped(ls1, ls2):
    result = []
    for x, y in zip(ls1, ls2):
        result.append(fn(x, y))
    return result

return zipped
== operators.py reduce
def reduced(ls):
    total = start
    for x in ls:
        total = fn(total, x)
    return total

return reduced
== operators.py negList
return map(neg)(ls)
== operators.py addLists
return zipWith(add)(ls1, ls2)
== operators.py sum
return reduce(add, 0)(ls)
== operators.py prod
return reduce(mul, 1)(ls)
== module.py Module.train
self.training = True
for m in self.modules():
    m.train()
== module.py Module.eval
self.training = False
for m in self.modules():
    m.eval()
== module.py Module.named_parameters
parameters = []
for name, p in self._parameters.items():
    parameters.append((name, p))
for module_name, m in self._modules.items():
    for name, p in m.named_parameters():
        parameters.append((module_name + "." + name, p))
return parameters
== module.py Module.parameters
return [p for name, p in self.named_parameters()]
== autodiff.py central_difference
right = list(vals)
left = list(vals)
right[arg] += epsilon
left[arg] -= epsilon
return (f(*right) - f(*left)) / (2 * epsilon)
== scalar_functions.py Mul.forward
ctx.save_for_backward(a, b)
return a * b
== scalar_functions.py Inv.forward
ctx.save_for_backward(a)
return operators.inv(a)
== scalar_functions.py Neg.forward
return operators.neg(a)
== scalar_functions.py Sigmoid.forward
out = operators.sigmoid(a)
ctx.save_for_backward(out)
return out
== scalar_functions.py ReLU.forward
ctx.save_for_backward(a)
return operators.relu(a)
== scalar_functions.py Exp.forward
out = operators.exp(a)
ctx.save_for_backward(out)
return out
== scalar_functions.py LT.forward
return operators.lt(a, b)
== scalar_functions.py EQ.forward
return operators.eq(a, b)
== scalar.py Scalar.__add__
return Add.apply(self, b)
== scalar.py Scalar.__sub__
return Add.apply(self, -b)
== scalar.py Scalar.__neg__
return Neg.apply(self)
== scalar.py Scalar.__lt__
return LT.apply(self, b)
== scalar.py Scalar.__gt__
return LT.apply(b, self)
== scalar.py Scalar.__eq__
return EQ.apply(self, b)
== scalar.py Scalar.log
return Log.apply(self)
== scalar.py Scalar.exp
return Exp.apply(self)
== scalar.py Scalar.sigmoid
return Sigmoid.apply(self)
== scalar.py Scalar.relu
return ReLU.apply(self)
== scalar.py Scalar.chain_rule
h = self.history
assert h is not None
assert h.last_fn is not None
assert h.ctx is not None
derivatives = h.last_fn._backward(h.ctx, d_output)
return [(s, d) for s, d in zip(h.inputs, derivatives) if not s.is_constant()]
== autodiff.py topological_sort
seen = set()
order = []
stack = [(variable, False)]
while stack:
    node, parents_done = stack.pop()
    if parents_done:
        order.append(node)
    elif node.unique_id not in seen and not node.is_constant():
        seen.add(node.unique_id)
        stack.append((node, True))
        for parent in node.parents:
            stack.append((parent, False))
order.reverse()
return order
== autodiff.py backpropagate
derivatives = {variable.unique_id: deriv}
for var in topological_sort(variable):
    d_out = derivatives[var.unique_id]
    if var.is_leaf():
        var.accumulate_derivative(d_out)
    else:
        for parent, d_parent in var.chain_rule(d_out):
            if parent.unique_id not in derivatives:
                derivatives[parent.unique_id] = d_parent
            else:
                derivatives[parent.unique_id] += d_parent
== scalar_functions.py Mul.backward
a, b = ctx.saved_values
return b * d_output, a * d_output
== scalar_functions.py Inv.backward
(a,) = ctx.saved_values
return operators.inv_back(a, d_output)
== scalar_functions.py Neg.backward
return -d_output
== scalar_functions.py Sigmoid.backward
(s,) = ctx.saved_values
return s * (1 - s) * d_output
== scalar_functions.py ReLU.backward
(a,) = ctx.saved_values
return operators.relu_back(a, d_output)
== scalar_functions.py Exp.backward
(out,) = ctx.saved_values
return out * d_output
== scalar_functions.py LT.backward
return 0.0, 0.0
== scalar_functions.py EQ.backward
return 0.0, 0.0
== tensor_data.py index_to_position
position = 0
for i, s in zip(index, strides):
    position += i * s
return position
== tensor_data.py TensorData.permute
assert sorted(order) == list(range(len(self.shape)))
return TensorData(
    self._storage,
    tuple([self.shape[i] for i in order]),
    tuple([self.strides[i] for i in order]),
)
== tensor_data.py broadcast_index
missing = len(big_shape) - len(shape)
for d in range(len(shape)):
    if shape[d] > 1:
        out_index[d] = big_index[missing + d]
    else:
        out_index[d] = 0
== tensor_data.py shape_broadcast
a, b = list(shape1), list(shape2)
while len(a) < len(b):
    a.insert(0, 1)
while len(b) < len(a):
    b.insert(0, 1)
shape = []
for m, n in zip(a, b):
    if m == n or n == 1:
        shape.append(m)
    elif m == 1:
        shape.append(n)
    else:
        raise IndexingError("cannot broadcast")
return tuple(shape)
== tensor_ops.py tensor_map._map
out_index = np.zeros(len(out_shape), dtype=np.int32)
in_index = np.zeros(len(in_shape), dtype=np.int32)
for i in range(len(out)):
    to_index(i, out_shape, out_index)
    broadcast_index(out_index, out_shape, in_shape, in_index)
    o = index_to_position(out_index, out_strides)
    j = index_to_position(in_index, in_strides)
    out[o] = fn(in_storage[j])
== tensor_ops.py tensor_zip._zip
out_index = np.zeros(len(out_shape), dtype=np.int32)
a_index = np.zeros(len(a_shape), dtype=np.int32)
b_index = np.zeros(len(b_shape), dtype=np.int32)
for i in range(len(out)):
    to_index(i, out_shape, out_index)
    o = index_to_position(out_index, out_strides)
    broadcast_index(out_index, out_shape, a_shape, a_index)
    j = index_to_position(a_index, a_strides)
    broadcast_index(out_index, out_shape, b_shape, b_index)
    k = index_to_position(b_index, b_strides)
    out[o] = fn(a_storage[j], b_storage[k])
== tensor_ops.py tensor_reduce._reduce
out_index = np.zeros(len(out_shape), dtype=np.int32)
for i in range(len(out)):
    to_index(i, out_shape, out_index)
    o = index_to_position(out_index, out_strides)
    for s in range(a_shape[reduce_dim]):
        out_index[reduce_dim] = s
        j = index_to_position(out_index, a_strides)
        out[o] = fn(out[o], a_storage[j])
== tensor_functions.py Mul.forward
ctx.save_for_backward(a, b)
return a.f.mul_zip(a, b)
== tensor_functions.py Sigmoid.forward
out = t1.f.sigmoid_map(t1)
ctx.save_for_backward(out)
return out
== tensor_functions.py ReLU.forward
ctx.save_for_backward(t1)
return t1.f.relu_map(t1)
== tensor_functions.py Log.forward
ctx.save_for_backward(t1)
return t1.f.log_map(t1)
== tensor_functions.py Exp.forward
out = t1.f.exp_map(t1)
ctx.save_for_backward(out)
return out
== tensor_functions.py Sum.forward
return a.f.add_reduce(a, _dim(dim))
== tensor_functions.py LT.forward
return a.f.lt_zip(a, b)
== tensor_functions.py EQ.forward
return a.f.eq_zip(a, b)
== tensor_functions.py IsClose.forward
return a.f.is_close_zip(a, b)
== tensor_functions.py Permute.forward
order = _ints(order)
ctx.save_for_backward(order)
return a._new(a._tensor.permute(*order))
== tensor.py Tensor.__add__
return Add.apply(self, self._ensure_tensor(b))
== tensor.py Tensor.__sub__
return Add.apply(self, -self._ensure_tensor(b))
== tensor.py Tensor.__mul__
return Mul.apply(self, self._ensure_tensor(b))
== tensor.py Tensor.__neg__
return Neg.apply(self)
== tensor.py Tensor.__lt__
return LT.apply(self, self._ensure_tensor(b))
== tensor.py Tensor.__gt__
return LT.apply(self._ensure_tensor(b), self)
== tensor.py Tensor.__eq__
return EQ.apply(self, self._ensure_tensor(b))
== tensor.py Tensor.is_close
return IsClose.apply(self, self._ensure_tensor(y))
== tensor.py Tensor.sigmoid
return Sigmoid.apply(self)
== tensor.py Tensor.relu
return ReLU.apply(self)
== tensor.py Tensor.log
return Log.apply(self)
== tensor.py Tensor.exp
return Exp.apply(self)
== tensor.py Tensor.sum
if dim is None:
    return Sum.apply(self.contiguous().view(self.size), 0)
return Sum.apply(self, dim)
== tensor.py Tensor.mean
if dim is None:
    return self.sum() / self.size
return self.sum(dim) / self.shape[dim]
== tensor.py Tensor.all
if dim is None:
    return All.apply(self.contiguous().view(self.size), 0)
return All.apply(self, dim)
== tensor.py Tensor.permute
return Permute.apply(self, order)
== tensor.py Tensor.view
return View.apply(self, shape)
== tensor_functions.py Mul.backward
a, b = ctx.saved_values
return grad_output.f.mul_zip(b, grad_output), grad_output.f.mul_zip(a, grad_output)
== tensor_functions.py Sigmoid.backward
(s,) = ctx.saved_values
return s * (1 - s) * grad_output
== tensor_functions.py ReLU.backward
(t1,) = ctx.saved_values
return grad_output.f.relu_back_zip(t1, grad_output)
== tensor_functions.py Log.backward
(t1,) = ctx.saved_values
return grad_output.f.log_back_zip(t1, grad_output)
== tensor_functions.py Exp.backward
(out,) = ctx.saved_values
return out * grad_output
== tensor_functions.py Sum.backward
return grad_output, 0.0
== tensor_functions.py LT.backward
return grad_output.zeros(), grad_output.zeros()
== tensor_functions.py EQ.backward
return grad_output.zeros(), grad_output.zeros()
== tensor_functions.py IsClose.backward
return grad_output.zeros(), grad_output.zeros()
== tensor_functions.py Permute.backward
(order,) = ctx.saved_values
inverse = [0] * len(order)
for i, d in enumerate(order):
    inverse[d] = i
return grad_output._new(grad_output._tensor.permute(*inverse)), 0.0
== fast_ops.py tensor_map._map
if (
    len(out_shape) == len(in_shape)
    and (out_shape == in_shape).all()
    and (out_strides == in_strides).all()
):
    for i in prange(len(out)):
        out[i] = f(in_storage[i])
else:
    for i in prange(len(out)):
        out_index = np.empty(len(out_shape), dtype=np.int32)
        in_index = np.empty(len(in_shape), dtype=np.int32)
        to_index(i, out_shape, out_index)
        broadcast_index(out_index, out_shape, in_shape, in_index)
        o = index_to_position(out_index, out_strides)
        j = index_to_position(in_index, in_strides)
        out[o] = f(in_storage[j])
== fast_ops.py tensor_zip._zip
if (
    len(out_shape) == len(a_shape) == len(b_shape)
    and (out_shape == a_shape).all()
    and (out_shape == b_shape).all()
    and (out_strides == a_strides).all()
    and (out_strides == b_strides).all()
):
    for i in prange(len(out)):
        out[i] = f(a_storage[i], b_storage[i])
else:
    for i in prange(len(out)):
        out_index = np.empty(len(out_shape), dtype=np.int32)
        a_index = np.empty(len(a_shape), dtype=np.int32)
        b_index = np.empty(len(b_shape), dtype=np.int32)
        to_index(i, out_shape, out_index)
        o = index_to_position(out_index, out_strides)
        broadcast_index(out_index, out_shape, a_shape, a_index)
        j = index_to_position(a_index, a_strides)
        broadcast_index(out_index, out_shape, b_shape, b_index)
        k = index_to_position(b_index, b_strides)
        out[o] = f(a_storage[j], b_storage[k])
== fast_ops.py tensor_reduce._reduce
for i in prange(len(out)):
    out_index = np.empty(len(out_shape), dtype=np.int32)
    to_index(i, out_shape, out_index)
    o = index_to_position(out_index, out_strides)
    j = index_to_position(out_index, a_strides)
    total = out[o]
    for _ in range(a_shape[reduce_dim]):
        total = f(total, a_storage[j])
        j += a_strides[reduce_dim]
    out[o] = total
== fast_ops.py _matmul_naive
a_batch_stride = a_strides[0] if a_shape[0] > 1 else 0
b_batch_stride = b_strides[0] if b_shape[0] > 1 else 0
for n in prange(out_shape[0]):
    for i in range(out_shape[1]):
        for j in range(out_shape[2]):
            a_pos = n * a_batch_stride + i * a_strides[1]
            b_pos = n * b_batch_stride + j * b_strides[2]
            total = 0.0
            for k in range(a_shape[2]):
                total += a_storage[a_pos] * b_storage[b_pos]
                a_pos += a_strides[2]
                b_pos += b_strides[1]
            out[n * out_strides[0] + i * out_strides[1] + j * out_strides[2]] = total
== cuda_ops.py _mm_practice
a_tile = cuda.shared.array((32, 32), float64)
b_tile = cuda.shared.array((32, 32), float64)
i, j = cuda.threadIdx.x, cuda.threadIdx.y
if i < size and j < size:
    a_tile[i, j] = a[i * size + j]
    b_tile[i, j] = b[i * size + j]
cuda.syncthreads()
if i < size and j < size:
    total = 0.0
    for k in range(size):
        total += a_tile[i, k] * b_tile[k, j]
    out[i * size + j] = total
== cuda_matmul.py naive.kernel
rows, columns = out_shape[-2], out_shape[-1]
batch, row, column = _block_origin(rows, columns, side, side)
i, j = row + cuda.threadIdx.y, column + cuda.threadIdx.x
if i < rows and j < columns:
    a = _matrix_start(batch, out_shape, a_shape, a_strides) + i * a_strides[-2]
    b = _matrix_start(batch, out_shape, b_shape, b_strides) + j * b_strides[-1]
    total = 0.0
    for k in range(a_shape[-1]):
        total += a_storage[a] * b_storage[b]
        a += a_strides[-1]
        b += b_strides[-2]
    o = _matrix_start(batch, out_shape, out_shape, out_strides)
    out[o + i * out_strides[-2] + j * out_strides[-1]] = total
== cuda_matmul.py tiled.kernel
a_tile = cuda.shared.array((side, side), float64)
b_tile = cuda.shared.array((side, side), float64)
rows, columns, inner = out_shape[-2], out_shape[-1], a_shape[-1]
batch, row, column = _block_origin(rows, columns, side, side)
y, x = cuda.threadIdx.y, cuda.threadIdx.x
i, j = row + y, column + x
a_start = _matrix_start(batch, out_shape, a_shape, a_strides)
b_start = _matrix_start(batch, out_shape, b_shape, b_strides)
total = 0.0
for start in range(0, inner, side):
    a_tile[y, x] = 0.0
    b_tile[y, x] = 0.0
    if i < rows and start + x < inner:
        a_tile[y, x] = a_storage[a_start + i * a_strides[-2] + (start + x) * a_strides[-1]]
    if j < columns and start + y < inner:
        b_tile[y, x] = b_storage[b_start + (start + y) * b_strides[-2] + j * b_strides[-1]]
    cuda.syncthreads()
    for k in range(side):
        total += a_tile[y, k] * b_tile[k, x]
    cuda.syncthreads()
if i < rows and j < columns:
    o = _matrix_start(batch, out_shape, out_shape, out_strides)
    out[o + i * out_strides[-2] + j * out_strides[-1]] = total
== fast_conv.py _tensor_conv1d
batch, out_channels, out_width = out_shape
_, channels, width = input_shape
for b in prange(batch):
    for o in range(out_channels):
        for i in range(out_width):
            total = 0.0
            for c in range(channels):
                for k in range(weight_shape[2]):
                    at = i - k if reverse else i + k
                    if at >= 0 and at < width:
                        w = o * weight_strides[0] + c * weight_strides[1] + k * weight_strides[2]
                        x = b * input_strides[0] + c * input_strides[1] + at * input_strides[2]
                        total += weight[w] * input[x]
            out[b * out_strides[0] + o * out_strides[1] + i * out_strides[2]] = total
== fast_conv.py _conv2d
batch, out_channels, out_height, out_width = out_shape
_, channels, height, width = input_shape
for b in prange(batch):
    for o in range(out_channels):
        for i in range(out_height):
            for j in range(out_width):
                total = 0.0
                for c in range(channels):
                    for k in range(weight_shape[2]):
                        for m in range(weight_shape[3]):
                            y = i - k if reverse else i + k
                            x = j - m if reverse else j + m
                            if y >= 0 and y < height and x >= 0 and x < width:
                                w = o * weight_strides[0] + c * weight_strides[1]
                                w += k * weight_strides[2] + m * weight_strides[3]
                                at = b * input_strides[0] + c * input_strides[1]
                                at += y * input_strides[2] + x * input_strides[3]
                                total += weight[w] * input[at]
                place = b * out_strides[0] + o * out_strides[1]
                out[place + i * out_strides[2] + j * out_strides[3]] = total
== nn.py tile
batch, channel, height, width = input.shape
kh, kw = kernel
assert height % kh == 0
assert width % kw == 0
new_height = height // kh
new_width = width // kw
x = input.contiguous().view(batch, channel, new_height, kh, new_width, kw)
x = x.permute(0, 1, 2, 4, 3, 5).contiguous()
x = x.view(batch, channel, new_height, new_width, kh * kw)
return x, new_height, new_width
== nn.py avgpool2d
batch, channel, _, _ = input.shape
tiles, height, width = tile(input, kernel)
return tiles.mean(4).view(batch, channel, height, width)
== nn.py argmax
best = input.f.max_reduce(input, dim)
marked = input.f.eq_zip(input, best)
n = input.shape[dim]
shape = [1] * len(input.shape)
shape[dim] = n
places = input._new(TensorData([float(n - i) for i in range(n)], tuple(shape)))
numbered = marked.f.mul_zip(marked, places)
first = numbered.f.max_reduce(numbered, dim)
return numbered.f.eq_zip(numbered, first)
== nn.py Max.forward
ctx.save_for_backward(input, dim)
return input.f.max_reduce(input, dim)
== nn.py Max.backward
input, dim = ctx.saved_values
return argmax(input, dim) * grad_output, 0.0
== nn.py max
return Max.apply(input, dim)
== nn.py softmax
e = (input - max(input, dim)).exp()
return e / e.sum(dim)
== nn.py logsoftmax
m = max(input, dim)
return input - m - (input - m).exp().sum(dim).log()
== nn.py maxpool2d
batch, channel, _, _ = input.shape
tiles, height, width = tile(input, kernel)
return max(tiles, 4).view(batch, channel, height, width)
== nn.py dropout
if ignore:
    return input
return input * (rand(input.shape, backend=input.backend) > rate)
"""


FROM_GUIDE = {
    ("tensor_data.py", "to_index"): ("parallelism", "index_of", "i=ordinal buffer=out_index"),
    ("cuda_ops.py", "_sum_practice"): ("gpu", "block_sums", "BLOCK=32"),
}
"""Functions that a page of the guide spells out: the page, what it calls it, and the other names."""


def guide_answer(page: str, function: str, renamed: str) -> str:
    """The body of a function that a page of the guide defines, in the words of a task."""
    text = (material("docs/guide") / f"{page}.md").read_text(encoding="utf-8")
    source = re.search(rf"^def {function}\(.*?(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    if source is None:
        raise LookupError(f"{page}.md defines no {function}")
    body = dedent(body_of(source[0].rstrip() + "\n", function))
    for pair in renamed.split():
        old, new = pair.split("=")
        body = re.sub(rf"\b{old}\b", new, body)
    return body


@cache
def plain_answers() -> dict[tuple[str, str], str]:
    """The body of each function, by file and name, not indented."""
    found: dict[tuple[str, str], str] = {}
    for part in re.split(r"^== ", PLAIN, flags=re.MULTILINE)[1:]:
        head, body = part.split("\n", 1)
        file, name = head.split()
        found[file, name] = body
    return found | {place: guide_answer(*where) for place, where in FROM_GUIDE.items()}


def spelled_out(place: Place) -> str | None:
    """The third hint where it is code: what a student would type."""
    with suppress(SyntaxError):
        compile(f"def body():\n{indent(place.nearly, ' ')}", place.name, "exec")
        return place.nearly + "\n"
    return None


def write_answer(workspace: Workspace, place: Place, body: str) -> None:
    """Put a body, not indented, into a function of a workspace."""
    path = workspace.file(place.file)
    path.write_text(with_body(path.read_text(), place.name, body))
