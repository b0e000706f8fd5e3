"""Every layer and loss against PyTorch's from one seed: parameters, text, state, outputs, gradients."""

from __future__ import annotations

import copy
import inspect
import io
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch as real

import minitorch.torch as ours
from minitorch.torch import nn

from .oracle import DEVICE, FUSED, compare_results, compare_tensors, leaves, numbers, to_ours


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Small layers take PyTorch longer on several threads."""
    before = real.get_num_threads()
    real.set_num_threads(1)
    yield
    real.set_num_threads(before)


# --- Inputs --------------------------------------------------------------------------------------


def randn(*shape: int) -> Any:
    """Normal numbers whose gradient counts."""
    return real.randn(shape).requires_grad_()


def unit(*shape: int) -> Any:
    """Numbers between 0 and 1."""
    return real.rand(shape).mul(0.9).add(0.05).requires_grad_()


def ints(high: int, *shape: int) -> Any:
    """Indices below a number."""
    return real.randint(high, shape)


def sign(*shape: int) -> Any:
    """1 or -1."""
    return real.randint(2, shape) * 2.0 - 1


def logs(*shape: int) -> Any:
    """Logarithms of probabilities, over the last dimension."""
    return real.randn(shape).log_softmax(-1).requires_grad_()


def places(*shape: int) -> Any:
    """Where a max pooling by 2 found its elements."""
    pool = getattr(real.nn.functional, f"max_pool{len(shape) - 2}d")
    return pool(real.randn(shape), 2, return_indices=True)[1]


ACTIVATIONS = """
Threshold(0.1, 2.0)|Threshold(0.1, 2.0, True)|ReLU()|ReLU(inplace=True)|RReLU()|RReLU(0.2, 0.4)|Hardtanh()
Hardtanh(-0.5, 0.7)|ReLU6()|ReLU6(True)|LeakyReLU()|LeakyReLU(0.2, inplace=True)|Hardsigmoid()|Hardswish()
Hardshrink()|Softshrink(0.3)|Sigmoid()|Tanh()|SiLU()|SiLU(True)|Mish()|ELU()|ELU(0.7, True)|CELU(1.3)|SELU()|GLU()
GLU(0)|GELU()|GELU('tanh')|LogSigmoid()|Softplus()|Softplus(2, 1)|Softsign()|Tanhshrink()|PReLU()|PReLU(3, 0.1)
Softmax(1)|LogSoftmax(-1)|Softmin(0)|Identity(54, unused=1)|Dropout()|Dropout(0.2, inplace=True)|AlphaDropout(0.3)
FeatureAlphaDropout(0.3)|Flatten()|Flatten(0, 1)|Unflatten(1, (1, 3))|LocalResponseNorm(2)
CircularPad1d(1)|CircularPad1d((1, 2))|ConstantPad1d(2, 3.5)|ConstantPad1d((3, 1), -1)|ZeroPad1d(2)|ReflectionPad1d(2)
ReplicationPad1d((2, 1))|InstanceNorm1d(3)|InstanceNorm1d(3, affine=True, track_running_stats=True)|GroupNorm(3, 3)
LayerNorm(6)|LayerNorm((3, 6), eps=1e-3)|LayerNorm([3, 6], elementwise_affine=False)|LayerNorm(6, bias=False)
RMSNorm(6)|RMSNorm((3, 6), 1e-5, False)|BatchNorm1d(3)|BatchNorm1d(3, momentum=None)|BatchNorm1d(3, affine=False)
BatchNorm1d(3, track_running_stats=False)|BatchNorm1d(3, 1e-3, 0.3, bias=False)|SyncBatchNorm(3)|LazyBatchNorm1d()
LazyInstanceNorm1d()|LazyLinear(5)|LazyLinear(5, bias=False)|Linear(6, 4)|Linear(6, 4, bias=False)|Dropout1d()
MaxPool1d(2)|MaxPool1d(3, 2, 1, return_indices=True)|MaxPool1d(3, 2, ceil_mode=True)|AvgPool1d(2)|AvgPool1d(3, 2, 1, True, False)
LPPool1d(2, 3)|LPPool1d(1.5, 2, stride=1)|AdaptiveMaxPool1d(4)|AdaptiveMaxPool1d(2, return_indices=True)|AdaptiveAvgPool1d(5)
Conv1d(3, 4, 3)|Conv1d(3, 6, 2, 2, 1, 2, 3, False)|Conv1d(3, 4, 3, padding='same')|Conv1d(3, 4, 3, padding=2, padding_mode='circular')
LazyConv1d(4, 3)|ConvTranspose1d(3, 4, 3)|ConvTranspose1d(3, 6, 3, 2, 1, 1, 3, True, 2)|LazyConvTranspose1d(4, 3, 2)
Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))|Upsample(scale_factor=2)|Upsample(9, mode='linear', align_corners=True)
"""  # fmt: skip
IMAGES = """
Conv2d(4, 6, 3)|Conv2d(4, 8, (3, 2), (2, 1), (1, 0), (1, 2), 2)|Conv2d(4, 4, 3, groups=4, bias=False)|Conv2d(4, 2, 5, padding='valid')
Conv2d(4, 6, 4, padding='same', padding_mode='reflect')|Conv2d(4, 2, 3, padding=1, padding_mode='replicate')|LazyConv2d(3, 2)
ConvTranspose2d(4, 6, 3)|ConvTranspose2d(4, 2, (3, 2), 2, 1, 1, 2, False)|LazyConvTranspose2d(2, 3)|MaxPool2d(2)
MaxPool2d((3, 2), 2, (1, 0))|MaxPool2d(2, 1, dilation=2, return_indices=True)|AvgPool2d(2)|AvgPool2d(3, 2, 1, divisor_override=4)
LPPool2d(2, 2)|AdaptiveMaxPool2d((3, None))|AdaptiveAvgPool2d(1)|AdaptiveAvgPool2d((2, 3))|FractionalMaxPool2d(2, output_size=3)
FractionalMaxPool2d(2, output_ratio=0.5, return_indices=True)|BatchNorm2d(4)|LazyBatchNorm2d()|InstanceNorm2d(4, affine=True)
LazyInstanceNorm2d()|GroupNorm(2, 4)|GroupNorm(2, 4, affine=False)|GroupNorm(4, 4, bias=False)|LocalResponseNorm(3, 0.1)
Softmax2d()|Dropout2d()|Dropout2d(0.3, True)|ZeroPad2d(1)|ZeroPad2d((1, 0, 2, 1))|ConstantPad2d(1, 2.5)|ReflectionPad2d(2)
ReplicationPad2d((1, 2, 0, 1))|CircularPad2d(1)|PixelShuffle(2)|PixelUnshuffle(3)|ChannelShuffle(2)|Unfold(2)|Unfold(3, 1, 1, 2)
Upsample((4, 9))|Upsample(scale_factor=(2, 0.5), mode='bilinear')|Upsample(scale_factor=2, mode='bicubic')|UpsamplingNearest2d(scale_factor=2)
UpsamplingBilinear2d((5, 7))|PReLU(4)
"""  # fmt: skip
VOLUMES = """
Conv3d(2, 4, 2)|Conv3d(2, 4, (1, 2, 3), 2, 1, groups=2)|LazyConv3d(2, 2)|ConvTranspose3d(2, 3, 2)|LazyConvTranspose3d(2, 2)
MaxPool3d(2)|AvgPool3d(2, 1)|LPPool3d(2, 2)|AdaptiveMaxPool3d(2)|AdaptiveAvgPool3d((2, None, 1))|FractionalMaxPool3d(2, output_size=2)
BatchNorm3d(2)|LazyBatchNorm3d()|InstanceNorm3d(2)|LazyInstanceNorm3d()|Dropout3d()|ZeroPad3d(1)|ConstantPad3d(1, 0.5)
ReflectionPad3d(1)|ReplicationPad3d(1)|CircularPad3d(1)|Upsample(scale_factor=2, mode='trilinear')
"""  # fmt: skip
OTHERS: list[tuple[str, str]] = [
    ("Bilinear(3, 4, 5)", "randn(2, 3), randn(2, 4)"),
    ("Bilinear(3, 4, 5, bias=False)", "randn(2, 3), randn(2, 4)"),
    ("Embedding(7, 3)", "ints(7, 2, 4)"),
    ("Embedding(7, 3, padding_idx=-2)", "ints(7, 9)"),
    ("Embedding(7, 3, 1, max_norm=0.5, norm_type=1.0, scale_grad_by_freq=True)", "ints(7, 9)"),
    ("EmbeddingBag(7, 3)", "ints(7, 2, 4)"),
    ("EmbeddingBag(7, 3, mode='sum', padding_idx=2)", "ints(7, 9), torch.tensor([0, 2, 2, 6])"),
    ("EmbeddingBag(7, 3, mode='max', include_last_offset=True)", "ints(7, 9), torch.tensor([0, 4, 9])"),
    ("MaxUnpool1d(2)", "randn(2, 3, 3), places(2, 3, 6)"),
    ("MaxUnpool2d(2, padding=0)", "randn(2, 3, 3, 2), places(2, 3, 6, 4)"),
    ("MaxUnpool3d((2, 2, 2))", "randn(1, 2, 2, 2, 2), places(1, 2, 4, 4, 4)"),
    ("Fold((4, 5), 2)", "randn(2, 12, 12)"),
    ("Fold(6, (2, 3), stride=2, padding=1)", "randn(1, 12, 12)"),
    ("PairwiseDistance()", "randn(4, 3), randn(4, 3)"),
    ("PairwiseDistance(1.0, 1e-4, True)", "randn(4, 3), randn(4, 3)"),
    ("CosineSimilarity()", "randn(4, 3), randn(4, 3)"),
    ("CosineSimilarity(0, 1e-4)", "randn(4, 3), randn(4, 3)"),
    ("AdaptiveLogSoftmaxWithLoss(8, 12, [3, 7])", "randn(9, 8), ints(12, 9)"),
    ("AdaptiveLogSoftmaxWithLoss(8, 12, [2], 2.0, True)", "randn(9, 8), ints(12, 9)"),
    ("InstanceNorm2d(3, affine=True, track_running_stats=True)", "randn(3, 4, 5)"),
    ("MaxPool2d(2)", "randn(3, 4, 5)"),
    ("CrossMapLRN2d(3)", "randn(3, 4, 6, 6).detach()"),  # PyTorch's gradient is of another sum
    ("Linear(3, 2)", "randn(3)"),
    ("L1Loss()", "randn(3, 4), randn(3, 4)"),
    ("L1Loss(reduction='none')", "randn(3, 4), randn(3, 4)"),
    ("MSELoss()", "randn(3, 4), randn(3, 4)"),
    ("MSELoss(size_average=False)", "randn(3, 4), randn(3, 4)"),
    ("SmoothL1Loss(beta=0.5)", "randn(3, 4), randn(3, 4)"),
    ("HuberLoss('sum', 0.7)", "randn(3, 4), randn(3, 4)"),
    ("PoissonNLLLoss(full=True)", "randn(3, 4), unit(3, 4)"),
    ("PoissonNLLLoss(False, eps=1e-3)", "unit(3, 4), unit(3, 4)"),
    ("GaussianNLLLoss(full=True, reduction='sum')", "randn(3, 4), randn(3, 4), unit(3, 4)"),
    ("KLDivLoss()", "logs(3, 4), unit(3, 4)"),
    ("KLDivLoss(reduction='batchmean', log_target=True)", "logs(3, 4), logs(3, 4)"),
    ("NLLLoss()", "logs(5, 4), ints(4, 5)"),
    ("NLLLoss(torch.tensor([1.0, 2.0, 0.5, 1.5]), ignore_index=1)", "logs(5, 4), ints(4, 5)"),
    ("NLLLoss2d()", "randn(2, 4, 3, 3), ints(4, 2, 3, 3)"),
    ("CrossEntropyLoss()", "randn(5, 4), ints(4, 5)"),
    ("CrossEntropyLoss(torch.tensor([1.0, 2.0, 0.5, 1.5]), label_smoothing=0.1)", "randn(5, 4), ints(4, 5)"),
    ("CrossEntropyLoss(reduction='none')", "randn(5, 4, 2), unit(5, 4, 2)"),
    ("LinearCrossEntropyLoss(6, 4, bias=True)", "randn(5, 6), ints(4, 5)"),
    ("BCELoss()", "unit(3, 4), unit(3, 4)"),
    ("BCELoss(torch.tensor([1.0, 2.0, 0.5, 1.5]), reduction='sum')", "unit(3, 4), unit(3, 4)"),
    ("BCEWithLogitsLoss()", "randn(3, 4), unit(3, 4)"),
    ("BCEWithLogitsLoss(pos_weight=torch.tensor([1.0, 2.0, 0.5, 1.5]))", "randn(3, 4), unit(3, 4)"),
    ("HingeEmbeddingLoss(0.7)", "randn(3, 4), sign(3, 4)"),
    ("MultiLabelMarginLoss()", "randn(3, 4), torch.tensor([[0, 2, -1, 1], [1, -1, 0, 0], [3, 2, 1, 0]])"),
    ("SoftMarginLoss()", "randn(3, 4), sign(3, 4)"),
    ("MultiLabelSoftMarginLoss(reduction='none')", "randn(3, 4), unit(3, 4)"),
    ("MultiLabelSoftMarginLoss(torch.tensor([1.0, 2.0, 0.5, 1.5]))", "randn(3, 4), unit(3, 4)"),
    ("CosineEmbeddingLoss(0.2)", "randn(5, 4), randn(5, 4), sign(5)"),
    ("MarginRankingLoss(0.2)", "randn(5), randn(5), sign(5)"),
    ("MultiMarginLoss()", "randn(5, 4), ints(4, 5)"),
    ("MultiMarginLoss(2, 0.7, torch.tensor([1.0, 2.0, 0.5, 1.5]))", "randn(5, 4), ints(4, 5)"),
    ("TripletMarginLoss(0.7, swap=True)", "randn(5, 4), randn(5, 4), randn(5, 4)"),
    ("TripletMarginWithDistanceLoss(margin=0.7)", "randn(5, 4), randn(5, 4), randn(5, 4)"),
    ("CTCLoss()", "logs(6, 2, 5), ints(4, 2, 3) + 1, torch.tensor([6, 5]), torch.tensor([3, 2])"),
    ("CTCLoss(4, 'sum', True)", "logs(6, 2, 5), ints(4, 2, 3), torch.tensor([6, 5]), torch.tensor([3, 2])"),
]  # fmt: skip


def _rows(table: str, inputs: str) -> list[tuple[str, str]]:
    return [(text, inputs) for line in table.strip().split("\n") for text in line.split("|")]


CASES = [
    *_rows(ACTIVATIONS, "randn(4, 3, 6)"),
    *_rows(IMAGES, "randn(3, 4, 6, 6)"),
    *_rows(VOLUMES, "randn(2, 2, 4, 5, 4)"),
    *OTHERS,
]


# --- The comparison ------------------------------------------------------------------------------


def make(library: Any, text: str) -> Any:
    """A module of one library, from one seed."""
    library.manual_seed(11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(f"nn.{text}", {"nn": library.nn, "torch": library})


def bits(tensor: Any) -> bytes:
    """The numbers of a tensor, to the last bit."""
    return np.ascontiguousarray(numbers(tensor)).tobytes()


def compare_states(mine: Any, theirs: Any, exact: bool = False, scale: float = 0.0) -> None:
    """Names in order, shapes, and values."""
    own, wanted = mine.state_dict(), theirs.state_dict()
    assert list(own) == list(wanted)
    assert own._metadata == wanted._metadata
    for name, tensor in wanted.items():
        compare_tensors(own[name], tensor, name, scale=scale)
        assert not exact or not FUSED or bits(own[name]) == bits(tensor), name


def carry_over(mine: Any, theirs: Any) -> None:
    """Load a state dict of each library into the other, through files."""
    file = io.BytesIO()
    real.save(theirs.state_dict(), file)
    file.seek(0)
    assert str(mine.load_state_dict(ours.load(file))) == "<All keys matched successfully>"
    file = io.BytesIO()
    ours.save(mine.state_dict(), file)
    file.seek(0)
    assert (
        str(theirs.load_state_dict(real.load(file, map_location="cpu")))
        == "<All keys matched successfully>"
    )


def travel(mine: Any, theirs: Any) -> None:
    """Whole modules through files, each into the other library, with the same attributes."""
    assert vars(mine).keys() == vars(theirs).keys()
    for source, sent, target in ((ours, mine, real), (real, theirs, ours)):
        file = io.BytesIO()
        source.save(sent, file)
        file.seek(0)
        got = target.load(file, weights_only=False, map_location="cpu")
        assert repr(got) == repr(sent)
        assert type(got).__module__.startswith(f"{target.__name__}.nn")


def run(library: Any, module: Any, inputs: tuple[Any, ...]) -> Any:
    """Outputs from one seed; what is written into is a copy."""
    library.manual_seed(5)
    copies = [x.clone() if x.is_floating_point() else x for x in inputs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return module(*copies)


def compare_runs(mine: Any, theirs: Any, inputs: tuple[Any, ...], what: str) -> None:
    """Outputs, gradients of inputs and parameters, and what the call has left in the buffers."""
    own_inputs = to_ours(inputs)
    got, wanted = run(ours, mine, own_inputs), run(real, theirs, inputs)
    compare_results(got, wanted, what)
    outs = [t for t in leaves(wanted) if t.requires_grad]
    own_outs = [t for t in leaves(got) if t.requires_grad]
    assert len(outs) == len(own_outs)
    if outs:
        weights = [real.randn(t.shape) for t in outs]
        asked = [*theirs.parameters(), *(t for t in inputs if t.requires_grad)]
        own_asked = [*mine.parameters(), *(t for t in own_inputs if t.requires_grad)]
        gradients = real.autograd.grad(outs, asked, weights, allow_unused=True)
        own = ours.autograd.grad(own_outs, own_asked, to_ours(weights), allow_unused=True)
        for i, (a, b) in enumerate(zip(own, gradients, strict=True)):
            assert (a is None) == (b is None)
            if b is not None:
                compare_tensors(a, b, f"{what}: gradient {i}", 256, scale=1.0)
    compare_states(mine, theirs)


def take_steps(library: Any, module: Any, inputs: tuple[Any, ...], count: int = 10) -> None:
    """Go down the gradient of the outputs' squares."""
    for _ in range(count):
        outputs = leaves(run(library, module, inputs))
        loss: Any = sum((out * out).mean() for out in outputs if out.requires_grad)
        module.zero_grad()
        loss.backward()
        with library.no_grad():
            for parameter in module.parameters():
                parameter -= 0.1 * parameter.grad


