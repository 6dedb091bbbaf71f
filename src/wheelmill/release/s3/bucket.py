"""The objects of a bucket below a prefix: found, read, and written on a condition.

S3 makes or replaces an object whole or not at all, and on a condition where that is asked for: that there is none yet,
or that it is still the one that was read. So of two writers one finds out.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html#ConsistencyModel
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from http import HTTPStatus
from typing import IO, Any, Final, Self

from wheelmill.errors import AbsentError, NetworkError, SameError, TakenError, UsageError
from wheelmill.names import Sha256
from wheelmill.release.asset import Asset
from wheelmill.release.s3.answers import configured, etag_of, sha256_in, understood
from wheelmill.release.s3.connection import Connection
from wheelmill.release.s3.content_types import type_of
from wheelmill.system.progress import Clock
from wheelmill.web.transport import PATIENT

_PIECE: Final = 32 << 20
"""Bytes that are asked for at once of what may be large; a broken connection costs no more."""
_MOST: Final = 5 << 40
"""Bytes of an object, in any S3 (https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingObjects.html)."""
_PAGES: Final = 10_000
"""Pages of a listing, a thousand keys each."""
_TRIES: Final = 3


@dataclass(frozen=True, kw_only=True)
class Found:
    """An object that exists."""

    etag: str
    """Identifies its content."""
    size: int
    sha256: Sha256 | None
    """None if the server does not say."""


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """The objects of a bucket whose keys begin with a prefix.

    Every method raises NetworkError where the server does not answer, RejectedError where it will not do what it was
    asked, and UsageError where botocore's variables or files are wrong.
    """

    name: str
    prefix: str = ""
    """Empty, or ends with a slash."""
    clock: Clock

    @classmethod
    def parse(cls, place: str, clock: Clock) -> Self:
        """Read ``BUCKET`` or ``BUCKET/PREFIX``.

        Args:
            place: the text.
            clock: tells the time and waits.

        Raises:
            UsageError: it names no bucket, or a prefix that no URL can have.
        """
        name, _, prefix = place.partition("/")
        parts = prefix.removesuffix("/").split("/") if prefix.removesuffix("/") else []
        if not name or {"", ".", ".."} & {*parts} or not place.isprintable():
            raise UsageError("bucket-invalid", f"expected BUCKET/PREFIX, not {place!r}")
        return cls(name=name, prefix="".join(f"{part}/" for part in parts), clock=clock)

    @cached_property
    def connection(self) -> Connection:
        """The connection, made when it is first needed."""
        return Connection(self.clock)

    def __str__(self) -> str:
        """``s3:BUCKET/PREFIX``."""
        return f"s3:{self.name}/{self.prefix}".rstrip("/")

    @property
    def address(self) -> str:
        """The URL of the prefix in the S3 API."""
        with configured("looking for the address"):
            return self.connection.address(self.name, f"{self.prefix}X").removesuffix("X")

    def check_credentials(self) -> None:
        """Check that there are credentials.

        Raises:
            UsageError: there are none.
        """
        with configured("looking for credentials"):
            if not self.connection.has_credentials:
                hint = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
                raise UsageError("s3-credentials-absent", f"there are no credentials for {self}", hint=hint)

    def folders(self) -> Iterator[str]:
        """The folders at the top: what is before the first slash in keys."""
        for page in self._pages("", Delimiter="/"):
            for each in page.get("CommonPrefixes", ()):
                yield each.get("Prefix", "").removeprefix(self.prefix).removesuffix("/")

    def keys(self, below: str) -> Iterator[tuple[str, str]]:
        """The keys with a prefix, and the etag of each object."""
        for page in self._pages(below):
            for each in page.get("Contents", ()):
                yield each.get("Key", "").removeprefix(self.prefix), each.get("ETag", "")

    def dated_keys(self, below: str) -> Iterator[tuple[str, datetime]]:
        """The keys with a prefix, and when each object was written."""
        for page in self._pages(below):
            for each in page.get("Contents", ()):
                if "Key" in each and "LastModified" in each:
                    yield each["Key"].removeprefix(self.prefix), each["LastModified"]

    def _pages(self, below: str, **options: str) -> Iterator[Mapping[str, Any]]:
        what, following = f"listing {self}/{below}", options
        for _ in range(_PAGES):
            with self._asking(what) as ask:
                page = ask.list_objects_v2(Bucket=self.name, Prefix=self.prefix + below, **following)
                is_last = not page["IsTruncated"]
                following = {**options, "ContinuationToken": "" if is_last else page["NextContinuationToken"]}
            yield page
            if is_last:
                return
        raise NetworkError("listing-endless", f"{what}: it has more than {_PAGES} pages")

    def find(self, key: str) -> Found | None:
        """Look for an object."""
        with suppress(AbsentError), self._asking(f"looking for {self}/{key}") as ask:
            answer = ask.head_object(Bucket=self.name, Key=self.prefix + key, ChecksumMode="ENABLED")
            return Found(etag=etag_of(answer), size=answer["ContentLength"], sha256=sha256_in(answer))
        return None

    def read(self, key: str, *, seen: str | None = None) -> tuple[str | None, bytes | None]:
        """Read a small object.

        Args:
            key: of the object.
            seen: the etag of the content that is known already.

        Returns:
            Its etag, None if there is no such object; and its content, None if that is known already.
        """
        condition = {"IfNoneMatch": seen} if seen else {}
        try:
            with self._asking(f"reading {self}/{key}") as ask:
                answer = ask.get_object(Bucket=self.name, Key=self.prefix + key, **condition)
                return etag_of(answer), answer["Body"].read()
        except AbsentError:
            return None, None
        except SameError:
            return seen, None

    def save(self, key: str, file: IO[bytes]) -> None:
        """Copy an object of any size into a file.

        Raises:
            NetworkError: as always; also if there is no such object.
        """
        found = self.find(key)
        if found is None:
            raise NetworkError("object-absent", f"there is no {self}/{key}", status=HTTPStatus.NOT_FOUND)
        for piece in self._pieces(key, found):
            file.write(piece)

    def holds(self, key: str, found: Found, asset: Asset) -> bool:
        """Whether an object has the content of a file; it is read only if the server gives no hash."""
        if found.sha256 or found.size != asset.size:
            return (found.sha256, found.size) == (asset.sha256, asset.size)
        digest = hashlib.sha256()
        for piece in self._pieces(key, found):
            digest.update(piece)
        return digest.hexdigest() == asset.sha256

    def _pieces(self, key: str, found: Found) -> Iterator[bytes]:
        """The bytes of an object, which must not change meanwhile."""
        what = f"reading {self}/{key}"
        for first in range(0, min(found.size, _MOST), _PIECE):
            size = min(_PIECE, found.size - first)
            span = f"bytes={first}-{first + size - 1}"
            with self._asking(what) as ask:
                answer = ask.get_object(Bucket=self.name, Key=self.prefix + key, Range=span, IfMatch=found.etag)
                piece = answer["Body"].read()
            if len(piece) != size:
                raise NetworkError("answer-cut-short", f"{what}: {len(piece)} bytes came instead of {size}")
            yield piece

    def write(self, key: str, asset: Asset, *, cache: str, over: str | None) -> str | None:
        """Create an object, or replace one, without a retry.

        Args:
            key: of the object; its type follows from it.
            asset: its new content.
            cache: its Cache-Control header.
            over: the etag of what it replaces; None to create it.

        Returns:
            Its etag; None if something else is there than `over` says.

        Raises:
            NetworkError: there was no clear answer; it may have been written.
        """
        condition = {"IfMatch": over} if over else {"IfNoneMatch": "*"}
        try:
            with asset.open() as content, self._asking(f"writing {self}/{key}") as ask:
                answer = ask.put_object(
                    Bucket=self.name,
                    Key=self.prefix + key,
                    Body=content,
                    ContentType=type_of(key),
                    CacheControl=cache,
                    ChecksumSHA256=base64.b64encode(bytes.fromhex(asset.sha256)).decode(),
                    **condition,
                )
                return etag_of(answer)
        except (AbsentError, TakenError):
            return None

    def ensure(self, key: str, asset: Asset, *, cache: str) -> None:
        """Write a file under a key, whatever is there, with retries; see `write`.

        Raises:
            NetworkError: it could not be written.
        """
        failure = NetworkError("write-lost", f"{self}/{key} is not there although it was written")
        for pause in (0.0, 0.0, *PATIENT):
            self.clock.sleep(pause)
            try:
                found = self.find(key)
                if found and self.holds(key, found, asset):
                    return
                self.write(key, asset, cache=cache, over=found.etag if found else None)
            except NetworkError as error:
                failure = error
        raise failure

    def settle(self, key: str, content: bytes, *, cache: str, over: str | None) -> str | None:
        """Create or replace a small object, and read it back; see `write`."""
        asset = Asset.of_bytes(key, content)
        for _ in range(_TRIES):
            etag = self.write(key, asset, cache=cache, over=over)
            if etag is None:
                return None
            newest, found = self.read(key)
            if found == content or newest not in {etag, over}:  # or somebody has replaced it already
                return etag
            over = newest
        raise NetworkError("write-lost", f"{self}/{key} is not as it was written, although S3 says so")

    def remove(self, key: str) -> None:
        """Remove an object, if it is there."""
        with self._asking(f"removing {self}/{key}") as ask:
            ask.delete_object(Bucket=self.name, Key=self.prefix + key)

    @contextmanager
    def _asking(self, what: str) -> Iterator[Any]:
        """Give a client of S3, in a context that turns its errors into ours."""
        with configured(what):
            client = self.connection.client
        with understood(what):
            yield client
