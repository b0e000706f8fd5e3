"""A training run in one file: parameters by name, settings, history, random state.

The file is an .npz of plain arrays and one JSON text, read without pickle, so a file from a
stranger cannot run code. It is written beside its final place and then moved there: an
interrupted write leaves the previous checkpoint whole.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..files import replacing
from ..module import Module
from ..scalar import Scalar
from ..tensor import Tensor
from ..tensor_data import TensorData
from .packed_files import read_npz

FORMAT = 1
_PARAMETER = "parameter/"
_STATE = "state/"
_MOST_NESTED = 100  # lists and dicts in the description, which has a handful
_WORDS = 624  # of the generators' state

Arrays = dict[str, npt.NDArray[Any]]


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be read, or belongs to another model or run."""


@dataclass
class History:
    """What each epoch gave; entry i belongs to epoch i + 1."""

    losses: list[float] = field(default_factory=list)
    correct: list[int] = field(default_factory=list)
    validation: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def epoch(self) -> int:
        """How many epochs are done."""
        return len(self.losses)

    def copy(self) -> History:
        """A history that further epochs do not change."""
        return History(
            list(self.losses), list(self.correct), list(self.validation), list(self.seconds)
        )


@dataclass
class Checkpoint:
    """The state of a run after an epoch, enough to go on exactly as if it had not stopped."""

    settings: dict[str, Any]
    history: History
    parameters: Arrays
    random_state: Arrays
    state: Arrays = field(default_factory=dict)


# --- Random state ------------------------------------------------------------------


def set_seed(seed: int) -> None:
    """Seed Python's and NumPy's global generators, from which all of training draws."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002


def random_state() -> Arrays:
    """The state of both global generators, as arrays."""
    version, words, spare = random.getstate()
    numpy_state: Any = np.random.get_state()  # noqa: NPY002
    _, key, position, has_spare, numpy_spare = numpy_state
    return {
        "python": np.array(words, dtype=np.uint32),
        "python_spare": np.array([version, spare is not None, spare or 0.0], dtype=np.float64),
        "numpy": np.array(key, dtype=np.uint32),
        "numpy_spare": np.array([position, has_spare, numpy_spare], dtype=np.float64),
    }


def set_random_state(state: Arrays) -> None:
    """Put both global generators where `random_state` found them."""
    version, has_spare, spare = state["python_spare"].tolist()
    words = tuple(int(word) for word in state["python"])
    random.setstate((int(version), words, spare if has_spare else None))
    position, has_spare, spare = state["numpy_spare"].tolist()
    numpy_state = ("MT19937", state["numpy"], int(position), int(has_spare), spare)
    np.random.set_state(numpy_state)  # noqa: NPY002


# --- Parameters --------------------------------------------------------------------


def parameter_arrays(model: Module) -> Arrays:
    """A copy of every parameter of a model, by dotted name; of the upper floor's, its state dict."""
    if hasattr(model, "state_dict"):
        return {name: value.cpu().numpy().copy() for name, value in model.state_dict().items()}
    return {name: _to_array(name, p.value) for name, p in model.named_parameters()}


def _to_array(name: str, value: Any) -> npt.NDArray[np.float64]:
    if isinstance(value, Scalar):
        return np.array(value.data)
    if isinstance(value, Tensor):
        return value.to_numpy()
    raise TypeError(f"parameter {name} is a {type(value).__name__}, not a Scalar or a Tensor")


def load_parameters(model: Module, arrays: Arrays) -> None:
    """Give a model the parameters of a checkpoint, after checking every name and shape."""
    if hasattr(model, "load_state_dict"):
        from ..torch import from_numpy

        try:
            model.load_state_dict({name: from_numpy(array) for name, array in arrays.items()})
        except (RuntimeError, TypeError) as error:
            raise CheckpointError(f"the checkpoint is of another model: {error}") from None
        return
    named = dict(model.named_parameters())
    missing, unknown = sorted(named.keys() - arrays.keys()), sorted(arrays.keys() - named.keys())
    if missing or unknown:
        raise CheckpointError(
            "the checkpoint is of another model: "
            f"it lacks {', '.join(missing) or 'nothing'} and has besides {', '.join(unknown) or 'nothing'}"
        )
    for name, parameter in named.items():
        wanted = _to_array(name, parameter.value).shape
        if arrays[name].shape != wanted:
            raise CheckpointError(
                f"the checkpoint is of a model of another size: parameter {name} has shape "
                f"{arrays[name].shape} in the file and {wanted} in the model"
            )
        if arrays[name].dtype.kind not in "biuf":
            raise CheckpointError(f"parameter {name} in the checkpoint is not an array of numbers")
    for name, parameter in named.items():
        array = np.asarray(arrays[name], dtype=np.float64)
        if isinstance(parameter.value, Scalar):
            parameter.update(Scalar(float(array)))
        else:
            data = TensorData(array.ravel().copy(), array.shape)
            parameter.update(Tensor(data, backend=parameter.value.backend))


