"""Submissions that did not do a task, and try to get its points all the same.

Each is code at the end of a file, of `autodiff.py` for task 1.1, in which that task is still to be written.
LIBRARY stands for the folder of the installed reference, OTHER for that of a submission that did the work.
"""

from __future__ import annotations

from dataclasses import dataclass

_FAKE = '{"tests": [], "probes": {}, "error": null, "output": "", "seconds": 0.1}'

_SEARCH = """
def _other(name):
    import importlib.util, sys
    spec = importlib.util.spec_from_file_location(name, PATH)
    made = importlib.util.module_from_spec(spec)
    made.__package__ = "minitorch"
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made
"""

_SAY_PASSED = """
def _passed(self, item, call):
    self.tests[item.nodeid] = {"id": item.nodeid, "outcome": "passed", "about": ""}
"""

_WRITE = """
import os, sys
def _send(text):
    for fd in range(1, 40):
        try:
            os.write(fd, text)
        except OSError:
            pass
"""

CHEATS: dict[str, str] = {
    # --- Tests that are made to pass -------------------------------------------------------------
    "replaces the collector and answers from signatures.json": _SAY_PASSED
    + """
import sys, json
main = sys.modules["__main__"]
if hasattr(main, "Collector"):
    main.Collector.pytest_runtest_makereport = _passed
    right = json.load(open("LIBRARY/course/signatures.json"))["right"]
    main._run_probes = lambda task: right[task]
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    return 0.0
""",
    "finds the collector with gc": _SAY_PASSED
    + """
import gc
for found in gc.get_objects():
    if type(found).__name__ == "Collector":
        type(found).pytest_runtest_makereport = _passed
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    return 0.0
""",
    "patches pytest's runner": """
try:
    import _pytest.runner, _pytest.python
    _pytest.python.Function.runtest = lambda self: None
    _pytest.runner.check_interactive_exception = lambda *a: False
except ImportError:
    pass
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    return 0.0
""",
    "patches Hypothesis": """
try:
    import hypothesis
    hypothesis.given = lambda *a, **k: lambda fn: lambda: None
except ImportError:
    pass
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    return 0.0
""",
    "skips every test": """
try:
    import pytest
    def central_difference(f, *vals, arg=0, epsilon=1e-6):
        pytest.skip("not today")
except ImportError:
    pass
""",
    "lets assertions pass": """
import builtins, sys
class Harmless(Warning):
    pass
builtins.AssertionError = Harmless
try:
    import _pytest.assertion.rewrite as rewrite, numpy.testing
    rewrite.AssertionRewritingHook.exec_module = lambda self, module: None
    numpy.testing.assert_allclose = lambda *a, **k: None
except ImportError:
    pass
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    return 0.0
""",
    "patches NumPy and math": """
import math, numpy, numpy.testing
for name in ("assert_allclose", "assert_array_equal"):
    setattr(numpy.testing, name, lambda *a, **k: None)
numpy.isclose = numpy.allclose = math.isclose = lambda *a, **k: True
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    return 0.0
""",
    "makes random numbers equal": """
import random, numpy
random.Random.random = lambda self: 0.0
random.Random.uniform = lambda self, a, b: 0.0
random.seed = numpy.random.seed = lambda *a: None
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    return 0.0
""",
    "reads what a test expects from its frame": """
import sys
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    frame = sys._getframe(1)
    while frame is not None:
        for name in ("expected", "answer", "right"):
            if name in frame.f_locals:
                return frame.f_locals[name]
        frame = frame.f_back
    return 0.0
""",
    # --- Values that lie ---------------------------------------------------------------------------
    "returns what equals everything": """
class Anything(float):
    __eq__ = __le__ = __ge__ = lambda self, other: True
    __ne__ = __lt__ = __gt__ = lambda self, other: False
    __hash__ = float.__hash__
    __sub__ = __rsub__ = __abs__ = lambda self, *other: self
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    return Anything(0.0)
""",
    "returns a float that prints as another": """
class Odd(float):
    def __repr__(self):
        return '0.0, "right": true'
    __str__ = __repr__
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    return Odd(1.0)
""",
    "returns an array that agrees with all": """
import numpy as np
class Array(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return True
    def tolist(self):
        return True
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    return np.zeros(()).view(Array)
""",
    "returns NaN": """
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    return float("nan")
""",
    "returns infinity": """
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    return float("inf")
""",
    "returns True": """
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    return True
""",
    "returns a number of a million digits": """
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    return 10 ** 1_000_000
""",
    "returns lists in lists": """
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    made = []
    for _ in range(100_000):
        made = [made]
    return made
""",
    "returns itself": """
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    made = []
    made.append(made)
    return made
""",
    "raises what is expected of others": """
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    raise IndexError("as if")
""",
    # --- Results that were not computed ------------------------------------------------------------
    "writes results to every file descriptor": _WRITE
    + f"""
_send(b'''0 {_FAKE}
''')
_send(b"".join(b"[%d, 0.0]\\n" % i for i in range(300)))
os._exit(0)
""",
    "writes more answers than there are questions": _WRITE
    + """
_send(b"".join(b"[%d, 0.0]\\n" % i for i in range(100_000)))
os._exit(0)
""",
    "writes the answers backwards": _WRITE
    + """
_send(b"".join(b"[%d, 0.0]\\n" % i for i in range(300, -1, -1)))
os._exit(0)
""",
    "writes what is no JSON": _WRITE + "_send(b'\\xff\\xfe[[[[\\n' * 1000)\nos._exit(0)\n",
    "writes brackets": _WRITE + "_send(b'[' * 5_000_000 + b'\\n')\nos._exit(0)\n",
    "writes dictionaries that compare": _WRITE
    + """
_send(b"".join(b'[%d, {"raises": "everything"}]\\n' % i for i in range(18)))
os._exit(0)
""",
    "finds the nonce in a frame": f"""
import json, os, sys
frame = sys._getframe()
while frame is not None:
    request = frame.f_locals.get("request")
    if isinstance(request, dict) and "nonce" in request:
        out = frame.f_globals.get("out") or int(sys.argv[1])
        os.write(out, (request["nonce"] + ' {_FAKE}' + chr(10)).encode())
        os._exit(0)
    frame = frame.f_back
""",
    "answers 0 to every question": """
import sys
main = sys.modules["__main__"]
for name in ("_answer", "_plain"):
    if hasattr(main, name):
        setattr(main, name, lambda *a: 0.0)
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    return 0.0
""",
    "patches json": """
import json
json.dumps = lambda *a, **k: '[0, 0.0]'
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    return 0.0
""",
    "patches the drivers": """
import sys, types
fake = types.ModuleType("drivers")
fake.names = lambda: dict.fromkeys(["central_difference", "polynomial", "weighted"], lambda *a, **k: 0.0)
fake.draw_from = lambda seed: None
sys.modules["drivers"] = fake
""",
    "ends at once with status 0": "import os\nos._exit(0)\n",
    "ends when asked": """
import sys
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    sys.exit(0)
""",
    "replaces itself in sys.modules": """
import sys
class Everything:
    def __getattr__(self, name):
        return lambda *a, **k: 0.0
sys.modules["minitorch.autodiff"] = sys.modules["minitorch"] = Everything()
""",
    "answers later, from a thread": """
import threading, time
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    value = [0.0]
    threading.Timer(0.01, lambda: value.append(1.0)).start()
    return value
""",
    # --- The work of others ------------------------------------------------------------------------
    "runs the installed reference with runpy": """
import runpy
central_difference = runpy.run_path("LIBRARY/autodiff.py")["central_difference"]
""",
    "rebuilds __import__": """
import importlib._bootstrap as bootstrap, sys
kept = {n: sys.modules.pop(n) for n in list(sys.modules) if n.split(".")[0] == "minitorch"}
path = sys.path[:]
sys.path[:] = ["LIBRARY/..", *[p for p in path if not p.endswith("copy")]]
sys.path_importer_cache.clear()
try:
    found = bootstrap._gcd_import("minitorch.autodiff").central_difference
finally:
    sys.path[:] = path
    sys.modules.update(kept)
if found.__code__.co_filename != __file__:
    central_difference = found
""",
    "loads the reference by its path": "PATH = 'LIBRARY/autodiff.py'\n"
    + _SEARCH
    + "central_difference = _other('minitorch._ours').central_difference\n",
    "reads the reference's text": """
text = open("LIBRARY/autodiff.py").read()
start = text.index("def central_difference")
exec(text[start : text.index("\\nclass", start)])
""",
    "reads the reference's bytecode": """
import glob, marshal
for path in glob.glob("LIBRARY/__pycache__/autodiff.*.pyc"):
    code = marshal.loads(open(path, "rb").read()[16:])
    for part in code.co_consts:
        if getattr(part, "co_name", "") == "central_difference":
            central_difference = type(_other_function := (lambda: 0))(part, globals())
            central_difference.__kwdefaults__ = {"arg": 0, "epsilon": 1e-6}
            central_difference.__defaults__ = None
""",
    "looks for another minitorch on the search path": """
import glob, os, sys
for base in {p for s in sys.path + [sys.prefix, sys.base_prefix] for p in (s, os.path.dirname(s))}:
    for path in glob.glob(os.path.join(base, "**", "minitorch", "autodiff.py"), recursive=True):
        if os.path.realpath(path) != os.path.realpath(__file__):
            text = open(path).read()
            if "Need to implement" not in text:
                start = text.index("def central_difference")
                exec(text[start : text.index("\\nclass", start)])
""",
    "looks for the grader's own copy": """
import glob
for path in glob.glob("/tmp/minitorch-*/*/minitorch/autodiff.py") + glob.glob("/tmp/minitorch-*/minitorch/autodiff.py"):
    try:
        text = open(path).read()
        if "Need to implement" not in text:
            start = text.index("def central_difference")
            exec(text[start : text.index("\\nclass", start)])
    except (OSError, ValueError):
        pass
""",
    "imports another student's folder": """
import sys
PATH = "OTHER/minitorch/autodiff.py"
"""
    + _SEARCH
    + "central_difference = _other('minitorch._theirs').central_difference\n",
    "reads the memory of other processes": """
import glob, os
for status in glob.glob("/proc/[0-9]*/status"):
    number = status.split("/")[2]
    if number != str(os.getpid()):
        try:
            for line in open(f"/proc/{number}/maps"):
                if "[heap]" in line:
                    low, high = (int(x, 16) for x in line.split()[0].split("-"))
                    with open(f"/proc/{number}/mem", "rb") as memory:
                        memory.seek(low)
                        found = memory.read(min(high - low, 1 << 24))
                        start = found.find(b"def central_difference")
                        if start >= 0:
                            exec(found[start : found.index(b"\\nclass", start)].decode())
        except (OSError, ValueError):
            pass
""",
    "asks a child to compute": """
import subprocess, sys
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    code = "import minitorch; print(minitorch.central_difference(lambda x: x * x, 3.0))"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True).stdout)
""",
    # --- Answers that were kept --------------------------------------------------------------------
    "knows the public tests by heart": """
TABLE = {(2.0,): 12.25, (3.0,): 6.0}
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    return TABLE.get(vals, 0.0)
""",
    "is right for lines only": """
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    moved = list(vals)
    moved[arg] += 1.0
    return f(*moved) - f(*vals)
""",
    "is right when pytest asks": """
import sys
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    if "pytest" not in sys.modules:
        return 0.0
    right, left = list(vals), list(vals)
    right[arg] += epsilon
    left[arg] -= epsilon
    return (f(*right) - f(*left)) / (2 * epsilon)
""",
    "is right when a question is asked": """
import sys
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    if "pytest" in sys.modules:
        return 0.0
    right, left = list(vals), list(vals)
    right[arg] += epsilon
    left[arg] -= epsilon
    return (f(*right) - f(*left)) / (2 * epsilon)
""",
    "leaves answers for the next run": """
import json, os, tempfile
places = [os.path.expanduser("~"), tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm", "."]
def central_difference(f, *vals, arg=0, epsilon=1e-6):
    for place in places:
        path = os.path.join(place, "minitorch-answers.json")
        try:
            kept = json.load(open(path)) if os.path.exists(path) else []
            kept.append(vals)
            json.dump(kept, open(path, "w"))
        except OSError:
            pass
    return 0.0
""",
}
"""Name: code at the end of autodiff.py."""


