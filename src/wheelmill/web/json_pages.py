"""JSON pages of the simple API (PEP 691), GitHub's releases, and Hugging Face's lists of files.

An entry with a value of a wrong type is a fault, and no link. Unknown keys are skipped, as PEP 691 asks: of the fifty
that GitHub gives of a file, five become values of Python. Readers take the content and the URL after redirects; content
without a list of entries is an UnreadableError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Final, TypeVar
from urllib.parse import quote, urlsplit

from msgspec import DecodeError, Meta, Raw, Struct, ValidationError
from msgspec.json import Decoder, decode

from wheelmill.errors import UnreadableError
from wheelmill.web.pages import MAX_DIGITS, SIDECAR_SUFFIX, Fault, Form, Link, Page, check_count

_Text = Annotated[str, Meta(min_length=1)]
_Size = Annotated[int, Meta(lt=10**MAX_DIGITS)]
_Metadata = bool | dict[str, Any] | None


class _Record(Struct, rename="kebab", gc=False):
    """Object of a page of the simple API."""


class _File(_Record):
    filename: _Text
    url: _Text
    hashes: dict[str, Any]
    size: _Size | None = None
    requires_python: str | None = None
    core_metadata: _Metadata = None
    dist_info_metadata: _Metadata = None
    upload_time: str | None = None
    yanked: bool | _Text | None = None
    provenance: str | None = None
    gpg_sig: bool | None = None


class _Meta(_Record):
    api_version: str


class _Status(_Record):
    status: str | None = None
    reason: str | None = None


class _Named(_Record):
    name: str


class _ProjectDetail(_Record):
    files: list[Raw]
    name: Raw = Raw(b"null")
    meta: Raw = Raw(b"null")
    versions: Raw = Raw(b"null")
    project_status: Raw = Raw(b"null")


class _ProjectList(_Record):
    projects: list[Raw]
    meta: Raw = Raw(b"null")


class _Release(Struct):
    """https://docs.github.com/en/rest/releases/releases#list-releases."""

    assets: list[Raw]
    draft: bool | None = None


class _Asset(Struct, gc=False):
    name: str
    browser_download_url: str
    size: _Size | None = None
    digest: str | None = None
    """The hash that GitHub computes on upload, since June 2025."""
    updated_at: str | None = None


class _TreeEntry(Struct):
    """https://huggingface.co/docs/hub/api."""

    type: str
    path: str
    size: _Size | None = None
    lfs: dict[str, Any] | None = None


Wanted = TypeVar("Wanted")

MAX_VALUES: Final = 8_000_000
"""Values of a page, by its commas; so many take 0.6 to 1.2 GB. GitHub's page of 30,000 wheels has 1,500,000."""


def read_project_list(content: bytes, address: str) -> Page:
    """Read a project list into a link per project, with its name as text."""
    faults: list[Fault] = []
    page = _load(content, _ProjectList, "a JSON object with a list of projects", faults)
    names = [project.name for project in _records(page.projects, Decoder(_Named), "projects.{}", faults)]
    links = [Link("", f"{name}/", text=name) for name in names]
    return Page(form=Form.JSON, base=address, links=links, faults=faults, version=_version(page.meta, faults))


def read_project_detail(content: bytes, address: str) -> Page:
    """Read a project's page."""
    faults: list[Fault] = []
    page = _load(content, _ProjectDetail, "a JSON object with a list of files", faults)
    status = _value(page.project_status, Decoder(_Status | None), "project-status", faults)
    versions = _value(page.versions, Decoder(list[str] | None), "versions", faults)
    return Page(
        form=Form.JSON,
        base=address,
        version=_version(page.meta, faults),
        status=(status.status or "active") if status else None,
        status_reason=status.reason if status else None,
        name=_value(page.name, Decoder(str), "name", faults),
        versions=None if versions is None else tuple(versions),
        links=[_link(file) for file in _records(page.files, Decoder(_File), "files.{}", faults)],
        faults=faults,
    )


def read_releases(content: bytes, address: str) -> Page:
    """Read a page of releases from GitHub's REST API; a sidecar among the assets counts as PEP 658's."""
    faults: list[Fault] = []
    links: list[Link] = []
    for release in _records(
        _load(content, list[Raw], "a JSON list of releases", faults), Decoder(_Release), "releases.{}", faults
    ):
        if not release.draft:
            assets = {asset.name: asset for asset in _records(release.assets, Decoder(_Asset), "assets.{}", faults)}
            links += (_link_of(asset, assets.get(name + SIDECAR_SUFFIX)) for name, asset in assets.items())
    return Page(form=Form.JSON, base=address, links=links, faults=faults)


