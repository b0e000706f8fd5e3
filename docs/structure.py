"""How large the library is and how it hangs together, at several commits.

`python -m docs.structure COMMIT ...` writes docs/results/structure.txt: the commits' trees, and this one.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "docs/results/structure.txt"
ROOMS = (
    "minitorch",
    "minitorch/torch",
    "minitorch/torch/backends",
    "minitorch/torch/backends/cpu",
    "minitorch/torch/formulas",
    "minitorch/torch/ops",
)
LONG_FILE, LONG_FUNCTION = 500, 60
REPEATED = 6
"""How many equal lines in a row count as a repetition."""


class Tree:
    """The modules of a library, by name, parsed."""

    def __init__(self, root: Path) -> None:
        self.files = {f: f.read_text() for f in sorted((root / "minitorch").rglob("*.py"))}
        self.names = {f: _module(f.relative_to(root)) for f in self.files}
        self.parsed = {self.names[f]: ast.parse(text) for f, text in self.files.items()}
        self.packages = {self.names[f] for f in self.files if f.name == "__init__.py"}
        self.root = root

    def lines(self, room: str) -> tuple[int, int]:
        """The lines and files below a folder."""
        inside = [t for f, t in self.files.items() if f.is_relative_to(self.root / room)]
        return sum(t.count("\n") for t in inside), len(inside)

    def functions(self) -> Iterator[tuple[int, str]]:
        """The length of every function, and where it is."""
        for name, tree in self.parsed.items():
            for node in ast.walk(tree):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    yield (node.end_lineno or 0) - node.lineno + 1, f"{name}.{node.name}"

    def imports(self, name: str, at_start: bool) -> set[str]:
        """The library's modules that one imports: when it is loaded, or later, inside functions."""
        found: set[str] = set()
        for node, inside in _walk(self.parsed[name], False):
            if inside == at_start or not isinstance(node, (ast.Import, ast.ImportFrom)):
                continue
            if isinstance(node, ast.Import):
                found |= {a.name for a in node.names}
                continue
            package = name if name in self.packages else name.rpartition(".")[0]
            for _ in range(node.level - 1):
                package = package.rpartition(".")[0]
            base = ".".join(p for p in (package if node.level else "", node.module) if p)
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                found.add(whole if whole in self.parsed else base)
        return (found & set(self.parsed)) - {name}

    def cycles(self) -> list[list[str]]:
        """Groups of modules that import each other when they are loaded."""
        edges = {name: self.imports(name, True) for name in self.parsed}
        reach = {name: _reachable(name, edges) for name in edges}
        groups = {frozenset(m for m in reach[n] if n in reach[m]) for n in edges if n in reach[n]}
        return sorted(sorted(g) for g in groups)

    def repetitions(self) -> int:
        """Lines that stand in runs of equal code, beyond their first place."""
        seen: dict[tuple[str, ...], int] = Counter()
        repeated = 0
        for text in self.files.values():
            code = [
                s for line in text.splitlines() if len(s := line.strip()) > 3 and not _is_import(s)
            ]
            marks = [False] * len(code)
            for i in range(len(code) - REPEATED + 1):
                run = tuple(code[i : i + REPEATED])
                if seen[run]:
                    marks[i : i + REPEATED] = [True] * REPEATED
                seen[run] += 1
            repeated += sum(marks)
        return repeated


def _is_import(line: str) -> bool:
    return line.startswith(("from ", "import ", '"""', "#")) or line.rstrip(",").isidentifier()


def _module(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _walk(node: ast.AST, inside: bool) -> Iterator[tuple[ast.AST, bool]]:
    """All nodes, and whether they are inside a function; what is for type checkers alone is left out."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        yield child, inside
        deeper = inside or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        yield from _walk(child, deeper)


def _reachable(name: str, edges: dict[str, set[str]]) -> set[str]:
    """The modules that can be reached from one along imports."""
    found: set[str] = set()
    waiting = list(edges[name])
    while waiting:
        nearest = waiting.pop()
        if nearest not in found:
            found.add(nearest)
            waiting += edges[nearest]
    return found


def report(tree: Tree) -> Iterator[str]:
    """What there is to say about one tree, a line each."""
    for room in ROOMS:
        lines, files = tree.lines(room)
        if files:
            yield f"{room:26} {lines:7,} lines in {files} files"
    long = {str(f.relative_to(tree.root)): t.count("\n") for f, t in tree.files.items()}
    for name, length in sorted(long.items(), key=lambda item: -item[1]):
        if length > LONG_FILE:
            yield f"file over {LONG_FILE} lines: {name} {length}"
    for length, name in sorted(tree.functions(), reverse=True):
        if length > LONG_FUNCTION:
            yield f"function over {LONG_FUNCTION} lines: {name} {length}"
    cycles = tree.cycles()
    yield f"import cycles: {len(cycles)}"
    yield from (f"    {' '.join(cycle)}" for cycle in cycles)
    late: dict[str, int] = defaultdict(int)
    for name in tree.parsed:
        late[".".join(name.split(".")[:2])] += len(tree.imports(name, False))
    yield f"imports of the library's own modules inside functions: {sum(late.values())}, of minitorch.torch {late['minitorch.torch']}"
    yield f"lines in runs of {REPEATED} and more that occur elsewhere: {tree.repetitions():,}"


def _at(commit: str, folder: str) -> Path:
    """The tree of a commit, written to a folder."""
    packed = subprocess.run(
        ["git", "archive", commit, "minitorch"], cwd=ROOT, capture_output=True, check=True
    )
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return Path(folder)


def main(commits: list[str]) -> None:
    """Write the page."""
    text = ["# python -m docs.structure " + " ".join(commits)]
    for commit in commits:
        with TemporaryDirectory() as folder:
            text += ["", f"## {commit}", *report(Tree(_at(commit, folder)))]
    text += ["", "## This tree", *report(Tree(ROOT))]
    RESULT.write_text("\n".join(text) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    main(sys.argv[1:])
