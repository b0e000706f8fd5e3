"""The command `minitorch`: the installed library's, also where PYTHONPATH names a student's workspace.

Both are called `minitorch`, so what decides between them has another name.
"""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run a command and return its exit code."""
    sys.path[:] = [path for path in sys.path if not os.path.isdir(os.path.join(path, ".minitorch"))]
    from minitorch.cli import main as run

    return run()
