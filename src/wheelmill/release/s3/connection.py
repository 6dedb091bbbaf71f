"""A connection to an S3 API: botocore makes and signs requests, which go through `web.client`.

Endpoint, region and credentials are those of its usual variables and files: ``AWS_ENDPOINT_URL_S3``,
``AWS_DEFAULT_REGION``, ``AWS_ACCESS_KEY_ID``, ``AWS_PROFILE`` and so on.

https://docs.aws.amazon.com/boto3/latest/guide/configuration.html
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cached_property
from http import HTTPStatus
from typing import Any, Final

import botocore.session
from botocore import UNSIGNED
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config

from wheelmill.system.progress import Clock
from wheelmill.web.client import Web
from wheelmill.web.credentials import no_credentials, without_credentials
from wheelmill.web.transport import PATIENT, Retries

_OWN: Final = frozenset({"expect", "user-agent"})
"""Headers that `Web` sets itself, or does without; neither is signed."""
_SETTINGS: Final = Config(
    retries={"total_max_attempts": 1},  # `Web` sends again what may be sent again
    request_checksum_calculation="when_required",  # not every S3 knows the others
    response_checksum_validation="when_required",
    s3={"payload_signing_enabled": True},  # every S3 compares the bytes that arrive with the hash that is signed
)
_LARGEST: Final = 128 << 20
"""Bytes of one answer."""


class Connection:
    """A client of S3, which threads may share.

    Args:
        clock: waits between tries.
    """

    def __init__(self, clock: Clock) -> None:
        self._session = botocore.session.get_session()
        self._web = Web(credentials=no_credentials, retries=Retries(clock.sleep, pauses=PATIENT))

    @cached_property
    def has_credentials(self) -> bool:
        """Whether there are credentials; without them, a bucket is read anonymously."""
        return self._session.get_credentials() is not None

    @cached_property
    def client(self) -> Any:  # noqa: ANN401 - botocore makes the class from a description of S3
        """botocore's client of S3."""
        anybody = Config() if self.has_credentials else Config(signature_version=UNSIGNED)
        client = self._session.create_client("s3", config=_SETTINGS.merge(anybody))
        client.meta.events.register("before-send.s3", self._send)
        return client

    def address(self, bucket: str, key: str) -> str:
        """The URL of an object: that which it would be asked for, by whoever asks. Nothing is sent."""
        found: list[str] = []

        def note(request: AWSPreparedRequest, **_: object) -> AWSResponse:
            found.append(request.url)
            return AWSResponse(request.url, HTTPStatus.OK, {}, _Content())

        client = self._session.create_client("s3", config=Config(signature_version=UNSIGNED))
        client.meta.events.register("before-send.s3", note)
        client.get_object(Bucket=bucket, Key=key)
        return without_credentials(found[0].partition("?")[0])

    def _send(self, request: AWSPreparedRequest, **_: object) -> AWSResponse:
        """Send a request in the place of botocore's own connections.

        https://botocore.amazonaws.com/v1/documentation/api/latest/topics/events.html
        """
        headers = {name: _text(value) for name, value in request.headers.items() if name.lower() not in _OWN}
        answer = self._web.send(
            request.method,
            request.url,
            headers,
            body=request.body or b"",
            size=int(headers.get("Content-Length", 0)),
            limit=_LARGEST,
            refusals=True,
        )
        return AWSResponse(request.url, answer.status, dict(answer.headers), _Content(answer.content))


class _Content(io.BytesIO):
    """Content of an answer, as botocore reads it."""

    def stream(self, *_: object, **__: object) -> Iterator[bytes]:
        """Read all of it."""
        yield self.read()


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value
