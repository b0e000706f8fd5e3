"""Twenty submissions, honest and not, with the marks they deserve.

python -m tests.course_tools.twenty
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from minitorch.course.catalogue import MISTAKES
from minitorch.course.grading import grade
from minitorch.course.sandbox import Limits
from minitorch.course.stubs import solution_file

from .test_grading import HOSTILE, TASK, patch_the_tests, put_into, solved

MORE = {
    "stops Python": "import sys\nsys.exit(0)\n",
    "kills itself": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
    "writes elsewhere": "open('/tmp/minitorch-was-here', 'w').write('x')\n",
    "starts processes": "import os\nfor _ in range(3):\n    os.fork()\n",
    "does not parse": "def broken(:\n",
}
"""Code that is put at the top of `autodiff.py`, as that of HOSTILE."""

RIGHT = {
    *("good", "another good one", "comments", "tests deleted"),
    "deletes files",  # without effect, and the answer is right
}


def submissions(root: Path, victim: Path) -> list[Path]:
    """Make them; all solve what comes before the task."""
    for name in ("good", "another good one", "comments", "tests deleted"):
        solved(root / name)
    path = root / "comments" / "minitorch" / "autodiff.py"
    path.write_text("# mine\n" + path.read_text() + "\n# the end\n")
    for path in (root / "tests deleted" / "tests" / "course").glob("test_*.py"):
        path.unlink()
    for mistake in [m for m in MISTAKES if m.number == TASK.number]:
        folder = solved(root / mistake.name)
        text = solution_file(mistake.file).replace(mistake.right, mistake.wrong)
        (folder / "minitorch" / mistake.file).write_text(text)
    for name, code in (HOSTILE | MORE).items():
        put_into(solved(root / name), code, victim)
    patch_the_tests(root / "patches the tests")
    (root / "empty").mkdir()
    return sorted(root.iterdir())


def main() -> int:
    """Grade them all; 0 if every mark is right and nothing else was touched."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="minitorch-twenty-") as folder:
        root, victim = Path(folder) / "submissions", Path(folder) / "victim"
        victim.mkdir()
        (victim / "precious.txt").write_text("still here")
        folders = submissions(root, victim)
        before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
        wrong = 0
        for g in grade(folders, [TASK], Limits(seconds=60, memory=2 << 30)):
            expected = float(TASK.points if g.name in RIGHT else 0)
            wrong += g.points != expected
            verdict = "ok  " if g.points == expected else "FAIL"
            print(f"  {verdict} {g.points:4.0f}  {g.name:<28}{g.marks[0].note[:90]}", flush=True)
        after = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
        untouched = before == after and [p.name for p in victim.iterdir()] == ["precious.txt"]
        untouched = untouched and not Path("/tmp/minitorch-was-here").exists()
    print(
        f"{len(folders)} submissions, {wrong} wrong marks; "
        f"{'nothing' if untouched else 'SOMETHING'} outside was touched; "
        f"{time.perf_counter() - began:.0f} s"
    )
    return 1 if wrong or not untouched else 0


if __name__ == "__main__":
    sys.exit(main())
