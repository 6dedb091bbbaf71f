"""Reading pages of the simple API in JSON (PEP 691). An entry with a value of a wrong type is a fault, and no link.

Keys that no PEP names are let be, as PEP 691 asks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from types import NoneType
from typing import Any, Final

from wheelmill.web.pages import Fault, Form, Link, Page

_Types = Mapping[str, frozenset[type]]
"""Keys of an object, and the types that their values may have."""

_TEXT: Final = frozenset({str})
_OPTIONAL_TEXT: Final = frozenset[type]({str, NoneType})
_METADATA: Final = frozenset[type]({bool, dict, NoneType})
_FILE: Final[_Types] = {
    "filename": _TEXT,
    "url": _TEXT,
    "hashes": frozenset({dict}),
    "size": frozenset[type]({int, NoneType}),
    "requires-python": _OPTIONAL_TEXT,
    "core-metadata": _METADATA,
    "dist-info-metadata": _METADATA,
    "upload-time": _OPTIONAL_TEXT,
    "yanked": frozenset({bool, str, NoneType}),
    "provenance": _OPTIONAL_TEXT,
    "gpg-sig": frozenset[type]({bool, NoneType}),
}
_PROJECT: Final[_Types] = {"name": _TEXT, "versions": frozenset({list, NoneType})}
_STATUS: Final[_Types] = {"status": _OPTIONAL_TEXT}
_META: Final[_Types] = {"api-version": _TEXT}
_LISTED: Final[_Types] = {"name": _TEXT}
_NEVER_EMPTY: Final = frozenset({"filename", "url", "yanked"})
_WORDS: Final[Mapping[type, str]] = {
    str: "text",
    int: "a whole number",
    bool: "true or false",
    dict: "an object",
    list: "a list",
    NoneType: "null",
}


def read_project_list(content: bytes, address: str) -> Page:
    """Read a project list: a link for each project, with its name as the text.

    Args:
        content: the bytes of the page.
        address: the URL that the page came from, after redirects.

    Raises:
        ValueError: this is no JSON object with a list of projects.
    """
    page, projects = _parse(content, "projects")
    faults: list[Fault] = []
    names = [project["name"] for project in _sound("projects.{}", projects, _LISTED, faults)]
    links = [Link("", f"{name}/", text=name) for name in names]
    return Page(form=Form.JSON, base=address, links=links, faults=faults, version=_version(page, faults))


def read_project_detail(content: bytes, address: str) -> Page:
    """Read a project's page.

    Args:
        content: the bytes of the page.
        address: the URL that the page came from, after redirects.

    Raises:
        ValueError: this is no JSON object with a list of files.
    """
    page, files = _parse(content, "files")
    faults: list[Fault] = []
    project, status = _object("", page, _PROJECT, faults), page.get("project-status")
    return Page(
        form=Form.JSON,
        base=address,
        version=_version(page, faults),
        status=None if status is None else _object("project-status", status, _STATUS, faults).get("status") or "active",
        name=project.get("name"),
        versions=project.get("versions"),
        links=[_link(file) for file in _sound("files.{}", files, _FILE, faults)],
        faults=faults,
    )


def _parse(content: bytes, key: str) -> tuple[dict[str, Any], list[Any]]:
    """A page's object, and the entries that it has under a key."""
    try:
        page = json.loads(content)
        if rb"\ud" in content or rb"\uD" in content:
            json.dumps(page, ensure_ascii=False).encode()  # raises for half a surrogate pair, which is no character
    except (ValueError, RecursionError) as error:
        raise ValueError(f"expected JSON: {error}") from None
    if isinstance(page, dict) and isinstance(page.get(key), list):
        return page, page[key]
    raise ValueError(f"expected a JSON object with a list of {key}")


def _version(page: Mapping[str, object], faults: list[Fault]) -> str | None:
    return _object("meta", page.get("meta"), _META, faults).get("api-version")


def _object(path: str, value: object, types: _Types, faults: list[Fault]) -> dict[str, Any]:
    """An object of the page; an empty one in its place where it has a fault."""
    return next(_sound(path, [value], types, faults), {})


def _sound(path: str, entries: Iterable[Any], types: _Types, faults: list[Fault]) -> Iterator[dict[str, Any]]:
    """The entries without a fault; the faults of the others are noted.

    Args:
        path: of an entry in the page, with braces for its number.
        entries: values of the page, of any type.
        types: that the values of an entry may have.
        faults: what is wrong with the page.
    """
    known: set[tuple[object, ...]] = set()
    for number, entry in enumerate(entries):
        shape = (*entry, *map(type, entry.values())) if type(entry) is dict else ()
        if shape in known and "" not in entry.values():  # nearly all have the keys and types of the one before
            yield entry
            continue
        wrong = list(_wrong(entry, types))
        for key, value, allowed in wrong:
            where = ".".join(filter(None, (path.format(number), key))) or "the page"
            expected = " or ".join(words for kind, words in _WORDS.items() if kind in allowed)
            faults.append(Fault(key=key, problem=f"{where}: expected {expected}, not {json.dumps(value):.40}"))
        if not wrong:
            known.add(shape)
            yield entry


def _wrong(entry: object, types: _Types) -> Iterator[tuple[str, object, frozenset[type]]]:
    """Each key with a value of a wrong type, the value, and the types that it may have."""
    if not isinstance(entry, dict):
        yield "", entry, frozenset({dict})
        return
    for key, allowed in types.items():
        value = entry.get(key)
        if type(value) not in allowed or (value == "" and key in _NEVER_EMPTY):
            yield key, value, allowed


def _link(file: Mapping[str, Any]) -> Link:
    get = file.get
    hashes, yanked, signature = file["hashes"], get("yanked"), get("gpg-sig")
    sha256 = hashes.get("sha256")
    core, legacy = get("core-metadata"), get("dist-info-metadata")
    return Link(
        file["filename"],
        file["url"],
        None if sha256 is None else str(sha256),
        get("size"),
        get("requires-python"),
        None if core is None else _metadata(core),
        None if legacy == core else _metadata(legacy),
        get("upload-time"),
        "" if yanked is True else yanked or None,
        None if sha256 and len(hashes) == 1 else {name: str(hashes[name]) for name in hashes if name != "sha256"},
        get("provenance"),
        None if signature is None else str(signature).lower(),
    )


def _metadata(value: bool | dict[str, object] | None) -> str | None:  # noqa: FBT001 - a value of JSON
    """As the attribute of HTML has it."""
    if isinstance(value, dict):
        function = "sha256" if "sha256" in value else min(value, default="")
        return f"{function}={value[function]}" if function else "true"
    return "true" if value else None
