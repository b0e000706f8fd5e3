"""How Sphinx builds the site; `build.py` gathers the pages and calls it."""

import sys
from pathlib import Path

import minitorch

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

project = "MiniTorch"
copyright = "the authors of MiniTorch"
version = release = minitorch.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "docs.site.mathml",
    "docs.site.docstrings",
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_heading_slug_func = "docs.site.pages.slug"
html_math_renderer = "mathml"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
toc_object_entries = False
suppress_warnings = ["ref.python"]  # an annotation says Tensor, and both floors have one

html_theme = "furo"
html_title = "MiniTorch"
html_static_path = [str(Path(__file__).parent / "static")]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
