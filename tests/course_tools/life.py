"""A student's life with the course, by its real commands, in a temporary folder.

    python -m tests.course_tools.life [--tasks 0.4 0.5] [--pages modules ...] [--in DIR]

`minitorch course new` makes a workspace. Task by task, up to 5.5, the reference's answers are typed
in and `minitorch course check` must pass. After the task that completes it, each script of the guide
runs: it must say that it runs the student's library, and print other numbers once a mistake is
planted there. At the end `minitorch app` is started in the workspace, as the README says, and every
page is used in a real browser, on the student's code.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from minitorch.app.inside.toy_reviews import TRAINING, VALIDATION
from minitorch.app.rooms import ROOMS
from minitorch.course.plain_answers import write_answer
from minitorch.course.tasks import TASKS, Place, Task
from minitorch.course.workspace import Workspace
from tests.app.browser import drive, open_browser, serve
from tests.app.streaming import MINITORCH


@dataclass(frozen=True)
class Script:
    """A script of the guide, and a mistake that must show in what it prints.

    Attributes:
        task: after which it can run
        command: its name in `project/`, and arguments
        shows: a regular expression for the numbers that it prints
        place: the function of the workspace, with its file, in which a mistake is planted
        mistake: the wrong body; "" where the script only compares
    """

    task: str
    command: str
    shows: str
    place: tuple[str, str]
    mistake: str


LOSS = r"loss \d+\.\d+"
SMALL = "--DATASET simple --HIDDEN 4 --PTS 20 --EPOCHS 2 --plain --no-picture"
FEW = "--PTS 40 --EPOCHS 1 --plain --no-picture"
GPT = "--plain --steps 2 --length 64 --width 4 --heads 1 --layers 1 --write 2"

SCRIPTS = (
    Script(
        "0.5",
        "run_manual.py --DATASET diag --w1 -1 --w2 -1 --bias 0.5",
        r"correct \d+/\d+",
        ("training/manual_points.py", "Linear.forward"),
        "return self.w1.value * x1 + self.bias.value",
    ),
    Script(
        "1.4",
        "show_expression.py scalar",
        r"v\d+ = .+",
        ("scalar.py", "Scalar.__add__"),
        "return Mul.apply(self, b)",
    ),
    Script(
        "1.5",
        f"run_scalar.py {SMALL}",
        LOSS,
        ("scalar_functions.py", "Mul.backward"),
        "a, b = ctx.saved_values\nreturn a * d_output, b * d_output",
    ),
    Script(
        "2.4",
        "show_expression.py tensor",
        r"v\d+ = .+",
        ("tensor_functions.py", "Sigmoid.forward"),
        "ctx.save_for_backward(t1)\nreturn t1.f.relu_map(t1)",
    ),
    Script(
        "2.5",
        f"run_tensor.py {SMALL}",
        LOSS,
        ("tensor_functions.py", "ReLU.backward"),
        "return grad_output",
    ),
    Script(
        "3.1",
        "parallel_check.py map matmul",
        r"prange\(.*\)|Need to implement for Task 3.2",
        ("fast_ops.py", "tensor_map._map"),
        "for i in range(len(out)):\n    out[i] = f(in_storage[i])",
    ),
    Script(
        "3.5",
        f"run_fast_tensor.py --BACKEND cpu {SMALL}",
        LOSS,
        ("training/tensor_points.py", "Linear.forward"),
        "return self.bias.value + (x @ self.weights.value) * 0.5",
    ),
    Script("3.5", "run_torch.py --HIDDEN 4 --PTS 20 --EPOCHS 2", LOSS, ("", ""), ""),
    Script(
        "4.5",
        f"run_mnist_multiclass.py {FEW}",
        LOSS,
        ("training/layers.py", "Conv2d.forward"),
        "return _convolutions().conv2d(input, self.weights.value) * 0.5",
    ),
    Script(
        "4.5",
        f"run_sentiment.py {FEW}",
        LOSS,
        ("nn.py", "dropout"),
        "return input",
    ),
    Script(
        "5.4",
        f"run_gpt.py --floor ground {GPT}",
        LOSS,
        ("transformer.py", "gelu"),
        "return x",
    ),
    Script(
        "5.5",
        f"run_gpt.py {GPT}",
        LOSS,
        ("torch_transformer.py", "Block.forward"),
        "return x + self.attention(self.norm1(x))",
    ),
    Script("5.5", "run_gpt.py --compare", r"scores: \S+", ("", ""), ""),
)


class Life:
    """A workspace and what a student does there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = Workspace(folder / "my-minitorch")

    def run(self, *command: str, within: Path | None = None) -> subprocess.CompletedProcess[str]:
        """A command, in the workspace or another folder, as a student has it: data in a folder."""
        data = {"MINITORCH_DATA": str(self.folder / "data")}
        return subprocess.run(
            command,
            cwd=within or self.workspace.root,
            env=os.environ | data,
            capture_output=True,
            text=True,
        )

    def begin(self) -> str:
        """`minitorch course new`: what is wrong with it, or ""."""
        write_data(self.folder / "data")
        done = self.run(MINITORCH, "course", "new", "my-minitorch", within=self.folder)
        return done.stderr if done.returncode else ""

    def check(self, task: Task) -> str:
        """Type in the answers of a task, and check it: what is wrong, or ""."""
        self.workspace.put_solutions([task])
        done = self.run(MINITORCH, "course", "check", task.number)
        passed = done.returncode == 0 and f"Task {task.number}, {task.title}: passed" in done.stdout
        return "" if passed else done.stdout + done.stderr

    def try_script(self, script: Script) -> str:
        """Run a script, then once more on a mistake: what is wrong, or ""."""
        right = self.printed(script)
        if isinstance(right, str) or not script.mistake:
            return right if isinstance(right, str) else ""
        file, function = script.place
        path = self.workspace.file(file)
        text = path.read_text(encoding="utf-8")
        write_answer(self.workspace, Place(file, function, "", ""), script.mistake + "\n")
        wrong = self.printed(script)
        path.write_text(text, encoding="utf-8")
        if isinstance(wrong, str):
            return wrong
        return f"a mistake in {function} changes nothing: {right}" if wrong == right else ""

    def printed(self, script: Script) -> list[str] | str:
        """The numbers that a script prints; a text if it does not run the student's library."""
        name, *arguments = script.command.split()
        done = self.run(sys.executable, f"project/{name}", *arguments)
        said = done.stderr.partition("\n")[0]
        if said != f"minitorch: your library, {self.workspace.root / 'minitorch'}":
            return f"not the student's library: {done.stderr}"
        found = re.findall(script.shows, done.stdout)
        return found or f"it shows no {script.shows}: {done.stdout}{done.stderr}"

    def status(self) -> str:
        """Whether `minitorch course status` knows that all tasks are passed: what is wrong, or ""."""
        done = self.run(MINITORCH, "course", "status")
        lines = [line for line in done.stdout.splitlines() if re.match(r" +\d\.\d", line)]
        passed = [line for line in lines if " passed " in line]
        return "" if len(passed) == len(lines) == len(TASKS) else done.stdout + done.stderr


