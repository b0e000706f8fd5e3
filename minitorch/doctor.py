"""What works on this machine, and what to do about what does not: `minitorch doctor`."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import minitorch as _minitorch

REQUIRED = {"numpy": "pip install numpy", "numba": "pip install numba"}
OPTIONAL = {
    "matplotlib": "draws the pictures: pip install 'minitorch[train]'",
    "rich": "shows live progress: pip install 'minitorch[train]'",
    "scikit-learn": "holds the digits of `minitorch train digits`: pip install 'minitorch[train]'",
    "torch": "to compare with: pip install torch",
    "numba-cuda": "compiles for the GPU: pip install 'minitorch[cuda]'",
    "cupy": "tensors of minitorch.torch on the GPU: pip install 'minitorch[cuda]'",
    "mpi4py": "training in several processes: pip install 'minitorch[mpi]'",
    "streamlit": "the app in the browser: pip install 'minitorch[app]'",
}
_MODULES = {"scikit-learn": "sklearn", "numba-cuda": "numba_cuda"}
_DISTRIBUTIONS = {"cupy": ("cupy", "cupy-cuda13x", "cupy-cuda12x")}


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Attributes:
        name: what was looked at
        ok: whether it is there and works
        detail: a version, a place, or what went wrong
        advice: what to do where it does not work
        required: whether MiniTorch needs it
    """

    name: str
    ok: bool
    detail: str
    advice: str = ""
    required: bool = False

    def line(self) -> str:
        """The finding as text."""
        mark = "ok  " if self.ok else ("FAIL" if self.required else "-   ")
        text = f"  {mark} {self.name:<15}{self.detail}"
        return text if self.ok or not self.advice else f"{text}\n         {'':<13}{self.advice}"


# --- What is installed ---------------------------------------------------------------


def check_python() -> Finding:
    """Whether Python is new enough."""
    where = f"{platform.python_version()} at {sys.executable}"
    new_enough = sys.version_info >= (3, 11)
    return Finding("python", new_enough, where, "MiniTorch needs Python 3.11 or newer", True)


def check_packages() -> Iterator[Finding]:
    """Every library that MiniTorch can use, with its version."""
    for name, advice in (REQUIRED | OPTIONAL).items():
        version = _version(name)
        required = name in REQUIRED
        yield Finding(name, version is not None, version or "not installed", advice, required)


def _version(name: str) -> str | None:
    if find_spec(_MODULES.get(name, name)) is None:
        return None
    for distribution in _DISTRIBUTIONS.get(name, (name,)):
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return "installed"


# --- Which backends work -------------------------------------------------------------


def check_backends() -> Iterator[Finding]:
    """Run a small computation with gradients on every backend."""
    reinstall = "reinstall: pip install --upgrade --force-reinstall"
    yield _try_backend("simple", "SimpleOps", "plain Python", f"{reinstall} numpy", True)
    yield _try_backend("fast", "FastOps", "Numba", f"{reinstall} numba", True)
    simulated = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")
    what = "Numba's simulator, no GPU used" if simulated else "GPU"
    advice = (
        "needs an NVIDIA GPU with its driver and pip install 'minitorch[cuda]'; "
        "without a GPU, NUMBA_ENABLE_CUDASIM=1 runs it slowly in a simulator"
    )
    yield _try_backend("cuda", "CudaOps", what, advice)
    yield check_torch_gpu()
    yield check_mpi()


_TWO_RANKS = """
from mpi4py import MPI
total = MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.Get_rank() + 1)
if MPI.COMM_WORLD.Get_rank() == 0:
    print(total, MPI.Get_library_version().splitlines()[0].replace("\t", " "))
"""


