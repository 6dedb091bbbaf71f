"""JSON pages of the simple API (PEP 691), GitHub's releases, and Hugging Face's lists of files.

An entry with a value of a wrong type is a fault, and no link. Unknown keys are ignored, as PEP 691 asks. Readers take
the content and the URL after redirects; content without a list of entries is an UnreadableError.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from types import NoneType
from typing import Any, Final
from urllib.parse import quote, urlsplit

from wheelmill.errors import UnreadableError
from wheelmill.web.pages import MAX_DIGITS, SIDECAR_SUFFIX, Fault, Form, Link, Page

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
_STATUS: Final[_Types] = {"status": _OPTIONAL_TEXT, "reason": _OPTIONAL_TEXT}
_META: Final[_Types] = {"api-version": _TEXT}
_LISTED: Final[_Types] = {"name": _TEXT}
_RELEASE: Final[_Types] = {"draft": frozenset[type]({bool, NoneType}), "assets": frozenset({list})}
_ASSET: Final[_Types] = {
    "name": _TEXT,
    "browser_download_url": _TEXT,
    "size": frozenset[type]({int, NoneType}),
    "digest": _OPTIONAL_TEXT,
    "updated_at": _OPTIONAL_TEXT,
}
_TREE_ENTRY: Final[_Types] = {
    "type": _TEXT,
    "path": _TEXT,
    "size": frozenset[type]({int, NoneType}),
    "lfs": frozenset[type]({dict, NoneType}),
}
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
    """Read a project list into a link per project, with its name as text."""
    faults: list[Fault] = []
    page, projects = _parse(content, "projects", faults)
    names = [project["name"] for project in _sound("projects.{}", projects, _LISTED, faults)]
    links = [Link("", f"{name}/", text=name) for name in names]
    return Page(form=Form.JSON, base=address, links=links, faults=faults, version=_version(page, faults))


def read_project_detail(content: bytes, address: str) -> Page:
    """Read a project's page."""
    faults: list[Fault] = []
    page, files = _parse(content, "files", faults)
    project, status = _object("", page, _PROJECT, faults), page.get("project-status")
    marked = None if status is None else _object("project-status", status, _STATUS, faults)
    return Page(
        form=Form.JSON,
        base=address,
        version=_version(page, faults),
        status=None if marked is None else marked.get("status") or "active",
        status_reason=marked.get("reason") if marked else None,
        name=project.get("name"),
        versions=_texts("versions", project.get("versions"), faults),
        links=[_link(file) for file in _sound("files.{}", files, _FILE, faults)],
        faults=faults,
    )


def read_releases(content: bytes, address: str) -> Page:
    """Read a page of releases from GitHub's REST API; a sidecar among the assets counts as PEP 658's.

    https://docs.github.com/en/rest/releases/releases#list-releases
    """
    faults: list[Fault] = []
    releases = _load(content, faults)
    if not isinstance(releases, list):
        raise UnreadableError("page-invalid", "expected a JSON list of releases")
    links: list[Link] = []
    for release in _sound("releases.{}", releases, _RELEASE, faults):
        if not release.get("draft"):
            assets = {asset["name"]: asset for asset in _sound("assets.{}", release["assets"], _ASSET, faults)}
            links += (_link_of(asset, assets.get(name + SIDECAR_SUFFIX)) for name, asset in assets.items())
    return Page(form=Form.JSON, base=address, links=links, faults=faults)


def read_tree(content: bytes, address: str) -> Page:
    """Read a list of a repository's files from Hugging Face's API; those stored by Git LFS have a hash.

    The address is ``.../api/models/OWNER/REPOSITORY/tree/REVISION``. https://huggingface.co/docs/hub/api
    """
    faults: list[Fault] = []
    entries = _load(content, faults)
    if not isinstance(entries, list):
        raise UnreadableError("page-invalid", "expected a JSON list of files")
    folder = urlsplit(address)._replace(query="").geturl()
    files_at = folder.replace("/api/models/", "/", 1).replace("/tree/", "/resolve/", 1)
    files = [entry for entry in _sound("{}", entries, _TREE_ENTRY, faults) if entry["type"] == "file"]
    links = [
        Link(
            file["path"].rpartition("/")[2],
            f"{files_at}/{quote(file['path'])}",
            sha256=None if (oid := (file.get("lfs") or {}).get("oid")) is None else _text(oid).removeprefix("sha256:"),
            size=file.get("size"),
        )
        for file in files
    ]
    return Page(form=Form.JSON, base=address, links=links, faults=faults)


def _link_of(asset: Mapping[str, Any], sidecar: Mapping[str, Any] | None) -> Link:
    digest = _sha256_of(sidecar) if sidecar else None
    return Link(
        asset["name"],
        asset["browser_download_url"],
        sha256=_sha256_of(asset),
        size=asset.get("size"),
        core_metadata=f"sha256={digest}" if digest else "true" if sidecar else None,
        upload_time=asset.get("updated_at"),
    )


