"""Deployed index, read from a folder or a URL, so that the next one keeps its promises."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, NotRequired, TypeVar

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from wheelmill.errors import ReleaseError, SiteError
from wheelmill.index.render import HASHES, hashes_from_lines, hashes_in_lines, path_of
from wheelmill.index.tree import WHEELS_JSON
from wheelmill.index.write import MAX_BYTES
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.manifest.record import SCHEMA, ListedFile, ListedRelease
from wheelmill.release.manifest.rules import manifest_from
from wheelmill.system.files import sha256_of_bytes
from wheelmill.system.progress import Warn
from wheelmill.web.credentials import without_credentials
from wheelmill.wheel.attestation import ATTESTATIONS


@dataclass(frozen=True, kw_only=True)
class Absent:
    """File that a site does not have."""

    problem: str
    status: int | None = None


ReadFile = Callable[[str], bytes | Absent]


@contextmanager
def site_files(place: str) -> Iterator[ReadFile]:
    """Yield a reader of the files of a site at a folder or URL."""
    if "://" not in place:

        def content_in_folder(name: str) -> bytes | Absent:
            path = Path(place, name)
            try:
                return path.read_bytes()
            except OSError as error:
                return Absent(problem=f"{path} cannot be read: {error.strerror}")

        yield content_in_folder
        return
    from wheelmill.web.client import ATTENDED, Web  # a tenth of a second

    with Web(retries=ATTENDED) as web:

        def content_of(name: str) -> bytes | Absent:
            answer = web.get(url := f"{place.rstrip('/')}/{name}", limit=MAX_BYTES)
            if answer.ok:
                return answer.content
            return Absent(problem=f"{without_credentials(url)} cannot be read: {answer.outcome}", status=answer.status)

        yield content_of


_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Deployed:
    """Wheels that an index lists."""

    hashes: Mapping[str, Sha256] = field(default_factory=dict)
    """The hash of every wheel, by file name."""
    unread: tuple[ListedRelease, ...] = ()
    """Manifests rebuilt from the index, of releases whose own could not be read."""


ReadDeployed = Callable[[Collection[ListedRelease]], Deployed]
"""Reads the deployed index; takes the releases whose manifests were read."""


class _Wheel(TypedDict):
    filename: str
    sha256: Sha256
    release: NotRequired[ReleaseTag | None]


class _Wheels(TypedDict):
    schema: Literal["wheelmill.wheels/1"]
    wheels: list[_Wheel]


class _Hashes(TypedDict):
    schema: Literal["wheelmill.hashes/1"]
    releases: dict[ReleaseTag, Sha256]


def deployed_wheels(
    place: str, read: Collection[ListedRelease], *, now: datetime, none_yet: Warn | None = None
) -> Deployed:
    """Read the wheels that a site lists: hashes alone if they are enough, else ``wheels.json``.

    Of the releases in `read`, only the hashes are wanted. Nothing was published after `now`. `none_yet` is called if
    the server has no index there; None makes that an error.
    """
    with site_files(place) as content_of:
        listed = content_of(HASHES)
        if isinstance(listed, bytes):
            releases = _parse(listed, _Hashes, HASHES, place)["releases"]
            if releases.keys() <= {release.tag for release in read}:
                return Deployed(hashes=_hashes_of(releases, read, place, content_of))
        content = content_of(WHEELS_JSON)
    if isinstance(content, Absent):
        if none_yet and content.status == HTTPStatus.NOT_FOUND:
            none_yet(f"{without_credentials(place)} has no index yet: nothing is compared with it")
            return Deployed()
        raise SiteError("deployed-unreadable", content.problem, hint="leave out --previous for the first index there")
    site = _parse(content, _Wheels, WHEELS_JSON, place)
    hashes = {wheel["filename"]: wheel["sha256"] for wheel in site["wheels"]}
    tags = {tag for wheel in site["wheels"] if (tag := wheel.get("release"))} - {release.tag for release in read}
    return Deployed(hashes=hashes, unread=tuple(_manifests_of(content, tags, place, now)) if tags else ())


def _parse(content: bytes, kind: type[_T], name: str, place: str) -> _T:
    try:
        return TypeAdapter(kind).validate_json(content, strict=True)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"])) or "the file"
        raise SiteError("deployed-unreadable", f"{name} of {place} cannot be read: {where}: {problem['msg']}") from None


def _hashes_of(
    releases: Mapping[ReleaseTag, Sha256], read: Iterable[ListedRelease], place: str, content_of: ReadFile
) -> dict[str, Sha256]:
    """Return the hashes of a site's wheels; a file is read only for a release with other wheels in its manifest."""
    hashes: dict[str, Sha256] = {}
    for release in (release for release in read if release.tag in releases):
        own = {wheel.filename: wheel.sha256 for wheel in release.wheels}
        if sha256_of_bytes(hashes_in_lines(release.wheels)) != releases[release.tag]:
            content = content_of(path := path_of(release.tag))
            if isinstance(content, Absent):
                raise SiteError("deployed-unreadable", content.problem)
            if sha256_of_bytes(content) != releases[release.tag]:
                hint = "wait until the site is deployed, and try again"
                raise SiteError("deployed-changed", f"{path} of {place} has another hash than {HASHES} says", hint=hint)
            try:
                own = hashes_from_lines(content)
            except ValueError as error:
                raise SiteError("deployed-unreadable", f"{path} of {place} cannot be read: {error}") from None
        hashes |= own
    return hashes


def _manifests_of(content: bytes, tags: Collection[ReleaseTag], place: str, now: datetime) -> Iterator[ListedRelease]:
    """Rebuild manifests of releases from the site's ``wheels.json``."""
    try:
        rows = [row for row in json.loads(content)["wheels"] if row.get("release") in tags]
        for tag, own in groupby(sorted(rows, key=itemgetter("release")), key=itemgetter("release")):
            wheels = list(own)
            published_at, entries = wheels[0].get("uploaded_at"), list(map(_entry_of, wheels))
            made = {"schema": SCHEMA, "tag": tag, "published_at": published_at, "wheels": entries}
            yield manifest_from(json.dumps(made).encode(), tag=tag, source=f"{WHEELS_JSON} of {place}: {tag}", now=now)
    except (ReleaseError, ValueError) as error:  # json refuses a number of thousands of digits
        raise SiteError("deployed-unreadable", str(error)) from None


def _entry_of(row: Mapping[str, Any]) -> dict[str, object]:
    """Return an entry of a manifest as unchecked JSON, with the part of its build and test facts that a site has."""
    label = row.get("label")
    certificate = {"sha256": row["sha256"], "evidence": row.get("evidence"), "clean_rooms": [], "provenance": None}
    return {
        **{key: row.get(key) for key in ListedFile.__struct_fields__},
        "name": row.get("project"),
        "version": f"{row.get('version')}+{label}" if label else row.get("version"),
        "certificate": certificate,
        "attestation": row.get("attestation"),
        "attested": str(row.get("attestation")).endswith(f"/{ATTESTATIONS}"),
    }
