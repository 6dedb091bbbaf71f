"""Objects of a bucket below a prefix: found, read, and written on a condition.

S3 creates or replaces an object atomically. On request, it does so only if there is none yet, or if the object is
unchanged since it was read. So of two writers one gets a refusal. A bucket serves pages and wheels with the
Content-Type that each object was written with.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html#ConsistencyModel

botocore makes and signs requests, which go through `web.client`. Endpoint, region and credentials come from its usual
variables and files: ``AWS_ENDPOINT_URL_S3``, ``AWS_DEFAULT_REGION``, ``AWS_ACCESS_KEY_ID``, ``AWS_PROFILE`` and so on.

https://docs.aws.amazon.com/boto3/latest/guide/configuration.html
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from http import HTTPStatus
from mimetypes import MimeTypes
from pathlib import PurePosixPath
from typing import IO, Any, Final, Self

import botocore.session
from botocore import UNSIGNED
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, IncompleteReadError
from botocore.parsers import ResponseParserError

from wheelmill.errors import AbsentError, NetworkError, RejectedError, SameError, TakenError, UsageError
from wheelmill.names import Sha256
from wheelmill.release.store import Asset
from wheelmill.system.progress import Clock
from wheelmill.web.client import Web
from wheelmill.web.credentials import no_credentials, without_credentials
from wheelmill.web.pages import JSON_TYPE
from wheelmill.web.transport import PATIENT, Retries

_TYPES: Final = MimeTypes()
_OWN_TYPES: Final = {
    ".jsonl": "application/jsonl",
    ".metadata": "text/plain",
    ".provenance": "application/json",
    ".gz": "application/gzip",
}
JSON_PAGES: Final = "v1+json"
"""The folder below ``simple/`` with the JSON pages under addresses of their own (PEP 691)."""


def type_of(key: str) -> str:
    """Return the Content-Type of an object."""
    path = PurePosixPath(key)
    if "simple" in path.parts and (path.name == "index.json" or JSON_PAGES in path.parts):
        return JSON_TYPE
    page = "index.html" if key.endswith("/") else path.name
    kind = _OWN_TYPES.get(PurePosixPath(page).suffix) or _TYPES.guess_type(page)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind


_MEANINGS: Final[Mapping[int, type[Exception]]] = {
    HTTPStatus.NOT_MODIFIED: SameError,
    HTTPStatus.NOT_FOUND: AbsentError,
    HTTPStatus.CONFLICT: TakenError,
    HTTPStatus.PRECONDITION_FAILED: TakenError,
}
"""Answers that are no failures (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html)."""
_HINTS: Final = {
    301: "AWS_DEFAULT_REGION is the region of the bucket",
    403: "the credentials of AWS_ACCESS_KEY_ID or AWS_PROFILE need s3:ListBucket, s3:GetObject and s3:PutObject",
    404: "is there such a bucket? AWS_ENDPOINT_URL_S3 names an S3 that is not Amazon's",
}


@contextmanager
def configured(what: str) -> Iterator[None]:
    """Convert botocore's errors about its variables or files; `what` is the action in words."""
    try:
        yield
    except (BotoCoreError, ValueError) as error:
        raise UsageError("s3-denied", f"{what}: {error}") from None


@contextmanager
def understood(what: str) -> Iterator[None]:
    """Convert an exception of botocore into a wheelmill error; `what` is the request in words."""
    try:
        yield
    except NetworkError as error:
        raise NetworkError("s3-silent", f"{what}: {error}", status=error.status) from None
    except ClientError as error:
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        code, said = (error.response["Error"].get(key, "") for key in ("Code", "Message"))
        answered = f"{what}: S3 answers {status} {code}: {said}"
        if status in _MEANINGS and code != "NoSuchBucket":
            raise _MEANINGS[status](what) from None
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:  # botocore also raises it for a body that is not XML
            raise NetworkError("s3-failed", answered, status=status) from None
        raise RejectedError("s3-rejected", answered, hint=_HINTS.get(status), status=status) from None
    except (ResponseParserError, IncompleteReadError, LookupError, TypeError, ValueError) as error:
        message = f"{what}: the answer is not one of S3's: {error!r}; try again later"
        raise NetworkError("s3-unreadable", message) from None
    except BotoCoreError as error:
        raise UsageError("s3-denied", f"{what}: {error}") from None


def sha256_in(answer: Mapping[str, Any]) -> Sha256 | None:
    """Return the hash of an object; None if the answer has none, or a hash of hashes, as for an object in parts."""
    said = answer.get("ChecksumSHA256", "")
    return Sha256(base64.b64decode(said, validate=True).hex()) if said and "-" not in said else None


_OWN: Final = frozenset({"expect", "user-agent"})
"""Headers that `Web` sets itself, or does without; neither is signed."""
_SETTINGS: Final = Config(
    retries={"total_max_attempts": 1},  # `Web` retries safe requests
    request_checksum_calculation="when_required",  # not every S3 knows the others
    response_checksum_validation="when_required",
    s3={"payload_signing_enabled": True},  # every S3 verifies the content against the signed hash
)


