"""Small questions to a library, whose answers tell known mistakes apart.

A case is an expression, shown to the student as it stands; its answer is a text. Answers of the
right library and of each wrong one are kept in `signatures.json`. What is here must not depend
on which of several right ways a student chose.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from drivers import names, text

CASES: dict[str, str] = {
    "0.1": """
        sigmoid(2.0)
        sigmoid(-2.0)
        sigmoid(-1000.0)
        called_by(sigmoid)
        relu(-2.0)
        relu(2.0)
        relu_back(0.0, 3.0)
        relu_back(2.0, 0.37)
        relu_back(2.0, -3.0)
        relu_back(-2.0, 3.0)
        inv_back(4.0, 3.0)
        inv_back(2.0, 1.0)
        log(0.0)
        log(2.0)
        log_back(2.0, 1.0)
        log_back(2.0, 0.37)
        log_back(0.0, 3.0)
        is_close(1.0, 1.005)
        is_close(1.0, 5.0)
        is_close(5.0, 1.0)
        is_close(1.0, 1.05)
        eq(1.0, 1.0)
        eq(1.0, 1.005)
        lt(1.0, 1.0)
        lt(1.0, 2.0)
        lt(2.0, 1.0)
        id(3.0)
        max(-3.0, 2.0)
        sigmoid(1000.0)
        max(2.0, 3.0)
        max(3.0, 2.0)
        add(2.0, 3.0)
        inv(4.0)
        mul(2.0, 3.0)
        neg(2.0)
    """,
    "0.2": """
        noticed("mul", "x, y", "x + y")
        noticed("add", "x, y", "x - y")
        noticed("neg", "x", "x")
        noticed("inv", "x", "-x")
        noticed("lt", "x, y", "1.0 if x <= y else 0.0")
        noticed("eq", "x, y", "1.0 if abs(x - y) < 0.01 else 0.0")
        noticed("max", "x, y", "x if x < y else y")
        noticed("is_close", "x, y", "1.0 if abs(x - y) < 0.1 else 0.0")
        noticed("sigmoid", "x", "1 / (1 + math.exp(x))")
        noticed("sigmoid", "x", "0.5")
        noticed("sigmoid", "x", "0.5 + 0.5 * math.tanh(x / 2)")
        noticed("relu", "x", "abs(x)")
        noticed("relu_back", "x, d", "d")
        false_alarms()
    """,
    "0.3": """
        zipWith(lt)([1.0, 5.0], [2.0, 3.0])
        zipWith(mul)([1.0, 2.0], [10.0, 20.0])
        reduce(add, 7.0)([1.0, 2.0])
        reduce(minus, 10.0)([1.0, 2.0])
        prod([2.0, 3.0])
        sum([2.0, 3.0])
        addLists([3.0, 2.0], [10.0, 20.0])
        map(neg)([1.0, 2.0])
        prod([2.0, 4.0])
        negList([2.0, -4.0])
    """,
    "0.4": """
        modes_after_eval(tree())
        names(tree())
        len(tree().parameters())
        type(tree().parameters()[0]).__name__
        tree().nothing
        type(tree().add_parameter("q", 1.0)).__name__
        names(replaced())
        asked_for_gradient()
    """,
    "0.5": """
        by_hand(2.0, 3.0, -1.0, [(0.2, 0.1), (0.0, 0.0)])
        sides("Simple", [(0.2, 0.3), (0.8, 0.3)])
        sides("Diag", [(0.1, 0.1), (0.4, 0.4), (0.6, 0.6)])
    """,
    "1.1": """
        central_difference(cube, 2.0, epsilon=0.5)
        central_difference(square, 3.0)
        central_difference(hundreds, 1.0, 2.0, arg=0)
        central_difference(hundreds, 1.0, 2.0, arg=1)
    """,
    "1.2": """
        (5.0 - Scalar(2.0)).data
        (Scalar(5.0) - 2.0).data
        (6.0 / Scalar(2.0)).data
        (Scalar(3.0) > 2.0).data
        (Scalar(1.0) > 2.0).data
        Scalar(1.0, name="x").name == "x"
        constant_scalar().is_constant()
        last_function(Scalar(1.0).exp())
        Scalar(2.0).log().data
        (Scalar(2.0) == 2.0).data
        (Scalar(2.0) == 3.0).data
        (Scalar(2.0) < 3.0).data
        (Scalar(2.0) * 3.0).data
        (-Scalar(2.0)).data
        Scalar(0.0).sigmoid().data
        Scalar(-2.0).relu().data
    """,
    "1.3": """
        chain_rule_of_two(1.0)
        chain_rule_of_two(0.37)
        chain_rule_with_a_constant(1.0)
    """,
    "1.4": """
        order_problems(diamond())
        order_problems(ladder())
        order_problems(with_constant())
        order_problems(deep(20_000))
        derivatives(diamond(), 1.0)
        derivatives(line(), 0.37)
        derivative_in_pairs()
        derivative_after_two_backwards()
        scalar_back("Sigmoid", 1.0, 0.4)
        scalar_back("Sigmoid", 0.37, 0.4)
        scalar_back("Mul", 1.0, 2.0, 3.0)
        scalar_back("Mul", 0.37, 2.0, 3.0)
        scalar_back("Exp", 0.37, 0.4)
        scalar_back("Neg", 0.37, 0.4)
        scalar_back("Log", 0.37, 2.0)
        scalar_back("Inv", 0.37, 2.0)
        scalar_back("ReLU", 0.37, -2.0)
        scalar_back("ReLU", 0.37, 0.0)
        derivatives_of_equal_values()
        scalar_back("LT", 0.37, 1.0, 2.0)
        scalar_back("Add", 0.37, 1.0, 2.0)
        scalar_back("EQ", 0.37, 1.0, 2.0)
    """,
    "1.5": """
        layer_of("scalar", 2, 3, 1.0, 2.0)
        network_of("scalar", 4, (-4.0, 2.0))
        network_of("scalar", 3, (0.1, 0.2))
    """,
    "2.1": """
        index_of(4, (2, 3))
        index_of(17, (2, 3, 4))
        position((1, 2), (3, 1))
        position((1, 2, 9, 9), (3, 1))
        elements(counted(2, 3).permute(1, 0))
        counted(2, 3).permute(1, 0).strides
        counted(2, 3, 4).permute(2, 0, 1).strides
        counted(2, 3).index((-1, 0))
        counted(2, 3).index((2, 0))
    """,
    "2.2": """
        broadcast((4, 1, 2), (5, 2, 3), (1, 3))
        broadcast((1, 2), (2, 3), (3,))
        broadcast((1, 2), (2, 3), (2, 1))
        shape_broadcast((2, 3), (3, 1))
        shape_broadcast((1,), (5, 5))
        shape_broadcast((5, 5), (1,))
        shape_broadcast((2, 3), (2,))
        shape_broadcast((0,), (1,))
        type(shape_broadcast((2, 3), (3,))).__name__
    """,
    "2.3": """
        mapped((2, 3), (3,))
        mapped((2, 3), (2, 3))
        mapped((2, 3), (2, 3), out_order=(1, 0))
        mapped((2, 3), (2, 3), in_order=(1, 0))
        zipped((2, 3), (2, 3), (2, 3))
        zipped((2, 3), (2, 1), (3,))
        zipped((2, 3), (2, 3), (2, 3), b_order=(1, 0))
        zipped((2, 3), (2, 3), (2, 3), out_order=(1, 0))
        reduced((2, 3), 1, start=0.0)
        reduced((2, 3), 0, start=100.0)
        reduced((2, 3), 1, start=0.0, in_order=(1, 0))
        reduced((2, 3, 2), 1, start=0.0, out_order=(2, 1, 0))
        numbers(tensor([1.0, 2.0]).is_close(tensor([1.005, 3.0])))
        numbers(tensor([1.0, 2.0]) < tensor([2.0, 1.0]))
        numbers(tensor([3.0, 1.0]) > 2.0)
        numbers(tensor([2.0, 3.0]).all(0))
        tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).permute(1, 0).view(6).shape
        numbers(tensor([[1.0, 2.0], [3.0, 4.0]]).mean(0))
        numbers(tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 9.0]]).mean(1))
        tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 9.0]]).sum(1).shape
        constant_tensor().is_constant()
        mapped((2, 3), (3,), out_order=(1, 0))
        zipped((2, 3), (3,), (2, 1))
        numbers(tensor([2.0, 3.0]) * tensor([4.0, 5.0]))
        numbers(tensor([5.0]) - 2.0)
        numbers(tensor([0.0]).sigmoid())
        numbers(tensor([-2.0, 2.0]).relu())
        numbers(tensor([2.0]).log())
        numbers(tensor([2.0, 5.0]).sum(0))
        numbers(tensor([[1.0, 2.0], [3.0, 4.0]]).sum())
        numbers(tensor([1.0, 2.0]) == tensor([1.0, 3.0]))
    """,
    "2.4": """
        tensor_back("Sigmoid", 1.0, [0.4])
        tensor_back("Sigmoid", 0.37, [0.4])
        tensor_back("Mul", 0.37, [2.0], [3.0])
        tensor_back("Exp", 0.37, [0.4])
        tensor_back("Exp", 1.0, [0.4])
        tensor_back("Log", 0.37, [2.0])
        tensor_back("Inv", 0.37, [2.0])
        tensor_back("ReLU", 0.37, [-2.0, 2.0])
        tensor_back("ReLU", -0.37, [-2.0, 2.0])
        tensor_back("ReLU", 0.37, [0.0])
        tensor_back("Neg", 0.37, [2.0])
        tensor_back("LT", 0.37, [1.0], [2.0])
        tensor_back("EQ", 0.37, [1.0], [2.0])
        permute_back((2, 3, 4), (2, 0, 1))
        permute_back((2, 3), (1, 0))
        view_back()
        sum_back()
        gradient_of_two_uses()
        gradient_is_its_own_tensor()
        constant_among_inputs()
        summed_where_copied()
    """,
    "2.5": """
        layer_of("tensor", 2, 3, 1.0, 2.0)
        network_of("tensor", 2, (-4.0, 2.0))
        network_of("tensor", 2, (0.1, 0.2))
    """,
    "3.1": """
        fast_mapped((2, 3), in_order=(1, 0))
        fast_mapped((2, 3))
        fast_mapped((4,), to=(2, 4))
        fast_mapped((2, 1), to=(2, 3))
        fast_zipped((2, 3), (2, 3), b_order=(1, 0))
        fast_zipped((2, 3), (2, 3))
        fast_zipped((2, 1), (3,))
        fast_zipped((3, 4), (4,))
        fast_reduced((2, 3), 1, start=100.0)
        fast_reduced((5, 2), 0, start=0.0)
        fast_reduced((2, 5), 1, start=0.0)
    """,
    "3.2": """
        product((2, 3), (3, 2))
        product((5, 4), (4, 7))
        product((2, 2, 3), (2, 3, 2))
        product((1, 2, 3), (2, 3, 2), right_order=(0, 2, 1))
        product((2, 2, 3), (3, 2), right_order=(1, 0))
        product_back((2, 3), (3, 3), (2, 3), 0)
        product_back((2, 3), (3, 3), (2, 3), 1)
    """,
    "3.3": """
        cuda_mapped((2, 3), out_order=(1, 0))
        cuda_zipped((2, 3), (2, 3), b_order=(1, 0))
        cuda_reduced((2, 3), 1, start=1.0)
        sums_of_32(40)
        sums_of_32(64)
    """,
    "3.4": """
        cuda_product(mm_practice, 3)
        cuda_product(matmul, 3)
    """,
    "3.5": """
        operations_of(3)
        network_of("fast", 2, (-4.0, 2.0))
    """,
    "4.1": """
        conv1d_of((1, 1, 4), (1, 1, 2))
        conv1d_of((2, 2, 3), (1, 2, 2))
        conv1d_back((1, 1, 4), (1, 1, 2), 0)
        conv1d_back((1, 2, 4), (3, 2, 2), 0)
        conv1d_back((3, 1, 4), (1, 1, 2), 1)
        conv1d_of((1, 2, 3), (2, 2, 2))
    """,
    "4.2": """
        conv2d_of((1, 1, 3, 3), (1, 1, 2, 2))
        conv2d_of((1, 1, 3, 3), (1, 1, 2, 1))
        conv2d_of((1, 1, 1, 3), (1, 1, 1, 2))
        conv2d_of((2, 2, 2, 3), (1, 2, 2, 2))
        conv2d_back((1, 1, 2, 3), (1, 1, 1, 2), 0)
    """,
    "4.3": """
        tiled((1, 1, 4, 4), (2, 2))
        tiled((1, 1, 2, 4), (1, 2))
        tile_sizes((1, 1, 2, 6), (2, 2))
        averaged((1, 1, 2, 2), (2, 2))
        averaged((1, 1, 4, 4), (2, 2))
        averaged((1, 1, 2, 6), (2, 3))
    """,
    "4.4": """
        numbers(nn.argmax(tensor([1.0, 3.0, 3.0]), 0))
        max_back(1.0)
        max_back(0.37)
        numbers(nn.softmax(tensor([1.0, 2.0]), 0))
        numbers(nn.softmax(tensor([1000.0, 1000.0]), 0))
        numbers(nn.softmax(tensor([[1.0, 1.0], [1.0, 1.0]]), 1))
        numbers(nn.logsoftmax(tensor([1.0, 2.0]), 0))
        nn.logsoftmax(tensor([1000.0, 0.0]), 0)[1]
        numbers(nn.softmax(tensor([[1.0, 2.0], [1.0, 2.0]]), 1))
        kept(rate=0.1)
        kept(rate=1.0)
        largest_kept(rate=0.5)
        numbers(nn.dropout(tensor([1.0, 2.0]), 1.0, ignore=True))
        rows_differ()
        numbers(nn.maxpool2d(ramp(1, 1, 2, 2), (2, 2)))
    """,
    "4.4b": """
        cuda_convolved((1, 1, 4), (1, 1, 2))
        cuda_convolved((1, 2, 3), (1, 2, 1))
        cuda_convolved((1, 1, 4), (1, 1, 2), reverse=True)
        cuda_convolved((1, 1, 2, 3), (1, 1, 2, 2))
        cuda_convolved((1, 1, 2, 3), (1, 1, 2, 2), reverse=True)
        cuda_convolved((1, 1, 2, 3), (1, 1, 1, 2), out_order=(0, 1, 3, 2))
    """,
    "4.5": """
        convolution_layer("Conv1d", 1, 2, 2, 3)
        convolution_layer("Conv2d", 1, 2, 2, 2, 2, 3)
        image_scores(8, 4, 1)
        sentence_scores(6, 2)
    """,
    "5.1": """
        hot([2, 0], 3)
        hot([0, -1], 3)
        hot([3], 3)
        looked_up_ids([[1, 2, 1]], 3, 2)
        looked_up_ids([[2, 0], [1, 1], [0, 2]], 3, 2)
        embedded([[1, 2], [2, 0]], 3, 3, 2)
        embedded([[1, 2, 0]], 3, 3, 2)
    """,
    "5.2": """
        plainly_normalized(1.0, 2.0, 6.0)
        plainly_normalized(0.01, 0.02, 0.06)
        normalized((2, 3))
        normalized((2, 2, 3))
        gelu_of(0.0, 1.0, -2.0)
    """,
    "5.3": """
        mask_of(3)
        attended((1, 3, 2))
        attended((2, 2, 4))
        head_columns((1, 2, 4), 2)
        heads_joined((2, 2, 2), 2)
        self_attended((1, 3, 4), 2)
    """,
    "5.4": """
        block_of((1, 2, 4), 2)
        scores_of([[1, 3, 0]])
        surprise((1, 2, 3), [[2, 0]])
        surprise((2, 2, 3), [[2, 0], [1, 1]])
        pick([0.0, 1.0, 2.0], 1.0, 0.2)
        pick([0.0, 1.0, 2.0], 1.0, 0.3)
        pick([0.0, 1.0, 2.0], 1.0, 0.05)
        pick([0.0, 1.0, 2.0], 0.5, 0.13)
        pick([0.0, 1.0, 2.0], 0.5, 0.9)
        pick([0.0, 1.0, 2.0], 2.0, 0.18)
        pick([0.0, 1.0, 2.0], 2.0, 0.6)
        written([1, 3], 3, 1.0)
        written([3, 1, 4], 1, 0.1)
        written([0, 2, 4], 1, 0.1)
        written([2, 3, 1], 1, 0.1)
        written([4, 3, 2, 1, 0, 2], 6, 0.3)
    """,
    "5.5": """
        upper_of_ids("TextEmbedding", (3, 3, 2), [[1, 2], [2, 0]])
        upper("CausalSelfAttention", (4, 2), (1, 3, 4))
        upper("Block", (4, 2), (1, 2, 4))
        upper_of_ids("GPT", (5, 4, 4, 2, 1), [[1, 3, 0]])
        carried([[1, 3, 0]])
        steps_of_training([[1, 3, 0]], [[3, 0, 2]], 0.5)
        upper_written([1, 3], 4, 1.0)
        upper_written([4, 3, 2, 1, 0, 2], 6, 0.3)
    """,
}


def run(task: str) -> dict[str, str]:
    """The answers to all cases of a task."""
    known = names()
    answers = {}
    for line in CASES.get(task, "").split("\n"):
        if case := line.strip():
            random.seed(0)
            np.random.seed(0)  # noqa: NPY002
            answers[case] = _answer(case, known)
    return answers


def _answer(case: str, known: dict[str, Any]) -> str:
    try:
        return text(eval(case, dict(known)))  # our own cases, written above
    except RecursionError:
        return "RecursionError"
    except Exception as error:
        return f"{type(error).__name__}"
