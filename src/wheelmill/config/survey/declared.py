"""What a source declares of itself: in PKG-INFO, else in pyproject.toml, setup.cfg and setup.py."""

from __future__ import annotations

from collections.abc import Iterator
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from dataclasses import dataclass
from typing import Any, Final

from packaging.metadata import RawMetadata
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from wheelmill.config.pyproject import PYPROJECT, Pyproject
from wheelmill.config.survey.setup_script import SETUP, SetupScript
from wheelmill.config.survey.source_tree import Place, SourceTree
from wheelmill.errors import UnreadableError, UsageError
from wheelmill.wheel.metadata import read_fields

_PKG_INFO: Final = "PKG-INFO"
_SETUP_CFG: Final = "setup.cfg"
_BEGINNING: Final = 2_000
"""Characters of a setup.py that may name its licence."""


@dataclass(frozen=True, kw_only=True)
class Declared:
    """What is said of one source."""

    name: str | None
    version: str | None
    summary: str
    requires: tuple[str, ...]
    """What its wheels need, as far as that is said."""
    urls: tuple[str, ...]
    licences: tuple[tuple[Place, str], ...]
    """Texts that may name its licence, the surest first."""
    file: str
    """Where most of it stands."""

    def requirement_on(self, project: str) -> str | None:
        """What its wheels require of a project."""
        for text in self.requires:
            try:
                parsed = Requirement(text)
            except InvalidRequirement:
                continue
            if canonicalize_name(parsed.name) == project and "extra" not in str(parsed.marker):
                return text
        return None


def read_declared(tree: SourceTree, folder: str, pyproject: Pyproject, setup: SetupScript) -> Declared:
    """Read what a source declares.

    Args:
        tree: its files.
        folder: where in it the build starts, with a slash behind it; empty at the top.
        pyproject: its ``pyproject.toml``.
        setup: its ``setup.py``.

    Raises:
        UsageError: PKG-INFO cannot be read.
    """
    fields = _pkg_info(tree, folder)
    project = _table(pyproject.tables, "project")
    config = _setup_cfg(tree, folder)
    file = _PKG_INFO if fields else PYPROJECT if project else SETUP
    fallback = {
        name: next((text for text in (_text(project.get(name)), config.get(name), *setup.argument(name)) if text), None)
        for name in ("name", "version", "description")
    }
    requires = fields.get("requires_dist") or _texts(project.get("dependencies")) or setup.argument("install_requires")
    urls = [*_texts(list(_table(project, "urls").values())), *setup.argument("url"), config.get("url", "")]
    urls += [fields.get("home_page", ""), *fields.get("project_urls", {}).values()]
    return Declared(
        name=fields.get("name") or fallback["name"],
        version=fields.get("version") or fallback["version"],
        summary=(fields.get("summary") or fallback["description"] or "").replace("UNKNOWN", ""),
        requires=tuple(requires),
        urls=tuple(url for url in urls if url),
        licences=tuple(_licences(tree, folder, fields, project, setup)),
        file=folder + file,
    )


def _licences(
    tree: SourceTree, folder: str, fields: RawMetadata, project: dict[str, Any], setup: SetupScript
) -> Iterator[tuple[Place, str]]:
    names = [name for name in sorted(tree.files) if name.upper().startswith(("LICENSE", "LICENCE", "COPYING"))]
    names += [name for name in sorted(tree.files) if folder and name.upper().startswith(f"{folder}LICEN".upper())]
    for name in names:
        yield Place(file=name, line=1), _text_of(tree, name)
    own = project.get("license")
    written = _text(own) or _text(own.get("text") if isinstance(own, dict) else None)
    texts = [fields.get("license_expression", ""), fields.get("license", ""), *fields.get("classifiers", ())]
    yield from ((Place(file=folder + _PKG_INFO, line=1), text) for text in texts if text)
    texts = [written, *_texts(project.get("classifiers"))]
    yield from ((Place(file=folder + PYPROJECT, line=1), text) for text in texts if text)
    texts = [*setup.argument("license"), *setup.argument("classifiers"), _text_of(tree, folder + SETUP)[:_BEGINNING]]
    yield from ((Place(file=folder + SETUP, line=1), text) for text in texts if text)


def _pkg_info(tree: SourceTree, folder: str) -> RawMetadata:
    try:
        return read_fields(tree.content(folder + _PKG_INFO))
    except UnreadableError as error:
        raise UsageError("source-unreadable", f"{_PKG_INFO} cannot be read: {error}") from None


def _setup_cfg(tree: SourceTree, folder: str) -> dict[str, str]:
    parser = ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(_text_of(tree, folder + _SETUP_CFG))
    except ConfigParserError as error:
        raise UsageError("source-unreadable", f"{_SETUP_CFG} cannot be read: {error}") from None
    return dict(parser["metadata"]) if parser.has_section("metadata") else {}


def _text_of(tree: SourceTree, name: str) -> str:
    return tree.content(name).decode(errors="replace")


def _table(tables: Any, name: str) -> dict[str, Any]:  # noqa: ANN401 - TOML
    table = tables.get(name)
    return table if isinstance(table, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
