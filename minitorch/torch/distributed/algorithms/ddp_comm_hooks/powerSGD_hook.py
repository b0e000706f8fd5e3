"""Gradients of matrices exchanged as products of two narrow ones (PowerSGD, arXiv:1905.13727).

A matrix M (n x m) goes as P (n x r) and Q (m x r): one step of power iteration from the Q of the step before. What the
product misses is added to the next gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import random
from ....futures import Future
from ....ops.joining import stack
from ....ops.linalg.factorizations import qr
from ....ops.random import randn
from ....tensor import Tensor
from ... import collectives, world
from ...flat import flatten, unflatten
from .default_hooks import allreduce_hook


class PowerSGDState:
    """The choices, and what is remembered from step to step.

    Args:
        process_group: the ranks that take part; by default all
        matrix_approximation_rank: r, the columns of P and Q
        start_powerSGD_iter: how many steps are exchanged whole first
        min_compression_rate: a matrix is compressed if that saves so many times its size
        use_error_feedback: whether what was missed is added to the next gradient
        warm_start: whether Q goes on from that of the step before
        orthogonalization_epsilon: added to the norms of P's columns
        random_seed: of the first Q
    """

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1000,  # noqa: N803
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, "
                "because PowerSGD can only be applied after the first two iterations in DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter, self.iter = start_powerSGD_iter, 0
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.rng = np.random.RandomState(random_seed)  # the same on every rank
        self.error_dict: dict[int, Tensor] = {}
        self.q_memory_dict: dict[int, list[Tensor]] = {}

    def compresses(self, shape: tuple[int, int]) -> bool:
        """Whether a matrix is worth two narrow ones."""
        n, m = shape
        rank = min(n, m, self.matrix_approximation_rank)
        return (n + m) * rank * self.min_compression_rate < n * m

    def first_columns(self, shapes: list[tuple[int, int]]) -> list[Tensor]:
        """Random Qs, the same on every rank."""
        with random.fork_rng(devices=[]):
            random.manual_seed(int(self.rng.randint(1_000_000_000)))
            return [randn(m, min(n, m, self.matrix_approximation_rank)) for n, m in shapes]


def powerSGD_hook(state: PowerSGDState, bucket: Any) -> Any:  # noqa: N802
    """The average of a bucket: matrices as products of narrow ones, the rest as it is."""
    index, group = bucket.index(), state.process_group
    if state.iter < state.start_powerSGD_iter:
        state.iter += bucket.is_last()
        return allreduce_hook(group, bucket)
    buffer = bucket.buffer()
    if state.use_error_feedback and index in state.error_dict:
        buffer.add_(state.error_dict[index])
    before = buffer.clone()
    gradients = bucket.gradients()
    matrices, others = [], []
    for gradient in gradients:
        rows = gradient.view(gradient.shape[0], -1)
        fits = state.compresses((rows.shape[0], rows.shape[1]))
        (matrices if fits else others).append(rows if fits else gradient)
    shapes = [m.shape for m in matrices]
    matrices.sort(key=lambda m: shapes.index(m.shape))  # those of one shape follow each other
    _average(others, group)
    if matrices:
        _approximate(state, index, matrices)
    if state.use_error_feedback:
        state.error_dict[index] = before - buffer
    state.iter += bucket.is_last()
    done: Future[Tensor] = Future()
    done.set_result(buffer)
    return done


def _approximate(state: PowerSGDState, index: int, matrices: list[Any]) -> None:
    """Put into matrices the averages of their approximations."""
    group = state.process_group
    if index not in state.q_memory_dict or not state.warm_start:
        qs = state.first_columns([(m.shape[0], m.shape[1]) for m in matrices])
        state.q_memory_dict[index] = [q.to(matrices[0].dtype) for q in qs]
    qs = [_orthogonal(q, state.orthogonalization_epsilon) for q in state.q_memory_dict[index]]
    ps = [m @ q for m, q in zip(matrices, qs, strict=True)]
    _average(ps, group)
    ps = [_orthogonal(p, state.orthogonalization_epsilon) for p in ps]
    qs = [m.t() @ p for m, p in zip(matrices, ps, strict=True)]
    _average(qs, group)
    state.q_memory_dict[index] = qs
    for matrix, p, q in zip(matrices, ps, qs, strict=True):
        matrix.copy_(p @ q.t())


def _orthogonal(matrix: Tensor, epsilon: float) -> Tensor:
    """Columns of length 1 at right angles."""
    if not epsilon:
        return qr(matrix)[0]
    columns: list[Any] = []
    for i in range(matrix.shape[1]):
        column = matrix[:, i]
        for other in columns:
            column = column - (other * column).sum() * other
        columns.append(column / (column.norm() + epsilon))
    return stack(columns, 1)


def _average(tensors: list[Any], group: Any) -> None:
    """Average tensors over the ranks, in one message."""
    if not tensors:
        return
    flat = flatten(tensors)
    collectives.all_reduce(flat, group=group)
    unflatten(flat.div_(world.get_world_size(group)), tensors)
