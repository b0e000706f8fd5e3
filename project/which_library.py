"""Makes a script of this folder run the `minitorch` beside the folder, and says so.

Import it before `minitorch`: another copy may be installed, and would be found first.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path[:1]:
    sys.path.insert(0, str(ROOT))


def say_which() -> None:
    """Print one line: whose library runs, and where it is."""
    import minitorch

    home = Path(str(minitorch.__file__)).resolve().parent
    if home.parent != ROOT:
        owner = f"the installed library, as there is none in {ROOT}"
    elif (ROOT / ".minitorch").is_dir():
        owner = "your library"
    else:
        owner = "the reference"
    sys.stderr.write(f"minitorch: {owner}, {home}\n")
    sys.stderr.flush()
