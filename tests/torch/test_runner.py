"""The runner: unchanged scripts on minitorch.torch, and the names that they need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from torch import torch_version

from minitorch import cli
from minitorch.torch import aliases, script_check
from minitorch.torch.script_check import first_missing, missing_names
from minitorch.torch.torch_version import TorchVersion


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command line in a folder."""
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, timeout=100
    )


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# --- Running ---------------------------------------------------------------------------------

SCRIPT = """
from __future__ import annotations
import os, sys
import minitorch.torch
import torch
import torch.autograd as autograd
from torch import Tensor
from torch.serialization import load as load_it
import torch.autograd.graph, safetensors.torch
from safetensors import safe_open

assert torch is minitorch.torch is sys.modules["torch"] is sys.modules["minitorch.torch"]
assert (torch.__name__, torch.__spec__.name) == ("torch", "minitorch.torch")
assert autograd is minitorch.torch.autograd is sys.modules["torch.autograd"]
assert Tensor is torch.tensor([1.0]).__class__
assert load_it is minitorch.torch.serialization.load
assert torch.autograd.graph is sys.modules["minitorch.torch.autograd.graph"]
assert safetensors.torch.safe_open is safe_open
try:
    import torch.nonsense
except ModuleNotFoundError as error:
    assert error.name == "torch.nonsense", error
try:
    from torch import nonsense
except ImportError as error:
    assert "nonsense" in str(error), error

import __main__
from beside import number
assert __main__.Tensor is Tensor
assert __name__ == "__main__" and __spec__ is None
assert __file__ == os.path.abspath("sub/script.py"), __file__
assert sys.path[0] == os.path.abspath("sub"), sys.path
print(sys.argv, number)

if sys.argv[1] == "exit":
    sys.exit(7)

def fail():
    torch.nonsense(1)
fail()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "sub" / "script.py", SCRIPT)
    write(tmp_path / "sub" / "beside.py", "import torch\nnumber = 5\n")
    return tmp_path


def test_a_script_runs_as_with_python(folder: Path) -> None:
    arguments = ["exit", "--no-check", "-m", "--help"]
    done = run(folder, "minitorch.cli", "run", "--no-check", "sub/script.py", *arguments)
    assert done.stderr == ""
    assert done.returncode == 7
    assert done.stdout == f"{['sub/script.py', *arguments]} 5\n"


def test_tracebacks(folder: Path) -> None:
    failed = run(folder, "minitorch.torch", "--no-check", "sub/script.py", "fail")
    assert failed.returncode == 1
    lines = failed.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].startswith(f'  File "{folder}/sub/script.py", line ')
    assert lines[-1] == "AttributeError: module 'minitorch.torch' has no attribute 'nonsense'"
    assert "runner" not in failed.stderr


def test_modules(folder: Path) -> None:
    write(folder / "pkg" / "__init__.py", "")
    write(
        folder / "pkg" / "__main__.py",
        "import sys, torch, pkg.part\nprint(torch.__name__, sys.argv[1:], pkg.part.n, __name__)\n",
    )
    write(folder / "pkg" / "part.py", "from torch import Tensor\nn = 3\n")
    done = run(folder, "minitorch.cli", "run", "-m", "pkg", "--flag", "-m")
    assert done.stderr == ""
    assert done.stdout == "torch ['--flag', '-m'] 3 __main__\n"


@pytest.mark.skipif(sys.platform == "win32", reason="fork servers")
def test_processes_of_the_script_know_the_modules_too(folder: Path) -> None:
    program = """
import multiprocessing, sys
import torch

def work(q):
    q.put((torch.__name__, sys.modules["__main__"].__name__))

