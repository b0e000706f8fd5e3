"""The update of one element by each algorithm: the bodies of the optimizers' kernels.

Each takes a namespace of functions `xp`, the parameter `p`, its gradient `g`, the state of the
element, and the scalars of this step; it returns the new `p` and the new state. With NumPy as `xp`
the same functions work on whole arrays (small parameters) and, compiled, on single numbers (in
kernels), with equal results; with the functions of tensors they are recorded by autograd.

Common scalars:

* `sign`: -1 where the optimizer maximizes, else 1
* `decay`: weight decay that is added to the gradient; if it is 0, p is ignored, since it may be infinite
* `keep`: the factor of decoupled weight decay, by which the parameter is multiplied
"""

from __future__ import annotations

from typing import Any

Number = Any
"""A number, or an array of them."""


def sgd(xp: Any, p: Number, g: Number, lr: Number, decay: Number, sign: Number) -> tuple[Number]:
    """Gradient descent."""
    return (p - lr * (sign * g + decay * p) if decay != 0 else p - lr * sign * g,)


def momentum(
    xp: Any, p: Number, g: Number, velocity: Number,
    lr: Number, decay: Number, sign: Number, old: Number, new: Number, ahead: Number,
) -> tuple[Number, Number]:  # fmt: skip
    """Gradient descent with momentum; `ahead` is not 0 for Nesterov momentum."""
    g = sign * g + (decay * p if decay != 0 else decay)
    velocity = old * velocity + new * g
    return p - lr * (g + ahead * velocity if ahead != 0 else velocity), velocity


def adam(
    xp: Any, p: Number, g: Number, mean: Number, square: Number,
    lr: Number, decay: Number, keep: Number, sign: Number,
    new1: Number, beta2: Number, new2: Number, root: Number, eps: Number,
) -> tuple[Number, Number, Number]:  # fmt: skip
    """The mean gradient divided by its root mean square; `root` corrects the latter's bias."""
    g = sign * g + (decay * p if decay != 0 else decay)
    mean = mean + new1 * (g - mean)
    square = beta2 * square + new2 * g * g
    return keep * p - lr * mean / (xp.sqrt(square) / root + eps), mean, square


def amsgrad(
    xp: Any, p: Number, g: Number, mean: Number, square: Number, largest: Number,
    lr: Number, decay: Number, keep: Number, sign: Number,
    new1: Number, beta2: Number, new2: Number, root: Number, eps: Number,
) -> tuple[Number, Number, Number, Number]:  # fmt: skip
    """Adam with the largest mean square so far."""
    g = sign * g + (decay * p if decay != 0 else decay)
    mean = mean + new1 * (g - mean)
    square = beta2 * square + new2 * g * g
    largest = xp.maximum(largest, square)
    return keep * p - lr * mean / (xp.sqrt(largest) / root + eps), mean, square, largest


def adamax(
    xp: Any, p: Number, g: Number, mean: Number, norm: Number,
    lr: Number, decay: Number, sign: Number, new1: Number, beta2: Number, eps: Number,
) -> tuple[Number, Number, Number]:  # fmt: skip
    """Adam with the largest recent gradient in place of the root mean square."""
    g = sign * g + (decay * p if decay != 0 else decay)
    mean = mean + new1 * (g - mean)
    norm = xp.maximum(beta2 * norm, xp.abs(g) + eps)
    return p - lr * mean / norm, mean, norm


def nadam(
    xp: Any, p: Number, g: Number, mean: Number, square: Number,
    here: Number, ahead: Number, decay: Number, keep: Number, sign: Number,
    new1: Number, beta2: Number, new2: Number, correction: Number, eps: Number,
) -> tuple[Number, Number, Number]:  # fmt: skip
    """Adam with Nesterov momentum."""
    g = sign * g + (decay * p if decay != 0 else decay)
    mean = mean + new1 * (g - mean)
    square = beta2 * square + new2 * g * g
    unit = xp.sqrt(square / correction) + eps
    return keep * p - here * g / unit - ahead * mean / unit, mean, square


def radam(
    xp: Any, p: Number, g: Number, mean: Number, square: Number,
    lr: Number, decay: Number, keep: Number, sign: Number, new1: Number, beta2: Number,
    new2: Number, correction: Number, adaptive: Number, plain: Number, eps: Number,
) -> tuple[Number, Number, Number]:  # fmt: skip
    """Adam with a rectified adaptive rate."""
    g = sign * g + (decay * p if decay != 0 else decay)
    mean = mean + new1 * (g - mean)
    square = beta2 * square + new2 * g * g
    scale = adaptive / (xp.sqrt(square) + eps) + plain
    return keep * p - mean / correction * lr * scale, mean, square


