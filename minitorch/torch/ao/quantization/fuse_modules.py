"""Layers that follow each other as one, so that they are quantized as one."""

from __future__ import annotations

import copy
from typing import Any

from ... import nn
from ...nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from ..nn import intrinsic

_CONVOLUTIONS = {nn.Conv1d: (1, nn.BatchNorm1d), nn.Conv2d: (2, nn.BatchNorm2d), nn.Conv3d: (3, nn.BatchNorm3d)}  # fmt: skip


def fuse_modules(
    model: Any, modules_to_fuse: Any, inplace: bool = False, fuser_func: Any = None, fuse_custom_config_dict: Any = None
) -> Any:  # fmt: skip
    """A copy of a network with some of its layers fused: the first of them is all, the others are identities.

    Args:
        model: in evaluation; `fuse_modules_qat` is for training
        modules_to_fuse: names of layers in order, or a list of such lists: a convolution or a linear layer, batch norm, ReLU
        inplace: change the network itself
        fuser_func: of a list of layers and whether it is for training, the layers in their place; None: the usual
        fuse_custom_config_dict: unused
    """
    return _fused(model, modules_to_fuse, False, inplace, fuser_func)


def fuse_modules_qat(model: Any, modules_to_fuse: Any, inplace: bool = False, fuser_func: Any = None, fuse_custom_config_dict: Any = None) -> Any:  # fmt: skip
    """The same for training: batch norm stays a layer of its own within."""
    return _fused(model, modules_to_fuse, True, inplace, fuser_func)


def _fused(model: Any, names: Any, is_qat: bool, inplace: bool, fuse: Any) -> Any:
    model = model if inplace else copy.deepcopy(model)
    for group in [names] if all(isinstance(n, str) for n in names) else names:
        places = [name.rpartition(".") for name in group]
        layers = [model.get_submodule(name) for name in group]
        for (parent, _, name), layer in zip(
            places, (fuse or fuse_known_modules)(layers, is_qat), strict=True
        ):
            setattr(model.get_submodule(parent), name, layer)
    return model


def fuse_known_modules(layers: list[Any], is_qat: bool, *_: Any) -> list[Any]:
    """One fused layer, and identities for the others."""
    fused = _one(layers, is_qat)
    for hook in layers[0]._forward_pre_hooks.values():
        fused.register_forward_pre_hook(hook)
    for hook in layers[-1]._forward_hooks.values():
        fused.register_forward_hook(hook)
    layers[0]._forward_pre_hooks.clear()
    layers[-1]._forward_hooks.clear()
    return [fused, *(nn.Identity().train(layers[0].training) for _ in layers[1:])]


def _one(layers: list[Any], is_qat: bool) -> Any:
    first, *rest = layers
    dims, norm = _CONVOLUTIONS.get(type(first), (0, nn.BatchNorm1d))
    has_relu = bool(rest) and type(rest[-1]) is nn.ReLU
    middle = rest[:-1] if has_relu else rest
    known = dims or type(first) is nn.Linear
    if not known or not rest or [type(m) for m in middle] not in ([], [norm]):
        raise NotImplementedError(f"Cannot fuse modules: {tuple(type(m) for m in layers)}")
    if len({m.training for m in layers}) > 1:
        raise AssertionError("all modules to be fused must be in the same mode: train or eval")
    if middle and is_qat and dims:
        return getattr(intrinsic, f"ConvBn{'ReLU' * has_relu}{dims}d")(*layers).train(first.training)  # fmt: skip
    if middle:
        first = (fuse_conv_bn_eval if dims else fuse_linear_bn_eval)(first, middle[0])
    if not has_relu:
        return first
    cls = getattr(intrinsic, f"ConvReLU{dims}d") if dims else intrinsic.LinearReLU
    return cls(first, rest[-1]).train(first.training)
