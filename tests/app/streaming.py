"""The app as the README starts it, `minitorch app` in a folder, and what it sends without a browser."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from ..waiting import wait

MINITORCH = shutil.which("minitorch", path=str(Path(sys.executable).parent)) or "minitorch"


@contextmanager
def running_app(folder: Path, *command: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """`minitorch app` in a folder, or another command that takes a port: the process and its address."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    started = [*(command or (MINITORCH, "app", "--no-browser", "--port")), str(port)]
    process = subprocess.Popen(
        started,
        cwd=folder,
        env={n: v for n, v in os.environ.items() if n != "MINITORCH_WORKSPACE"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port, process)
        yield process, f"localhost:{port}"
    finally:
        process.terminate()
        process.wait(60)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    def answers() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"the app ended with {process.returncode}")
        with socket.socket() as probe:
            connected = probe.connect_ex(("localhost", port)) == 0
            # Where nobody listens yet, a socket may happen to connect to itself.
            return connected and probe.getsockname() != probe.getpeername()

    wait(answers)


def started_by(pid: int) -> set[int]:
    """The processes that a process has started, and those that they have started (Linux)."""
    own = {
        int(text)
        for path in Path(f"/proc/{pid}/task").glob("*/children")
        for text in path.read_text().split()
    }
    return own.union(*map(started_by, own))


def is_alive(pid: int) -> bool:
    """Whether a process runs: one that ended stays listed until its parent has asked for it."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def page_elements(address: str, page: str) -> list[Element]:
    """What the app sends to a browser that opens a page."""
    asked = BackMsg()
    asked.rerun_script.page_name = page
    elements = []
    url, protocol = f"ws://{address}/_stcore/stream", Subprotocol("streamlit")
    with connect(url, subprotocols=[protocol], max_size=None) as browser:
        browser.send(asked.SerializeToString())
        while True:
            message = ForwardMsg.FromString(browser.recv(timeout=60, decode=False))
            if message.WhichOneof("type") == "delta":
                elements.append(message.delta.new_element)
            if message.WhichOneof("type") == "script_finished":
                return elements
