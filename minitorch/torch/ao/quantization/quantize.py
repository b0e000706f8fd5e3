"""From a network to a quantized one: observers in (`prepare`), numbers through them, whole numbers instead (`convert`)."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from ... import dtypes, nn
from ...nn.modules.linear import NonDynamicallyQuantizableLinear
from ..nn import intrinsic, qat, quantized
from ..nn.intrinsic import qat as fused_qat
from ..nn.intrinsic import quantized as fused_quantized
from ..nn.quantized import dynamic
from .fake_quantize import FakeQuantizeBase
from .observer import ObserverBase
from .qconfig import default_dynamic_qconfig
from .stubs import DeQuantStub, QuantStub, QuantWrapper

STATIC: dict[Any, Any] = {
    QuantStub: quantized.Quantize,
    DeQuantStub: quantized.DeQuantize,
    nn.Dropout: quantized.Dropout,
    nn.Linear: quantized.Linear,
    NonDynamicallyQuantizableLinear: quantized.Linear,
    qat.Linear: quantized.Linear,
    quantized.FloatFunctional: quantized.QFunctional,
    intrinsic.LinearReLU: fused_quantized.LinearReLU,
    fused_qat.LinearReLU: fused_quantized.LinearReLU,
}
TRAINING: dict[Any, Any] = {
    nn.Linear: qat.Linear,
    NonDynamicallyQuantizableLinear: qat.Linear,
    intrinsic.LinearReLU: fused_qat.LinearReLU,
}
for _n in ("1d", "2d", "3d"):
    _plain, _fused = getattr(quantized, f"Conv{_n}"), getattr(fused_quantized, f"ConvReLU{_n}")
    STATIC |= {getattr(nn, f"Conv{_n}"): _plain, getattr(qat, f"Conv{_n}"): _plain, getattr(fused_qat, f"ConvBn{_n}"): _plain}  # fmt: skip
    STATIC |= {getattr(m, f"ConvReLU{_n}"): _fused for m in (intrinsic, fused_qat)}
    STATIC[getattr(fused_qat, f"ConvBnReLU{_n}")] = _fused
    TRAINING |= {getattr(intrinsic, f"{k}{_n}"): getattr(fused_qat, f"{k}{_n}") for k in ("ConvBn", "ConvBnReLU", "ConvReLU")}  # fmt: skip
    TRAINING[getattr(nn, f"Conv{_n}")] = getattr(qat, f"Conv{_n}")

DYNAMIC: dict[Any, Any] = {
    nn.Linear: dynamic.Linear,
    NonDynamicallyQuantizableLinear: dynamic.Linear,
    nn.LSTM: dynamic.LSTM,
}
_UNCHANGED = (nn.GRU, nn.LSTMCell, nn.GRUCell, nn.RNNCell, nn.Embedding, nn.EmbeddingBag)
"""Modules that PyTorch quantizes dynamically and this library does not."""


def get_default_static_quant_module_mappings() -> dict[Any, Any]:
    """Which class `convert` puts in place of which."""
    return dict(STATIC)


def get_default_qat_module_mappings() -> dict[Any, Any]:
    """Which class `prepare_qat` puts in place of which."""
    return dict(TRAINING)


def get_default_dynamic_quant_module_mappings() -> dict[Any, Any]:
    """Which class `quantize_dynamic` puts in place of which."""
    return dict(DYNAMIC)


def propagate_qconfig_(module: Any, qconfig_dict: dict[Any, Any] | None = None, _above: Any = None, _name: str = "") -> None:  # fmt: skip
    """Give each module the `qconfig` that it has, that its name or class has, or that of the module above it."""
    chosen = qconfig_dict or {}
    found = chosen.get(_name, chosen.get(type(module), _above))
    module.qconfig = getattr(module, "qconfig", found)
    for name, child in module.named_children():
        propagate_qconfig_(child, chosen, module.qconfig, f"{_name}.{name}" if _name else name)


def _observe(self: Any, input: Any, output: Any) -> Any:
    """A hook that shows a module's result to its observer."""
    return self.activation_post_process(output)


def _observe_input(self: Any, input: Any) -> Any:
    """A hook that shows a module's argument to its observer."""
    return self.activation_post_process(input[0])


def _add_observer(module: Any) -> None:
    """Let an observer look at the results of a module."""
    if module.qconfig is None or isinstance(module, DeQuantStub):
        return
    made = module.qconfig.activation()
    module.add_module("activation_post_process", made)
    if getattr(made, "is_dynamic", False):
        module.register_forward_pre_hook(_observe_input, prepend=True)
    else:
        module.register_forward_hook(_observe, prepend=True)


def _add_observers(module: Any, kinds: set[Any], whole: set[Any]) -> None:
    for child in module.children():
        if isinstance(child, (ObserverBase, FakeQuantizeBase, nn.Dropout)):
            continue
        if isinstance(child, quantized.FloatFunctional):
            if child.qconfig is not None:
                child.activation_post_process = child.qconfig.activation()
        elif isinstance(child, intrinsic._FusedModule) or type(child) in whole:
            _add_observer(child)
        else:
            _add_observers(child, kinds, whole)
    if not list(module.children()) and type(module) in kinds:
        _add_observer(module)


