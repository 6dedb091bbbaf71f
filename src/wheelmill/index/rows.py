"""Rows of wheels on the pages of an index: HTML and JSON for installers, ``wheels.json`` for programs.

They are written without a template: an index has hundreds of thousands of rows, each on the pages of several trees.
docs/what-an-index-has.md describes the keys of ``wheels.json``, where None stands for unknown.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final, TypeVar

from msgspec import Raw, Struct, to_builtins
from msgspec.json import Encoder
from packaging.tags import Tag

from wheelmill.index.tree import IndexFile, VersionFiles
from wheelmill.names import Sha256
from wheelmill.release.manifest import ListedProvenance
from wheelmill.smoke.verdict import ListedEvidence
from wheelmill.wheel.label import torch_in_json

ROOT: Final = "\0"
"""A placeholder in rows for the relative path to the root of the site; no HTML or JSON holds this character."""
_URL: Final = b'{"url":"'


def html_row(file: IndexFile) -> str:
    """Render a link with its hash and attributes (PEP 503, 592, 658, 714 and 740, and for uv time and size of 700).

    Varying parts stand close together, constant ones in runs of at most the 258 bytes that gzip can repeat at once.
    So a page of 500 wheels has less than 30,000 bytes at gzip's level 9, and 1,200 more at level 6.
    """
    uploaded = f' data-upload-time="{in_utc(file.uploaded_at)}"' if file.uploaded_at else ""
    provenance = f' data-provenance="{escape(file.provenance)}"' if file.provenance else ""
    attributes = _attributes(file.metadata_sha256, file.requires_python, file.yanked)
    return (
        f'<a{provenance}{uploaded} href="{escape(href(file.url))}#sha256={file.sha256}" data-size="{file.size}"'
        f"{attributes}>{escape(file.filename)}</a><br>"
    )


@lru_cache(maxsize=4096)
def _attributes(metadata_sha256: Sha256 | None, requires_python: str | None, reason: str | None) -> str:
    """Render the attributes that wheels of one version have in common."""
    requires = f' data-requires-python="{escape(requires_python)}"' if requires_python else ""
    core = f'"sha256={metadata_sha256}"' if metadata_sha256 else ""
    # Not under its older name: pip 22.3 to 23.1 would read it, and refuse METADATA with the name flash_attn (PEP 714).
    metadata = f" data-core-metadata={core}" if core else ""
    yanked = f' data-yanked="{escape(reason)}"' if reason else ""
    return f"{requires}{metadata}{yanked}"


def escape(text: str) -> str:
    """Escape like `html.escape`, but faster for nearly all names and URLs, which need no escaping."""
    if "&" in text or "<" in text or ">" in text or '"' in text or "'" in text:
        return html.escape(text)
    return text


class _JsonRow(Struct, kw_only=True, omit_defaults=True, rename="kebab"):
    """Entry of ``files`` (PEP 691 with 592, 700, 714 and 740)."""

    url: str
    filename: str
    hashes: dict[str, str]
    size: int
    core_metadata: dict[str, str] | bool
    requires_python: str | None = None
    upload_time: str | None = None
    yanked: str | None = None
    provenance: str | None = None


def json_row(file: IndexFile) -> bytes:
    """Encode an entry of ``files``, without unknown values."""
    url = file.url
    row = _JsonRow(
        url=url,
        filename=file.filename,
        hashes={"sha256": file.sha256},
        size=file.size,
        core_metadata={"sha256": file.metadata_sha256} if file.metadata_sha256 else False,
        requires_python=file.requires_python or None,
        upload_time=in_utc(file.uploaded_at) if file.uploaded_at else None,
        yanked=file.yanked or None,
        provenance=file.provenance,
    )
    written = _encode(row)
    return written if is_absolute(url) else _URL + ROOT.encode() + written.removeprefix(_URL)


_encode: Final = Encoder().encode


def rows_for_page(page: str, content: bytes) -> bytes:
    """Fill in the placeholder of rows for a page, given by its path below the root of the site."""
    return content.replace(ROOT.encode(), b"../" * page.count("/"))


def href(url: str) -> str:
    """Return a file's URL as rows have it."""
    return url if is_absolute(url) else f"{ROOT}{url}"


def is_absolute(url: str) -> bool:
    """Return whether a URL means the same on every page of a site."""
    return url.startswith("/") or "://" in url


@lru_cache(maxsize=4096)
def in_utc(time: datetime) -> str:
    """Format a time as PEP 700 does: ``2026-11-21T12:30:15Z``."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


Part = TypeVar("Part")


Said = dict[int, Raw]
"""JSON by the identity of the object that it describes; similar wheels share most of these, see `Shared`."""


def facts_of(version: VersionFiles, trees: Sequence[str], said: Said) -> Iterator[bytes]:
    """Encode the facts about each wheel of a version, given the narrower trees that it stands in.

    `said` is the JSON of other wheels, which live as long as these.
    """
    name, label = version.name, version.name.label
    of_version = {
        "project": name.project,
        "version": name.version.public,
        "label": name.version.local,
        "cuda": str(label.cuda) if label else None,
        **torch_in_json(version.files[0].torch),
        "trees": Raw(_encode(trees)),
    }
    for file in version.files:
        certificate = file.certificate
        made = certificate.provenance if certificate else None
        yield _encode(
            {
                "filename": file.filename,
                **of_version,
                "build": "".join(map(str, file.name.build)) or None,
                "tags": _tags(file.name.tags),
                "url": file.url,
                "sha256": file.sha256,
                "size": file.size,
                "metadata_sha256": file.metadata_sha256,
                "requires_python": file.requires_python,
                "requires_dist": file.requires_dist,
                "uploaded_at": in_utc(file.uploaded_at) if file.uploaded_at else None,
                "release": file.release,
                "yanked": file.yanked,
                "attestation": file.attestation,
                "evidence": _said(certificate.evidence, _evidence, said) if certificate else None,
                "tried": _said(certificate.clean_rooms, list, said) if certificate else [],
                "built": _built(made) if made else None,
            }
        )


def _said(part: Part, content: Callable[[Part], object], said: Said) -> Raw:
    known = said.get(id(part))
    if known is None:
        known = said[id(part)] = Raw(_encode(content(part)))
    return known


@lru_cache(maxsize=4096)
def _tags(tags: frozenset[Tag]) -> Raw:
    return Raw(_encode(sorted(map(str, tags))))


def _evidence(seen: ListedEvidence) -> dict[str, object]:
    window = seen.torch_window
    return {
        **to_builtins(seen),
        "torch_window": {fit.torch: not fit.lacks for fit in window.torches} if window else None,
    }


def _built(made: ListedProvenance) -> dict[str, object]:
    """Return build facts, without the packages of the build environment."""
    return {
        "version": made.built_for.version,
        "toolkit": made.toolkit,
        "torch": made.torch_release,
        "pythons": made.pythons,
        "architectures": made.architectures,
        "source_sha256": made.source_sha256,
        "patches": made.patches,
        "images": made.images,
        "seconds": round(made.seconds),
        "driver": made.driver,
        "commit": made.source.commit if made.source else None,
    }
