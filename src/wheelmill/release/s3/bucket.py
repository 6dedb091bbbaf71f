"""The objects of a bucket below a prefix: found, read, and written on a condition.

S3 makes or replaces an object whole or not at all, and on a condition where that is asked for: that there is none yet,
or that it is still the one that was read. So of two writers one finds out.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html#ConsistencyModel
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import IO, Any, BinaryIO, Final, Self

from botocore.exceptions import BotoCoreError, ClientError, IncompleteReadError
from botocore.parsers import ResponseParserError

from wheelmill.errors import NetworkError, RejectedError, UsageError
from wheelmill.names import Sha256
from wheelmill.release.s3.connection import Connection
from wheelmill.system.files import sha256_of_bytes
from wheelmill.system.time import Clock
from wheelmill.web.retries import PATIENT

_PIECE: Final = 32 << 20
"""Bytes that are asked for at once of what may be large; a broken connection costs no more."""
_TRIES: Final = 3
_HINTS: Final = {
    301: "AWS_DEFAULT_REGION is the region of the bucket",
    403: "the credentials of AWS_ACCESS_KEY_ID or AWS_PROFILE need s3:ListBucket, s3:GetObject and s3:PutObject",
    404: "is there such a bucket? AWS_ENDPOINT_URL_S3 names an S3 that is not Amazon's",
}


@dataclass(frozen=True, kw_only=True)
class File:
    """A file that a bucket is to have."""

    content: Path | bytes = field(repr=False)
    size: int
    """Bytes."""
    sha256: Sha256
    content_type: str
    cache: str
    """What Cache-Control says of it."""

    @classmethod
    def of_bytes(cls, content: bytes, *, content_type: str, cache: str) -> Self:
        """A file that is on no disk."""
        return cls(
            content=content,
            size=len(content),
            sha256=sha256_of_bytes(content),
            content_type=content_type,
            cache=cache,
        )

    def open(self) -> BinaryIO:
        """Its bytes."""
        return self.content.open("rb") if isinstance(self.content, Path) else io.BytesIO(self.content)


@dataclass(frozen=True, kw_only=True)
class Found:
    """An object that is there."""

    etag: str
    """Names its content; another one has another."""
    size: int
    sha256: Sha256 | None
    """None where the server does not say."""


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """The objects of a bucket whose keys begin with a prefix.

    Every method raises NetworkError where the server does not answer, RejectedError where it will not do what it was
    asked, and UsageError where botocore's variables or files are wrong.
    """

    name: str
    prefix: str = ""
    """Ends with a slash where there is one."""
    clock: Clock = field(default_factory=Clock)

    @classmethod
    def parse(cls, place: str) -> Self:
        """Read ``BUCKET`` or ``BUCKET/PREFIX``.

        Raises:
            UsageError: it names no bucket, or a prefix that no URL can have.
        """
        name, _, prefix = place.partition("/")
        parts = prefix.removesuffix("/").split("/") if prefix.removesuffix("/") else []
        if not name or {"", ".", ".."} & {*parts} or not place.isprintable():
            raise UsageError(f"expected BUCKET/PREFIX, not {place!r}")
        return cls(name=name, prefix="".join(f"{part}/" for part in parts))

    @cached_property
    def connection(self) -> Connection:
        """What it is asked by; made when it is needed."""
        return Connection(self.clock)

    def __str__(self) -> str:
        """``s3:BUCKET/PREFIX``."""
        return f"s3:{self.name}/{self.prefix}".rstrip("/")

    @property
    def address(self) -> str:
        """The URL of what has the prefix, as the S3 API has it."""
        with _understood("looking for the address"):
            return self.connection.address(self.name, f"{self.prefix}X").removesuffix("X")

    def check_credentials(self) -> None:
        """Make sure that there are some.

        Raises:
            UsageError: there are none.
        """
        with _understood("looking for credentials"):
            if not self.connection.has_credentials:
                hint = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
                raise UsageError(f"there are no credentials for {self}", hint=hint)

    def folders(self) -> Iterator[str]:
        """What stands before the first slash in keys."""
        for page in self._pages("", Delimiter="/"):
            for each in page.get("CommonPrefixes", ()):
                yield each["Prefix"].removeprefix(self.prefix).removesuffix("/")

    def keys(self, below: str) -> Iterator[tuple[str, str]]:
        """The keys that begin in this way, and the etag of each object."""
        for page in self._pages(below):
            for each in page.get("Contents", ()):
                yield each["Key"].removeprefix(self.prefix), each["ETag"]

    def _pages(self, below: str, **options: str) -> Iterator[Mapping[str, Any]]:
        what, following = f"listing {self}/{below}", options
        while True:
            page = self._ask(what, "list_objects_v2", Prefix=self.prefix + below, **following)
            if page.get("IsTruncated") is None:
                raise NetworkError(f"{what}: the answer is no list of S3's; try again later")
            yield page
            if not page["IsTruncated"]:
                return
            following = {**options, "ContinuationToken": page["NextContinuationToken"]}

    def find(self, key: str) -> Found | None:
        """Look for an object."""
        with suppress(_AbsentError):
            what = f"looking for {self}/{key}"
            answer = self._ask(what, "head_object", Key=self.prefix + key, ChecksumMode="ENABLED")
            said = answer.get("ChecksumSHA256", "")
            is_whole = said and "-" not in said  # that of an object in parts is a hash of hashes
            sha256 = Sha256(base64.b64decode(said).hex()) if is_whole else None
            return Found(etag=_etag(answer, what), size=answer["ContentLength"], sha256=sha256)
        return None

    def read(self, key: str, *, seen: str | None = None) -> tuple[str | None, bytes | None]:
        """Read a small object.

        Args:
            key: of the object.
            seen: the etag of what is known already.

        Returns:
            Its etag, None where there is no such object; and its content where that is not known.
        """
        condition = {"IfNoneMatch": seen} if seen else {}
        try:
            answer = self._ask(what := f"reading {self}/{key}", "get_object", Key=self.prefix + key, **condition)
        except _AbsentError:
            return None, None
        except _SameError:
            return seen, None
        return _etag(answer, what), answer["Body"].read()

    def save(self, key: str, file: IO[bytes]) -> None:
        """Copy an object of any size into a file.

        Raises:
            NetworkError: it is not there, too.
        """
        found = self.find(key)
        if found is None:
            raise NetworkError(f"there is no {self}/{key}", status=HTTPStatus.NOT_FOUND)
        for piece in self._pieces(key, found):
            file.write(piece)

    def holds(self, key: str, found: Found, file: File) -> bool:
        """Whether an object that was found is a file; it is read where the server gives no hash of it."""
        if found.sha256 or found.size != file.size:
            return (found.sha256, found.size) == (file.sha256, file.size)
        digest = hashlib.sha256()
        for piece in self._pieces(key, found):
            digest.update(piece)
        return digest.hexdigest() == file.sha256

    def _pieces(self, key: str, found: Found) -> Iterator[bytes]:
        """The bytes of an object; all of them are of the one that was found."""
        for first in range(0, found.size, _PIECE):
            span = f"bytes={first}-{min(first + _PIECE, found.size) - 1}"
            what = f"reading {self}/{key}"
            answer = self._ask(what, "get_object", Key=self.prefix + key, Range=span, IfMatch=found.etag)
            _etag(answer, what)
            yield answer["Body"].read()

    def write(self, key: str, file: File, *, over: str | None) -> str | None:
        """Make an object, or replace one; once.

        Args:
            key: of the object.
            file: what it is to be.
            over: the etag of what it replaces; None where there is nothing yet.

        Returns:
            Its etag; None where something else is there than was said.

        Raises:
            NetworkError: there was no answer that says which; it may have been written.
        """
        condition = {"IfMatch": over} if over else {"IfNoneMatch": "*"}
        what = f"writing {self}/{key}"
        try:
            with file.open() as content:
                answer = self._ask(
                    what,
                    "put_object",
                    Key=self.prefix + key,
                    Body=content,
                    ContentType=file.content_type,
                    CacheControl=file.cache,
                    ChecksumSHA256=base64.b64encode(bytes.fromhex(file.sha256)).decode(),
                    **condition,
                )
        except (_AbsentError, _TakenError):
            return None
        return _etag(answer, what)

    def ensure(self, key: str, file: File) -> None:
        """Have a file under a key, in the place of whatever is there.

        Raises:
            NetworkError: it is not there in the end.
        """
        failure = NetworkError(f"{self}/{key} is not there although it was written")
        for pause in (0.0, 0.0, *PATIENT):
            self.clock.sleep(pause)
            try:
                found = self.find(key)
                if found and self.holds(key, found, file):
                    return
                self.write(key, file, over=found.etag if found else None)
            except NetworkError as error:
                failure = error
        raise failure

    def settle(self, key: str, file: File, *, over: str | None) -> str | None:
        """Make or replace a small object, and look whether it is there then; see `write`."""
        for _ in range(_TRIES):
            etag = self.write(key, file, over=over)
            if etag is None:
                return None
            newest, content = self.read(key)
            if content == file.content or newest not in {etag, over}:  # or somebody has replaced it already
                return etag
            over = newest
        raise NetworkError(f"{self}/{key} is not as it was written, although S3 says so")

    def remove(self, key: str) -> None:
        """Remove an object, if it is there."""
        self._ask(f"removing {self}/{key}", "delete_object", Key=self.prefix + key)

    def _ask(self, what: str, operation: str, **parameters: object) -> Mapping[str, Any]:
        with _understood(what):
            answer: Mapping[str, Any] = getattr(self.connection.client, operation)(Bucket=self.name, **parameters)
            return answer


class _AbsentError(Exception):
    """There is no such object."""


class _SameError(Exception):
    """The object is the one that is known already."""


class _TakenError(Exception):
    """The condition of a write does not hold, or somebody else writes at this moment."""


_ANSWERS: Final[Mapping[int, type[Exception]]] = {
    HTTPStatus.NOT_MODIFIED: _SameError,
    HTTPStatus.NOT_FOUND: _AbsentError,
    HTTPStatus.CONFLICT: _TakenError,
    HTTPStatus.PRECONDITION_FAILED: _TakenError,
}
"""Answers that are none of a failure."""


@contextmanager
def _understood(what: str) -> Iterator[None]:
    """Say of botocore's errors what they mean.

    Args:
        what: the request in words.
    """
    try:
        yield
    except NetworkError as error:
        raise NetworkError(f"{what}: {error}", status=error.status) from None
    except ClientError as error:
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        code, said = (error.response["Error"].get(key, "") for key in ("Code", "Message"))
        if status in _ANSWERS and code != "NoSuchBucket":
            raise _ANSWERS[status](what) from None
        hint = _HINTS.get(status)
        raise RejectedError(f"{what}: S3 answers {status} {code}: {said}", hint=hint, status=status) from None
    except (ResponseParserError, IncompleteReadError) as error:
        raise NetworkError(f"{what}: S3 gave no answer that can be read: {error}") from None
    except (BotoCoreError, ValueError) as error:
        raise UsageError(f"{what}: {error}") from None


def _etag(answer: Mapping[str, Any], what: str) -> str:
    """What names an object's content.

    Raises:
        NetworkError: that is not said, as nobody but S3 answers so.
    """
    etag = answer.get("ETag")
    if not isinstance(etag, str):
        raise NetworkError(f"{what}: the answer is none of S3's: it has no ETag; try again later")
    return etag
