"""A data set that is not on this machine: a button that fetches it, or a folder that has it."""

from __future__ import annotations

import os
from pathlib import Path

import streamlit as st

from .frame import View, reference
from .inside import data
from .library import Run
from .rooms import Room

VARIABLE = "MINITORCH_DATA"


def offer(room: Room, dataset: str) -> None:
    """Say how to get a data set that is not here."""
    name = data.NAMES[dataset]
    view = reference(room, "data")
    with st.container(border=True):
        st.markdown(f"##### :material/download: {name} is not on this machine yet")
        files = data.missing(dataset)
        sizes = " and ".join(dict.fromkeys(file["size"] for file in files if file["size"]))
        run = view.run(f"get-{dataset}")
        if run is not None and run.state == "running":
            st.fragment(_follow, run_every=0.5)(view, run, dataset)
        else:
            if run is not None:
                _show_refusal(run, name)
            label = f"Get {name} ({sizes})" if sizes else f"Get {name}"
            if st.button(label, type="primary", key=f"get-{dataset}"):
                view.start(f"get-{dataset}", "data.get", dataset=dataset)
                st.rerun()
        _ask_folder(dataset, [file["name"] for file in files])


def _follow(view: View, run: Run, dataset: str) -> None:
    """How far the download is."""
    if run.state != "running":
        st.rerun(scope="app")
    latest = run.latest
    if "file" in latest:
        share = (latest["file"] - 1) / latest["files"]
        words = f"File {latest['file']} of {latest['files']}: {latest['name']} ({latest['size']})"
        st.progress(share, f"{words}, {run.seconds:.0f} s so far")
    else:
        st.progress(0.0, "Looking for a way to the internet")
    if st.button("Stop", key=f"stop-{dataset}"):
        view.forget(f"get-{dataset}")
        st.rerun(scope="app")


def _show_refusal(run: Run, name: str) -> None:
    if "refused" in run.latest:
        st.warning(
            f"{name} could not be fetched: this machine has no way to the internet, or the server "
            "did not answer. What was tried:"
        )
        st.code(run.latest["refused"], language=None, wrap_lines=True)


def _ask_folder(dataset: str, names: list[str]) -> None:
    """A folder that has the files already."""
    with st.expander("I have the files"):
        listed = ", ".join(f"`{name}`" for name in names)
        st.markdown(
            f"Put {listed} into a folder, gzipped or not, and name it here. To have it named always, "
            f"set the variable `{VARIABLE}` before you start the app."
        )
        given = st.text_input("Folder", os.environ.get(VARIABLE, ""), key=f"folder-{dataset}")
        folder = Path(given).expanduser() if given else None
        if folder is None or str(folder) == os.environ.get(VARIABLE):
            return
        if not folder.is_dir():
            st.warning(f"There is no folder {folder}.")
            return
        os.environ[VARIABLE] = str(folder)
        if data.has(dataset):
            st.rerun()
        lacking = ", ".join(f"`{file['name']}`" for file in data.missing(dataset))
        st.warning(f"In {folder} there is no {lacking}.")
