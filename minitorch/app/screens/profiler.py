"""One training step on a timeline, as `torch.profiler` records it."""

from __future__ import annotations

import streamlit as st

from minitorch.app.components import board
from minitorch.app.drawings.torch_floor import draw_timeline, sum_by_name, time_words
from minitorch.app.frame import begin, reference

MODELS = ("perceptron", "convolution", "LSTM", "GPT")

room = begin("profiler")
with st.container(horizontal=True, vertical_alignment="bottom"):
    model = st.segmented_control(
        "Model", MODELS, default="GPT", required=True, key="prmodel", bind="query-params"
    )
    st.button("Record again", icon=":material/refresh:", key="pragain")
with st.spinner("Recording one step, after three to warm up"):
    found = reference(room).ask("torch_models.profile", 120.0, model=model)
if found is not None:
    events = found["events"]
    tops = [event for event in events if event["depth"] == 0]
    parts = ", ".join(f"{event['name']} {time_words(event['time'])}" for event in tops)
    st.markdown(f"One step took **{time_words(sum(e['time'] for e in tops))}**: {parts}.")
    board(draw_timeline(events), key="prtimeline", least=700)
    st.caption("Time goes to the right. Point at a bar for its name, its time and its shapes.")
    st.markdown("##### Where the time goes")
    st.dataframe(
        sum_by_name(events), hide_index=True, key="prtable",
        column_config={
            "share": st.column_config.ProgressColumn(min_value=0, max_value=1, format="percent")
        },
    )  # fmt: skip
    st.caption(
        "Own time leaves out what happens within. What `forward` has of its own is Python between "
        "the operations."
    )