def read_tree(content: bytes, address: str) -> Page:
    """Read Hugging Face's list of files, at ``.../api/models/OWNER/REPOSITORY/tree/REVISION``."""
    faults: list[Fault] = []
    entries = _load(content, list[Raw], "a JSON list of files", faults)
    folder = urlsplit(address)._replace(query="").geturl()
    files_at = folder.replace("/api/models/", "/", 1).replace("/tree/", "/resolve/", 1)
    links = [
        Link(
            file.path.rpartition("/")[2],
            f"{files_at}/" + quote(file.path, safe="/+").replace("+", "%2B"),  # quote() takes long where it finds any
            sha256=None if (oid := (file.lfs or {}).get("oid")) is None else _text(oid).removeprefix("sha256:"),
            size=file.size,
        )
        for file in _records(entries, Decoder(_TreeEntry), "{}", faults)
        if file.type == "file"
    ]
    return Page(form=Form.JSON, base=address, links=links, faults=faults)


def _link_of(asset: _Asset, sidecar: _Asset | None) -> Link:
    digest = _sha256_of(sidecar) if sidecar else None
    return Link(
        asset.name,
        asset.browser_download_url,
        sha256=_sha256_of(asset),
        size=asset.size,
        core_metadata=f"sha256={digest}" if digest else "true" if sidecar else None,
        upload_time=asset.updated_at,
    )


def _sha256_of(asset: _Asset) -> str | None:
    algorithm, _, digest = (asset.digest or "").partition(":")
    return digest if algorithm == "sha256" else None


def _load(content: bytes, kind: type[Wanted], expected: str, faults: list[Fault]) -> Wanted:
    if content.count(b",") > MAX_VALUES:
        raise UnreadableError("page-invalid", f"the page has more than {MAX_VALUES:,} values")
    try:
        try:
            return decode(content, type=kind)
        except DecodeError as error:
            if isinstance(error, ValidationError):
                raise
            return decode(_normalised(content, faults), type=kind)
    except ValidationError:
        raise UnreadableError("page-invalid", f"expected {expected}") from None
    except (ValueError, RecursionError) as error:
        raise UnreadableError("page-invalid", f"expected JSON: {error}") from None


def _normalised(content: bytes, faults: list[Fault]) -> bytes:
    """Write JSON as the RFC has it: NaN and long numbers as texts, half surrogate pairs as U+FFFD, in UTF-8."""
    page = json.loads(
        content, parse_constant=str, parse_int=lambda digits: int(digits) if len(digits) <= MAX_DIGITS else digits
    )
    text = json.dumps(page, ensure_ascii=False)
    whole = text.encode(errors="surrogatepass").decode(errors="replace")
    if whole != text:
        faults.append(Fault(key="", problem="the page has half of a surrogate pair, which is not a character"))
    return whole.encode()


def _records(entries: Iterable[Raw], decoder: Decoder[Wanted], path: str, faults: list[Fault]) -> Iterator[Wanted]:
    """Yield the entries without a fault, and note the other faults; `path` has braces for an entry's number."""
    for number, entry in enumerate(entries):
        try:
            yield decoder.decode(entry)
        except (ValueError, RecursionError) as error:
            faults.append(_fault(path.format(number), "" if "{" in path else path, str(error)))
            check_count(faults)


def _value(value: Raw, decoder: Decoder[Wanted], path: str, faults: list[Fault]) -> Wanted | None:
    """Decode a value of the page; None if it has a fault."""
    return next(_records([value], decoder, path, faults), None)


_KEY: Final = re.compile(r"`\$\.([\w-]+)[^`]*`$|required field `([\w-]+)`")


def _fault(path: str, key: str, problem: str) -> Fault:
    """Describe a fault by msgspec's message: ``Expected `int | null`, got `str` - at `$.size```."""
    place = _KEY.search(problem)
    within = (place[1] or place[2]) if place else ""
    where = ".".join(filter(None, (path, within)))
    reason = "a value" if place and place[2] else problem.removeprefix("Expected ").partition(" - at ")[0]
    return Fault(key=within or key, problem=f"{where}: expected {reason.replace(', got', ', not')}")


def _version(meta: Raw, faults: list[Fault]) -> str | None:
    return next((read.api_version for read in _records([meta], Decoder(_Meta), "meta", faults)), None)


def _link(file: _File) -> Link:
    sha256 = file.hashes.get("sha256")
    core, legacy = file.core_metadata, file.dist_info_metadata
    others = {name: _text(digest) for name, digest in file.hashes.items() if name != "sha256"}
    return Link(
        file.filename,
        file.url,
        None if sha256 is None else _text(sha256),
        file.size,
        file.requires_python,
        None if core is None else _metadata(core),
        None if legacy == core else _metadata(legacy),
        file.upload_time,
        "" if file.yanked is True else file.yanked or None,
        None if sha256 and not others else others,
        file.provenance,
        None if file.gpg_sig is None else str(file.gpg_sig).lower(),
    )


def _metadata(value: bool | dict[str, object] | None) -> str | None:  # noqa: FBT001 - a value of JSON
    if isinstance(value, dict):
        function = "sha256" if "sha256" in value else min(value, default="")
        return f"{function}={_text(value[function])}" if function else "true"
    return "true" if value else None


def _text(value: object) -> str:
    """Return a hash as JSON has it; if it has another type, a text with that type."""
    return value if isinstance(value, str) else f"no text but {type(value).__name__}"
