"""Upload of a site to a bucket: send changed files, remove those that the site no longer has, and touch nothing else.

Some hosts in front of a bucket serve ``index.html`` for a folder. Others serve only exact names: the S3 API itself, and
a domain that R2 gives a bucket. So a page is sent under both names. A page in JSON also gets its own address, as such
hosts do not negotiate content types.

The metadata of a site's objects names its place, and only such objects are removed: whoever can write the list of a
site's keys must not choose what its owner deletes.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/WebsiteEndpoints.html#WebsiteRestEndpointDiff
https://packaging.python.org/en/latest/specifications/simple-repository-api/#endpoint-configuration
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote

from wheelmill.errors import ReleaseError, SiteError
from wheelmill.release.ledger.records import is_date_tag
from wheelmill.release.s3.bucket import JSON_PAGES, Bucket
from wheelmill.release.s3.store import FILES, LEDGER
from wheelmill.release.store import Asset
from wheelmill.system.folders import entries_below
from wheelmill.system.progress import Progress, number_of
from wheelmill.system.records import record_bytes, record_from
from wheelmill.web.concurrency import begin

_INDEX: Final = "index.html"
_INDEX_JSON: Final = "index.json"
_RECORD: Final = ".site.json"
_CACHE: Final = "public, max-age=600"
"""A new release is seen after ten minutes, as with the rules in ``index/hosts``."""
_AT_ONCE: Final = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class UploadedSite:
    """Keys that were sent to a bucket, so that they can be removed when a site no longer has them."""

    schema: Literal["wheelmill.uploaded-site/1"] = "wheelmill.uploaded-site/1"
    keys: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Upload:
    """Outcome of uploading a site."""

    sent: int
    same: int
    removed: int

    def __str__(self) -> str:
        """Format as ``12 objects sent, 800 the same, 1 removed``."""
        return f"{number_of(self.sent, 'object')} sent, {self.same:,} the same, {self.removed:,} removed"


def upload_site(site: Path, bucket: Bucket, progress: Progress) -> Upload:
    """Upload a site to a bucket, which may also hold releases; the next upload completes an interrupted one."""
    paths = dict(_paths_in(site))
    etag, content = bucket.read(_RECORD)
    before = record_from(content, UploadedSite, source=f"{bucket}/{_RECORD}").keys if content else ()
    etag = _write_record(bucket, {*before, *paths}, etag)
    tops = {"".join(key.partition("/")[:2]) for key in paths}  # first folders, and keys at the top
    there = {key: tag for top in sorted(tops) for key, tag, _ in bucket.keys(top)}
    differing = [key for key, path in paths.items() if there.get(key) != _etag_of(_content_of(key, path))]
    progress.step(f"sending {len(differing)} of {number_of(len(paths), 'object')} to {bucket}")
    for sent in begin(partial(_send, bucket, paths), differing, threads=_AT_ONCE):
        sent.result()
    listed = ((key, bucket.find(key)) for key in sorted({*before} - paths.keys()))
    gone = [key for key, known in listed if known and known.owner == quote(str(bucket))]
    for key in gone:
        bucket.remove(key)
    _write_record(bucket, paths, etag)
    return Upload(sent=len(differing), same=len(paths) - len(differing), removed=len(gone))


def _paths_in(site: Path) -> Iterator[tuple[str, Path]]:
    if not (site / "simple" / _INDEX).is_file():
        raise SiteError("not-a-site", f"{site} is not a site: it has no simple/{_INDEX}")
    for path in entries_below(site):
        key = path.relative_to(site).as_posix()
        if not path.is_file() or key.startswith("."):
            continue
        first = key.partition("/")[0]
        if first in {FILES, LEDGER} or is_date_tag(first):
            hint = "give the site another folder"
            raise SiteError("site-name-reserved", f"{path} has a name that belongs to releases", hint=hint)
        yield key, path
        if path.name == _INDEX and key != _INDEX:
            yield key.removesuffix(_INDEX), path
        tree, simple, page = f"/{key}".partition("/simple/")
        if simple and path.name == _INDEX_JSON:
            yield f"{tree}{simple}{JSON_PAGES}/{page}".removeprefix("/").removesuffix(_INDEX_JSON), path


def _write_record(bucket: Bucket, keys: Mapping[str, Path] | set[str], over: str | None) -> str:
    record = record_bytes(UploadedSite(keys=tuple(sorted(keys))))
    if (etag := bucket.write_verified(_RECORD, record, cache="no-cache", over=over)) is None:
        raise ReleaseError("somebody-else", f"another upload to {bucket} is in progress", hint="run this again")
    return etag


def _content_of(key: str, path: Path) -> bytes:
    """Return the content to send; in a page that moves a folder down, relative URLs of wheels get another ``../``."""
    content = path.read_bytes()
    return content.replace(b'"url":"../', b'"url":"../../') if f"/{JSON_PAGES}/" in key else content


def _etag_of(content: bytes) -> str:
    """Return the ETag of an unencrypted object that was sent in one piece; an object with another ETag is sent again.

    https://docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html
    """
    return f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'


def _send(bucket: Bucket, paths: Mapping[str, Path], key: str) -> None:
    bucket.ensure(key, Asset.of_bytes(key, _content_of(key, paths[key])), cache=_CACHE, owner=quote(str(bucket)))
