"""Two of the training steps of `torch_steps.py` as JAX compiles them: forward, gradients and update in one `jit`.

Weights and data are those of a PyTorch model, so that losses can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax  # pyright: ignore[reportMissingImports]
import jax.numpy as jnp  # pyright: ignore[reportMissingImports]

Weights = list[Any]


def mlp(weights: Weights, x: Any, y: Any) -> Callable[[], float]:
    """2-100-100-1, SGD."""

    def loss_of(weights: Weights) -> Any:
        h = x
        for i in range(0, 6, 2):
            h = h @ weights[i].T + weights[i + 1]
            h = jax.nn.relu(h) if i < 4 else h
        return jnp.mean(jnp.maximum(h, 0) - h * y + jnp.log1p(jnp.exp(-jnp.abs(h))))

    def step(weights: Weights, state: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(weights)
        return [w - 0.05 * g for w, g in zip(weights, gradients, strict=True)], state, loss

    return _played(step, weights, ())


def gpt(weights: Weights, x: Any, y: Any) -> Callable[[], float]:
    """Four layers, 128 wide, 4 heads, AdamW."""
    heads, layers = 4, 4

    def norm(h: Any, weight: Any, bias: Any) -> Any:
        mean = h.mean(-1, keepdims=True)
        return (h - mean) / jnp.sqrt(((h - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * weight + bias  # fmt: skip

    def attend(h: Any, qkv: Any, qkv_bias: Any, out: Any, out_bias: Any) -> Any:
        b, t, c = h.shape
        parts = jnp.split(h @ qkv.T + qkv_bias, 3, axis=2)
        q, k, v = (p.reshape(b, t, heads, c // heads).transpose(0, 2, 1, 3) for p in parts)
        scores = q @ k.transpose(0, 1, 3, 2) / (c // heads) ** 0.5  # (B, H, T, T)
        scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -jnp.inf)
        mixed = (jax.nn.softmax(scores, axis=-1) @ v).transpose(0, 2, 1, 3).reshape(b, t, c)
        return mixed @ out.T + out_bias

    def loss_of(weights: Weights) -> Any:
        h = weights[0][x] + weights[1][jnp.arange(x.shape[1])]
        for layer in range(layers):
            own = weights[2 + 12 * layer : 14 + 12 * layer]
            h = h + attend(norm(h, *own[:2]), *own[4:8])
            wide = jax.nn.gelu(norm(h, *own[2:4]) @ own[8].T + own[9], approximate=False)
            h = h + wide @ own[10].T + own[11]
        logits = norm(h, *weights[-3:-1]) @ weights[-1].T
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits, axis=-1), y[..., None], axis=-1)
        return -jnp.mean(chosen)

    def step(weights: Weights, state: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(weights)
        count, first, second = state[0] + 1, [], []
        made = []
        for w, g, m, v in zip(weights, gradients, state[1], state[2], strict=True):
            first.append(0.9 * m + 0.1 * g)
            second.append(0.999 * v + 0.001 * g * g)
            root = jnp.sqrt(second[-1] / (1 - 0.999**count)) + 1e-8
            made.append(w * (1 - 1e-3 * 0.01) - 1e-3 * first[-1] / (1 - 0.9**count) / root)
        return made, (count, first, second), loss

    zeros = [jnp.zeros_like(w) for w in weights]
    return _played(step, weights, (jnp.zeros(()), zeros, [z + 0 for z in zeros]))


MODELS = {"MLP 2-100-100-1": mlp, "GPT": gpt}


def prepared(name: str, step: Any) -> Callable[[], float]:
    """JAX's form of a step of PyTorch's that was not taken yet."""
    train = step.args[0]
    weights = [jnp.array(p.detach().numpy()) for p in train.parts[0].param_groups[0]["params"]]
    return MODELS[name](weights, *(jnp.array(t.numpy()) for t in train.data))


def _played(step: Any, weights: Weights, state: Any) -> Callable[[], float]:
    compiled = jax.jit(step, donate_argnums=(0, 1))

    def call() -> float:
        nonlocal weights, state
        weights, state, loss = compiled(weights, state)
        return float(loss)

    return call