def _sha256_of(asset: Mapping[str, Any]) -> str | None:
    """Return the hash that GitHub computes on upload, since June 2025; None if there is none."""
    algorithm, _, digest = (asset.get("digest") or "").partition(":")
    return digest if algorithm == "sha256" else None


def _parse(content: bytes, key: str, faults: list[Fault]) -> tuple[dict[str, Any], list[Any]]:
    """Return a page's object, and its list under a key."""
    page = _load(content, faults)
    if isinstance(page, dict) and isinstance(page.get(key), list):
        return page, page[key]
    raise UnreadableError("page-invalid", f"expected a JSON object with a list of {key}")


def _load(content: bytes, faults: list[Fault]) -> object:
    """Return a page's value: numbers of too many digits become texts, half surrogate pairs U+FFFD."""
    try:
        page = json.loads(content, parse_int=lambda digits: int(digits) if len(digits) <= MAX_DIGITS else digits)
        if rb"\ud" in content or rb"\uD" in content:
            text = json.dumps(page, ensure_ascii=False)
            whole = text.encode(errors="surrogatepass").decode(errors="replace")
            if whole != text:
                faults.append(Fault(key="", problem="the page has half of a surrogate pair, which is not a character"))
                page = json.loads(whole)
    except (ValueError, RecursionError) as error:
        raise UnreadableError("page-invalid", f"expected JSON: {error}") from None
    return page


def _version(page: Mapping[str, object], faults: list[Fault]) -> str | None:
    return _object("meta", page.get("meta"), _META, faults).get("api-version")


def _object(path: str, value: object, types: _Types, faults: list[Fault]) -> dict[str, Any]:
    """Return an object of the page; an empty one if it has a fault."""
    return next(_sound(path, [value], types, faults), {})


def _sound(path: str, entries: Iterable[Any], types: _Types, faults: list[Fault]) -> Iterator[dict[str, Any]]:
    """Yield the entries without a fault, and note the faults of the others.

    `path` is that of an entry in the page, with braces for its number.
    """
    known: set[tuple[object, ...]] = set()
    for number, entry in enumerate(entries):
        shape = (*entry, *map(type, entry.values())) if type(entry) is dict else ()
        if shape in known and "" not in entry.values():  # nearly all have the keys and types of an earlier one
            yield entry
            continue
        wrong = list(_wrong(entry, types))
        for key, value, allowed in wrong:
            where = ".".join(filter(None, (path.format(number), key))) or "the page"
            expected = " or ".join(words for kind, words in _WORDS.items() if kind in allowed)
            found = _WORDS[type(value)] if isinstance(value, dict | list) else json.dumps(value)
            faults.append(Fault(key=key, problem=f"{where}: expected {expected}, not {found:.40}"))
        if not wrong:
            known.add(shape)
            yield entry


def _wrong(entry: object, types: _Types) -> Iterator[tuple[str, object, frozenset[type]]]:
    """Yield each key with a value of a wrong type, the value, and the allowed types."""
    if not isinstance(entry, dict):
        yield "", entry, frozenset({dict})
        return
    for key, allowed in types.items():
        value = entry.get(key)
        if type(value) not in allowed or (value == "" and key in _NEVER_EMPTY):
            yield key, value, allowed


def _texts(key: str, values: list[Any] | None, faults: list[Fault]) -> tuple[str, ...] | None:
    """Return a list of texts in the page; None if it is absent or has other items."""
    if values is None or all(type(value) is str for value in values):
        return None if values is None else tuple(values)
    faults.append(Fault(key=key, problem=f"{key}: expected a list of texts"))
    return None


def _link(file: Mapping[str, Any]) -> Link:
    get = file.get
    hashes, yanked, signature = file["hashes"], get("yanked"), get("gpg-sig")
    sha256 = hashes.get("sha256")
    core, legacy = get("core-metadata"), get("dist-info-metadata")
    return Link(
        file["filename"],
        file["url"],
        None if sha256 is None else _text(sha256),
        get("size"),
        get("requires-python"),
        None if core is None else _metadata(core),
        None if legacy == core else _metadata(legacy),
        get("upload-time"),
        "" if yanked is True else yanked or None,
        None if sha256 and len(hashes) == 1 else {name: _text(hashes[name]) for name in hashes if name != "sha256"},
        get("provenance"),
        None if signature is None else str(signature).lower(),
    )


def _metadata(value: bool | dict[str, object] | None) -> str | None:  # noqa: FBT001 - a value of JSON
    """Convert a metadata value to that of the HTML attribute."""
    if isinstance(value, dict):
        function = "sha256" if "sha256" in value else min(value, default="")
        return f"{function}={_text(value[function])}" if function else "true"
    return "true" if value else None


def _text(value: object) -> str:
    """Return a hash as JSON has it; if it has another type, a text with that type."""
    return value if isinstance(value, str) else f"no text but {type(value).__name__}"
