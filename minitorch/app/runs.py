"""A training run on a page: begun at once, paused, gone on with, begun anew, and drawn as it goes."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from .frame import View, views
from .keeping import kept
from .library import Run
from .rooms import Room

PAUSE = 2.0
"""Seconds between two drawings of a page while its network trains: time to click something."""


def threads(small: bool) -> dict[str, str]:
    """Settings of a process: one thread for small data, else half of the cores; the page needs some."""
    return {"NUMBA_NUM_THREADS": "1" if small else str(max(1, (os.cpu_count() or 2) // 2))}


@dataclass(frozen=True)
class Training:
    """A lesson that trains, on all libraries that a page shows.

    Its parts tell `epoch`, `steps` (of an epoch), `step`, `loss` (at the end of an epoch), `correct`
    and `weights`; it takes `epochs`, and `weights` and `done` to go on from.

    Attributes:
        room: the page
        name: of the run; it is found again under this name after a page change
        call: the lesson
        settings: what the lesson is given
        environment: of its process
    """

    room: Room
    name: str
    call: str
    settings: dict[str, Any]
    environment: dict[str, str] = field(default_factory=dict)

    def show_buttons(self) -> None:
        """Begin where nothing has run yet; then pause, go on, train on, start over."""
        for view in views(self.room):
            if view.run(self.name) is None:
                self._begin(view)
        runs = [run for view in views(self.room) if (run := view.run(self.name))]
        states = {run.state for run in runs}
        if "running" in states:
            self._button("Pause", "pause", lambda: [run.pause() for run in runs])
        elif "paused" in states:
            self._button("Go on", "play_arrow", lambda: [run.go() for run in runs])
        elif all(run.failure for run in runs):
            self._button("Try again", "refresh", self._start_over)
            return
        else:
            self._button("Train on", "play_arrow", self._train_on)
        self._button("Start over", "restart_alt", self._start_over)

    def _button(self, words: str, icon: str, act: Any) -> None:
        kind = "primary" if words in ("Go on", "Train on") else "secondary"
        st.button(
            words, icon=f":material/{icon}:", key=f"{self.name}-{words}", on_click=act, type=kind
        )

    def _begin(self, view: View, **more: Any) -> None:
        if not more:
            kept()[self._kept(view)] = []
        view.start(self.name, self.call, settings=self.environment, **self.settings, **more)

    def _start_over(self) -> None:
        for view in views(self.room):
            self._begin(view)

    def _train_on(self) -> None:
        for view in views(self.room):
            run = view.run(self.name)
            if run is None or "weights" not in run.latest:
                self._begin(view)
                continue
            kept()[self._kept(view)] = self.curve(view, run)
            # The network stays as it is: what it was made with comes from the run before.
            same = {key: run.args[key] for key in run.args if key in ("features", "widths")}
            settings = self.settings | same
            more = {"weights": run.latest["weights"], "done": run.latest["epoch"]}
            view.start(self.name, self.call, settings=self.environment, **settings, **more)

    def _kept(self, view: View) -> str:
        """Where the curve of earlier runs is kept."""
        return f"curve-{view.name}-{self.name}"

    def curve(self, view: View, run: Run) -> list[dict[str, Any]]:
        """Epoch, loss and number of right answers after each epoch, of earlier runs too."""
        before = kept().get(self._kept(view), [])
        ends = [part for part in list(run.parts) if "loss" in part]
        return before + [{key: end[key] for key in ("epoch", "loss", "correct")} for end in ends]

    def follow(self, view: View) -> Run | None:
        """Draw how far the run is, or the card that says what is missing; the run, if it has news."""
        run = view.run(self.name)
        if run is None:
            return None
        if run.failure is not None:
            view.checked(run.failure)
            return None
        view.say_if_stale(run, "Start over")
        every = 0.5 if run.state == "running" or not run.latest else None
        st.fragment(_show_progress, run_every=every)(run, _as_seen(run), time.monotonic())
        return run if run.latest else None

    def show_result(self, view: View, run: Run, what: str, total: int, trained_with: str) -> None:
        """How many of all validation examples are right, and both curves."""
        correct = run.latest["correct"]
        left, right = st.columns(2)
        left.metric(
            f"Validation {what} read right", f"{correct} of {total}", f"{correct / total:.1%}",
            delta_color="off", delta_arrow="off",
        )  # fmt: skip
        if "seconds" in run.latest:
            right.metric(
                "Time of an epoch", f"{run.latest['seconds']:.2f} s", trained_with,
                delta_color="off", delta_arrow="off",
            )  # fmt: skip
        points = [
            {"epoch": p["epoch"], "loss": p["loss"], "right in %": 100 * p["correct"] / total}
            for p in self.curve(view, run)
        ]
        if points:
            left.vega_lite_chart(points, _curve("loss", "#c2410c", None))
            right.vega_lite_chart(points, _curve("right in %", "#2563eb", [0, 100]))


def show_agreement(curves: list[list[dict[str, Any]]]) -> None:
    """With both libraries chosen: whether they train alike, as from one seed they should."""
    if len(curves) < 2:
        return
    for mine, theirs in zip(*curves, strict=False):
        if abs(mine["loss"] - theirs["loss"]) > 1e-6:
            st.warning(
                f"From the same seed both should train alike. After epoch {mine['epoch']} the loss "
                f"is {mine['loss']:.4f} with yours and {theirs['loss']:.4f} with the reference."
            )
            return
    if all(curves):
        st.success("From the same seed, yours and the reference train alike: the losses agree.")


def _curve(of: str, color: str, domain: list[int] | None) -> dict[str, Any]:
    """A line over the epochs; a point is drawn where there is only one."""
    whole = {"tickMinStep": 1, "format": "d", "grid": False}
    scale = {"domain": domain} if domain else {"zero": True}
    return {
        "height": 170,
        "mark": {"type": "line", "point": {"size": 25, "color": color}, "color": color},
        "encoding": {
            "x": {"field": "epoch", "type": "quantitative", "axis": whole},
            "y": {"field": of, "type": "quantitative", "scale": scale},
        },
    }


def _show_progress(run: Run, seen: tuple[Any, ...], drawn: float) -> None:
    """A bar; the whole page is drawn anew when an epoch has ended, but not all the time."""
    news = _as_seen(run) != seen
    if news and (run.state != "running" or time.monotonic() - drawn > PAUSE):
        st.rerun()
    latest = run.latest
    if not latest:
        st.progress(0.0, "Getting ready: data, kernels, first weights")
        return
    last = run.args.get("done", 0) + run.args["epochs"]
    done = latest["epoch"] + latest.get("step", 0) / latest["steps"]
    words = {"running": "Training", "paused": "Paused", "ended": "Trained"}[run.state]
    st.progress(min(done / last, 1.0), f"{words}: epoch {latest['epoch']} of {last}")


def _as_seen(run: Run) -> tuple[Any, ...]:
    """What decides whether the page has to be drawn anew."""
    return run.state, run.latest.get("epoch"), run.failure is not None
