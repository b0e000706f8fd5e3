"""Models by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...torch.nn import Module
from .weights import chosen

MODELS: dict[str, Callable[..., Module]] = {}
"""What makes each model."""

_WITH_WEIGHTS = {"googlenet": {"transform_input": True}, "inception_v3": {"transform_input": True}}
"""How models are made whose published weights want it so."""


def register(
    build: Callable[..., Module], name: str | None = None, doc: str | None = None
) -> Callable[..., Module]:
    """Offer a function that makes a model; it takes `weights` and `progress` as torchvision's do."""
    name = name or build.__name__

    def make(*, weights: Any = None, progress: bool = True, **kwargs: Any) -> Module:
        wanted = chosen(name, weights, kwargs.pop("pretrained", False))
        model = build(**{**(_WITH_WEIGHTS.get(name, {}) if wanted else {}), **kwargs})
        if wanted is not None:
            model.load_state_dict(wanted.get_state_dict())
        return model

    make.__name__ = make.__qualname__ = name
    make.__doc__, make.__module__ = doc or build.__doc__, build.__module__
    MODELS[name] = make
    return make


def list_models() -> list[str]:
    """The names of all models."""
    return sorted(MODELS)


def get_model_builder(name: str) -> Callable[..., Module]:
    """The function that makes a model."""
    try:
        return MODELS[name.lower()]
    except KeyError:
        raise ValueError(f"Unknown model {name}") from None


def get_model(name: str, **config: Any) -> Module:
    """A model by its name."""
    return get_model_builder(name)(**config)
