"""The script that Streamlit runs: the sidebar, and the page that was chosen."""

from __future__ import annotations

from minitorch.app.frame import show

show()
