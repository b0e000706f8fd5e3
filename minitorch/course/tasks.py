"""What each task is about: its functions, their hints, its tests and its place in the guide.

The library carries no marks: this file says which bodies a student writes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A function whose body a student writes.

    Attributes:
        file: in `minitorch/`
        name: the function, with what encloses it: `Module.train`, `tensor_map._map`
        idea: the second hint: how to think of it
        nearly: the third hint: the code of a short body, all but the code of a longer one
    """

    file: str
    name: str
    idea: str
    nearly: str

    def __str__(self) -> str:
        return f"{self.name} in minitorch/{self.file}"


@dataclass(frozen=True)
class Task:
    """One assignment.

    Attributes:
        number: as the course counts, `0.1`
        title: what it is about
        places: the functions to write
        tests: the files in `tests/course/` that hold its tests
        about: the first hint, for the task as a whole
        points: what it is worth when graded
    """

    number: str
    title: str
    places: tuple[Place, ...]
    tests: tuple[str, ...]
    about: str
    points: int = 10

    @property
    def module(self) -> int:
        """The module it belongs to."""
        return int(self.number[0])

    @property
    def marker(self) -> str:
        """The pytest marker of its tests."""
        return f"task{self.number[0]}_{self.number[2]}"

    @property
    def files(self) -> list[str]:
        """The files a student edits."""
        return list(dict.fromkeys(place.file for place in self.places))


def _places(file: str, *rows: tuple[str, str, str]) -> tuple[Place, ...]:
    return tuple(Place(file, *row) for row in rows)


def _same(file: str, names: str, idea: str, nearly: str) -> tuple[Place, ...]:
    """Several functions that are written alike; `{}` in a hint stands for the name."""
    made = []
    for name in names.split():
        short = name.split(".")[0] if name[0].isupper() and "Scalar" not in name else name
        made.append(Place(file, name, idea.replace("{}", short), nearly.replace("{}", short)))
    return tuple(made)


_OPERATORS = _places(
    "operators.py",
    ("mul", "One line of Python.", "return x * y"),
    ("id", "Gives back what it got.", "return x"),
    ("add", "One line of Python.", "return x + y"),
    ("neg", "The sign changes, nothing else.", "return -x"),
    ("lt", "Not a bool: 1.0 or 0.0, so that tensors can hold it.", "return 1.0 if x < y else 0.0"),
    ("eq", "Exactly equal, and 1.0 or 0.0, not a bool.", "return 1.0 if x == y else 0.0"),
    ("max", "Compare the two; Python's own max is shadowed here.", "return x if x > y else y"),
    ("is_close", "The distance has no sign: abs.", "return 1.0 if abs(x - y) < 1e-2 else 0.0"),
    (
        "sigmoid",
        "math.exp overflows for large arguments, so exp must only ever see numbers below 0. "
        "Two formulas give the same value: 1 / (1 + e^-x) and e^x / (1 + e^x).",
        "Where x >= 0 take the first formula, else the second, both with math.exp: "
        "a call of this file's own exp cannot be compiled in module 3.",
    ),
    ("relu", "Positive numbers pass, all others become 0.0.", "return x if x > 0 else 0.0"),
    ("log", "The logarithm of 0 must be finite: add EPS first.", "return math.log(x + EPS)"),
    ("exp", "math has it.", "return math.exp(x)"),
    ("inv", "One divided by x.", "return 1.0 / x"),
    ("log_back", "The derivative of log(x + EPS) is 1 / (x + EPS).", "return d / (x + EPS)"),
    ("inv_back", "The derivative of 1/x is -1/x².", "return -d / (x * x)"),
    (
        "relu_back",
        "The slope is 1 right of 0 and 0 elsewhere, at 0 too.",
        "return d if x > 0 else 0.0",
    ),
)