if __name__ == "__main__":
    for method in ("spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        queue = context.SimpleQueue()
        process = context.Process(target=work, args=(queue,))
        process.start()
        print(method, queue.get()[0])
        process.join()
"""
    write(folder / "workers.py", program)
    done = run(folder, "minitorch.torch", "workers.py")
    assert done.stderr == ""
    names = ("spawn", "forkserver")
    assert done.stdout.splitlines() == [f"{name} torch" for name in names]


def test_unsupported_names_stop_the_script_before_it_starts(folder: Path) -> None:
    text = "import torch\nprint('started')\nx = torch.zeros(2)\ny = torch.nonsense(x)\n"
    write(folder / "late.py", text)
    refused = run(folder, "minitorch.cli", "run", "late.py")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "1 name that is not in minitorch.torch" in refused.stderr
    assert f'File "{folder}/late.py", line 4: torch.nonsense\n' in refused.stderr
    assert "    y = torch.nonsense(x)\n" in refused.stderr


def test_wrong_command_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.main(["run", str(tmp_path / "none.py")]) == 2
    assert "can't open file" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["run"])
    assert "give a script" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["run", "--help"])
    assert "import torch" in capsys.readouterr().out


FOUND = """
import sys
from importlib.metadata import PackageNotFoundError, version
if len(sys.argv) == 1:  # in a program that was started by other means
    import minitorch
    minitorch.load_ipython_extension(None)
import torch, torchvision, safetensors
print(torch.__name__, version("torch") == torch.__version__, version("Torch_Vision".replace("_", "")))
print(version("safetensors"), torch.__version__ >= (2, 1), torch.__version__ < "2.9")
try:
    version("torchaudio")
except PackageNotFoundError:
    print("no torchaudio")
"""


def test_programs_find_the_packages(folder: Path) -> None:
    expected = ["torch True 0.28.0", "0.8.0 True False", "no torchaudio"]
    as_text = run(folder, "minitorch.cli", "run", "-c", FOUND, "argument")
    assert (as_text.stderr, as_text.stdout.splitlines()) == ("", expected)
    write(folder / "found.py", FOUND)
    assert run(folder, "found").stdout.splitlines() == expected


def test_versions_are_compared_as_pytorch_compares_them() -> None:
    for one in ("2.13.0+cpu", "2.0", "1.13.0a0", "2.1.0rc1"):
        ours, theirs = TorchVersion(one), torch_version.TorchVersion(one)
        for other in (
            "2.13", "2.13.0+cpu", (2, 13), ["2", "13"], "2.9", (2,), "3", "2.13.0a0", "2.1.0rc2", "2.1",
            "2.13.0.dev20250101", "parrot", 2, None,
        ):  # fmt: skip
            for name in ("__lt__", "__le__", "__eq__", "__ge__", "__gt__"):
                assert getattr(ours, name)(other) == getattr(theirs, name)(other), (
                    one,
                    name,
                    other,
                )


def test_check_lists_what_a_package_lacks(folder: Path) -> None:
    write(folder / "package" / "__init__.py", "import torch\nx = torch.nonsense\n")
    more = "from torch.nonsense import y\nfrom torch import nn\nif torch.cuda.is_available():\n    torch.other()\n"
    write(folder / "package" / "more.py", f"import torch\n{more}")
    lacks = run(folder, "minitorch.cli", "run", "--check", "package")
    assert lacks.returncode == 1
    *names, total = lacks.stdout.splitlines()
    assert names == [
        "torch.nonsense  package/__init__.py:2: x = torch.nonsense",
        "torch.nonsense  package/more.py:2: from torch.nonsense import y",
        "torch.other  package/more.py:5: torch.other()  (may never run)",
    ]
    assert total.endswith(
        "names missing from minitorch.torch: 1, in code that may never run: 1 more"
    )
    assert run(folder, "minitorch.cli", "run", "--check", "json").returncode == 0
    assert run(folder, "minitorch.cli", "run", "--check", "nowhere").returncode == 2


# --- Modules under other names ------------------------------------------------------------------


def test_names_of_modules() -> None:
    assert aliases.real_name("torch.nn.functional") == "minitorch.torch.nn.functional"
    assert aliases.real_name("torchvision.models") == "minitorch.torchvision.models"
    assert aliases.real_name("torchaudio.models") is None
    assert aliases.find_module("torch.autograd").__name__ == "minitorch.torch.autograd"
    assert aliases.find_module("safetensors.torch").__name__ == "minitorch.torch.safetensors"
    for name in ("torch.nonsense", "torch.nonsense.deep", "torch.autograd.nonsense"):
        missing = name.removesuffix(".deep")
        with pytest.raises(ModuleNotFoundError, match=f"'{missing}'") as error:
            aliases.find_module(name)
        assert error.value.name == missing


def test_a_module_of_ours_that_lacks_another_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(name: str) -> ModuleType:
        raise ModuleNotFoundError("No module named 'cupy'", name="cupy")

    monkeypatch.setattr(aliases.importlib, "import_module", lacking)
    with pytest.raises(ModuleNotFoundError, match="cupy"):
        aliases.find_module("torch.cuda")


def test_more_aliases(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(aliases.ALIASES, "other", "minitorch.torch.autograd")
    assert aliases.find_module("other.graph").__name__ == "minitorch.torch.autograd.graph"
    script = write(tmp_path / "a.py", "import other\nother.graph.Node\nother.graph.nonsense\n")
    assert [m.name for m in missing_names(script)] == ["other.graph.nonsense"]


# --- Names that are missing ------------------------------------------------------------------


def test_first_missing() -> None:
    assert first_missing("torch") is None
    assert first_missing("torch.Tensor.shape") is None
    assert first_missing("torch.autograd.graph.Node") is None
    assert first_missing("torch.float32.anything.at.all") is None
    assert first_missing("torch.nonsense.deep") == "torch.nonsense"
    assert first_missing("torch.Tensor.nonsense") == "torch.Tensor.nonsense"


def test_a_name_that_lacks_another_package_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(name: str) -> None:
        raise ImportError("needs TensorBoard")

    module = ModuleType("lacking_another")
    vars(module)["__getattr__"] = lacking
    monkeypatch.setitem(sys.modules, "lacking_another", module)
    monkeypatch.setitem(aliases.ALIASES, "other", "lacking_another")
    assert first_missing("other.SummaryWriter") is None


def found(tmp_path: Path, text: str) -> list[tuple[int, str]]:
    script = write(tmp_path / "script.py", text)
    return [(m.line, m.name) for m in missing_names(script)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import torch.no", [(1, "torch.no")]),
        ("from torch import no1, Tensor, no2 as other", [(1, "torch.no1"), (1, "torch.no2")]),
        ("from torch.no import thing", [(1, "torch.no")]),
        ("from torch.autograd import *\nfrom torch.no import *", [(2, "torch.no")]),
        ("import torch\nx = torch.no", [(2, "torch.no")]),
        ("import torch as t\nx = [t.no1(t.no2.deep)]", [(2, "torch.no1"), (2, "torch.no2")]),
        ("import torch.autograd as A\nA.no(1)", [(2, "torch.autograd.no")]),
        ("from torch import autograd as A\nA.graph.no", [(2, "torch.autograd.graph.no")]),
        ("import torch.autograd.graph\ntorch.no", [(2, "torch.no")]),
        ("from torch import Tensor\nTensor.no(1)", [(2, "torch.Tensor.no")]),
        ("def f():\n  import torch\n  class A(torch.no): pass", [(3, "torch.no")]),
        ("import torch\n@torch.no\ndef f(): pass", [(2, "torch.no")]),
        ("import torch\ndef f(x: torch.no1 = torch.no2): pass", [(2, "torch.no1"), (2, "torch.no2")]),
        ("import torch\nasync def f() -> torch.no: pass", [(2, "torch.no")]),
        ("import torch\nif x > 1:\n  torch.no", [(3, "torch.no")]),
        ("import torch\ntry:\n  torch.no\nexcept ValueError: pass", [(3, "torch.no")]),
        ("import torch\ntry:\n  pass\nfinally:\n  torch.no", [(5, "torch.no")]),
        ("import torch\nwith torch.no() as f:\n  pass", [(2, "torch.no")]),
        ("import torch\nwhile True:\n  x = lambda: torch.no", [(3, "torch.no")]),
        ("import torch\nif gpu:\n  pass\ntorch.no", [(4, "torch.no")]),
        ("import torch\nprint(f'{torch.no}')", [(2, "torch.no")]),
    ],
)  # fmt: skip
def test_names_that_are_missing(text: str, expected: list[tuple[int, str]], tmp_path: Path) -> None:
    assert found(tmp_path, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nx: torch.Tensor = torch.zeros(2)\nx.no",
        "import torch\nif torch.cuda.is_available():\n  torch.no()\nelse:\n  torch.no2()",
        "import torch\nif device == 'cuda':\n  torch.no()",
        "import torch\nif hasattr(torch, 'no'):\n  torch.no()",
        "import torch\nx = torch.no if hasattr(torch, 'no') else None",
        "import torch\nx = hasattr(torch, 'no') and torch.no()",
        "import torch\nif args.compile:\n  torch.no()",
        "import torch\nif use_gpu and y:\n  torch.no()",
        "import torch\nif torch.__version__ >= '2':\n  torch.no()",
        "import torch\ntry:\n  torch.no()\nexcept AttributeError:\n  torch.no2",
        "try:\n  from torch import no\nexcept ImportError:\n  from torch import no2",
        "try:\n  import torch.no as n\nexcept (ValueError, ImportError):\n  n = None",
        "import torch\ntry:\n  torch.no\nexcept:\n  pass",
        "import contextlib, torch\nwith contextlib.suppress(AttributeError):\n  torch.no",
        "import torch\ndef f():\n  if not torch.cuda.is_available():\n    return\n  torch.no()",
        "import torch, sys\nif not torch.cuda.is_available():\n  sys.exit(1)\ntorch.no()",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n  from torch import no",
        "import torch\ntorch.no = 3\ntorch.no + 1",
        "import torch\ndef f(torch):\n  torch.no",
        "from torch import autograd as F\nfor F in files:\n  F.no",
        "import torch\ntorch = None\ntorch.no",
        "import numpy as torch\ntorch.no",
        "from __future__ import annotations\nimport torch\ndef f(x: torch.no = 1) -> torch.no: pass",
        "import torch\nclass A:\n  x: torch.no",
        "import torch\ndef f(x: 'torch.no'): pass",
        "import nothing.here\nfrom nowhere import no",
        "from .. import no",
        "this is no Python",
    ],
)
def test_names_that_may_never_be_needed(text: str, tmp_path: Path) -> None:
    assert found(tmp_path / "a" / "b", text) == []


def test_modules_beside_the_script_are_looked_at_too(tmp_path: Path) -> None:
    write(tmp_path / "model.py", "import torch\nfrom script import x\ntorch.no1")
    write(tmp_path / "pkg" / "__init__.py", "from . import deep")
    write(tmp_path / "pkg" / "deep.py", "from .deeper import y\nimport torch\ntorch.no2")
    write(tmp_path / "pkg" / "deeper.py", "import torch\ntorch.no3")
    write(tmp_path / "optional.py", "import torch\ntorch.no4")
    script = write(
        tmp_path / "script.py",
        "import model\nfrom pkg.deep import z\ntry:\n  import optional\nexcept ImportError: pass",
    )
    names = [(m.file.name, m.line, m.name) for m in missing_names(script)]
    assert names == [
        ("model.py", 3, "torch.no1"), ("deep.py", 3, "torch.no2"), ("deeper.py", 2, "torch.no3"),
    ]  # fmt: skip


def test_a_missing_name_knows_its_line(tmp_path: Path) -> None:
    script = write(tmp_path / "script.py", "import torch\n\nx = (1 +\n     torch.no(2))  # two\n")
    assert missing_names(script) == [
        script_check.Missing(script, 4, "torch.no", "torch.no(2))  # two")
    ]
