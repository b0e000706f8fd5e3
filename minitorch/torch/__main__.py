"""`python -m minitorch.torch script.py arguments...` is `minitorch run script.py arguments...`."""

import sys

from ..cli import main

sys.exit(main(["run", *sys.argv[1:]]))