def write_data(folder: Path) -> None:
    """A few images and sentences in the files of MNIST, SST-2 and GloVe."""
    dice = random.Random(0)
    for part in ("train", "t10k"):
        (folder / "mnist").mkdir(parents=True, exist_ok=True)
        labels = bytes(i % 10 for i in range(40))
        images = b"".join(bytes(dice.choices(range(256), k=28 * 28)) for _ in labels)
        for name, head, content in (
            ("images-idx3", struct.pack(">4I", 0x803, 40, 28, 28), images),
            ("labels-idx1", struct.pack(">2I", 0x801, 40), labels),
        ):
            path = folder / "mnist" / f"{part}-{name}-ubyte.gz"
            path.write_bytes(gzip.compress(head + content))
    words = sorted({word for sentence, _ in TRAINING + VALIDATION for word in sentence.split()})
    vectors = (f"{w} {' '.join(f'{dice.gauss():.3f}' for _ in range(50))}\n" for w in words)
    files = {"glove/glove.6B.50d.txt": "".join(vectors)}
    for name, pairs in (("train", TRAINING), ("dev", VALIDATION)):
        rows = [("sentence", "label"), *pairs]
        files[f"sst2/{name}.tsv"] = "".join(f"{text}\t{label}\n" for text, label in rows)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def live(folder: Path, tasks: Sequence[Task], pages: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each step with what is wrong, or "". Answers of tasks between are typed in without a check."""
    life = Life(folder)
    yield "minitorch course new my-minitorch", life.begin()
    for task in TASKS[: TASKS.index(tasks[-1]) + 1 if tasks else None]:
        if task not in tasks:
            life.workspace.put_solutions([task])
            continue
        yield f"minitorch course check {task.number}", life.check(task)
        for script in SCRIPTS:
            if script.task == task.number:
                yield f"python project/{script.command}", life.try_script(script)
    if len(tasks) == len(TASKS):
        yield "minitorch course status", life.status()
    if pages:
        with open_browser() as browser, serve(life.workspace.root) as address:
            for name in pages:
                yield f"minitorch app, page {name}", drive(browser, address, name, "finished")


def main() -> int:
    """Live, and say how each step went; 1 if one failed."""
    parser = argparse.ArgumentParser(description="Walk through the course as a student does.")
    numbers, names = [task.number for task in TASKS], [room.name for room in ROOMS]
    parser.add_argument("--tasks", nargs="*", choices=numbers, default=numbers, metavar="N")
    parser.add_argument("--pages", nargs="*", choices=names, default=names, metavar="PAGE")
    parser.add_argument("--in", dest="folder", type=Path, help="default: a temporary folder")
    args = parser.parse_args()
    tasks = [task for task in TASKS if task.number in args.tasks]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="minitorch-life-") as temporary:
        folder = args.folder or Path(temporary)
        before = time.monotonic()
        for step, problem in live(folder.resolve(), tasks, args.pages):
            now = time.monotonic()
            print(f"{'FAIL' if problem else 'ok  '} {now - before:6.1f} s  {step}", flush=True)
            if problem:
                failed += 1
                print(problem, flush=True)
            before = now
    print(f"{failed} steps failed." if failed else "Every step went well.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
