"""The app as the README starts it, `minitorch app` in a folder, and what it sends without a browser."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect
from websockets.typing import Subprotocol


@contextmanager
def running_app(folder: Path, *command: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """`minitorch app` in a folder, or another command that takes a port: the process and its address."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    minitorch = shutil.which("minitorch", path=str(Path(sys.executable).parent)) or "minitorch"
    started = [*(command or (minitorch, "app", "--no-browser", "--port")), str(port)]
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
        process.wait(20)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("localhost", port)) == 0:
                return
        if process.poll() is not None:
            raise RuntimeError(f"the app ended with {process.returncode}")
        time.sleep(0.1)
    raise TimeoutError(f"the app did not answer on port {port}")


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
