"""How the documentation is built: `make docs`.

The source folder is the root of the repository, so a link between two pages is the same on the site and on a
code host, and no text exists twice.
"""

import importlib.metadata
import os
import re
import warnings
from importlib.util import find_spec
from pathlib import Path

import click
from docutils import nodes
from sphinx.addnodes import pending_xref

from eigenstream.cli.sections import SectionedCommand, section_of

ROOT = Path(__file__).resolve().parents[1]

project, author = "eigenstream", "The eigenstream developers"
release = importlib.metadata.version("eigenstream")
html_title = f"eigenstream {release}"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "docs/*.rst",
    "docs/evaluation/*.md",
    "docs/jobs/*.md",
    "docs/gallery/*.rst",
    "docs/generated/*.rst",
    "benchmarks/results/*.md",
    "paper/article.md",
    "paper/note.md",
    "tests/soak/report.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
templates_path = [str(ROOT / "docs" / "_templates")]

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_logo = html_favicon = "_static/logo.svg"
html_additional_pages = {"index": "to_the_first_page.html"}
html_copy_source = html_show_sourcelink = html_show_copyright = False
html_sidebars = {"docs/index": [], "docs/start": [], "CHANGELOG": []}
html_theme_options = {
    "show_prev_next": True,
    "navbar_align": "left",
    "logo": {"text": html_title, "alt_text": "eigenstream, to the first page"},
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["last-updated"],
    "footer_end": [],
    "show_toc_level": 2,
}
html_extra_path = [str(folder) for folder in [ROOT / "build" / "site"] if folder.exists()]

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline", "colon_fence"]

highlight_language = "none"  # a block without a language is what a command prints
smartquotes = False  # what is quoted is to be typed
default_role = "py:obj"
autodoc_typehints = "none"  # words describe parameters, and signatures stay short
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
autosummary_generate = True
autodoc_mock_imports = [name for name in ("torch", "pyspark", "google") if not find_spec(name)]
autosummary_imported_members = True
napoleon_use_param = napoleon_use_rtype = False  # a line may name several parameters
napoleon_attr_annotations = False
napoleon_custom_sections = [("Attributes", "params_style")]

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("error", module="eigenstream")

WITHOUT_TORCH = "" if find_spec("torch") else "(?!training_activations)"
"""Without PyTorch its example is shown, but not run."""
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "docs/gallery",
    "filename_pattern": f"/plot_{WITHOUT_TORCH}",
    "abort_on_example_error": False,
    "capture_repr": (),
    "show_memory": False,
    "write_computation_times": False,
    "plot_gallery": "True",
    "download_all_examples": False,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": None,
}


def plain_words(app, ctx, lines):
    """Help texts are not reStructuredText: a star in a pattern such as '*_id' begins no emphasis."""
    lines[:] = [line.replace("'*", "'\\*") for line in lines]


def headings(app, ctx, lines):
    """Options stand under the headings that ``--help`` has."""
    if isinstance(ctx.command, SectionedCommand):
        sections = [section_of(one) for one in ctx.command.params if isinstance(one, click.Option)]
        places = [i for i, line in enumerate(lines) if line.startswith(".. option::")]
        for i, section, before in reversed([*zip(places, sections, [None, *sections], strict=False)]):
            if section is not before:
                lines[i:i] = [f"**{section}**", ""]


def is_foreign(app, what, name, thing, skip, options):
    """Leave out what classes inherit from other libraries, whose own pages describe it."""
    home = getattr(getattr(thing, "fget", thing), "__module__", None) or "eigenstream"
    return True if not home.startswith("eigenstream") else None


def tables_as_they_are(app, what, name, thing, options, lines):
    """Indented lines in the docstring of a module are a table, not a quotation."""
    if what == "module":
        for i in range(len(lines) - 1, 1, -1):
            first = lines[i].startswith("    ") and not lines[i - 1] and not lines[i - 2].startswith(" ")
            if first and not lines[i - 2].endswith("::"):
                lines[i:i] = ["::", ""]


def words_of_attributes(app, what, name, thing, options, lines):
    """Napoleon takes what stands before a colon in the first line about an attribute for its type."""
    if what in ("attribute", "property"):
        lines[:] = ["", *(line for line in lines if not line.startswith("Alias for field number"))]


def to_the_gallery(app, doctree):
    """A link to the folder of examples is one to the gallery that is made of it."""
    for link in doctree.findall(pending_xref):
        if link["reftarget"] in ("../examples", "../../examples"):
            link["refdomain"], link["reftype"], link["reftarget"] = "std", "doc", "/docs/gallery/index"
            link["refexplicit"] = True  # words of the page, not the title of the gallery


def words_of_thumbnails(app, doctree):
    """A thumbnail of the gallery says which example it is of, for those who do not see it."""
    for image in doctree.findall(nodes.image):
        if (found := re.search(r"sphx_glr_plot_(\w+)_thumb", image["uri"])) and not image.get("alt"):
            image["alt"] = f"the picture of the example: {found[1].replace('_', ' ')}"


def way_back(app, error):
    """The report of the reproduction is a page of its own: from there, a link leads back to the site."""
    report = Path(app.outdir) / "reproduction" / "index.html"
    if error is None and report.exists():
        link = '<p><a href="../docs/report.html" target="_top">Back to the documentation</a></p>'
        head, body, rest = report.read_text("utf-8").partition("<body>")
        if body and link not in rest:
            report.write_text(f"{head}{body}\n{link}{rest}", encoding="utf-8")


def setup(app):
    app.connect("sphinx-click-process-options", plain_words)
    app.connect("sphinx-click-process-options", headings)
    app.connect("autodoc-skip-member", is_foreign)
    app.connect("autodoc-process-docstring", tables_as_they_are)
    app.connect("autodoc-process-docstring", words_of_attributes, priority=400)
    app.connect("doctree-read", to_the_gallery)
    app.connect("doctree-read", words_of_thumbnails)
    app.connect("build-finished", way_back)
