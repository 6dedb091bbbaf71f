"""Reading pages in HTML: nothing is refused here, so that every rule can be looked at."""

from __future__ import annotations

from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from wheelmill.conformance.pages import Document, FileLink, Form, ListedProject, ProjectDetail, ProjectList
from wheelmill.conformance.urls import absolute, last_part


def read_project_list(document: Document) -> ProjectList:
    """Read a root page."""
    tree = LexborHTMLParser(document.content)
    return ProjectList(
        document=document,
        form=Form.HTML,
        repository_version=_meta(tree, "pypi:repository-version"),
        projects=tuple(ListedProject(text=node.text(strip=True), href=href) for node, href in _anchors(tree)),
    )


def read_project_detail(document: Document, project: str) -> ProjectDetail:
    """Read a project's page."""
    tree = LexborHTMLParser(document.content)
    base_node = tree.css_first("base[href]")
    base, _ = absolute(document.final_url, (base_node.attributes["href"] or "") if base_node else "")
    return ProjectDetail(
        document=document,
        form=Form.HTML,
        project=project,
        name=None,
        repository_version=_meta(tree, "pypi:repository-version"),
        status=_meta(tree, "pypi:project-status"),
        versions=None,
        files=tuple(_file(document.url, base, node, href) for node, href in _anchors(tree)),
    )


def has_doctype(content: bytes) -> bool:
    """Whether a page begins as HTML5 does."""
    root = LexborHTMLParser(content).root
    document = root.parent if root else None
    return bool(document and document.child and document.child.tag == "-doctype")


def _anchors(tree: LexborHTMLParser) -> Iterator[tuple[LexborNode, str]]:
    for node in tree.css("a[href]"):
        yield node, node.attributes["href"] or ""


def _meta(tree: LexborHTMLParser, name: str) -> str | None:
    node = tree.css_first(f'meta[name="{name}"]')
    return node.attributes.get("content") if node else None


def _file(page: str, base: str, node: LexborNode, href: str) -> FileLink:
    attributes = {name.lower(): value or "" for name, value in node.attributes.items()}
    url, fragment = absolute(base, href)
    hash_name, equals, digest = fragment.partition("=")
    return FileLink(
        page=page,
        form=Form.HTML,
        text=node.text(strip=True),
        filename=last_part(url),
        url=url,
        hashes={hash_name: digest} if equals else {},
        requires_python=attributes.get("data-requires-python"),
        core_metadata=attributes.get("data-core-metadata"),
        legacy_metadata=attributes.get("data-dist-info-metadata"),
        yanked=attributes.get("data-yanked"),
        size=attributes.get("data-size"),
        upload_time=attributes.get("data-upload-time"),
        provenance=attributes.get("data-provenance"),
        signature=attributes.get("data-gpg-sig"),
    )
