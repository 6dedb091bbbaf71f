"""Pages of an index (PEP 503, with the attributes of PEP 658, 700 as uv reads them, and 714)."""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from wheelmill import resources
from wheelmill.index.records import IndexFile, Site, Tree


def pages_of(site: Site) -> dict[str, bytes]:
    """Render a site: paths below its root, and what stands there."""
    templates = Environment(
        loader=FileSystemLoader(resources.INDEX / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    pages = {"index.html": templates.get_template("site.html").render(trees=site.trees)}
    for tree in site.trees:
        pages.update(_pages_of_tree(tree, templates))
    return {path: text.encode() for path, text in pages.items()}


def _pages_of_tree(tree: Tree, templates: Environment) -> Iterator[tuple[str, str]]:
    project_list = templates.get_template("project_list.html")
    project_detail = templates.get_template("project_detail.html")
    yield f"{tree.folder}/index.html", project_list.render(tree=tree)
    for project, files in tree.projects.items():
        path = f"{tree.folder}/{project}/index.html"
        links = [(file, _href(file, depth=path.count("/"))) for file in files]
        yield path, project_detail.render(project=project, links=links)


def _href(file: IndexFile, *, depth: int) -> str:
    """The file's URL as seen from a page this many folders below the site's root, with its hash."""
    relative = "://" not in file.url and not file.url.startswith("/")
    return f"{'../' * depth if relative else ''}{file.url}#sha256={file.sha256}"
