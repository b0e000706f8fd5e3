"""The graph behind the loss of a Torch model: what `backward` walks through, with shapes."""

from __future__ import annotations

import streamlit as st

from minitorch.app.drawings.torch_floor import as_dot
from minitorch.app.frame import begin, reference

MODELS = {
    "perceptron": "Three linear layers on points",
    "convolution": "A convolution on images",
    "LSTM": "An LSTM on sequences",
    "GPT": "A GPT of one block",
}

room = begin("torch_graph")
model = st.segmented_control(
    "Model", list(MODELS), default="perceptron", required=True, key="tgmodel", bind="query-params"
)
st.caption(f"{MODELS[model]}. Blue boxes are parameters, orange ones operations.")
with st.spinner("Computing the loss. The first time, kernels may have to be compiled."):
    found = reference(room).ask("torch_models.graph", 120.0, model=model)
if found is not None:
    parameters = [node for node in found["nodes"] if node["kind"] == "parameter"]
    operations = len(found["nodes"]) - len(parameters)
    numbers = sum(node["numbers"] for node in parameters)
    st.markdown(
        f"`backward` walks through **{operations} operations** and leaves gradients in "
        f"**{len(parameters)} parameters** with {numbers:,} numbers in all."
    )
    st.graphviz_chart(as_dot(found["nodes"], found["arrows"]))
    with st.expander("All parameters"):
        rows = {
            "name": [node["label"] for node in parameters],
            "shape": [str(tuple(node["shape"])) for node in parameters],
            "numbers": [node["numbers"] for node in parameters],
        }
        st.dataframe(rows, hide_index=True, key="tgparameters")
