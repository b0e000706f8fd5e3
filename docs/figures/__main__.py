"""Draw every figure, or those named: `python -m docs.figures [NAME...] [--to FOLDER]`."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import every  # noqa: F401  registers all figures
from .style import FIGURES, save

SVG = Path(__file__).parent / "svg"


def main() -> None:
    """Draw, and print what was drawn."""
    parser = argparse.ArgumentParser(description="Draw the figures of the guides.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="all, unless some are named")
    parser.add_argument("--to", type=Path, default=SVG, metavar="FOLDER")
    args = parser.parse_args()
    if unknown := set(args.names) - set(FIGURES):
        parser.error(f"unknown figures {sorted(unknown)}")
    for name in args.names or FIGURES:
        print(save(name, args.to))


if __name__ == "__main__":
    main()
