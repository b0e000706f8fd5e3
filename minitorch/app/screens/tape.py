"""A compiled training step: its graph before and after fusion, with times, and its loops as Python."""

from __future__ import annotations

import streamlit as st

from minitorch.app.drawings.torch_floor import steps_as_dot, time_words
from minitorch.app.frame import begin, reference

MODELS = ("perceptron", "convolution", "LSTM", "transformer")
PARTS = {"before": "Before fusion", "after": "After fusion", "loops": "The loops as Python"}

room = begin("tape")
with st.container(horizontal=True, vertical_alignment="bottom"):
    model = st.segmented_control(
        "Model", MODELS, default="perceptron", required=True, key="tamodel", bind="query-params"
    )
    part = st.segmented_control(
        "Show", list(PARTS), default="before", required=True, key="tapart", format_func=PARTS.__getitem__,
        bind="query-params",
    )  # fmt: skip
with st.spinner("Tracing, compiling and timing a step. The first time, that takes a while."):
    found = reference(room).ask("tapes.compiled_step", 240.0, model=model)
if found is not None:
    before, after = found["before"], found["after"]
    st.markdown(
        f"**{len(before)} operations** became **{len(after)} steps**. A call of the step takes "
        f"**{time_words(found['eager'])}** eager and **{time_words(found['compiled'])}** compiled, "
        f"with {found['memory']}."
    )
    if part == "loops":
        st.code(found["loops"] or "# no neighbours were fused", language="python")
        st.caption("Numba compiles each loop as it stands here; equal loops are one function.")
    else:
        st.graphviz_chart(steps_as_dot(found[part]))
        st.caption(
            "Times are of each box by itself, with a clock read after it: a whole call takes less. Light boxes only "
            "give memory another name."
        )
        with st.expander("All of them, with slots"):
            rows = {
                "time": [time_words(step["time"]) for step in found[part]],
                "what": [step["text"] for step in found[part]],
            }
            st.dataframe(rows, hide_index=True, key="tasteps")
