"""The visual app in the browser.

streamlit run project/app.py -- 1      # the pages up to module 1; without a number, all
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if not (ROOT / "minitorch" / "app").is_dir():  # a workspace: the app is in the installed library
    sys.path[:] = [folder for folder in sys.path if Path(folder or ".").resolve() != ROOT]

try:
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    from minitorch.app.frame import show
except ImportError as error:
    sys.exit(f"app.py: {error}. It needs the app beside the library: pip install 'minitorch[app]'")

if get_script_run_ctx() is None:
    sys.exit("Start this with: streamlit run project/app.py -- 1 (or: minitorch app 1)")
show()
