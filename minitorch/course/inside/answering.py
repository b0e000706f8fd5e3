"""Answers questions about a `minitorch`, in a process that knows nothing but that library.

A request is a line of JSON on standard input, an answer a line of JSON on the file descriptor that
the command line names:

    {"root": ..., "questions": [["sigmoid(0.3)", 71], ...]}  ->  [0, 0.574...]

Answers are plain values: what they are worth is decided elsewhere, by a process in which no line of
a submission runs. So a submission may do to this file whatever it likes. Nothing here, or in what
this process is given to read, says which answers are right.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = str(Path(__file__).parent)
LARGEST = 200_000
"""Characters of one answer."""


def answers(request: dict[str, Any]) -> Iterator[list[Any]]:
    """Numbered answers, or one, numbered -1, that says which file could not be imported."""
    sys.path[:0] = [p for p in (HERE, request["root"]) if p not in sys.path]
    try:
        import drivers
        import numpy as np
    except BaseException as error:
        yield [-1, {"import": _describe(error), "files": _files_of(error, request["root"])}]
        return
    known = drivers.names()
    for number, (expression, seed) in enumerate(request["questions"]):
        drivers.draw_from(seed)
        random.seed(seed)
        np.random.seed(seed % (1 << 32))  # noqa: NPY002
        yield [number, _answer(expression, known)]


def _answer(expression: str, known: dict[str, Any]) -> Any:
    try:
        return _plain(eval(expression, dict(known)))  # the judge's own expression
    except BaseException as error:
        return {"raises": [kind.__name__ for kind in type(error).__mro__[:-2]], "text": _say(error)}


def _plain(value: Any) -> Any:
    """A value of types that JSON has; others by the names of their types."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        return _plain(value.tolist())
    return {"object": type(value).__name__}


def _describe(error: BaseException) -> str:
    text = _say(error)
    if isinstance(error, SyntaxError):
        return f"{text.split(' (')[0]}, line {error.lineno}"
    return text


def _say(error: BaseException) -> str:
    with contextlib.suppress(Exception):
        return f"{type(error).__name__}: {error}"[:300]
    return type(error).__name__


def _files_of(error: BaseException, root: str) -> list[str]:
    """The files of the library that were being imported, the one to blame first."""
    inside = os.path.join(os.path.realpath(root), "minitorch") + os.sep
    places = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        places.append(error.filename)
    own = [p for p in map(os.path.realpath, reversed(places)) if p.startswith(inside)]
    found = [p.removeprefix(inside).replace(os.sep, "/") for p in own]
    if isinstance(error, ImportError) and (error.name or "").startswith("minitorch."):
        found.insert(0, f"{error.name}".removeprefix("minitorch.").replace(".", "/") + ".py")
    return list(dict.fromkeys(found))


def _send(out: int, answer: list[Any]) -> None:
    try:
        line = json.dumps(answer)
    except (ValueError, TypeError, RecursionError):
        line = json.dumps([answer[0], {"object": "no JSON"}])
    if len(line) > LARGEST:
        line = json.dumps([answer[0], {"object": f"{len(line)} characters"}])
    text = line.encode() + b"\n"
    while text:
        text = text[os.write(out, text) :]


def main() -> None:
    """Answer one request, or all of them with --serve."""
    out = int(sys.argv[1])
    with contextlib.suppress(OSError):
        os.set_inheritable(out, False)
    threading.stack_size(1 << 20)  # the CUDA simulator starts a thread for each of a kernel's
    for line in sys.stdin:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            for answer in answers(json.loads(line)):
                _send(out, answer)
        if "--serve" not in sys.argv:
            break
    os._exit(0)  # threads and exit handlers of what was run have no say any more


if __name__ == "__main__":
    main()
