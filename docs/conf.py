"""How Sphinx renders these pages: `sphinx-build --fail-on-warning docs out/docs`. _toc.yml is the navigation."""

import os
import shutil
from importlib import metadata
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import download_reference, pending_xref
from sphinx.application import Sphinx

project = "wheelmill"
release = metadata.version(project)
language = "en"
extensions = ["myst_parser", "sphinx_external_toc"]
myst_heading_anchors = 4  # the anchors that GitHub gives
nitpicky = True
highlight_language = "none"  # of blocks that name no language

html_theme = "furo"
html_title = f"{project} {release}"
html_favicon = "../index/static/icon.svg"
html_static_path = ["documents.css"]
html_css_files = ["documents.css"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_use_index = False

FILES = os.environ.get("WHEELMILL_FILES")
"""The address of the repository's files at this commit, with a slash at its end; without it nothing links to them."""


SCHEMAS = Path("reference", "schemas")


def link_to_files(app: Sphinx, doctree: nodes.document) -> None:
    """Let links to schemas lead to where they lie here, and those out of this folder to the repository."""
    root, page = app.srcdir.parent, Path(doctree["source"])
    for link in [*doctree.findall(download_reference), *doctree.findall(pending_xref)]:
        path = Path(os.path.normpath(page.parent / link["reftarget"]))
        if path.parent == app.srcdir / SCHEMAS and path.exists():
            link.replace_self(nodes.reference("", "", *link.children, refuri=link["reftarget"], internal=True))
        if path.is_relative_to(app.srcdir):
            continue
        path = path if path.exists() else path.with_suffix(".md")  # Sphinx names a page without its suffix
        if not path.exists():
            continue  # which is a warning of Sphinx's
        anchor = f"#{link['reftargetid']}" if link.get("reftargetid") else ""
        address = f"{FILES}{path.relative_to(root).as_posix()}{anchor}"
        link.replace_self(nodes.reference("", "", *link.children, refuri=address) if FILES else link.children)


def name_first_page(app: Sphinx, error: Exception | None) -> None:
    """Give the first page the name that hosts look for, too; GitHub looks for the other."""
    if app.builder.format == "html" and not error:
        shutil.copyfile(app.outdir / "README.html", app.outdir / "index.html")


def keep_schemas(app: Sphinx, error: Exception | None) -> None:
    """Give every schema the address that it has among these files; Sphinx's own changes with what is in it."""
    if app.builder.format == "html" and not error:
        shutil.copytree(app.srcdir / SCHEMAS, app.outdir / SCHEMAS, dirs_exist_ok=True)


def serve_keyboards(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: nodes.document | None
) -> None:
    """Let keys scroll code and tables, and give captions of the navigation the level that their role requires."""
    body = context.get("body", "").replace("<pre>", '<pre tabindex="0">')
    context["body"] = body.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace('role="heading">', 'role="heading" aria-level="2">')


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("html-page-context", serve_keyboards, priority=900)  # after the theme
    app.connect("build-finished", keep_schemas)
    app.connect("build-finished", name_first_page, priority=100)  # before sphinx_external_toc makes one that redirects
    app.connect("doctree-read", link_to_files, priority=100)  # before Sphinx copies such files
