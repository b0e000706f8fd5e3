"""Questions by which a submission is judged, drawn anew for each.

A line is an expression over the names of `inside/drivers`, in which a word in braces stands for
something random: `{x}` for a number, `{shape}` for a shape, and so on (`drawing.py`). Tensors are filled
with random numbers, too. So there is no list of answers to look up: whoever answers right computes
what was asked for. A word before the expression says how the answer is compared (`judging.py`):

    same     to the reference's, but for rounding (where none is given)
    about    to the reference's, to five digits: where rounding is magnified
    each     each element of the list to the reference's first one
    order    every variable once, before those it was computed from
    dropout  0 or the number itself, in the right proportion, each element by itself
    learned  on the reference's side of 1/2, nearly wherever the reference is sure
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from .drawing import Draw

TIMES = 3
"""How often each line is drawn; what takes a training, once."""


@dataclass(frozen=True)
class Question:
    """An expression to evaluate, the seed of its random numbers, and how to compare."""

    expression: str
    seed: int
    how: str = "same"


def draw_questions(number: str, seed: str, more: str = "") -> list[Question]:
    """The questions of a task; `more` has further lines."""
    draw = Draw(random.Random(f"{seed} {number}"))
    found = {}
    for line in (QUESTIONS[number] + "\n" + more).split("\n"):
        if line.strip():
            how, expression = _split(line.strip())
            for _ in range(1 if how == "learned" else TIMES):
                text = re.sub(r"\{(\w+)\}", lambda m: draw.text(m[1]), expression)
                found[text] = Question(text, draw.random.randrange(1 << 62), how)
    return list(found.values())


def _split(line: str) -> tuple[str, str]:
    match = re.fullmatch(r"(same|about|each|order|dropout|learned):\s*(.*)", line)
    return (match[1], match[2]) if match else ("same", line)


QUESTIONS: dict[str, str] = {
    "0.1": """
    kind(alone(mul, {x}, {x}))
    kind(alone(id, {x}))
    kind(alone(add, {x}, {x}))
    kind(alone(neg, {x}))
    kind(alone(max, {x}, {x}))
    kind(alone(inv, {x}))
    kind(alone(exp, {x}))
    kind(alone(lt, {x}, {x}))
    kind(alone(lt, {twins}))
    kind(alone(eq, {twins}))
    kind(alone(eq, {near}))
    kind(alone(is_close, {near}))
    kind(alone(is_close, {apart}))
    kind(alone(is_close, {x}, {x}))
    kind(alone(sigmoid, {x}))
    kind(alone(sigmoid, -100{n}.0))
    kind(alone(sigmoid, 100{n}.0))
    kind(alone(relu, {x}))
    kind(alone(relu_back, {x}, {d}))
    kind(alone(relu_back, 0.0, {d}))
    kind(alone(log, {p}))
    kind(alone(log, 0.0))
    kind(alone(log_back, {p}, {d}))
    kind(alone(log_back, 0.0, {d}))
    kind(alone(inv_back, {x}, {d}))
    """,
    "0.2": """
    mul({x}, {i})
    id({x})
    add({i}, {x})
    neg({x})
    max({x}, {x})
    max({twins})
    inv({x})
    lt({x}, {x})
    lt({twins})
    eq({twins})
    eq({x}, {x})
    is_close({near})
    sigmoid({x})
    relu({x})
    add(mul({x}, {x}), neg({x}))
    mul({x}, add({x}, {x}))
    inv(inv({x}))
    max(max({x}, {x}), neg({x}))
    sigmoid(add({x}, neg({x})))
    lt(max({twins}), add({x}, {x}))
    noticed("mul", "x, y", "x + y")
    noticed("mul", "x, y", "x * y + {p}")
    noticed("mul", "x, y", "y * x")
    noticed("add", "x, y", "x - y")
    noticed("add", "x, y", "x + y + {p}")
    noticed("add", "x, y", "y + x")
    noticed("neg", "x", "1 / x if x else 0.0")
    noticed("neg", "x", "0.0 - x")
    noticed("inv", "x", "-x")
    noticed("inv", "x", "{d} / x")
    noticed("lt", "x, y", "1.0 if x <= y else 0.0")
    noticed("lt", "x, y", "1.0 if x > y else 0.0")
    noticed("lt", "x, y", "float(y > x)")
    noticed("eq", "x, y", "1.0 if abs(x - y) < 0.01 else 0.0")
    noticed("eq", "x, y", "float(not x < y and not y < x)")
    noticed("max", "x, y", "x if x < y else y")
    noticed("max", "x, y", "x")
    noticed("max", "x, y", "x if abs(x) > abs(y) else y")
    noticed("max", "x, y", "y if y >= x else x")
    noticed("is_close", "x, y", "1.0 if x - y < 0.01 else 0.0")
    noticed("is_close", "x, y", "1.0 if abs(x - y) < 0.1 else 0.0")
    noticed("is_close", "x, y", "float(abs(y - x) < 0.01)")
    noticed("sigmoid", "x", "1 / (1 + math.exp(x))")
    noticed("sigmoid", "x", "0.5")
    noticed("sigmoid", "x", "0.5 + 0.5 * math.tanh(x / 2)")
    noticed("relu", "x", "abs(x)")
    noticed("relu", "x", "1.0 if x > 0 else 0.0")
    noticed("relu", "x", "x")
    noticed("relu", "x", "0.0 if x <= 0 else x")
    noticed("relu_back", "x, d", "d")
    noticed("relu_back", "x, d", "1.0 if x > 0 else 0.0")
    """,
    "0.3": """
    list(map(line_of({x}, {x}))({list}))
    list(map(neg)(iter({list})))
    list(zipWith(plane_of({x}, {x}))({list}, {list}))
    list(zipWith(plane_of({x}, {x}))(iter({list}), {five}))
    list(zipWith(lt)({five}, {five}))
    reduce(plane_of({x}, {x}), {x})({list})
    reduce(minus, {x})({five})
    twice(reduce(plane_of({x}, {x}), {x}), {five})
    list(negList({list}))
    list(addLists({five}, {five}))
    sum({list})
    prod({list})
    sum(iter({five}))
    sum([])
    prod([])
    list(negList([]))
    unchanged(negList, {five})
    unchanged(addLists, {five})
    unchanged(sum, {five})
    unchanged(prod, {five})
    """,
    "0.4": """
    named(built({tree}))
    unnamed(built({tree}))
    modes(built({tree}), ("", "eval"))
    modes(built({tree}), ("first", "eval"))
    modes(built({tree}), ("", "eval"), ("first", "train"))
    modes(built({tree}), ("", "eval"), ("first.second", "train"), ("first.third", "eval"))
    modes(built({tree}), ("first.second", "eval"), ("first", "train"))
    named(at(built({tree}), "first"))
    unnamed(at(built({tree}), "first.second"))
    kind(built({tree}).parameters())[0]
    kind(built({tree}).named_parameters())[0]
    built({tree}).nothing
    assigned(built({tree}), "first", {x})
    assigned(at(built({tree}), "first"), "third", "no module any more")
    added(built({tree}), "added", {x})
    asked_for_gradient()
    names(replaced())
    """,
    "0.5": """
    by_hand({x}, {x}, {x}, {points})
    by_hand({d}, {x}, {x}, {points})
    sides("Simple", {points})
    sides("Diag", {points})
    """,
    "1.1": """
    about: central_difference(polynomial({x}, {x}, {x}, {x}), {x}, epsilon=0.{n})
    about: central_difference(polynomial({x}, {x}, {x}), {x})
    about: central_difference(weighted({x}, {x}, {x}), {x}, {x}, {x}, arg=0)
    about: central_difference(weighted({x}, {x}, {x}), {x}, {x}, {x}, arg=1)
    about: central_difference(weighted({x}, {x}, {x}), {x}, {x}, {x}, arg=2, epsilon=0.5)
    about: central_difference(weighted({x}, {x}), {x}, {x})
    """,
    "1.2": """
    forward_of("Mul", {x}, {x})
    forward_of("Inv", {x})
    forward_of("Neg", {x})
    forward_of("Sigmoid", {x})
    forward_of("ReLU", {x})
    forward_of("Exp", {x})
    forward_of("LT", {x}, {x})
    forward_of("EQ", {x}, {x})
    forward_of("EQ", {twins})
    computed(Scalar({x}) + {x})
    computed(Scalar({x}) * Scalar({x}))
    computed(-Scalar({x}))
    computed(Scalar({p}).log())
    computed(Scalar({x}).exp())
    computed(Scalar({x}).sigmoid())
    computed(Scalar({x}).relu())
    computed(Scalar({x}) < {x})
    computed(Scalar({x}) > {x})
    computed(Scalar({x}) == {x})
    (Scalar({x}) - {x}).data
    ({x} - Scalar({x})).data
    ({x} + Scalar({x})).data
    ({x} * Scalar({x})).data
    ({x} / Scalar({x})).data
    (Scalar({x}) / {x}).data
    (Scalar({x}) < Scalar({x})).data
    ({x} < Scalar({x})).data
    ((Scalar({x}) * {x} + {x}).sigmoid() - (Scalar({p}).log() * {x}).exp()).data
    ((Scalar({x}) - Scalar({x})).relu() * ({x} - Scalar({x}))).data
    Scalar({x}, name="{word}").name
    computed(Scalar({x}))
    computed(Scalar({x}) * 2.0)
    computed(constant_scalar({x}))
    """,
    "1.3": """
    chained([{x}, {x}], [Scalar({x}), Scalar({x})], {d})
    chained([{x}, {x}, {x}], [Scalar({x}), Scalar({x}), Scalar({x})], {d})
    chained([{x}, {x}, {x}], [Scalar({x}), constant_scalar({x}), Scalar({x})], {d})
    chained([{x}, {x}], [constant_scalar({x}), Scalar({x})], {d})
    chained([{x}], [Scalar({x})], {d})
    """,
    "1.4": """
    order: order({graph})
    order: order({graph})
    order: order({graph})
    deep_order(20_00{n})
    leaf_derivatives({graph}, {d})
    leaf_derivatives({graph}, {d})
    leaf_derivatives({graph}, 1.0)
    pair_derivatives({graph}, {d}, {d})
    deep_derivative(20_00{n}, {d})
    passed_back("Mul", {d}, {x}, {x})
    passed_back("Inv", {d}, {x})
    passed_back("Neg", {d}, {x})
    passed_back("Sigmoid", {d}, {x})
    passed_back("ReLU", {d}, {x})
    passed_back("Exp", {d}, {x})
    passed_back("LT", {d}, {x}, {x})
    passed_back("EQ", {d}, {twins})
    passed_back("Add", {d}, {x}, {x})
    passed_back("Log", {d}, {p})
    gradients(lambda x, y: x * y + x, {x}, {x})
    gradients(lambda x, y: (x * {x} - y / x).sigmoid(), {x}, {x})
    gradients(lambda x, y: (x.exp() + y.log()) * y, {x}, {p})
    gradients(lambda x, y: (x - y).relu() * ({x} / y), {x}, {p})
    gradients(lambda x, y: (x * x * x).sigmoid() + (y < x) * x + (x == y), {x}, {x})
    gradients(lambda x, y: x * y - y * {x}, {x}, {x}, times=2)
    """,
    "1.5": """
    layer_of("scalar", 2, 3, {x}, {x})
    layer_of("scalar", 3, 2, {x}, {x}, {x})
    network_of("scalar", 3, ({x}, {x}))
    network_of("scalar", 2, ({x}, {x}), ({x}, {x}))
    learned: learned("scalar", {task}, hidden=3, epochs=30)
    """,
    "2.1": """
    index_of({ordinal})
    indices_of({cube})
    position({cube}, ({n}, {n}, {n}))
    position(({n}, {n}), ({n}, {n}))
    position(({n}, {n}, {n}, {n}), ({n}, {n}))
    compiled_index({ordinal}, ({n}, {n}, {n}))
    looked_up({moved})
    looked_up({shape}, (1, 0), 1, 1)
    changed({inside}, {x})
    counted({outside})
    """,
    "2.2": """
    broadcast({among})
    broadcast({among})
    list(shape_broadcast({pair}))
    list(shape_broadcast({pair}))
    shape_broadcast({clash})
    shape_broadcast({clash})
    kind(shape_broadcast((), {cube}))
    kind(shape_broadcast({pair}))
    kind(shape_broadcast((0,), ({n}, 1)))
    shape_broadcast((0,), (2,))
    compiled_broadcast({among})
    """,
    "2.3": """
    mapped({into})
    mapped({into}, out_order=(2, 0, 1))
    mapped((4, 3, 2), (4, 3, 2), in_order={order})
    mapped((2, 3, 4), (2, 3, 4), out_order={order}, in_order={order})
    zipped((4, 3, 2), (3, 1), (4, 1, 2))
    zipped((2, 3, 4), (2, 3, 4), (2, 3, 4), b_order={order})
    zipped((3, 4, 2), (4, 2), (3, 4, 2), out_order={order}, b_order={order})
    reduced({reduction}, start={x})
    reduced({reduction}, start={x}, in_order={order})
    reduced((4, 3, 2), 1, start={x}, in_order={order}, out_order={order})
    shaped(leaf({shape}) + leaf((1,)))
    shaped(leaf({cube}, {order}) - {x})
    shaped({x} - leaf({shape}))
    shaped(leaf((3, 4)) * leaf((3, 1)))
    shaped({x} / leaf({shape}))
    shaped(-leaf({cube}))
    shaped(leaf((2, 3)) < leaf((2, 3)))
    shaped(leaf((2, 3)) > leaf((3,)))
    shaped(leaf({shape}) > {x})
    shaped(given(1.5, {x}, -2.0) == given({x}, {x}, -2.0))
    shaped(given(1.0, 2.0, {x}).is_close(given(1.00{n}, 2.0{n}5, {x})))
    shaped(leaf({cube}, {order}).sigmoid())
    shaped(leaf({shape}).relu())
    shaped(given({p}, {p}, {p}).log())
    shaped(leaf({cube}).exp())
    shaped(leaf({shape}).sum())
    shaped(leaf({cube}, {order}).sum(0))
    shaped(leaf({cube}, {order}).sum(2))
    shaped(leaf({cube}).mean())
    shaped(leaf({cube}, {order}).mean(1))
    shaped(given({bits}).all())
    shaped(given(1.0, 1.0, 1.0).all())
    shaped(given([{bits}], [{bits}], [1.0, 1.0, 1.0]).all(1))
    shaped(leaf({cube}).permute(2, 0, 1))
    shaped(leaf({cube}).permute(1, 2, 0))
    shaped(leaf((2, 3, 4), {order}).contiguous().view(6, 4))
    shaped(leaf((3, 4)).view(2, 6))
    shaped(leaf((3, 4), (1, 0)).contiguous().view(12))
    list(leaf((2, 3)).permute(1, 0).view(6).shape)
    shaped((leaf((2, 3)) * leaf((3,)) + {x}).sigmoid().sum(0))
    (leaf((2, 3)) + leaf((2, 2))).shape
    constant_tensor().is_constant()
    computed_tensor(leaf({shape}) * 2.0)
    computed_tensor(leaf({shape}).sigmoid())
    """,
    "2.4": """
    tensor_gradients(lambda a, b: a * b, leaf({shape}), leaf((1,)))
    tensor_gradients(lambda a, b: a * b + a, leaf((3, 4)), leaf((3, 1)))
    tensor_gradients(lambda a, b: a - b / {x}, leaf((2, 3)), leaf((3,)))
    tensor_gradients(lambda a: (a * {x}).sigmoid(), leaf({cube}, {order}))
    tensor_gradients(lambda a: (a * a + {p}).log(), leaf({shape}))
    tensor_gradients(lambda a: a.exp() * a, leaf({shape}))
    tensor_gradients(lambda a: a.relu() + {x} / (a * a + {p}), leaf({cube}))
    tensor_gradients(lambda a: -a.sum(0), leaf({cube}))
    tensor_gradients(lambda a: a.sum(1) * a, leaf({shape}))
    tensor_gradients(lambda a: a.mean(), leaf({shape}))
    tensor_gradients(lambda a, b: (a < b) * a + (a > b), leaf((3, 2)), leaf((3, 2)))
    tensor_gradients(lambda a, b: (a == b) + a.is_close(b) + b, leaf((3, 2)), leaf((3, 2)))
    tensor_gradients(lambda a: a.permute(1, 2, 0) * {x}, leaf({cube}))
    tensor_gradients(lambda a: a.permute(2, 0, 1).contiguous().view(24) * {x}, leaf((2, 3, 4)))
    tensor_gradients(lambda a: a.permute(1, 0), leaf({shape}, (1, 0)))
    tensor_gradients(lambda a: a * a, leaf({shape}), times=2)
    tensor_gradients(lambda a: a * given({x}, {x}), leaf((3, 2)))
    tensor_back("Inv", {d}, {five})
    tensor_back("Neg", {d}, {five})
    tensor_back("Exp", {d}, {five})
    tensor_back("Log", {d}, {positive})
    tensor_back("ReLU", {d}, {five})
    tensor_back("Sigmoid", {d}, {five})
    tensor_back("Mul", {d}, {five}, {five})
    permute_back({cube}, {order})
    view_back()
    sum_back()
    gradient_of_two_uses()
    gradient_is_its_own_tensor()
    constant_among_inputs()
    summed_where_copied()
    """,
    "2.5": """
    layer_of("tensor", 2, 3, {x}, {x})
    layer_of("tensor", 3, 2, {x}, {x}, {x})
    network_of("tensor", 3, ({x}, {x}))
    network_of("tensor", 4, ({x}, {x}), ({x}, {x}), ({x}, {x}))
    learned: learned("tensor", {task}, hidden=3, epochs=20)
    """,
    "3.1": """
    fast_mapped({cube}, in_order={order})
    fast_mapped({cube}, in_order={order}, out_order={order})
    fast_mapped((4,), to=({n}, 3, 4))
    fast_mapped((2, 1), to=({n}, 2, 3))
    fast_mapped((60, 80))
    fast_mapped((60, 1, 7), to=(60, 11, 7))
    fast_zipped({pair})
    fast_zipped({pair})
    fast_zipped((2, 3, 4), (2, 3, 4), b_order={order})
    fast_zipped((3, 4, 2), (4, 2), a_order={order})
    fast_zipped((50, 60), (60,))
    fast_reduced({reduction}, start={x})
    fast_reduced({reduction}, start={x}, in_order={order})
    fast_reduced({long}, start={x})
    fast_reduced((5, 700), 1, start={x})
    fast_reduced((700, 5), 0, start={x})
    """,
    "3.2": """
    each: products({matrices})
    each: products({matrices}, left_order=(0, 2, 1))
    each: products({matrices}, right_order=(0, 2, 1))
    each: products({matrices}, left_order=(2, 0, 1), right_order=(1, 2, 0))
    each: products({tall})
    each: products({tall}, left_order=(0, 2, 1))
    fast_product_back((2, 3), (3, 4))
    fast_product_back((2, 2, 3), (2, 3, 4))
    """,
    "3.3": """
    cuda_map_of({shape})
    cuda_map_of({cube}, {order})
    cuda_mapped((3, 4), out_order=(1, 0))
    cuda_zip_of((2, 1, 3), (4, 1))
    cuda_zip_of((2, 3, 2), (2, 3, 2), b_order={order})
    cuda_zip_of((3, 2), (3, 2))
    cuda_zipped((2, 3), (2, 3), b_order=(1, 0))
    cuda_reduced({reduction}, start=1.0)
    cuda_reduced((3, 4, 2), 1, start=1.0, order={order})
    cuda_reduced((2, 40), 1, start=1.0)
    cuda_flat({n}, 1)
    cuda_flat({n}, 0)
    cuda_flat({n}, 1, 0)
    cuda_flat({n}, 1, 1)
    sums_of_32(3{n})
    sums_of_32(6{n})
    sums_of_32({n})
    """,
    "3.4": """
    cuda_product(mm_practice, {n})
    cuda_product(matmul, {n})
    each: cuda_ladder((3, 5), (5, 4), 2)
    each: cuda_ladder((5, 7), (7, 2), 3, ((1, 0), None, (1, 0)))
    each: cuda_ladder((2, 3, 4), (2, 4, 2), 2, (None, {order}, None))
    each: cuda_ladder((2, 3, 4), (4, 3), 3, ({order}, (1, 0), None))
    """,
    "3.5": """
    operations_of({n})
    network_of("fast", 3, ({x}, {x}))
    network_of("fast", {n}, ({x}, {x}), ({x}, {x}), ({x}, {x}))
    learned: learned("fast", {task})
    """,
    "4.1": """
    convolved("conv1d", {wave})
    convolved("conv1d", {wave}, {order})
    convolved("conv1d", (1, 1, {n}), (1, 1, 2))
    convolved("conv1d", (3, 2, 2), (2, 2, 3))
    """,
    "4.2": """
    convolved("conv2d", {image})
    convolved("conv2d", {image}, (0, 1, 3, 2))
    convolved("conv2d", (2, 1, {n}, 3), (2, 1, 2, 2))
    convolved("conv2d", (1, 2, 2, 2), (1, 2, 3, 3))
    """,
    "4.3": """
    windows({tiles})
    windows({tiles}, (0, 1, 3, 2))
    tile_sizes({tiles})
    pooled("avgpool2d", {tiles})
    pooled("avgpool2d", {tiles}, (0, 1, 3, 2))
    """,
    "4.4": """
    shaped(nn.argmax(leaf({shape}), 1))
    shaped(nn.argmax(leaf({cube}, {order}), 0))
    shaped(nn.argmax(tensor({ties}), 0))
    with_gradient(nn.max, leaf({cube}), 1)
    with_gradient(nn.max, leaf({shape}, (1, 0)), 0)
    with_gradient(nn.max, tensor({ties}), 0)
    about: with_gradient(nn.softmax, leaf({cube}), 1)
    about: with_gradient(nn.softmax, leaf({shape}), 0)
    about: with_gradient(nn.softmax, tensor({large}), 0)
    about: with_gradient(nn.logsoftmax, leaf({cube}), 2)
    about: with_gradient(nn.logsoftmax, leaf({shape}), 0)
    about: with_gradient(nn.logsoftmax, tensor({large}), 0)
    pooled("maxpool2d", {tiles})
    pooled("maxpool2d", {tiles}, (0, 1, 3, 2))
    dropout: dropped({x}, (30, 40), 0.{n})
    shaped(nn.dropout(leaf({shape}), 0.0))
    shaped(nn.dropout(leaf({shape}), 1.0))
    shaped(nn.dropout(leaf({shape}), 0.{n}, ignore=True))
    shaped(nn.dropout(leaf({shape}), 1.0, ignore=True))
    """,
    "4.4b": """
    cuda_convolved((2, 2, 4), (1, 2, 2))
    cuda_convolved((1, 2, 3), (2, 2, 3), reverse=True)
    cuda_convolved((1, 1, 5), (1, 1, 3), out_order={order})
    cuda_convolved((1, 2, 2, 3), (1, 2, 2, 2))
    cuda_convolved((1, 1, 2, 3), (2, 1, 2, 1), reverse=True)
    cuda_convolved((1, 1, 3, 2), (1, 1, 1, 2), out_order=(0, 1, 3, 2))
    """,
    "4.5": """
    convolution_layer("Conv1d", 2, 3, 2, {n})
    convolution_layer("Conv1d", 1, 2, 3, 5)
    convolution_layer("Conv2d", 2, 3, 2, 3, 4, 5)
    convolution_layer("Conv2d", 1, 2, 3, 3, 4, 4)
    image_scores(8, 2, 2)
    image_scores(8, 4, 1)
    sentence_scores(6, 2)
    sentence_scores(9, 1)
    learned: learned_images({bars})
    """,
    "5.1": """
    hot({ids}, 6)
    hot([1, {n}, 0], {n})
    hot([1, -{n}, 0], 9)
    looked_up_ids({texts}, 5, 3)
    looked_up_ids({texts}, 5, {n})
    embedded({texts}, 5, 4, 3)
    embedded({texts}, 6, 5, {n})
    """,
    "5.2": """
    plainly_normalized({x}, {x}, {x}, {x})
    plainly_normalized({x}, {x})
    normalized({cube})
    normalized({shape})
    gelu_of({x}, {x}, {x}, {d})
    gelu_of(0.0, 1{n}.0, -1{n}.0)
    """,
    "5.3": """
    mask_of({n})
    attended({cube})
    attended(({n}, 4, 3))
    head_columns({headed})
    heads_joined((4, 3, {n}), 2)
    heads_joined((6, 2, 3), 3)
    self_attended({headed})
    """,
    "5.4": """
    block_of({headed})
    scores_of({texts})
    scores_of({texts}, 2)
    about: surprise((2, 3, 5), {texts})
    about: surprise((1, 3, 6), [{ids}])
    pick([{x}, {x}, {x}, {x}], {p}, 0.{n})
    pick([{x}, {x}, {x}, {x}], {p}, 0.0{n})
    pick([{x}, {x}, {x}, {x}], {p}, 0.9{n})
    pick([{x}, {x}], 0.{n}, 0.5)
    written({ids}, {n}, {p})
    written([4, 3, 2, 1, 0, 2], {n}, 0.{n})
    """,
    "5.5": """
    upper_of_ids("TextEmbedding", (5, 4, 3), {texts})
    upper("CausalSelfAttention", (4, 2), ({n}, 3, 4))
    upper("CausalSelfAttention", (6, 3), (2, 2, 6))
    upper("Block", (4, 2), (2, {n}, 4))
    upper_of_ids("GPT", (5, 4, 4, 2, 2), {texts})
    carried({texts})
    steps_of_training({texts}, {texts}, {p})
    upper_written({ids}, {n}, {p})
    upper_written([4, 3, 2, 1, 0, 2], {n}, 0.{n})
    """,
}
