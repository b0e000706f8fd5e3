"""What the playground trains, as its controls say."""

from __future__ import annotations

from typing import Any

import streamlit as st

from ..course.checking import has_gpu
from ..course.tasks import find_task
from .frame import is_passed, workspace

DATA = ("Simple", "Diag", "Split", "Xor", "Circle", "Spiral")
CUDA = "CUDA" if has_gpu() else "CUDA simulator"
BACKENDS = {"Torch": "torch", "Scalar": "scalar", "Tensor": "tensor", "Fast": "fast", CUDA: "cuda"}
NEEDS = {"Fast": ("2.4", "3.1", "3.2"), "Tensor": ("2.4",)}
OPTIMISERS = {"SGD": "sgd", "Momentum": "momentum", "Adam": "adam"}
ACTIVATIONS = {"ReLU": "relu", "Sigmoid": "sigmoid", "tanh": "tanh"}
MOST_UNITS = 200

Plan = dict[str, Any]
"""The arguments of `inside.networks.Plan`."""


def choose_plan() -> Plan | None:
    """What to train, as the controls say; None where they say what cannot be."""
    first = st.columns([1, 1.3, 1, 1])
    data = first[0].selectbox("Data set", DATA, index=3, key="p_data", bind="query-params")
    units = first[1].text_input(
        "Hidden units, layer by layer", "10, 10", key="p_units", bind="query-params",
        help="One number for each hidden layer: `10, 10` makes two layers of ten units.",
    )  # fmt: skip
    rate = first[2].number_input(
        "Rate", 0.0001, 100.0, 0.5, format="%g", key="p_rate", bind="query-params",
        help="How far each step goes against the gradient.",
    )  # fmt: skip
    backend = first[3].selectbox(
        "Backend", list(BACKENDS), index=list(BACKENDS).index(usual_backend()), key="p_back",
        bind="query-params", help="What computes: Torch, or the library of module 1, 2 or 3.",
    )  # fmt: skip
    with st.expander(
        "More settings: points, noise, test, seed, batch, epochs, optimiser, activation"
    ):
        more = _more_settings()
    sizes = read_units(units or "")
    if sizes is None:
        st.warning(
            f"Please give 1 to 4 whole numbers from 1 to {MOST_UNITS} for the hidden units, with "
            "commas between them, such as `10, 10`."
        )
        return None
    return {
        "data": data, "units": sizes, "rate": rate, "backend": BACKENDS[backend], **more,
    }  # fmt: skip


def _more_settings() -> Plan:
    """The rest of a plan, from controls that are seldom looked at."""
    rows = [st.columns(4), st.columns(5)]
    points = rows[0][0].number_input("Points", 4, 400, 100, 2, key="p_n", bind="query-params")
    noise = rows[0][1].number_input(
        "Noise", 0.0, 0.5, 0.0, 0.01, key="p_noise", bind="query-params",
        help="How far points are moved at random, after they got their labels.",
    )  # fmt: skip
    test = rows[0][2].number_input(
        "Kept for testing, in %", 0, 80, 50, 10, key="p_test", bind="query-params",
        help="These points are not trained on. They show what the network makes of new ones.",
    )  # fmt: skip
    seed = rows[0][3].number_input("Seed", 0, 10**6, 0, key="p_seed", bind="query-params")
    batch = rows[1][0].number_input(
        "Batch", 1, 400, 10, key="p_batch", bind="query-params", help="Points in each step."
    )
    epochs = rows[1][1].number_input(
        "Epochs", 1, 5000, 500, 50, key="p_epochs", bind="query-params"
    )
    optimiser = rows[1][2].selectbox(
        "Optimiser", list(OPTIMISERS), key="p_opt", bind="query-params",
        help="The library's own SGD; or with a velocity; or each weight at its own pace.",
    )  # fmt: skip
    activation = rows[1][3].selectbox(
        "Activation", list(ACTIVATIONS), key="p_act", bind="query-params",
        help="What a hidden unit makes of its sum.",
    )  # fmt: skip
    falls = rows[1][4].toggle(
        "The rate falls to 0", True, key="p_falls", bind="query-params",
        help="In a straight line until the last epoch, as in the course's scripts.",
    )  # fmt: skip
    return {
        "points": points, "noise": noise, "test": test / 100, "falls": falls, "batch": batch,
        "optimiser": OPTIMISERS[optimiser], "activation": ACTIVATIONS[activation], "seed": seed,
        "epochs": epochs,
    }  # fmt: skip


def usual_backend() -> str:
    """The fastest backend of which the tasks are done; of the reference, all are."""
    if workspace() is None:
        return "Fast"
    done = (name for name, needs in NEEDS.items() if all(is_passed(find_task(n)) for n in needs))
    return next(done, "Scalar")


def read_units(text: str) -> list[int] | None:
    """The units of each hidden layer, or None if the text is no such list.

    >>> read_units("10, 4"), read_units("ten"), read_units("1,2,3,4,5")
    ([10, 4], None, None)
    """
    parts = [part.strip() for part in text.replace(";", ",").split(",")]
    if not 1 <= len(parts) <= 4 or not all(part.isdecimal() for part in parts):
        return None
    sizes = [int(part) for part in parts]
    return sizes if all(1 <= size <= MOST_UNITS for size in sizes) else None
