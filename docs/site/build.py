"""Build the documentation site: `python -m docs.site.build`, or `make docs`.

Gathers the pages, draws the figures, writes notebooks and the pages of the API reference, and lets
Sphinx make a folder of it that opens in a browser without a server and without a network. A warning
is an error, and so is a link that leads nowhere.
"""

from __future__ import annotations

import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from minitorch.course.catalogue import MISTAKES

from ..figures import every  # noqa: F401  registers all figures
from ..figures.style import FIGURES, save
from .notebooks import write_notebooks
from .pages import DOCS, ROOT, guides

HERE = Path(__file__).parent
SOURCE = ROOT / "build" / "docs"
SITE = ROOT / "build" / "site"

REFERENCE = {
    "The course": [
        "operators", "module", "autodiff", "scalar", "scalar_functions", "tensor_data", "tensor_ops",
        "tensor_checks", "tensor_functions", "tensor", "fast_rows", "fast_tiles", "fast_ops", "cuda_ops",
        "fast_conv", "nn", "optim", "datasets",
    ],
    "The Torch floor": [
        "torch.tensor", "torch.ops.record", "torch.ops.surface", "torch.ops.elementwise",
        "torch.ops.reduce", "torch.ops.movement", "torch.autograd.graph", "torch.nn.functional",
        "torch.nn.modules.module", "torch.nn.modules.container", "torch.nn.modules.linear",
        "torch.nn.modules.conv", "torch.nn.modules.activation", "torch.nn.modules.loss",
        "torch.nn.modules.normalization", "torch.nn.modules.rnn", "torch.nn.modules.transformer",
        "torch.optim.optimizer", "torch.optim.sgd", "torch.optim.adam", "torch.optim.adamw",
        "torch.optim.lr_scheduler", "torch.utils.data.dataset", "torch.utils.data.dataloader",
        "torch.safetensors", "torch.runner",
    ],
}  # fmt: skip
"""The modules of the reference, below `minitorch`."""


def main() -> int:
    """Build it all; the exit code says whether it is without fault."""
    gather()
    code = _sphinx()
    if code:
        return code
    dead = dead_site_links(SITE)
    for link in dead:
        print(f"dead link: {link}")
    print(f"{len(list(SITE.rglob('*.html')))} pages: {SITE / 'index.html'}")
    return 1 if dead else 0


# --- The pages -------------------------------------------------------------------


def gather() -> None:
    """Put everything that Sphinx reads into one folder."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.rmtree(SITE, ignore_errors=True)
    SOURCE.mkdir(parents=True)
    written = [*DOCS.glob("*.md"), *(DOCS / "guide").glob("*.md")]
    for path in [*written, *(DOCS / "results").iterdir(), *(DOCS / "app").iterdir()]:
        _copy(path, SOURCE / path.relative_to(DOCS))
    for name in ("CONTRIBUTING.md", "CHANGELOG.md"):
        text = (ROOT / name).read_text()
        (SOURCE / name).write_text(text.replace("](docs/", "]("))
    _write_index()
    for name in FIGURES:
        save(name, SOURCE / "figures" / "svg")
    write_notebooks(SOURCE / "notebooks")
    _add_contents()
    _write_mistakes()
    _write_reference()


def _copy(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, to)


def _write_index() -> None:
    """The first page; pages of `docs/` that it does not name follow in the sidebar."""
    text = (HERE / "index.md").read_text()
    named = set(re.findall(r"^[\w/-]+$", text, re.MULTILINE))
    others = sorted(path.stem for path in DOCS.glob("*.md") if path.stem not in named)
    if others:
        listed = "\n".join(others)
        text += f"\n```{{toctree}}\n:hidden:\n:caption: More\n{listed}\n```\n"
    (SOURCE / "index.md").write_text(text)


def _add_contents() -> None:
    """The order of the guides for the sidebar, the notebooks' page, a link to each notebook."""
    index = SOURCE / "guide" / "index.md"
    modules = sorted(path.stem for path in (DOCS / "guide").glob("module[0-9].md"))
    listed = "\n".join([*guides(), *modules])
    index.write_text(f"{index.read_text()}\n```{{toctree}}\n:hidden:\n{listed}\n```\n")
    lines = ["# Notebooks", "", "Every guide as a notebook, made from the same source.", ""]
    for name in guides():
        page = SOURCE / "guide" / f"{name}.md"
        title, rest = page.read_text().split("\n", 1)
        lines.append(f"- [{title[2:]}](notebooks/{name}.ipynb)")
        page.write_text(f"{title}\n\n*[Open as a notebook](../notebooks/{name}.ipynb)*\n{rest}")
    (SOURCE / "notebooks.md").write_text("\n".join(lines) + "\n")


