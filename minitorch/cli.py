"""The command line: `minitorch train`, `run`, `course`, `app`, `doctor`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from . import __version__
from .datasets import datasets

Command = Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    args = make_parser().parse_args(argv)
    command: Command = args.command
    try:
        return command(args)
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped by Ctrl-C.\n")
        return 130
    except BrokenPipeError:  # the reader of our output, such as `head`, has left
        sys.stderr.close()
        return 1


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="minitorch",
        description="A deep learning library to read, to build, and to train with.",
        epilog="`minitorch COMMAND --help` says more about a command.",
    )
    parser.add_argument("--version", action="version", version=f"minitorch {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_train(commands)
    _add_run(commands)
    _add_course(commands)
    _add_app(commands)
    _add_doctor(commands)
    return parser


def _add_train(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from .training import images, points, sentences, torch_images

    train = commands.add_parser(
        "train",
        help="train a network, with live progress, a log, checkpoints and a picture",
        description="Train a network. Ctrl-C saves; --resume continues a stopped run.",
        epilog="`minitorch train DATASET --help` shows all options of a data set.",
    )
    sets = train.add_subparsers(title="data sets", metavar="DATASET", required=True)

    def add(name: str, what: str, run: Command) -> argparse.ArgumentParser:
        def train(args: argparse.Namespace) -> int:
            _say_which()
            return run(args)

        parser = sets.add_parser(name, help=what, description=f"Train {name}: {what}.")
        parser.set_defaults(command=train)
        return parser

    digits = add("digits", "1,797 handwritten digits of 8 x 8 pixels, no download", images.run)
    images.add_arguments(digits, "digits")
    mnist = add("mnist", "70,000 handwritten digits of 28 x 28 pixels", images.run)
    images.add_arguments(mnist, "mnist")
    cnn = add("cnn", "digits or MNIST with minitorch.torch, in float32", torch_images.run)
    torch_images.add_arguments(cnn)
    sentiment = add("sentiment", "sentences of film reviews, good or bad (SST-2)", sentences.run)
    sentences.add_arguments(sentiment)
    for name, make in datasets.items():
        what = (make.__doc__ or "").split("\n")[0].rstrip(".").replace("%", "%%")
        what = f"points, {what[:1].lower()}{what[1:]}"
        points.add_arguments(add(name.lower(), what, points.run), dataset=name)


def _say_which() -> None:
    """In a student's workspace: that it is not the student's library which is trained with."""
    from .course.workspace import CourseError, Workspace

    try:
        root = Workspace.find().root
    except CourseError:
        return
    home = Path(__file__).parent
    text = f"minitorch: the installed library, {home}; scripts in {root / 'project'} train yours\n"
    sys.stderr.write(text)


def _add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    def run(args: argparse.Namespace) -> int:
        from .torch import runner

        if args.check:
            return runner.check_package(args.check)
        if args.nproc is not None:
            return _run_ranks(args)
        if args.module:
            return runner.run_module(args.module[0], args.module[1:], not args.no_check)
        if args.text:
            return runner.run_text(args.text[0], args.text[1:])
        if args.script is None:
            parser.error("give a script, -m and a module, or -c and a program")
        return runner.run_script(args.script, args.arguments, not args.no_check)

    parser = commands.add_parser(
        "run",
        help="run a Torch script, unchanged, with `import torch` meaning minitorch.torch",
        description="Run a Torch script, unchanged, with `import torch` meaning minitorch.torch. "
        "Names of Torch's that are not there are reported before the script starts.",
    )
    parser.add_argument(
        "--no-check",
        action="store_true",
        help="start even if minitorch.torch lacks names that the script uses",
    )
    parser.add_argument(
        "--check",
        metavar="PACKAGE",
        help="run nothing: list the names that a package or script uses and minitorch.torch lacks",
    )
    parser.add_argument("--nproc", type=int, metavar="N", help="start N ranks on each machine")
    parser.add_argument(
        "--hostfile", metavar="FILE", help="file with the names of the machines, for mpiexec"
    )
    parser.add_argument("--nnodes", type=int, default=1, metavar="N", help="number of machines")
    parser.add_argument(
        "--max-restarts",
        type=int,
        default=0,
        metavar="N",
        help="restart at most N times after a failure",
    )
    rest = argparse.REMAINDER
    parser.add_argument(
        "-c",
        dest="text",
        nargs=rest,
        metavar="PROGRAM",
        help="run a program given as text, as `python -c` does",
    )
    parser.add_argument(
        "-m", dest="module", nargs=rest, metavar="MODULE", help="run a module, as `python -m` does"
    )
    parser.add_argument("script", nargs="?", help="the script")
    parser.add_argument("arguments", nargs=rest, help="its arguments")
    parser.set_defaults(command=run)


def _run_ranks(args: argparse.Namespace) -> int:
    """Start a script or a module as several ranks."""
    from .torch.distributed.jobs import launch
    from .torch.distributed.run import job_from
    from .torch.runner import report_missing

    command = args.module or ([args.script, *args.arguments] if args.script else [])
    args.nproc_per_node = str(args.nproc)
    args.node_rank = args.master_addr = None
    args.master_port = 0
    try:
        if not command:
            raise ValueError("give a script, or -m and a module")
        job = job_from(args, command, bool(args.module), check=False)
    except ValueError as error:
        sys.stderr.write(f"minitorch run: {error}\n")
        return 2
    if not args.module and not args.no_check and report_missing(args.script):
        return 1
    return launch(job)


def _add_course(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from .course.commands import add_commands

    add_commands(commands)


def _add_app(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from .app.launch import add_arguments

    parser = commands.add_parser(
        "app",
        help="open the visual app in a browser",
        description="Open the visual app in a browser, on your workspace if you are in one.",
    )
    add_arguments(parser)


def _add_doctor(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    def run(args: argparse.Namespace) -> int:
        from . import doctor

        return doctor.main()

    parser = commands.add_parser(
        "doctor",
        help="show what is installed, which backends work here, and how to fix the rest",
        description="Show what works on this machine, and how to fix what does not.",
    )
    parser.set_defaults(command=run)


if __name__ == "__main__":
    sys.exit(main())
