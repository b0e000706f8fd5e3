"""Watch a network learn in the browser.

streamlit run project/app.py -- 1      # the number of the module, 1 to 3
"""

import sys
from typing import Any

from minitorch import datasets
from minitorch.training.checkpoint import History
from minitorch.training.picture import draw_points
from minitorch.training.points import default_settings, make_trainer, probabilities
from minitorch.training.session import set_seed

try:
    import streamlit as st  # pyright: ignore[reportMissingImports]
    from streamlit.runtime.scriptrunner import (  # pyright: ignore[reportMissingImports]
        get_script_run_ctx,
    )
except ImportError:
    sys.exit("app.py needs Streamlit, which is not installed: pip install 'minitorch[app]'")

BACKENDS = {"1": "scalar", "2": "simple", "3": "fast"}


def page(module: str) -> None:
    """Controls, a button, and the picture of what was learned."""
    backend = BACKENDS.get(module, "fast")
    st.title(f"MiniTorch, module {module}")
    st.caption(f"Trains the network of task {module}.5 on points, with the {backend} backend.")
    name = st.sidebar.selectbox("Data set", list(datasets), key="dataset")
    usual = default_settings(name, backend)
    hidden = st.sidebar.number_input("Hidden units", 1, 200, usual.hidden, key=f"hidden-{name}")
    rate = st.sidebar.number_input("Rate", 0.001, 10.0, usual.rate, format="%.3f", key=f"r-{name}")
    epochs = st.sidebar.number_input("Epochs", 1, 5000, min(usual.epochs, 200), key=f"e-{name}")
    seed = st.sidebar.number_input("Seed", 0, 10_000, 0, key="seed")
    if not st.button("Train", key="train"):
        return
    set_seed(int(seed))
    data = datasets[name](50)
    trainer = make_trainer(backend, int(hidden), usual.batch)
    history, bar = History(), st.progress(0.0)

    def log_fn(epoch: int, total_loss: float, correct: int, losses: Any) -> None:
        history.losses.append(total_loss)
        bar.progress(epoch / epochs, f"epoch {epoch}, loss {total_loss:.2f}, correct {correct}/50")

    trainer.train(data, float(rate), int(epochs), log_fn)
    st.pyplot(draw_points(None, history, data, lambda X: probabilities(trainer, X)))


if get_script_run_ctx() is None:
    sys.exit("Start this with: streamlit run project/app.py -- 1")
page(sys.argv[1] if len(sys.argv) > 1 else "1")