def _write_mistakes() -> None:
    """The whole catalogue on one page, and a link to it where a guide speaks of mistakes."""
    tasks: dict[str, list[str]] = {}
    for mistake in MISTAKES:
        entry = f"- **{_as_text(mistake.name)}.** {_as_text(mistake.advice)}"
        tasks.setdefault(mistake.number, []).append(entry)
    lines = [
        "# All mistakes",
        "",
        "Wrong answers that the checks recognise, and what they say.",
        "",
    ]
    for number, entries in sorted(tasks.items()):
        lines += [f"## Task {number}", "", *entries, ""]
    (SOURCE / "mistakes.md").write_text("\n".join(lines))
    for name in guides():
        page = SOURCE / "guide" / f"{name}.md"
        text = page.read_text()
        known = [
            task for task in re.findall(r"^## Task (\d\.\db?)", text, re.MULTILINE) if task in tasks
        ]
        links = ", ".join(f"[{t}](../mistakes.md#task-{t.replace('.', '')})" for t in known)
        if links:
            more = f"## Common mistakes\n\nAll that the checks recognise: task {links}.\n"
            page.write_text(text.replace("## Common mistakes\n", more))


def _as_text(words: str) -> str:
    """Words in which no character is markup, outside of code."""
    parts = re.split(r"(`[^`]+`)", words)
    parts[::2] = [re.sub(r"([*_<>$\[\]])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def _write_reference() -> None:
    """A page per module, which Sphinx fills from the docstrings."""
    folder = SOURCE / "api"
    folder.mkdir()
    index = ["# Reference", "", "From the docstrings of the library.", ""]
    for floor, modules in REFERENCE.items():
        index += [f"## {floor}", "", "```{toctree}", ":maxdepth: 1", *modules, "```", ""]
        for module in modules:
            name = f"minitorch.{module}"
            text = f"# {module}\n\n```{{eval-rst}}\n.. automodule:: {name}\n   :members:\n```\n"
            (folder / f"{module}.md").write_text(text)
    (folder / "index.md").write_text("\n".join(index))


def _sphinx() -> int:
    from sphinx.cmd.build import main as sphinx

    cache = str(ROOT / "build" / "doctrees")
    options = ["-W", "--keep-going", "-q", "-b", "html", "-c", str(HERE), "-d", cache]
    return sphinx([*options, str(SOURCE), str(SITE)])


# --- The links of what was built ---------------------------------------------------


class _Page(HTMLParser):
    """What a page links to, what can be linked to in it, and what it loads from elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the links and names of a tag."""
        given = dict(attrs)
        self.ids.update(value for key in ("id", "name") if (value := given.get(key)))
        target = given.get("src") if tag in ("img", "script") else given.get("href")
        if not target:
            return
        if re.match(r"(https?:)?//", target):
            if tag != "a":
                self.loaded.append(target)
        elif not re.match(r"[a-z]+:", target):
            self.links.append(target)


def dead_site_links(site: Path) -> list[str]:
    """Links and anchors that lead nowhere, and anything that would need a network."""
    pages = {path.resolve(): _Page(path.read_text()) for path in site.rglob("*.html")}
    dead = []
    for path, page in pages.items():
        where = path.relative_to(site.resolve())
        dead += [f"{where}: loads {target} from the network" for target in page.loaded]
        for link in page.links:
            file, _, anchor = unquote(link).partition("#")
            target = (path.parent / file.split("?")[0]).resolve() if file else path
            known = target in pages and (not anchor or anchor in pages[target].ids)
            if not known and not (target not in pages and target.is_file()):
                dead.append(f"{where}: {link}")
    return sorted(set(dead))


if __name__ == "__main__":
    sys.exit(main())