def shape_of(module: Any) -> list[tuple[str, Any, Any]]:
    """The arguments of a constructor."""
    arguments = inspect.signature(type(module)).parameters.values()
    return [(a.name, a.kind, a.default) for a in arguments]


@pytest.mark.parametrize(("text", "inputs"), CASES, ids=[text for text, _ in CASES])
def test_layers(text: str, inputs: str) -> None:
    mine, theirs = make(ours, text), make(real, text)
    if type(theirs).__name__ not in ("NLLLoss2d",):
        assert shape_of(mine) == shape_of(theirs)
    assert repr(mine) == repr(theirs)
    real.manual_seed(3)
    given = eval(f"({inputs},)", globals() | {"torch": real})
    if "Lazy" in text:
        if DEVICE == "cpu":  # of a tensor without a shape, a file names the device
            travel(mine, theirs)
        run(ours, mine, to_ours(given))
        run(real, theirs, given)
        assert repr(mine) == repr(theirs)
        assert type(mine).__name__ == type(theirs).__name__
    compare_states(mine, theirs, exact="Lazy" not in text)
    for train in (True, False):
        compare_runs(mine.train(train), theirs.train(train), given, f"train={train}")
    if any(True for _ in theirs.parameters()):
        take_steps(ours, mine.train(), to_ours(given))
        take_steps(real, theirs.train(), given)
        compare_states(mine, theirs, scale=1.0)
    carry_over(mine, theirs)
    travel(mine, theirs)
    for again in (copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
        assert repr(again) == repr(mine)
        assert [bits(t) for t in again.state_dict().values()] == [
            bits(t) for t in mine.state_dict().values()
        ]


def test_every_class_is_there_and_tested() -> None:
    elsewhere = "DataParallel GRU GRUCell LSTM LSTMCell LinearCrossEntropyOptions MultiheadAttention RNN RNNBase RNNCell "
    elsewhere += (
        "RNNCellBase Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
    )
    elsewhere += (
        "TransformerEncoderLayer Buffer Parameter UninitializedBuffer UninitializedParameter "
    )
    untested = "Container Module ModuleDict ModuleList ParameterDict ParameterList"
    names = {name for name in dir(real.nn) if isinstance(getattr(real.nn, name), type)}
    names -= set(elsewhere.split())
    assert {name for name in names if not hasattr(nn, name)} == set()
    tested = {text.partition("(")[0] for text, _ in CASES}
    assert names - tested == set(untested.split())