class Connection:
    """Client of S3, which threads may share. The clock waits between tries."""

    def __init__(self, clock: Clock) -> None:
        self._session = botocore.session.get_session()
        self._web = Web(credentials=no_credentials, retries=Retries(clock.sleep, pauses=PATIENT))

    @cached_property
    def has_credentials(self) -> bool:
        """True if there are credentials; without them, a bucket is read anonymously."""
        return self._session.get_credentials() is not None

    @cached_property
    def client(self) -> Any:  # noqa: ANN401 - botocore makes the class from a description of S3
        """botocore's client of S3."""
        signature = Config() if self.has_credentials else Config(signature_version=UNSIGNED)
        client = self._session.create_client("s3", config=_SETTINGS.merge(signature))
        client.meta.events.register("before-send.s3", self._send)
        return client

    def address(self, bucket: str, key: str) -> str:
        """Return the URL of an object in an unsigned request. Nothing is sent."""
        urls: list[str] = []

        def note(request: AWSPreparedRequest, **_: object) -> AWSResponse:
            urls.append(request.url)
            return AWSResponse(request.url, HTTPStatus.OK, {}, _Content())

        client = self._session.create_client("s3", config=Config(signature_version=UNSIGNED))
        client.meta.events.register("before-send.s3", note)
        client.get_object(Bucket=bucket, Key=key)
        return without_credentials(urls[0].partition("?")[0])

    def _send(self, request: AWSPreparedRequest, **_: object) -> AWSResponse:
        """Send a request in place of botocore's own connections.

        https://botocore.amazonaws.com/v1/documentation/api/latest/topics/events.html
        """
        headers = {name: _text(value) for name, value in request.headers.items() if name.lower() not in _OWN}
        answer = self._web.send(
            request.method,
            request.url,
            headers,
            body=request.body or b"",
            size=int(headers.get("Content-Length", 0)),
            refusals=True,
        )
        return AWSResponse(request.url, answer.status, dict(answer.headers), _Content(answer.content))


class _Content(io.BytesIO):
    """Content of an answer, as botocore reads it."""

    def stream(self, *_: object, **__: object) -> Iterator[bytes]:
        yield self.read()


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


_PIECE: Final = 32 << 20
"""Bytes of one request for a large object; a broken connection costs no more."""
_MOST: Final = 5 << 40
"""Bytes of an object, in any S3 (https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingObjects.html)."""
_PAGES: Final = 10_000
"""Pages of a listing, a thousand keys each."""
_TRIES: Final = 3
_OWNER: Final = "wheelmill-owner"
"""Name of the metadata with the mark of an object."""