_FUNCTIONAL = _places(
    "operators.py",
    (
        "map",
        "It does not compute anything yet: it returns a function, which will be given the list.",
        "Define a function inside that takes ls and returns [fn(x) for x in ls]; return it.",
    ),
    (
        "zipWith",
        "As map, with two lists walked side by side; Python's zip stops at the shorter.",
        "Inside: [fn(x, y) for x, y in zip(ls1, ls2)].",
    ),
    (
        "reduce",
        "Keep a total. It begins with start, and every element is folded into it in order.",
        "Inside: total = start; for each x: total = fn(total, x); return total.",
    ),
    ("negList", "There are map and neg already.", "return map(neg)(ls)"),
    ("addLists", "There are zipWith and add already.", "return zipWith(add)(ls1, ls2)"),
    ("sum", "A reduction with add; what must it start from?", "return reduce(add, 0.0)(ls)"),
    ("prod", "A reduction with mul; 0 would swallow everything.", "return reduce(mul, 1.0)(ls)"),
)

_MODULES = _places(
    "module.py",
    (
        "Module.train",
        "A module's children are modules too: ask them to do the same.",
        "Set self.training, then call train() of every module of self.modules().",
    ),
    (
        "Module.eval",
        "As train, with False.",
        "Set self.training, then call eval() of every module of self.modules().",
    ),
    (
        "Module.named_parameters",
        "Own parameters first. A child's list comes from the child, and every name in it gets "
        "the child's name and a dot in front.",
        "Begin with list(self._parameters.items()); for child_name, child in "
        "self._modules.items() add (f'{child_name}.{name}', p) for each of the child's pairs.",
    ),
    (
        "Module.parameters",
        "The same, without the names.",
        "return [p for _, p in self.named_parameters()]",
    ),
)

_SCALAR_FORWARD = _same(
    "scalar_functions.py",
    "Mul.forward Inv.forward Neg.forward Sigmoid.forward ReLU.forward Exp.forward LT.forward "
    "EQ.forward",
    "forward sees plain numbers, not Scalars. What {}'s derivative will need must be saved with "
    "ctx.save_for_backward, because backward sees only ctx and d_output.",
    "Save what backward needs (Mul: both inputs; Inv, ReLU: the input; Sigmoid, Exp: the output; "
    "the others nothing), then return the function of operators that {} is named after.",
)

_SCALAR_OPERATORS = _same(
    "scalar.py",
    "Scalar.__add__ Scalar.__sub__ Scalar.__neg__ Scalar.__lt__ Scalar.__gt__ Scalar.__eq__ "
    "Scalar.log Scalar.exp Scalar.sigmoid Scalar.relu",
    "A Scalar must remember how it came about, so nothing is computed here: a ScalarFunction's "
    "apply does it. Look at __mul__, which is written.",
    "One line: Add.apply(self, b), Neg.apply(self), Log.apply(self) and so on. a - b is a + (-b); "
    "a > b is b < a.",
)

_SCALAR_BACKWARD = _same(
    "scalar_functions.py",
    "Mul.backward Inv.backward Neg.backward Sigmoid.backward ReLU.backward Exp.backward "
    "LT.backward EQ.backward",
    "Ask two things of {}: what is its derivative at the saved values, and is it multiplied by "
    "d_output? One number per input of forward.",
    "Mul: (b d, a d). Inv, ReLU: operators.inv_back, relu_back of the input and d. Neg: -d. "
    "Sigmoid: s (1 - s) d with s the saved output. Exp: the saved output times d. "
    "LT and EQ: (0.0, 0.0).",
)

_TENSOR_FORWARD = _same(
    "tensor_functions.py",
    "Mul.forward Sigmoid.forward ReLU.forward Log.forward Exp.forward Sum.forward LT.forward "
    "EQ.forward IsClose.forward Permute.forward",
    "As in module 1, on whole tensors: the backend (t1.f) has a map, zip or reduce for {}.",
    "Save what backward needs, then return t1.f.sigmoid_map(t1), t1.f.mul_zip(t1, t2), "
    "t1.f.add_reduce(t1, dim) and so on. Permute: a._new(a._tensor.permute(*order)), with order "
    "made whole numbers by _ints and saved; Sum takes its dimension through _dim.",
)

_TENSOR_OPERATORS = _same(
    "tensor.py",
    "Tensor.__add__ Tensor.__sub__ Tensor.__mul__ Tensor.__neg__ Tensor.__lt__ Tensor.__gt__ "
    "Tensor.__eq__ Tensor.is_close Tensor.sigmoid Tensor.relu Tensor.log Tensor.exp Tensor.sum "
    "Tensor.mean Tensor.all Tensor.permute Tensor.view",
    "As for Scalars: apply a Function, so that the history is kept. A plain number becomes a "
    "tensor with self._ensure_tensor.",
    "One line each: Add.apply(self, self._ensure_tensor(b)). sum and all over everything work on "
    "self.contiguous().view(self.size), dimension 0. mean is sum divided by how many were added.",
)

