"""Runs lessons on the `minitorch` of a folder, in a process of its own.

This file is run by its path: `serve.py ROOT`. It imports nothing of MiniTorch but the library in
ROOT. A request is a line of JSON on standard input, `{"call": "functions.curve", "args": {...}}`;
it calls `curve` in the file `functions.py` beside this one. Answers are lines of JSON on standard
output: `{"value": ...}`, or what went wrong, `{"missing": ...}` or `{"problem": ...}`. What the
library prints goes nowhere.

A lesson that is a generator runs step by step: each value it yields goes out as `{"part": ...}`,
and between two steps it obeys `{"do": "pause" | "go" | "step" | "stop"}`. `{"do": "say", "value":
...}` becomes the value of its next `yield`; `heard` counts those with each part. A part with `"pause": true` pauses the run itself, and
what it holds under `"now"` is kept only until the next. When standard input ends, or whoever
started the process is gone, so is the process.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator
from pathlib import Path
from queue import Empty, SimpleQueue
from types import GeneratorType, TracebackType
from typing import Any

Message = dict[str, Any]


class Requests:
    """Lines of JSON on standard input, which a thread reads; when they end, so does the process."""

    def __init__(self) -> None:
        self.waiting: SimpleQueue[Message] = SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin.buffer:
            self.waiting.put(json.loads(line))
        os._exit(0)  # whoever asked is gone

    def next(self, wait: bool = True) -> Message | None:
        """The next message, or None when there is none and we do not wait."""
        with contextlib.suppress(Empty):
            return self.waiting.get(block=wait)


def standard_output() -> Any:
    """A file for answers alone: what is printed from now on goes nowhere."""
    answers, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return os.fdopen(answers, "w", buffering=1, encoding="utf-8")


def main() -> None:
    """Answer requests until standard input ends."""
    answers, root = standard_output(), sys.argv[1]
    os.chdir(root)
    sys.path[0] = root  # not the folder of this file
    sys.path.append(str(Path(__file__).parents[1]))  # where `inside` is
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    requests = Requests()

    def send(message: Message) -> None:
        answers.write(json.dumps(message, default=as_plain) + "\n")

    while (request := requests.next()) is not None:
        if "call" not in request:
            continue  # "pause" for a run that has just ended
        try:
            value = find_lesson(request["call"])(**request["args"])
            if isinstance(value, GeneratorType):
                run_steps(value, requests, send)
            else:
                send({"value": value})
        except (Exception, SystemExit) as error:
            send(explain(error, root))


def find_lesson(call: str) -> Callable[..., Any]:
    """The function that a request names."""
    module, function = call.split(".")
    return getattr(importlib.import_module(f"inside.{module}"), function)


def run_steps(
    steps: Generator[Message, Any, Any], requests: Requests, send: Callable[[Message], None]
) -> None:
    """Run a generator, pausing and going on as it is told, until it ends."""
    paused, heard, order = False, 0, {}
    with contextlib.suppress(StopIteration):
        while True:
            part = steps.send(order.get("value"))
            heard += order.get("do") == "say"
            send({"part": part, "heard": heard})
            paused, order = next_turn(requests, paused or part.get("pause", False))
            if order.get("do") == "stop":
                steps.close()
                break
    send({"value": None})


def next_turn(requests: Requests, paused: bool) -> tuple[bool, Message]:
    """Wait until the next step is due: whether we are paused then, and the order to step."""
    while True:
        order = requests.next(wait=paused) or {}
        do = order.get("do")
        if do in ("pause", "go"):
            paused = do == "pause"
        if do in ("step", "say", "stop") or not paused:
            return paused, order


def end_with(parent: int) -> None:
    """End this process when the one that started it is gone, whatever a lesson is doing."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(0)


def as_plain(value: Any) -> Any:
    """A NumPy array or number as JSON knows it."""
    return value.tolist()


# --- What went wrong -----------------------------------------------------------------------


def explain(error: BaseException, root: str) -> Message:
    """An error as a function that is still to be written, or as words and a place."""
    frames = _own_frames(error.__traceback__, root)
    unwritten = re.search(r"Need to implement for Task (\S+)", str(error))
    if isinstance(error, NotImplementedError) and unwritten and frames:
        file, _, function = frames[-1]
        return {"missing": {"task": unwritten[1], "file": file, "function": function}}
    text = f"{type(error).__name__}: {error}".strip()
    if isinstance(error, SyntaxError):
        text = f"{type(error).__name__}: {error.msg}"
        file = Path(error.filename or "?")
        where = f"{file.relative_to(root) if file.is_relative_to(root) else file.name}"
        return {"problem": {"text": text, "where": f"{where}, line {error.lineno or 0}"}}
    where = f"minitorch/{frames[-1][0]}, line {frames[-1][1]}" if frames else ""
    return {"problem": {"text": text[:500], "where": where}}


def _own_frames(tb: TracebackType | None, root: str) -> list[tuple[str, int, str]]:
    """File, line and function of each step that was in the library, the last one innermost."""
    library = Path(root).resolve() / "minitorch"
    found = []
    for frame, line in traceback.walk_tb(tb):
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(library) and "inside" not in path.parts:
            name = re.sub(r"<locals>\.", "", frame.f_code.co_qualname)
            found.append((path.relative_to(library).as_posix(), line, name))
    return found


if __name__ == "__main__":
    main()