def adagrad(
    xp: Any,
    p: Number,
    g: Number,
    total: Number,
    lr: Number,
    decay: Number,
    sign: Number,
    eps: Number,
) -> tuple[Number, Number]:
    """The gradient divided by the root of the sum of all squares so far."""
    g = sign * g + (decay * p if decay != 0 else decay)
    total = total + g * g
    return p - lr * g / (xp.sqrt(total) + eps), total


def adadelta(
    xp: Any, p: Number, g: Number, square: Number, moved: Number,
    lr: Number, decay: Number, sign: Number, rho: Number, new: Number, eps: Number,
) -> tuple[Number, Number, Number]:  # fmt: skip
    """The gradient times the ratio of the RMS of past steps to that of gradients."""
    g = sign * g + (decay * p if decay != 0 else decay)
    square = rho * square + new * g * g
    delta = xp.sqrt(moved + eps) / xp.sqrt(square + eps) * g
    return p - lr * delta, square, rho * moved + new * delta * delta


def rmsprop(
    xp: Any, p: Number, g: Number, square: Number,
    lr: Number, decay: Number, sign: Number, alpha: Number, new: Number, eps: Number,
) -> tuple[Number, Number]:  # fmt: skip
    """The gradient divided by its root mean square."""
    g = sign * g + (decay * p if decay != 0 else decay)
    square = alpha * square + new * g * g
    return p - lr * g / (xp.sqrt(square) + eps), square


def rmsprop_centered(
    xp: Any, p: Number, g: Number, square: Number, mean: Number,
    lr: Number, decay: Number, sign: Number, alpha: Number, new: Number, eps: Number,
) -> tuple[Number, Number, Number]:  # fmt: skip
    """The gradient divided by its standard deviation."""
    g = sign * g + (decay * p if decay != 0 else decay)
    square = alpha * square + new * g * g
    mean = mean + new * (g - mean)
    return p - lr * g / (xp.sqrt(square - mean * mean) + eps), square, mean


def rmsprop_momentum(
    xp: Any, p: Number, g: Number, square: Number, velocity: Number,
    lr: Number, decay: Number, sign: Number, alpha: Number, new: Number, eps: Number, old: Number,
) -> tuple[Number, Number, Number]:  # fmt: skip
    """RMSprop with momentum."""
    g = sign * g + (decay * p if decay != 0 else decay)
    square = alpha * square + new * g * g
    velocity = old * velocity + g / (xp.sqrt(square) + eps)
    return p - lr * velocity, square, velocity


def rmsprop_centered_momentum(
    xp: Any, p: Number, g: Number, square: Number, velocity: Number, mean: Number,
    lr: Number, decay: Number, sign: Number, alpha: Number, new: Number, eps: Number, old: Number,
) -> tuple[Number, Number, Number, Number]:  # fmt: skip
    """Centered RMSprop with momentum."""
    g = sign * g + (decay * p if decay != 0 else decay)
    square = alpha * square + new * g * g
    mean = mean + new * (g - mean)
    velocity = old * velocity + g / (xp.sqrt(square - mean * mean) + eps)
    return p - lr * velocity, square, velocity, mean


def rprop(
    xp: Any, p: Number, g: Number, before: Number, size: Number,
    sign: Number, shrink: Number, grow: Number, smallest: Number, largest: Number, one: Number,
) -> tuple[Number, Number, Number]:  # fmt: skip
    """A step size per element, which grows while the gradient keeps its sign, and shrinks when it changes."""
    g = sign * g
    up, down = one * (g * before > 0), one * (g * before < 0)
    size = size * (up * grow + down * shrink + (one - up - down))
    size = xp.where(size < smallest, smallest, xp.where(size > largest, largest, size))
    g = g * (one - down)
    return p - (one * (g > 0) - one * (g < 0)) * size, g, size


def asgd(
    xp: Any, p: Number, g: Number, average: Number,
    eta: Number, decay: Number, keep: Number, sign: Number, old: Number, new: Number,
) -> tuple[Number, Number]:  # fmt: skip
    """SGD, and an average of the parameters."""
    g = sign * g + (decay * p if decay != 0 else decay)
    p = keep * p - eta * g
    return p, old * average + new * p
