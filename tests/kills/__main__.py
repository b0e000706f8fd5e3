"""The command: see the package's docstring."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

from .killing import Run, choose_signal
from .scenes import SCENES, Lost, Scene


def act(scene: Scene, rng: Random, typical: float) -> tuple[str, str]:
    """Kill a scene's command once: by which signal and when, and what is wrong afterwards."""
    scene.restore()
    run = Run(scene.command(), scene.place(), scene.variables())
    if scene.endless:
        run.wait_for_output()
    waited = time.monotonic() - run.begun if scene.endless else 0.0
    number, moment = choose_signal(rng), waited + rng.random() * typical
    problem = run.kill(moment, number)
    story = f"{signal.Signals(number).name} after {moment:.2f} s"
    if problem:
        return story, problem
    try:
        scene.check()
        again = Run(scene.again(), scene.place(), scene.variables())
        ended = again.wait()
        scene.check_again(ended)
        if left := again.survivors(5.0):
            raise Lost(f"processes of the next run are left: {left}")
        if left := scene.leftovers():
            raise Lost(f"temporary files are left: {left}")
    except Lost as error:
        return story, str(error)
    except Exception as error:  # noqa: BLE001
        return story, f"{type(error).__name__}: {error}"
    return story, ""


def measure(scene: Scene) -> float:
    """How long the command runs where it is not killed; an endless one saves for a second."""
    if scene.endless:
        return 1.5
    scene.restore()
    ended = Run(scene.command(), scene.place(), scene.variables()).wait()
    if ended.code != 0:
        raise RuntimeError(f"the command fails unharmed: {ended.text[-1500:]}")
    scene.check()
    return ended.seconds * 1.1


def kill_often(name: str, numbers: range, seed: int, folder: Path) -> list[str]:
    """The kills of one scene; what they found."""
    scene = SCENES[name](folder / name, folder)
    typical, findings = measure(scene), []
    for number in numbers:
        story, problem = act(scene, Random(f"{seed} {number}"), typical)
        if problem:
            findings.append(f"kill {number} of seed {seed}, {name}, {story}: {problem}")
            sys.stdout.write(findings[-1] + "\n")
            sys.stdout.flush()
    return findings


def run(names: list[str], count: int, seed: int, folder: Path, jobs: int = 1) -> list[str]:
    """So many kills, spread over the scenes, of which `jobs` run side by side; the findings."""
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # what is ignored here is ignored there
    shares = {name: range(i, count, len(names)) for i, name in enumerate(names) if i < count}
    with ThreadPoolExecutor(jobs) as pool:
        begun = [
            pool.submit(kill_often, name, share, seed, folder) for name, share in shares.items()
        ]
        return [finding for each in begun for finding in each.result()]


def main() -> int:
    """Kill as often as the command line asks; 1 if something was lost."""
    parser = argparse.ArgumentParser("python -m tests.kills")
    parser.add_argument("count", type=int, nargs="?", default=28, help="how many kills")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="scenes side by side")
    parser.add_argument("--only", nargs="+", choices=list(SCENES), default=list(SCENES))
    args = parser.parse_args()
    if sys.platform != "linux":
        parser.error("the processes of a command are found on Linux only")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        findings = run(args.only, args.count, args.seed, Path(folder), args.jobs)
    sys.stdout.write(
        f"{args.count} kills of {', '.join(args.only)}: {len(findings)} findings; seed {args.seed}, "
        f"{time.monotonic() - begun:.0f} s\n"
    )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
