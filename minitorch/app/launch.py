"""`minitorch app`: starts Streamlit on `main.py`."""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..course.workspace import CourseError, Workspace
from .rooms import MODULES

SCRIPT = Path(__file__).parent / "main.py"
GRACE = 3.0
"""Seconds that Streamlit has to end before it is killed."""
MISSING = "The app needs Streamlit, which is not installed: pip install 'minitorch[app]'\n"


def run_app(
    module: int | None = None,
    root: Path | None = None,
    port: int | None = None,
    host: str = "localhost",
    browser: bool = True,
) -> int:
    """Start the app and stay until it is stopped; return the exit code.

    Args:
        module: show the pages up to this module; None: all
        root: the workspace to run on; None: the one we are in, if any
        port: where to listen; None: 8501, or the next that is free
        host: who may connect; the default lets only this machine
        browser: whether to open a browser
    """
    if importlib.util.find_spec("streamlit") is None:
        sys.stderr.write(MISSING)
        return 2
    command = [sys.executable, "-P", "-m", "streamlit", "run", str(SCRIPT)]  # -P: see main.py
    command += ["--server.address", host]
    if port is not None:
        command += ["--server.port", str(port)]
    command += ["--server.headless", "false" if browser else "true"]
    command += ["--", *([] if module is None else [str(module)])]
    settings = {"MINITORCH_WORKSPACE": str(root)} if root else {}
    return _stay(subprocess.Popen(command, env=os.environ | settings, start_new_session=True))


def _stay(process: subprocess.Popen[bytes]) -> int:
    """Wait for a process; when we are told to end, end it and all that it started."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    told = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, interrupt) for number in told}
    try:
        return process.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _end_group(process)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End the process group that a process leads: politely, then by force."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `minitorch app`."""
    parser.add_argument(
        "module",
        type=int,
        choices=MODULES,
        nargs="?",
        metavar="MODULE",
        help=f"show the pages up to this module, 0 to {max(MODULES)} (default: all)",
    )
    parser.add_argument("--port", type=int, help="where to listen (default: 8501 or the next)")
    parser.add_argument(
        "--host", default="localhost", help="who may connect (default: this machine only)"
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.set_defaults(command=run)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    root: Any = None
    try:
        root = Workspace.find().root
    except CourseError:
        root = None
    return run_app(args.module, root, args.port, args.host, not args.no_browser)