_TENSOR_BACKWARD = _same(
    "tensor_functions.py",
    "Mul.backward Sigmoid.backward ReLU.backward Log.backward Exp.backward Sum.backward "
    "LT.backward EQ.backward IsClose.backward Permute.backward",
    "grad_output has the shape of {}'s output. Shapes that were broadcast are summed for you "
    "afterwards; what is yours is the value, with grad_output multiplied in.",
    "Mul: the other input times g. Sigmoid: s (1 - s) g. ReLU, Log: relu_back_zip, log_back_zip of "
    "the input and g. Exp: the output times g. Sum: (g, 0.0). Comparisons: zeros. "
    "Permute: the order that undoes the saved one: where order[i] = d, inverse[d] = i.",
)

_LOOP = (
    "For every output: which index is it (to_index), which index of the input does that fall on "
    "(broadcast_index), and where in storage are the two (index_to_position)?"
)

TASKS: tuple[Task, ...] = (
    Task(
        "0.1",
        "Operators",
        _OPERATORS,
        ("test_operators.py",),
        "Functions of one and two numbers. Each uses only math, takes and returns floats, and "
        "calls no other function of the file: later, each is compiled into a kernel.",
    ),
    Task(
        "0.2",
        "Testing and debugging",
        (),
        ("test_operators.py",),
        "Nothing new to write in the library: properties that hold for all numbers (symmetry, "
        "transitivity, distribution) are tried on your operators. When one fails, Hypothesis "
        "shows the smallest numbers it found.",
        points=5,
    ),
    Task(
        "0.3",
        "Functional Python",
        _FUNCTIONAL,
        ("test_operators.py", "test_examples.py"),
        "map, zipWith and reduce take a function and return a function of lists. The rest is "
        "built from them, without loops.",
    ),
    Task(
        "0.4",
        "Modules",
        _MODULES,
        ("test_module.py", "test_examples.py"),
        "A module is a node of a tree. Whatever it is asked, it answers for itself and passes "
        "the question on to its children.",
    ),
    Task(
        "1.1",
        "Numerical derivatives",
        _places(
            "autodiff.py",
            (
                "central_difference",
                "Move argument number arg a little to the right and to the left, leave the others.",
                "Copy vals twice, change entry arg by +epsilon and -epsilon, and divide the "
                "difference of the two values of f by the whole distance, 2 * epsilon.",
            ),
        ),
        ("test_autodiff.py", "test_examples.py"),
        "A derivative without calculus: how much does f change when one argument changes a bit?",
    ),
    Task(
        "1.2",
        "Scalars",
        _SCALAR_FORWARD + _SCALAR_OPERATORS,
        ("test_scalar.py", "test_examples.py"),
        "A Scalar is a number that remembers the function and the inputs it came from. "
        "Functions compute (forward); the operators of Scalar apply them.",
    ),
    Task(
        "1.3",
        "Chain rule",
        _places(
            "scalar.py",
            (
                "Scalar.chain_rule",
                "The history knows the function, its context and its inputs. The function's "
                "_backward gives one derivative per input; constants want none.",
                "derivatives = h.last_fn._backward(h.ctx, d_output); pair them with h.inputs in "
                "order, and leave out the pairs whose scalar.is_constant().",
            ),
        ),
        ("test_autodiff.py", "test_examples.py"),
        "One step back: from the derivative of a result to the derivatives of its inputs.",
    ),
    Task(
        "1.4",
        "Backpropagation",
        _places(
            "autodiff.py",
            (
                "topological_sort",
                "A variable may come only after everything computed from it. Depth first: a "
                "variable is finished when all its parents are. Not by recursion: graphs are deep.",
                "A stack of (node, parents_done). Popped with False and not seen, not constant: "
                "mark it seen, push (node, True), push its parents with False. Popped with True: "
                "append it. At the end, reverse.",
            ),
            (
                "backpropagate",
                "Keep a dictionary: unique_id to the derivative that has arrived so far. In "
                "topological order it is complete when its variable's turn comes.",
                "Start with {variable.unique_id: deriv}. For each node in order: a leaf "
                "accumulates its derivative; any other passes it through chain_rule, and what "
                "comes out is ADDED to what already waits for the parent.",
            ),
        )
        + _SCALAR_BACKWARD,
        ("test_scalar.py", "test_autodiff.py", "test_optim.py", "test_examples.py"),
        "The chain rule over the whole graph, in an order in which nothing is used before it is "
        "complete.",
        points=15,
    ),
    Task(
        "2.1",
        "Tensor data: indexing",
        _places(
            "tensor_data.py",
            (
                "index_to_position",
                "A step in dimension d moves strides[d] places in storage.",
                "Sum index[d] * strides[d] over all dimensions.",
            ),
            (
                "to_index",
                "Like the digits of a number: the last dimension counts fastest.",
                "From the last dimension to the first: out_index[d] = rest % shape[d], then "
                "rest = rest // shape[d].",
            ),
            (
                "TensorData.permute",
                "The storage stays. Which sizes and strides does the new tensor have?",
                "TensorData(self._storage, shape, strides), with both reordered: "
                "[self.shape[i] for i in order].",
            ),
        ),
        ("test_tensor_data.py", "test_examples.py"),
        "Many numbers lie in one row. Shape and strides say where the element at an index is.",
    ),
    Task(
        "2.2",
        "Tensor broadcasting",
        _places(
            "tensor_data.py",
            (
                "broadcast_index",
                "Shapes align at their right ends. A dimension of size 1 has only index 0.",
                "Let missing = len(big_shape) - len(shape). For each d of shape: "
                "out_index[d] = big_index[missing + d] if shape[d] > 1 else 0.",
            ),
            (
                "shape_broadcast",
                "Put ones in front of the shorter shape, then compare size by size.",
                "Sizes a and b: equal, or one of them is 1 (the other wins); else IndexingError.",
            ),
        ),
        ("test_tensor_data.py",),
        "Tensors of different shapes meet: where a size is 1, or missing, it is repeated.",
    ),
    Task(
        "2.3",
        "Tensor operations",
        _places(
            "tensor_ops.py",
            ("tensor_map._map", _LOOP, "out[position of out_index] = fn(in at in_index)."),
            ("tensor_zip._zip", _LOOP, "As map, with an index for each of the two inputs."),
            (
                "tensor_reduce._reduce",
                "The output holds the starting value. Its index, with reduce_dim running, walks "
                "over the elements to fold.",
                "For each output: total = out[position]; for k in range(a_shape[reduce_dim]): "
                "index[reduce_dim] = k; total = fn(total, a at index); write total once.",
            ),
        )
        + _TENSOR_FORWARD
        + _TENSOR_OPERATORS,
        ("test_tensor.py", "test_tensor_general.py", "test_examples.py"),
        "map, zip and reduce over storage of any strides, and on top of them all functions.",
        points=15,
    ),
    Task(
        "2.4",
        "Gradients and autograd",
        _TENSOR_BACKWARD,
        ("test_tensor.py", "test_tensor_general.py", "test_optim.py", "test_examples.py"),
        "What each function's gradient is. The walk through the graph is that of module 1.",
        points=15,
    ),
    Task(
        "3.1",
        "Parallelization",
        _places(
            "fast_ops.py",
            (
                "tensor_map._map",
                "The loop of module 2, compiled: the outer loop is prange, and each iteration "
                "writes to memory of its own.",
                "Same shape and strides: for i in prange(len(out)): out[i] = f(in_storage[i]). Else "
                "the body of module 2 in a prange, with its buffers made inside the loop: "
                "np.empty(len(out_shape), np.int32). Made outside, all threads would share them.",
            ),
            (
                "tensor_zip._zip",
                "As map, with two inputs.",
                "Only where all three have the same shape and strides is no index needed: "
                "out[i] = f(a_storage[i], b_storage[i]). Else three buffers, inside the prange.",
            ),
            (
                "tensor_reduce._reduce",
                "Parallel over outputs; the inner loop folds into a local number and writes once.",
                "The output's index gives its position o with out_strides, and that of its first "
                "element in a with a_strides. total = out[o]; fold and step by a_strides[reduce_dim], "
                "a_shape[reduce_dim] times; then out[o] = total.",
            ),
        ),
        ("test_tensor_general.py", "test_optim.py"),
        "The same loops on all cores. What two iterations both write to is a race.",
        points=15,
    ),
    Task(
        "3.2",
        "Matrix multiplication",
        _places(
            "fast_ops.py",
            (
                "_matmul_naive",
                "out[b, i, j] is the sum over k of a[b, i, k] * b[b, k, j]. No index buffers, no "
                "call in the inner loop, one write at its end.",
                "Let a_batch be a_strides[0] if a_shape[0] > 1 else 0 (the same for b). prange "
                "over batch and rows; total = 0.0; the inner loop adds a product and moves both "
                "positions by their strides.",
            ),
        ),
        ("test_matmul.py",),
        "A product of matrices without the large intermediate of module 2.",
    ),
    Task(
        "3.3",
        "CUDA operations",
        _places(
            "cuda_ops.py",
            (
                "tensor_map._map",
                "One thread per output: i = cuda.grid(1). A thread beyond out_size does nothing.",
                "The body of module 2 under if i < out_size, with scalar for fn; its two buffers are "
                "cuda.local.array(MAX_DIMS, int32).",
            ),
            (
                "tensor_zip._zip",
                "As map, with two inputs.",
                "As map, with a third buffer; out[...] = scalar(a_storage[...], b_storage[...]).",
            ),
            (
                "flat_map._flat_map",
                "All is contiguous: output i comes from input i * a_step.",
                "i = cuda.grid(1)\nif i < out_size:\n    out[i] = scalar(a_storage[i * a_step])",
            ),
            (
                "flat_zip._flat_zip",
                "As flat_map with two steps.",
                "i = cuda.grid(1)\nif i < out_size:\n"
                "    out[i] = scalar(a_storage[i * a_step], b_storage[i * b_step])",
            ),
            (
                "_sum_practice",
                "A block of 32 threads: each brings one number to shared memory (0.0 past the "
                "end); wait; then half adds the other half.",
                "cells = cuda.shared.array(32, float64). After every step cuda.syncthreads(), by "
                "all threads. half = 16, 8, 4, 2, 1. Thread 0 writes out[blockIdx.x].",
            ),
            (
                "tensor_reduce._reduce",
                "One block per output, whose index is to_index of cuda.blockIdx.x. A thread brings one "
                "element, or reduce_value where there is none, to shared memory; then they are "
                "folded as in _sum_practice, with scalar for the sum.",
                "Keep the output's position, then k = index[reduce_dim] * block + threadIdx.x. "
                "cells[thread] = reduce_value; if k < a_shape[reduce_dim], set index[reduce_dim] = k "
                "and take a_storage at index by a_strides. syncthreads, fold half onto half with one "
                "after each step, and thread 0 writes.",
            ),
        ),
        ("test_cuda_ops.py",),
        "A kernel is what one thread does. Without a GPU, Numba's simulator runs it.",
        points=15,
    ),
    Task(
        "3.4",
        "CUDA matrix multiplication",
        (
            *_places(
                "cuda_ops.py",
                (
                    "_mm_practice",
                    "Every thread moves one cell of a and one of b to shared memory, waits, and "
                    "computes one cell of the product from there.",
                    "Guard i < size and j < size around reads and writes; syncthreads outside.",
                ),
            ),
            *_places(
                "cuda_matmul.py",
                (
                    "naive.kernel",
                    "One thread, one cell: a dot product straight from global memory.",
                    "_block_origin and _matrix_start tell where; walk k with the strides of the "
                    "last dimension of a and the second to last of b.",
                ),
                (
                    "tiled.kernel",
                    "As in mm_practice, but tile after tile along the inner dimension. Threads "
                    "outside the matrix still help to load.",
                    "For start in range(0, inner, side): load (0.0 outside), syncthreads, add side "
                    "products, syncthreads. One write at the end, guarded.",
                ),
            ),
        ),
        ("test_cuda_ops.py",),
        "Each number is read from global memory once per tile, and used side times.",
        points=15,
    ),
    Task(
        "4.1",
        "1D convolution",
        _places(
            "fast_conv.py",
            (
                "_tensor_conv1d",
                "For each batch, output channel and place: sum over input channels and the "
                "window. The window begins at the place; with reverse it ends there.",
                "at = i + k, or i - k with reverse; where 0 <= at < width of the input, add "
                "weight[o, c, k] * input[b, c, at]. Positions by strides; write once.",
            ),
        ),
        ("test_conv.py", "test_examples.py"),
        "A window slides along a sequence; past the end there are zeros.",
    ),
    Task(
        "4.2",
        "2D convolution",
        _places(
            "fast_conv.py",
            (
                "_conv2d",
                "As in one dimension, with a window of height and width.",
                "Loops over b (prange), o, i, j and then c, k, m; the input is read at "
                "(i + k, j + m), or (i - k, j - m) with reverse, inside the image only.",
            ),
        ),
        ("test_conv.py",),
        "A window slides over an image; backward is a convolution anchored at the other corner.",
    ),
    Task(
        "4.3",
        "Pooling",
        _places(
            "nn.py",
            (
                "tile",
                "view cuts a dimension in two, permute brings the two window dimensions to the "
                "end, a last view joins them.",
                "contiguous, view(b, c, h // kh, kh, w // kw, kw), permute(0, 1, 2, 4, 3, 5), "
                "contiguous, view(b, c, h // kh, w // kw, kh * kw).",
            ),
            ("avgpool2d", "tile, then a mean.", "mean over dimension 4, then view without it."),
        ),
        ("test_nn.py", "test_examples.py"),
        "Pooling is a reduction, once the image is cut into tiles.",
    ),
    Task(
        "4.4",
        "Softmax and dropout",
        _places(
            "nn.py",
            (
                "argmax",
                "1.0 where the element equals the maximum; of several, only at the first.",
                "f.eq_zip(input, f.max_reduce(input, dim)) marks all; number the places n ... 1 "
                "and keep the highest number among the marked.",
            ),
            (
                "Max.forward",
                "The backend has max_reduce.",
                "ctx.save_for_backward(input, dim)\nreturn input.f.max_reduce(input, dim)",
            ),
            (
                "Max.backward",
                "The gradient goes to the element that was the maximum.",
                "input, dim = ctx.saved_values\nreturn argmax(input, dim) * grad_output, 0.0",
            ),
            ("max", "Apply Max.", "return Max.apply(input, dim)"),
            (
                "softmax",
                "exp overflows at 710. Subtracting the maximum changes nothing.",
                "e = (input - max of the detached input).exp(); e / e.sum(dim)",
            ),
            (
                "logsoftmax",
                "log of the quotient is a difference: x - log(sum of exp(x)), shifted by the "
                "maximum.",
                "With m the maximum: input - m - (input - m).exp().sum(dim).log(). It is off by EPS, "
                "which log adds; (total - EPS).log() is exact.",
            ),
            ("maxpool2d", "tile, then a maximum.", "max(tiles, 4), then view without it."),
            (
                "dropout",
                "Random numbers in [0, 1): those below rate mark what is dropped.",
                "ignore: return input. Else input * (1.0 - (rand(input.shape) < rate)), with the "
                "input's backend.",
            ),
        ),
        ("test_nn.py", "test_examples.py"),
        "From scores to probabilities, without overflow; and noise that keeps networks honest.",
        points=15,
    ),
    Task(
        "4.4b",
        "Convolution on CUDA (extra)",
        _places(
            "cuda_conv.py",
            (
                "_tensor_conv1d",
                "One output per group of threads; each sums a part of channels x window.",
                "Guard reads and the write; sum the lanes with _sum_lanes.",
            ),
            (
                "_tensor_conv2d",
                "As in one dimension, with a window of two.",
                "Guard reads and the write; sum the lanes with _sum_lanes.",
            ),
        ),
        ("test_cuda_conv.py",),
        "The convolutions of 4.1 and 4.2 as kernels of one thread.",
    ),
)

BY_NUMBER = {task.number: task for task in TASKS}


def find_task(text: str) -> Task:
    """The task that `0.1`, `task0_1` or `0_1` names; ValueError if there is none."""
    number = text.lower().removeprefix("task").strip(" .").replace("_", ".")
    if number in BY_NUMBER:
        return BY_NUMBER[number]
    raise ValueError(f"there is no task {text!r}; the tasks are {', '.join(BY_NUMBER)}")
