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
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import ClientConnection, connect
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


class Tab:
    """A page in a browser that shows nothing, and asks for nothing by itself."""

    def __init__(self, socket: ClientConnection, page: str, query: str = "") -> None:
        self.socket, self.page, self.query = socket, page, query
        self.buttons: dict[str, tuple[str, str]] = {}
        """By label, the widget and the fragment in which it is."""
        self.fields: dict[str, WidgetState] = {}
        """What stands in the fields, as a browser tells it with every request."""

    def draw(self, pressed: str | None = None) -> list[Element]:
        """What the app sends for the page, or, where a button is pressed, for the button's fragment."""
        asked = BackMsg()
        request = asked.rerun_script
        request.page_name, request.query_string = self.page, self.query
        if pressed is not None:
            widget, request.fragment_id = self.buttons[pressed]
            request.widget_states.widgets.add(id=widget, trigger_value=True)
            request.widget_states.widgets.extend(self.fields.values())
        self.socket.send(asked.SerializeToString())
        elements = []
        while True:
            message = ForwardMsg.FromString(self.socket.recv(timeout=60, decode=False))
            kind = message.WhichOneof("type")
            if kind == "delta":
                element = message.delta.new_element
                elements.append(element)
                self._note(element, message.delta.fragment_id)
            again = message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN
            if kind == "script_finished" and not again:
                return elements

    def _note(self, element: Element, fragment: str) -> None:
        if element.HasField("button"):
            self.buttons[element.button.label] = element.button.id, fragment
        elif element.HasField("text_input"):
            id, text = element.text_input.id, element.text_input.default
            self.fields[id] = WidgetState(id=id, string_value=text)
        elif element.HasField("number_input"):
            id, number = element.number_input.id, element.number_input.default
            self.fields[id] = WidgetState(id=id, double_value=number)


@contextmanager
def open_tab(address: str, page: str, query: str = "") -> Iterator[Tab]:
    """A page, not drawn yet."""
    url, protocol = f"ws://{address}/_stcore/stream", Subprotocol("streamlit")
    with connect(url, subprotocols=[protocol], max_size=None) as socket:
        yield Tab(socket, page, query)


def page_elements(address: str, page: str) -> list[Element]:
    """What the app sends to a browser that opens a page."""
    with open_tab(address, page) as tab:
        return tab.draw()