# --- Files -------------------------------------------------------------------------


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, whole or not at all."""
    history = checkpoint.history
    about = {
        "format": FORMAT,
        "settings": checkpoint.settings,
        "correct": history.correct,
        "validation": history.validation,
    }
    arrays: Arrays = {
        "about": np.array(json.dumps(about)),
        "losses": np.array(history.losses, dtype=np.float64),
        "seconds": np.array(history.seconds, dtype=np.float64),
        **{f"random/{name}": array for name, array in checkpoint.random_state.items()},
        **{_PARAMETER + name: array for name, array in checkpoint.parameters.items()},
        **{_STATE + name: array for name, array in checkpoint.state.items()},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint; CheckpointError says what is wrong with one that cannot be."""
    if not path.is_file():
        raise CheckpointError(
            f"no checkpoint at {path}; run without --resume to start from epoch 1"
        )
    try:
        arrays = read_npz(path)
        about = _about(str(arrays["about"]))
        found = about["format"]
        if found == FORMAT:
            return _parse(about, arrays)
    except (OSError, ValueError, KeyError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise CheckpointError(
            f"{path} is not a checkpoint, or is damaged or cut off ({reason}); "
            "delete it and start again, or give another --checkpoint"
        ) from None
    raise CheckpointError(
        f"{path} has checkpoint format {found!s:.40}, this version reads {FORMAT}"
    )


def _parse(about: dict[str, Any], arrays: Arrays) -> Checkpoint:
    """The checkpoint in the arrays of a file; ValueError or KeyError if it is none."""
    losses, seconds = _numbers(arrays["losses"]), _numbers(arrays["seconds"])
    settings = about["settings"]
    history = History(losses, about["correct"], about["validation"], seconds)
    if not isinstance(settings, dict):
        raise ValueError("its settings are not a dict")
    for counts in (history.correct, history.validation):
        if not isinstance(counts, list) or any(type(n) is not int for n in counts):
            raise ValueError("its counts are not whole numbers")
    lengths = {len(history.losses), len(history.correct), len(history.seconds)}
    if len(lengths) > 1 or len(history.validation) not in (0, history.epoch):
        raise ValueError("its history has more epochs in one place than in another")
    state = _below("random/", arrays)
    _check_random_state(state)
    return Checkpoint(settings, history, _below(_PARAMETER, arrays), state, _below(_STATE, arrays))


def _about(text: str) -> dict[str, Any]:
    """What the text in a checkpoint says."""
    if text.count("[") + text.count("{") > _MOST_NESTED:
        raise ValueError("its description is nested too deeply")
    about = json.loads(text)
    if not isinstance(about, dict):
        raise ValueError("its description is not a dict")
    return about


def _numbers(array: npt.NDArray[Any]) -> list[float]:
    if array.ndim != 1 or array.dtype != np.float64:
        raise ValueError(
            f"an array of {array.dtype} in {array.ndim} dimensions is not a list of numbers"
        )
    return array.tolist()


def _check_random_state(state: Arrays) -> None:
    """Refuse what no generator can be put to."""
    for name, usual in random_state().items():
        if state[name].shape != usual.shape or state[name].dtype != usual.dtype:
            raise ValueError(f"{name} is not a state of the random numbers")
    version, position = state["python_spare"][0], state["numpy_spare"][0]
    flags = {state["python_spare"][1], state["numpy_spare"][1]}
    if (
        version != 3
        or not 0 <= position <= _WORDS
        or state["python"][-1] > _WORDS
        or flags - {0, 1}
    ):
        raise ValueError("the state of the random numbers is invalid")
    if not (np.isfinite(state["python_spare"]).all() and np.isfinite(state["numpy_spare"]).all()):
        raise ValueError("the state of the random numbers is not finite")


def _below(prefix: str, arrays: Arrays) -> Arrays:
    return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
