"""`python -m minitorch.torch.distributed.run --nproc_per_node 2 train.py ...`: torchrun's command line."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from .. import cuda
from ..runner import report_missing
from .jobs import Job, launch

_ACCEPTED = ("--rdzv-backend", "--rdzv-id", "--rdzv-conf", "--monitor-interval", "--start-method", "--role", "--log-dir", "--redirects", "--tee", "--local-addr", "--local-ranks-filter", "--logs-specs", "--log-line-prefix-template", "--event-log-handler", "--numa-binding", "--signals-to-handle")  # fmt: skip
"""Options of torchrun that change nothing here."""


def add_options(parser: argparse.ArgumentParser, ranks: str) -> None:
    """Add the options that say how many ranks there are, and where."""

    def add(name: str, **options: object) -> None:
        parser.add_argument(name, name.replace("-", "_").replace("__", "--"), **options)  # type: ignore[arg-type]

    add(
        ranks,
        dest="nproc_per_node",
        default="1",
        metavar="N",
        help="ranks on each machine: a number, cpu or gpu",
    )
    add("--nnodes", default="1", metavar="N", help="how many machines there are")
    parser.add_argument("--hostfile", metavar="FILE", help="the machines' names; mpiexec starts ranks on all of them")  # fmt: skip
    add(
        "--node-rank",
        type=int,
        metavar="I",
        help="which machine this is, where each has a launcher",
    )
    add("--master-addr", metavar="HOST", help="where the ranks meet: machine 0")
    add("--master-port", type=int, default=0, metavar="PORT", help="and on which port")
    add("--max-restarts", type=int, default=0, metavar="N", help="start all ranks anew after a failure, so often")  # fmt: skip


def make_parser() -> argparse.ArgumentParser:
    """Torchrun's options."""
    parser = argparse.ArgumentParser(prog="minitorch.torch.distributed.run", description=__doc__)
    add_options(parser, "--nproc-per-node")
    parser.add_argument("--rdzv-endpoint", "--rdzv_endpoint", default="", metavar="HOST:PORT")
    parser.add_argument("--standalone", action="store_true", help="one machine, any free port")
    for name in _ACCEPTED:
        short = {"--redirects": ["-r"], "--tee": ["-t"]}.get(name, [])
        parser.add_argument(
            *short, name, name.replace("-", "_").replace("__", "--"), help=argparse.SUPPRESS
        )
    parser.add_argument(
        "--no-check",
        action="store_true",
        help="start even if names that the script uses are missing",
    )
    parser.add_argument("-m", "--module", action="store_true", help="run a module, as python -m")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser


def job_from(args: argparse.Namespace, command: Sequence[str], module: bool, check: bool) -> Job:
    """What the options ask for; ValueError where they do not fit together."""
    nodes = int(str(args.nnodes).split(":")[-1])
    host, _, port = getattr(args, "rdzv_endpoint", "").partition(":")
    address = args.master_addr or host or None
    node_rank = args.node_rank
    if nodes > 1 and node_rank is None and args.hostfile is None:
        raise ValueError(
            "more than one machine needs --hostfile FILE, or --node_rank I with --master_addr and --master_port"
        )
    if node_rank is not None and nodes > 1 and not (address and (args.master_port or port)):
        raise ValueError("--node_rank needs --master_addr and --master_port")
    own = _own_address(args.hostfile) if args.hostfile else "127.0.0.1"
    return Job(
        command,
        _ranks(args.nproc_per_node),
        nodes,
        node_rank if nodes > 1 else None,
        args.hostfile,
        address or own,
        args.master_port or int(port or 0),
        args.max_restarts,
        module,
        check,
    )


def _own_address(hostfile: str) -> str:
    """The address by which other machines of a hostfile reach this one; ValueError where there is no such file."""
    try:
        lines = Path(hostfile).read_text().splitlines()
    except OSError as error:
        raise ValueError(f"the hostfile cannot be read: {error}") from None
    hosts = [line.split()[0].partition(":")[0] for line in lines if line.split("#")[0].strip()]
    for host in hosts:
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((host, 9))  # sends nothing: it chooses a route
            own, other = probe.getsockname()[0], probe.getpeername()[0]
            if own != other and not own.startswith("127."):
                return own
    return socket.gethostname()


def _ranks(text: str) -> int:
    """How many ranks a machine has."""
    if text in ("cpu", "auto"):
        return os.cpu_count() or 1
    if text == "gpu":
        return max(1, cuda.device_count())
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"Unsupported nproc_per_node value: {text}")
    return int(text)


def main(argv: Sequence[str] | None = None, pass_local_rank: bool = False) -> int:
    """Start the ranks, and return the exit code; each may be given its local rank as an argument."""
    args = make_parser().parse_args(argv)
    try:
        job = job_from(args, [args.script, *args.arguments], args.module, check=False)
    except ValueError as error:
        sys.stderr.write(f"minitorch.torch.distributed.run: {error}\n")
        return 2
    job.pass_local_rank = pass_local_rank
    if not (args.module or args.no_check) and report_missing(args.script):
        return 1
    return launch(job)


if __name__ == "__main__":
    sys.exit(main())
