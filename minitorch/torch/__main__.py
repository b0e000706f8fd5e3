"""`python -m minitorch.torch script.py arguments...`: run a Torch script on MiniTorch."""

import sys

from .runner import main

sys.exit(main())
