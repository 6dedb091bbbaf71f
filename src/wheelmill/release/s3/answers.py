"""The answers of an S3, and botocore's exceptions, as our errors."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError, IncompleteReadError
from botocore.parsers import ResponseParserError

from wheelmill.errors import AbsentError, NetworkError, RejectedError, SameError, TakenError, UsageError
from wheelmill.names import Sha256

_MEANINGS: Final[Mapping[int, type[Exception]]] = {
    HTTPStatus.NOT_MODIFIED: SameError,
    HTTPStatus.NOT_FOUND: AbsentError,
    HTTPStatus.CONFLICT: TakenError,
    HTTPStatus.PRECONDITION_FAILED: TakenError,
}
"""Answers that tell of no failure.

https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
"""
_HINTS: Final = {
    301: "AWS_DEFAULT_REGION is the region of the bucket",
    403: "the credentials of AWS_ACCESS_KEY_ID or AWS_PROFILE need s3:ListBucket, s3:GetObject and s3:PutObject",
    404: "is there such a bucket? AWS_ENDPOINT_URL_S3 names an S3 that is not Amazon's",
}


@contextmanager
def configured(what: str) -> Iterator[None]:
    """Say that botocore's variables or files are wrong.

    Args:
        what: what is done, in words.

    Raises:
        UsageError: they are.
    """
    try:
        yield
    except (BotoCoreError, ValueError) as error:
        raise UsageError("s3-denied", f"{what}: {error}") from None


@contextmanager
def understood(what: str) -> Iterator[None]:
    """Turn an exception of botocore into our error.

    Args:
        what: the request, in words.

    Raises:
        AbsentError, SameError, TakenError: see there.
        NetworkError: it is no answer of S3's.
        RejectedError: S3 will not do it.
        UsageError: no request could be made.
    """
    try:
        yield
    except NetworkError as error:
        raise NetworkError("s3-silent", f"{what}: {error}", status=error.status) from None
    except ClientError as error:
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        code, said = (error.response["Error"].get(key, "") for key in ("Code", "Message"))
        if status in _MEANINGS and code != "NoSuchBucket":
            raise _MEANINGS[status](what) from None
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:  # also botocore's own, for a body that is no XML
            raise NetworkError("s3-failed", f"{what}: S3 answers {status} {code}: {said}", status=status) from None
        hint = _HINTS.get(status)
        raise RejectedError(
            "s3-rejected", f"{what}: S3 answers {status} {code}: {said}", hint=hint, status=status
        ) from None
    except (ResponseParserError, IncompleteReadError, LookupError, TypeError, ValueError) as error:
        raise NetworkError(
            "s3-unreadable", f"{what}: the answer is not one of S3's: {error!r}; try again later"
        ) from None
    except BotoCoreError as error:
        raise UsageError("s3-denied", f"{what}: {error}") from None


def etag_of(answer: Mapping[str, Any]) -> str:
    """The etag of an object.

    Raises:
        LookupError: there is none, so that the answer is not S3's.
    """
    etag: str = answer["ETag"]
    return etag


def sha256_in(answer: Mapping[str, Any]) -> Sha256 | None:
    """The hash of an object; None where it is not said, or one of hashes: that of an object in parts.

    Raises:
        ValueError: it is no hash.
    """
    said = answer.get("ChecksumSHA256", "")
    return Sha256(base64.b64decode(said, validate=True).hex()) if said and "-" not in said else None
