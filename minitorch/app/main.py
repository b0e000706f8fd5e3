"""The script that Streamlit runs: the sidebar, and the page that was chosen.

Started in a workspace, Python would take the `minitorch` there for ours, which alone has the app.
"""

from __future__ import annotations

import sys
from pathlib import Path

HOME = str(Path(__file__).resolve().parents[2])
if HOME not in sys.path[:1]:
    sys.path.insert(0, HOME)

from minitorch.app.frame import show  # noqa: E402

show()