def check_mpi() -> Finding:
    """Whether two ranks can be started and add up numbers."""
    from .torch.distributed import mpi

    mpiexec, library = mpi.find_mpiexec(), mpi.find_library()
    if mpiexec is None or not mpi.is_installed():
        missing = "mpi4py" if mpiexec is not None else "no mpiexec"
        return Finding("mpi", False, f"{missing} is not installed", mpi.INSTALL)
    variables = dict(os.environ) if library is None else {**os.environ, "MPI4PY_LIBMPI": library}
    command = [mpiexec, *mpi.flags(mpiexec), "-n", "2", sys.executable, "-c", _TWO_RANKS]
    try:
        done = subprocess.run(
            command, env=variables, capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("mpi", False, f"{type(error).__name__}: {error}", mpi.INSTALL)
    said = done.stdout.strip()
    if done.returncode != 0 or not said.startswith("3 "):
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return Finding("mpi", False, f"two ranks do not work: {reason}", mpi.INSTALL)
    version = " ".join(said.removeprefix("3 ").split())
    return Finding("mpi", True, f"two ranks work ({version}, {mpiexec})")


def check_torch_gpu() -> Finding:
    """Whether `minitorch.torch` computes on a GPU: its name and memory, or what is missing."""
    from . import torch
    from .torch.backends.cuda.backend import find_cuda

    name = "torch on cuda"
    backend, missing = find_cuda()
    if backend is None:
        detail, _, advice = missing.partition(": ")
        return Finding(name, False, detail, advice)
    try:
        x = torch.as_tensor([[1.0, 2.0], [3.0, 4.0]], device="cuda").requires_grad_()
        total = (x @ x).sum()
        total.backward()
        found = total.item(), [] if x.grad is None else x.grad.tolist()
    except Exception as error:  # whatever is wrong is what a doctor reports
        return Finding(name, False, f"{type(error).__name__}: {error}".split("\n")[0])
    if found != (54.0, [[7.0, 11.0], [9.0, 13.0]]):
        return Finding(name, False, f"wrong result: sum and gradient {found}")
    gpu = torch.cuda.get_device_properties()
    others = f", {backend.count()} GPUs" if backend.count() > 1 else ""
    return Finding(
        name, True, f"works ({gpu.name}, {gpu.total_memory / (1 << 30):.0f} GiB{others})"
    )


def _try_backend(name: str, ops: str, what: str, advice: str, required: bool = False) -> Finding:
    try:
        _compute(ops)
    except Exception as error:  # whatever is wrong is what a doctor reports
        first_sentence = str(error).split(". ")[0].split("\n")[0]
        return Finding(name, False, f"{type(error).__name__}: {first_sentence}", advice, required)
    return Finding(name, True, f"works ({what})", required=required)


def _compute(ops: str) -> None:
    """One product, one sum and their gradient; RuntimeError if a number is wrong."""
    backend = _minitorch.TensorBackend(getattr(_minitorch, ops))
    x = _minitorch.tensor([[1.0, 2.0], [3.0, 4.0]], backend=backend)
    total = (x @ x).sum()
    total.backward()
    gradient = None if x.grad is None else x.grad.to_numpy().tolist()
    if total.item() != 54.0 or gradient != [[7.0, 11.0], [9.0, 13.0]]:
        raise RuntimeError(f"wrong result: sum {total.item()}, gradient {gradient}")


# --- Data ------------------------------------------------------------------------------


def check_data() -> Iterator[Finding]:
    """Which data sets are on this machine."""
    from .training import data_files

    variable = data_files.DATA_VARIABLE
    folder = os.environ.get(variable)
    if folder is None:
        detail, ok = f"not set; looking in {data_files.cache_folder()}", True
    else:
        detail, ok = folder, Path(folder).is_dir()
    yield Finding(
        variable, ok, detail if ok else f"{detail} is not a folder", "name one that exists"
    )
    sets = {
        "mnist": [file for split in data_files.MNIST.values() for file in split],
        "sst2": [file for file in data_files.SST2.values() if file.urls],
        "glove": [data_files.GLOVE],
    }
    advice = f"`minitorch train` downloads it, or put it into a folder and set {variable}"
    for name, files in sets.items():
        try:
            path = data_files.find_files(files, download=False)[0]
            yield Finding(name, True, str(path.parent))
        except FileNotFoundError:
            yield Finding(name, False, "not found", advice)


# --- Which minitorch this is -----------------------------------------------------------


def check_location(imported: ModuleType = _minitorch, here: Path | None = None) -> Finding:
    """Whether the `minitorch` that is imported is the one of the folder the user works in.

    With several copies of the course on one machine, an editable install of another one is
    easily what Python finds, and edits seem to have no effect.
    """
    home = Path(str(imported.__file__)).resolve().parent
    here = (here or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        local = folder / "minitorch"
        if (local / "__init__.py").is_file():
            if local.resolve() == home:
                break
            return Finding(
                "imported from",
                False,
                f"{home}, although you are in {folder}, which has its own minitorch",
                f"scripts in {folder / 'project'} use yours; others do with PYTHONPATH={folder}",
            )
    return Finding("imported from", True, str(home))


# --- The report --------------------------------------------------------------------------


def diagnose() -> dict[str, list[Finding]]:
    """All findings, by heading; `main` prints them, the app shows them."""
    return {
        f"MiniTorch {_minitorch.__version__}": [check_location()],
        "Installed": [check_python(), *check_packages()],
        "Backends": _guarded(check_backends),
        "Data": _guarded(check_data),
    }


def _guarded(check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    try:
        return list(check())
    except Exception as error:
        return [Finding(check.__name__, False, f"{type(error).__name__}: {error}")]


def main() -> int:
    """Print the report; 0 if everything that MiniTorch needs works."""
    failed: list[Finding] = []
    for heading, findings in diagnose().items():
        print(heading)
        for finding in findings:
            print(finding.line())
        failed += [f for f in findings if f.required and not f.ok]
        print()
    if failed:
        print("MiniTorch cannot work here yet: " + ", ".join(f.name for f in failed))
        return 1
    print("All that MiniTorch needs is here and works.")
    return 0
