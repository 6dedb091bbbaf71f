"""What the index that people use now has, so that a new one keeps its promises."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, Literal, NotRequired

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from wheelmill.errors import ReleaseError, SiteError
from wheelmill.index.tree import WHEELS_JSON
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.manifest import SCHEMA, ListedRelease, manifest_from
from wheelmill.web.origin import without_credentials
from wheelmill.wheel.attestation import ATTESTATIONS


@dataclass(frozen=True, kw_only=True)
class Deployed:
    """What an index lists."""

    hashes: Mapping[str, Sha256] = field(default_factory=dict)
    """Of every wheel, by file name."""
    unread: tuple[ListedRelease, ...] = ()
    """What it says of the releases whose own manifests could not be read."""


ReadDeployed = Callable[[Collection[ReleaseTag]], Deployed]
"""Reads the index that people use now; takes the releases whose manifests were read."""


class _Wheel(TypedDict):
    filename: str
    sha256: Sha256
    release: NotRequired[ReleaseTag | None]


class _Wheels(TypedDict):
    schema: Literal["wheelmill.wheels/1"]
    wheels: list[_Wheel]


def deployed_wheels(
    place: str, read: Collection[ReleaseTag], *, none_yet: Callable[[str], None] | None = None
) -> Deployed:
    """Read ``wheels.json`` of a site.

    Args:
        place: the site's folder, or its URL.
        read: the releases whose manifests were read: of them only the hashes are wanted.
        none_yet: told that the server knows no index there, which is an error without it.

    Raises:
        SiteError: it has none that can be read.
        NetworkError: its server does not answer.
    """
    content = _fetch(place, none_yet) if "://" in place else _read(Path(place) / WHEELS_JSON)
    if content is None:
        return Deployed()
    try:
        site = TypeAdapter(_Wheels).validate_json(content, strict=True)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"])) or "the file"
        raise SiteError(f"{WHEELS_JSON} of {place} cannot be read: {where}: {problem['msg']}") from None
    hashes = {wheel["filename"]: wheel["sha256"] for wheel in site["wheels"]}
    tags = {tag for wheel in site["wheels"] if (tag := wheel.get("release"))} - {*read}
    return Deployed(hashes=hashes, unread=tuple(_manifests_of(content, tags, place)) if tags else ())


def _manifests_of(content: bytes, tags: Collection[ReleaseTag], place: str) -> Iterator[ListedRelease]:
    """Make manifests of releases again, from what a site lists of them.

    Raises:
        SiteError: it does not say enough.
    """
    try:
        rows = [row for row in json.loads(content)["wheels"] if row.get("release") in tags]
        for tag, own in groupby(sorted(rows, key=itemgetter("release")), key=itemgetter("release")):
            wheels = list(own)
            made = {
                "schema": SCHEMA,
                "tag": tag,
                "published_at": wheels[0].get("uploaded_at"),
                "wheels": list(map(_entry_of, wheels)),
            }
            yield manifest_from(json.dumps(made).encode(), tag=tag, source=f"{WHEELS_JSON} of {place}: {tag}")
    except (ReleaseError, ValueError) as error:  # a number of thousands of digits
        raise SiteError(str(error)) from None


def _entry_of(row: Mapping[str, Any]) -> dict[str, object]:
    """An entry of a manifest, in JSON, to be checked; of how the wheel was built and tried a site does not tell all."""
    label = row.get("label")
    return {
        **{key: row.get(key) for key in _KEPT},
        "name": row.get("project"),
        "version": f"{row.get('version')}+{label}" if label else row.get("version"),
        "certificate": {
            "sha256": row["sha256"],
            "evidence": row.get("evidence"),
            "clean_rooms": [],
            "provenance": None,
        },
        "attested": str(row.get("attestation")).endswith(f"/{ATTESTATIONS}"),
    }


_KEPT: Final = (
    "filename",
    "sha256",
    "size",
    "metadata_sha256",
    "requires_python",
    "requires_dist",
    "attestation",
)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SiteError(f"{path} cannot be read: {error.strerror}", hint=_FIRST) from None


def _fetch(site: str, none_yet: Callable[[str], None] | None) -> bytes | None:
    from wheelmill.web.client import Web  # noqa: PLC0415 - a tenth of a second

    with Web() as web:
        answer = web.get(url := f"{site.rstrip('/')}/{WHEELS_JSON}")
    if none_yet and answer.status == HTTPStatus.NOT_FOUND:
        none_yet(f"{without_credentials(site)} has no index yet: nothing is compared with it")
        return None
    if not answer.ok:
        raise SiteError(f"{without_credentials(url)} cannot be read: {answer.outcome}", hint=_FIRST)
    return answer.content


_FIRST: Final = "leave --previous out for the first index at a place"