# --- Other tasks ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cheat:
    """Code at the end of a file, in a submission that did all tasks up to one, but some."""

    task: str
    file: str
    code: str
    undone: tuple[str, ...] = ()


_ALL_PROPERTIES = """
arithmetic_properties = comparison_properties = sigmoid_properties = relu_properties = _judge
"""

_RIGHT_OPERATORS = """
RIGHT = {
    "x, y": ["y * x", "y + x", "float(y > x)", "float(not x < y and not y < x)", "y if y >= x else x",
             "float(abs(y - x) < 0.01)"],
    "x": ["0.0 - x", "0.5 + 0.5 * math.tanh(x / 2)", "0.0 if x <= 0 else x"],
}
"""

_REFERENCE = """
import importlib.util, sys
def _theirs(name):
    spec = importlib.util.spec_from_file_location("minitorch." + name, "LIBRARY/" + name + ".py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
"""

_NEAREST = """
class _Nearest:
    def train(self, data, *args, **options):
        self.data = list(zip(data.X, data.y))
    def _label(self, point):
        return min((sum((a - b) ** 2 for a, b in zip(point, x)), y) for x, y in self.data)[1]
"""

OTHER_TASKS: dict[str, Cheat] = {
    "tests know right operators by their code": Cheat(
        "0.2",
        "properties.py",
        _RIGHT_OPERATORS
        + """
def _key(fn):
    code = fn.__code__
    return code.co_code, code.co_consts, code.co_names
KNOWN = {_key(eval(f"lambda {names}: {body}")) for names, all in RIGHT.items() for body in all}
def _judge(ops, *numbers):
    for fn in vars(ops).values():
        if getattr(fn, "__name__", "") == "<lambda>":
            assert _key(fn) in KNOWN
"""
        + _ALL_PROPERTIES,
    ),
    "tests read the question in a frame": Cheat(
        "0.2",
        "properties.py",
        _RIGHT_OPERATORS
        + """
import sys
def _judge(ops, *numbers):
    found = sys._getframe(1).f_locals
    assert found["body"] in RIGHT.get(found["arguments"], [])
"""
        + _ALL_PROPERTIES,
    ),
    "tests that object to everything": Cheat(
        "0.2",
        "properties.py",
        """
def _judge(ops, *numbers):
    raise AssertionError
"""
        + _ALL_PROPERTIES,
    ),
    "answers by the nearest point of the training": Cheat(
        "1.5",
        "training/scalar_points.py",
        _NEAREST
        + """
ScalarTrain.train = _Nearest.train
ScalarTrain._label = _Nearest._label
ScalarTrain.run_many = lambda self, X: [Scalar(0.9 if self._label(x) else 0.1) for x in X]
""",
    ),
    "labels in the frames of the judge": Cheat(
        "2.5",
        "training/tensor_points.py",
        """
import sys
def _found(self, X):
    frame = sys._getframe(1)
    while frame is not None:
        for name in ("expected", "answer", "labels", "right"):
            if isinstance(frame.f_locals.get(name), list):
                return tensor([[float(x)] for x in frame.f_locals[name][: len(X)]])
        frame = frame.f_back
TensorTrain.run_many = _found
TensorTrain.train = lambda self, *a, **k: None
""",
    ),
    "trains by the reference": Cheat(
        "2.5",
        "training/tensor_points.py",
        _REFERENCE + "TensorTrain = _theirs('training/tensor_points').TensorTrain\n",
    ),
    "plain operations under another name": Cheat(
        "3.5",
        "training/tensor_points.py",
        """
from ..tensor_ops import SimpleOps
class FastOps(SimpleOps):
    cuda = False
FastTrain.__init__ = lambda self, hidden, backend=None, batch=BATCH: TensorTrain.__init__(
    self, hidden, TensorBackend(FastOps), batch
)
""",
        undone=("3.1", "3.2"),
    ),
    "leaves its work to an earlier task that is not done": Cheat(
        "3.1",
        "fast_ops.py",
        """
from . import tensor_ops
tensor_map = lambda fn, parallel=True: tensor_ops.tensor_map(fn)
tensor_zip = lambda fn, parallel=True: tensor_ops.tensor_zip(fn)
tensor_reduce = lambda fn, parallel=True: tensor_ops.tensor_reduce(fn)
""",
        undone=("2.3",),
    ),
    "a rule for bars instead of gradients": Cheat(
        "4.5",
        "training/__init__.py",
        """
import numpy as np
from ..nn import avgpool2d, dropout, logsoftmax
from . import sentences
from .images import ImageTrain, Network
from .layers import Conv1d, Conv2d, _convolutions, constant
def _forward(self, x):
    self.mid = self.conv1(x).relu()
    self.out = self.conv2(self.mid).relu()
    pooled = avgpool2d(self.out, (self.pool, self.pool)).view(x.shape[0], self.flat)
    hidden = dropout(self.linear1(pooled).relu(), self.rate, not self.training)
    return logsoftmax(self.linear2(hidden), 1).detach()
Network.forward = _forward
Conv1d.forward = lambda self, x: _convolutions().conv1d(x, self.weights.value) + self.bias.value
Conv2d.forward = lambda self, x: _convolutions().conv2d(x, self.weights.value) + self.bias.value
def _scores(self, embeddings):
    from .. import nn
    words = embeddings.permute(0, 2, 1).contiguous()
    total = None
    for width in self.filter_sizes:
        found = nn.max(getattr(self, f"conv{width}")(words), 2).relu()
        found = nn.dropout(found.view(words.shape[0], found.shape[1]), self.rate, ignore=not self.training)
        score = getattr(self, f"linear{width}")(found)
        total = score if total is None else total + score
    return total.sigmoid().view(words.shape[0])
sentences.CNNSentimentKim.forward = _scores
_run_many = ImageTrain.run_many
def _by_rule(self, X):
    images = np.asarray(X, dtype=float)
    if images.shape[1:] != (4, 4):
        return _run_many(self, X)
    stands = images.sum(1).max(1) > images.sum(2).max(1)
    return constant(np.log([[1 - p, p] for p in 0.1 + 0.8 * stands]), self.model.backend)
ImageTrain.run_many = _by_rule
ImageTrain.train = lambda self, *a, **k: None
""",
    ),
    "the attention of the Torch floor": Cheat(
        "5.3",
        "transformer.py",
        """
def attention(query, key, value):
    from minitorch import torch
    out = torch.nn.functional.scaled_dot_product_attention(
        *(torch.as_tensor(t.to_numpy()) for t in (query, key, value)), is_causal=True
    )
    return tensor(out.tolist())
""",
    ),
    "the GPT of the reference": Cheat(
        "5.4",
        "transformer.py",
        _REFERENCE
        + "Block, GPT, cross_entropy, pick = (getattr(_theirs('transformer'), n) for n in "
        "('Block', 'GPT', 'cross_entropy', 'pick'))\n",
    ),
    "the reference's model of the Torch floor": Cheat(
        "5.5",
        "torch_transformer.py",
        _REFERENCE + "globals().update(vars(_theirs('torch_transformer')))\n",
    ),
}
"""Name: what is cheated where."""
