"""Running the course's tests on a changed copy of the library; the working tree stays as it is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .catalogue import Mistake

ROOT = Path(__file__).parents[3]

FILES = {
    "task0_0": ["test_operators.py", "test_datasets.py"],
    "task0_1": ["test_operators.py"],
    "task0_2": ["test_operators.py"],
    "task0_3": ["test_operators.py", "test_examples.py"],
    "task0_4": ["test_module.py", "test_examples.py"],
    "task1_0": ["test_autodiff.py"],
    "task1_1": ["test_autodiff.py", "test_examples.py"],
    "task1_2": ["test_scalar.py", "test_examples.py"],
    "task1_3": ["test_autodiff.py", "test_examples.py"],
    "task1_4": ["test_scalar.py", "test_autodiff.py", "test_optim.py", "test_examples.py"],
    "task2_0": ["test_tensor_data.py"],
    "task2_1": ["test_tensor_data.py", "test_examples.py"],
    "task2_2": ["test_tensor_data.py"],
    "task2_3": ["test_tensor.py", "test_tensor_general.py", "test_examples.py"],
    "task2_4": ["test_tensor.py", "test_tensor_general.py", "test_optim.py", "test_examples.py"],
    "task3_0": ["test_tensor_general.py"],
    "task3_1": ["test_tensor_general.py", "test_optim.py"],
    "task3_2": ["test_matmul.py"],
    "task4_0": ["test_conv.py"],
    "task4_1": ["test_conv.py", "test_examples.py"],
    "task4_2": ["test_conv.py"],
    "task4_3": ["test_nn.py", "test_examples.py"],
    "task4_4": ["test_nn.py", "test_examples.py"],
    **{f"task5_{number}": ["test_transformer.py"] for number in (1, 2, 3, 4)},
    "task5_5": ["test_torch_transformer.py"],
}
"""Where each task's tests are; the CUDA tasks have suites of their own."""


@dataclass(frozen=True)
class Result:
    """Exit status and output of a run of pytest."""

    status: int
    output: str


class Copy:
    """A copy of the library and of its tests, in which one file at a time may be changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "minitorch", folder / "minitorch", ignore=ignore)
        shutil.copytree(ROOT / "tests", folder / "tests", ignore=ignore)
        shutil.copy(ROOT / "pyproject.toml", folder)
        environment = {
            **os.environ,
            "MINITORCH_TEST_EXAMPLES": "8",
            "NUMBA_DISABLE_JIT": "1",
            "PYTHONPATH": "",
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self.server = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("server.py")), str(folder)],
            env={n: v for n, v in environment.items() if not n.startswith("PYTEST_")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        """End the server."""
        self.server.communicate()

    def run_tests(self, task: str, about: str = "", written: str | None = None) -> Result:
        """Run one task's tests, until the first failure and without compiling kernels."""
        usual = f"-q -x -m {task} --tb=short -p no:cacheprovider -p no:xdist -W ignore"
        if task >= "task3":  # large inputs take long where kernels run as plain Python
            options = [*usual.split(), "-k", "not large and not deep and not thread and not edges"]
        else:
            options = usual.split()
        files = [f"tests/course/{name}" for name in FILES[task]]
        request = {"arguments": [*options, *files], "about": about, "written": written}
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        self.server.stdin.write(json.dumps(request) + "\n")
        self.server.stdin.flush()
        return Result(**json.loads(self.server.stdout.readline()))

    def run_with(self, mistake: Mistake) -> Result:
        """Run a task's tests on the library with a mistake in it."""
        path = self.folder / "minitorch" / mistake.file
        right = path.read_text()
        self._write(path, mistake.made_in(right))
        try:
            return self.run_tests(mistake.task, about=mistake.name)
        finally:
            self._write(path, right)

    @staticmethod
    def _write(path: Path, text: str) -> None:
        """Replace a file, and drop what Python compiled of the old one."""
        path.write_text(text)
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()
