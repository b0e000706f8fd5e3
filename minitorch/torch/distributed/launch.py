"""`python -m minitorch.torch.distributed.launch --nproc_per_node 2 train.py ...`: torchrun's older command line.

Unless `--use_env` is given, each rank's program gets its local rank as an argument, `--local-rank=0`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .run import main as run


def main(argv: Sequence[str] | None = None) -> int:
    """Start the ranks, and return the exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    flags = [i for i, word in enumerate(given) if word in ("--use_env", "--use-env")]
    if flags:
        del given[flags[0]]
    return run(given, pass_local_rank=not flags)


if __name__ == "__main__":
    sys.exit(main())