@dataclass(frozen=True, kw_only=True)
class BucketObject:
    """Object that exists."""

    etag: str
    """Identifies its content."""
    size: int
    sha256: Sha256 | None
    """None if the server gives none."""
    owner: str | None
    """Mark that `Bucket.write` was given for it."""


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """Objects of a bucket whose keys begin with a prefix.

    Every method raises NetworkError if the server does not answer, RejectedError if it refuses, and UsageError if
    botocore's variables or files are wrong.
    """

    name: str
    prefix: str = ""
    """Empty, or ends with a slash."""
    clock: Clock

    @classmethod
    def parse(cls, place: str, clock: Clock) -> Self:
        """Parse ``BUCKET`` or ``BUCKET/PREFIX``; raises UsageError for no bucket, or a prefix that no URL can have."""
        name, _, prefix = place.partition("/")
        parts = prefix.removesuffix("/").split("/") if prefix.removesuffix("/") else []
        if not name or {"", ".", ".."} & {*parts} or not place.isprintable():
            raise UsageError("bucket-invalid", f"expected BUCKET/PREFIX, not {place!r}")
        return cls(name=name, prefix="".join(f"{part}/" for part in parts), clock=clock)

    @cached_property
    def connection(self) -> Connection:
        """Connection, made when it is first needed."""
        return Connection(self.clock)

    def __str__(self) -> str:
        """Format as ``s3:BUCKET/PREFIX``."""
        return f"s3:{self.name}/{self.prefix}".rstrip("/")

    @property
    def address(self) -> str:
        """URL of the prefix in the S3 API."""
        with configured("looking for the address"):
            return self.connection.address(self.name, f"{self.prefix}X").removesuffix("X")

    def check_credentials(self) -> None:
        """Check that there are credentials. Raises UsageError if there are none."""
        with configured("looking for credentials"):
            if not self.connection.has_credentials:
                hint = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
                raise UsageError("s3-credentials-absent", f"there are no credentials for {self}", hint=hint)

    def folders(self) -> Iterator[str]:
        """List the folders at the top: the parts of keys before the first slash."""
        for page in self._pages("", Delimiter="/"):
            for folder in page.get("CommonPrefixes", ()):
                yield folder.get("Prefix", "").removeprefix(self.prefix).removesuffix("/")

    def keys(self, below: str) -> Iterator[tuple[str, str, datetime | None]]:
        """List the keys with a prefix, with the ETag of each object and the time when it was written, if it has one."""
        for page in self._pages(below):
            for listed in page.get("Contents", ()):
                key = listed.get("Key", "").removeprefix(self.prefix)
                yield key, listed.get("ETag", ""), listed.get("LastModified")

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

    def find(self, key: str) -> BucketObject | None:
        """Look for an object; None if there is none."""
        with suppress(AbsentError), self._asking(f"looking for {self}/{key}") as ask:
            head = ask.head_object(Bucket=self.name, Key=self.prefix + key, ChecksumMode="ENABLED")
            owner = head.get("Metadata", {}).get(_OWNER)
            return BucketObject(etag=head["ETag"], size=head["ContentLength"], sha256=sha256_in(head), owner=owner)
        return None

    def read(self, key: str, *, seen: str | None = None) -> tuple[str | None, bytes | None]:
        """Return the ETag of a small object, None if there is none; and its content, None if the ETag is `seen`."""
        condition = {"IfNoneMatch": seen} if seen else {}
        try:
            with self._asking(f"reading {self}/{key}") as ask:
                answer = ask.get_object(Bucket=self.name, Key=self.prefix + key, **condition)
                return answer["ETag"], answer["Body"].read()
        except AbsentError:
            return None, None
        except SameError:
            return seen, None

    def save(self, key: str, file: IO[bytes]) -> None:
        """Copy an object of any size into a file."""
        entry = self.find(key)
        if entry is None:
            raise NetworkError("object-absent", f"there is no {self}/{key}", status=HTTPStatus.NOT_FOUND)
        for piece in self._pieces(key, entry):
            file.write(piece)

    def holds(self, key: str, entry: BucketObject, asset: Asset) -> bool:
        """True if an object has the content of a file; it is read only if the server gives no hash."""
        if entry.sha256 or entry.size != asset.size:
            return (entry.sha256, entry.size) == (asset.sha256, asset.size)
        digest = hashlib.sha256()
        for piece in self._pieces(key, entry):
            digest.update(piece)
        return digest.hexdigest() == asset.sha256

    def _pieces(self, key: str, entry: BucketObject) -> Iterator[bytes]:
        """Yield the bytes of an object, which must not change meanwhile."""
        what = f"reading {self}/{key}"
        for first in range(0, min(entry.size, _MOST), _PIECE):
            size = min(_PIECE, entry.size - first)
            span = f"bytes={first}-{first + size - 1}"
            with self._asking(what) as ask:
                answer = ask.get_object(Bucket=self.name, Key=self.prefix + key, Range=span, IfMatch=entry.etag)
                piece = answer["Body"].read()
            if len(piece) != size:
                raise NetworkError("answer-cut-short", f"{what}: {len(piece)} bytes came instead of {size}")
            yield piece

    def write(self, key: str, asset: Asset, *, cache: str, over: str | None, owner: str = "") -> str | None:
        """Create an object, or replace the one with the ETag `over`, without a retry.

        The key also gives its Content-Type; `cache` is its Cache-Control header, `owner` a mark of ASCII characters.
        The result is its ETag; None if another object than `over` is there. After a NetworkError it may have been
        written.
        """
        condition = {"IfMatch": over} if over else {"IfNoneMatch": "*"}
        try:
            with asset.open() as content, self._asking(f"writing {self}/{key}") as ask:
                etag: str = ask.put_object(
                    Bucket=self.name,
                    Key=self.prefix + key,
                    Body=content,
                    ContentType=type_of(key),
                    CacheControl=cache,
                    ChecksumSHA256=base64.b64encode(bytes.fromhex(asset.sha256)).decode(),
                    Metadata={_OWNER: owner} if owner else {},
                    **condition,
                )["ETag"]
                return etag
        except (AbsentError, TakenError):
            return None

    def ensure(self, key: str, asset: Asset, *, cache: str, owner: str = "") -> None:
        """Write a file under a key, replacing any object, with retries; see `write`."""
        failure = NetworkError("write-lost", f"{self}/{key} is not there although it was written")
        for pause in (0.0, 0.0, *PATIENT):
            self.clock.sleep(pause)
            try:
                existing = self.find(key)
                if existing and self.holds(key, existing, asset):
                    return
                self.write(key, asset, cache=cache, over=existing.etag if existing else None, owner=owner)
            except NetworkError as error:
                failure = error
        raise failure

    def write_verified(self, key: str, content: bytes, *, cache: str, over: str | None) -> str | None:
        """Create or replace a small object, and read it back; see `write`."""
        asset = Asset.of_bytes(key, content)
        for _ in range(_TRIES):
            etag = self.write(key, asset, cache=cache, over=over)
            if etag is None:
                return None
            newest, written = self.read(key)
            if written == content or newest not in {etag, over}:  # or another writer has already replaced it
                return etag
            over = newest
        raise NetworkError("write-lost", f"{self}/{key} is not as it was written, although S3 says so")

    def remove(self, key: str) -> None:
        """Remove an object, if it exists."""
        with self._asking(f"removing {self}/{key}") as ask:
            ask.delete_object(Bucket=self.name, Key=self.prefix + key)

    @contextmanager
    def _asking(self, what: str) -> Iterator[Any]:
        with configured(what):
            client = self.connection.client
        with understood(what):
            yield client