def prepare(
    model: Any, inplace: bool = False, allow_list: Any = None, observer_non_leaf_module_list: Any = None, prepare_custom_config_dict: Any = None
) -> Any:  # fmt: skip
    """A copy of a network with observers, as its `qconfig` and those of its modules say."""
    model = model if inplace else copy.deepcopy(model)
    propagate_qconfig_(model)
    if not any(m.qconfig for m in model.modules() if hasattr(m, "qconfig")):
        warnings.warn(
            "None of the submodule got qconfig applied. Make sure you passed correct configuration through `qconfig_dict` or "
            "by assigning the `.qconfig` attribute directly on submodules", stacklevel=2,
        )  # fmt: skip
    kinds = set(allow_list or (*STATIC, *TRAINING, *DYNAMIC))
    _add_observers(model, kinds, set(observer_non_leaf_module_list or ()))
    return model


def prepare_qat(model: Any, mapping: Any = None, inplace: bool = False) -> Any:
    """A copy of a network for training with rounded weights and results."""
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode")
    mapping = TRAINING if mapping is None else mapping
    model = model if inplace else copy.deepcopy(model)
    propagate_qconfig_(model)
    convert(model, mapping, inplace=True, remove_qconfig=False)
    return prepare(model, inplace=True, observer_non_leaf_module_list=set(mapping.values()))


def convert(
    module: Any, mapping: Any = None, inplace: bool = False, remove_qconfig: bool = True, is_reference: bool = False,
    convert_custom_config_dict: Any = None, use_precomputed_fake_quant: bool = False,
) -> Any:  # fmt: skip
    """A copy of a network with quantized modules in place of those that were observed."""
    if is_reference:
        raise NotImplementedError("convert: there are no reference modules here")
    module = module if inplace else copy.deepcopy(module)
    _convert(module, STATIC if mapping is None else mapping)
    if remove_qconfig:
        _remove_qconfig(module)
    return module


def _convert(module: Any, mapping: Any) -> None:
    for name, child in list(module.named_children()):
        if not isinstance(child, intrinsic._FusedModule):
            _convert(child, mapping)
        module._modules[name] = swap_module(child, mapping)


def swap_module(mod: Any, mapping: Any, *_: Any) -> Any:
    """The quantized module in place of one that has a `qconfig`."""
    if getattr(mod, "qconfig", None) is None or type(mod) not in mapping:
        return mod
    made = mapping[type(mod)].from_float(mod)
    for hook in mod._forward_pre_hooks.values():
        if hook is not _observe_input and hook not in made._forward_pre_hooks.values():
            made.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if hook is not _observe and hook not in made._forward_hooks.values():
            made.register_forward_hook(hook)
    return made


def _remove_qconfig(module: Any) -> None:
    for child in module.children():
        _remove_qconfig(child)
    if hasattr(module, "qconfig"):
        del module.qconfig
    if isinstance(
        getattr(module, "activation_post_process", None), (ObserverBase, FakeQuantizeBase)
    ):
        del module.activation_post_process
        for hooks, ours in (
            (module._forward_hooks, _observe),
            (module._forward_pre_hooks, _observe_input),
        ):
            for key in [k for k, hook in hooks.items() if hook is ours]:
                del hooks[key]


def quantize_dynamic(model: Any, qconfig_spec: Any = None, dtype: Any = dtypes.NAMES["qint8"], mapping: Any = None, inplace: bool = False) -> Any:  # fmt: skip
    """A copy of a network whose linear layers and LSTMs have quantized weights.

    Args:
        model: the network
        qconfig_spec: classes or names of modules, or a dict from them to their QConfig; None: all that can be
        dtype: qint8
        mapping: which class replaces which
        inplace: change the network itself
    """
    if dtype is not dtypes.NAMES["qint8"]:
        raise NotImplementedError(f"quantize_dynamic: weights can be torch.qint8, not {dtype}")
    spec = set(DYNAMIC) if qconfig_spec is None else qconfig_spec
    spec = dict.fromkeys(spec, default_dynamic_qconfig) if isinstance(spec, set) else spec
    missing = [kind.__name__ for kind in spec if kind in _UNCHANGED and kind not in (mapping or {})]
    if missing:
        raise NotImplementedError(
            f"quantize_dynamic: {', '.join(missing)} cannot be quantized here"
        )
    model = (model if inplace else copy.deepcopy(model)).eval()
    propagate_qconfig_(model, spec)
    return convert(model, DYNAMIC if mapping is None else mapping, inplace=True)


def quantize(
    model: Any, run_fn: Any, run_args: Any, mapping: Any = None, inplace: bool = False
) -> Any:
    """A copy of a network, quantized with what a function that runs it on data shows."""
    model = prepare((model if inplace else copy.deepcopy(model)).eval(), inplace=True)
    run_fn(model, *run_args)
    return convert(model, mapping, inplace=True)


def quantize_qat(model: Any, run_fn: Any, run_args: Any, inplace: bool = False) -> Any:
    """A copy of a network, trained by a function with rounded weights, and quantized."""
    model = prepare_qat((model if inplace else copy.deepcopy(model)).train(), inplace=True)
    run_fn(model, *run_args)
    return convert(model, inplace=True)


def add_quant_dequant(module: Any) -> Any:
    """A module whose leaves with a `qconfig` stand between stubs."""
    if not list(module.children()) and getattr(module, "qconfig", None):
        return QuantWrapper(module)
    for name, child in list(module.named_children()):
        module._modules[name] = add_quant_dequant(child)
    return module
