"""moto's S3 behind a front that adds what it lacks (https://docs.getmoto.org) and lets calls go wrong."""

import base64
import hashlib
import io
import json
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from threading import Lock, Thread
from typing import Any, Final
from unittest.mock import patch
from urllib.parse import unquote

from botocore.loaders import create_loader
from botocore.session import Session
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.moto_server.werkzeug_app import create_backend_app
from moto.s3.models import s3_backends
from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.test import run_wsgi_app
from werkzeug.wrappers import Request, Response

BUCKET = "wheels"
KEY_ID = "AKIAOFTHETESTS"


PUBLIC = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{BUCKET}/*"}
    ],
}
"""Everybody may read what is in the bucket, and nobody else list it."""

_read_once: Final = cache(create_loader)
"""botocore's descriptions of services, whose reading takes longer than a test."""


@cache
def _session_of(_variables: tuple[tuple[str, str], ...]) -> Session:
    return Session()


def get_session() -> Session:
    """botocore's session for the variables of this moment; making one takes as long as a test."""
    return _session_of(tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith("AWS_"))))


class Fault(StrEnum):
    """What can go wrong with one call."""

    BEFORE = "5xx before"
    """The server fails and does nothing."""
    AFTER = "5xx after"
    """The server does it and then fails."""
    SLOW_DOWN = "503 slow"
    """The server wants to be asked less."""
    CONFLICT = "409"
    """Somebody else writes the same object at this moment; nothing is done."""
    CUT = "cut"
    """The server does it, and the connection breaks before the answer."""
    TRUNCATED = "truncated"
    """Half of the bytes of an object are kept, and the server says that all is well."""
    LOST = "200 lost"
    """The server does nothing, and says that all is well."""
    PAGE = "200 page"
    """The server does it, and what stands before it answers with a page for people."""
    EMPTY = "200 empty"
    """The server does it, and the answer has no body and none of S3's headers."""


OF_WRITES = (Fault.CONFLICT, Fault.TRUNCATED, Fault.LOST)


@dataclass(frozen=True)
class Call:
    """A request, for those who look at it later."""

    method: str
    path: str
    query: str
    headers: dict[str, str]

    def __str__(self) -> str:
        return f"{self.method} {self.path.removeprefix(f'/{BUCKET}')}{'?' if self.query else ''}"


@dataclass(kw_only=True)
class S3:
    """A server with one bucket, how it behaves, and what it was asked."""

    hashes: bool = True
    """Whether it says the hashes of objects; others than Amazon's may not."""
    faults: dict[int, Fault] = field(default_factory=dict)
    """By the number of the call."""
    instead: Callable[[Call], Response | None] = lambda _call: None
    """Answers to give, without doing anything."""
    calls: list[Call] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)
    origin: str = ""
    app: Any = field(default_factory=lambda: create_backend_app("s3"))

    @property
    def environment(self) -> dict[str, str]:
        """The variables of somebody who may do everything."""
        return {
            "AWS_ENDPOINT_URL_S3": self.origin,
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": "of the tests",
            "AWS_DEFAULT_REGION": "eu-central-1",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    @property
    def keys(self) -> Any:
        """The objects of the bucket as moto keeps them, by key."""
        return s3_backends[DEFAULT_ACCOUNT_ID]["aws"].buckets[BUCKET].keys

    @property
    def objects(self) -> dict[str, bytes]:
        """What everybody can have, but for the ledger, whose leases have random numbers."""
        return {key: self.keys[key].value for key in sorted(self.keys) if not key.endswith("ledger.tar.gz")}

    def state(self) -> dict[str, object]:
        """All that can be seen."""
        return {key: (content, self.keys[key].metadata) for key, content in self.objects.items()}

    def is_whole(self) -> bool:
        """Whether every release that is there has all that its manifest says, byte for byte."""
        hashes = {
            key.partition("/files/")[2]: hashlib.sha256(content).hexdigest() for key, content in self.objects.items()
        }
        manifests = (json.loads(content) for key, content in self.objects.items() if key.endswith("/manifest.json"))
        return all(
            hashes.get(f"{wheel['sha256']}/{wheel['filename']}{suffix}") == wheel[promised]
            for manifest in manifests
            for wheel in manifest["wheels"]
            for suffix, promised in (("", "sha256"), (".metadata", "metadata_sha256"))
        )

    def reset(self) -> None:
        """Begin with an empty bucket."""
        s3_backends.reset()
        backend = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
        backend.create_bucket(BUCKET, "eu-central-1")
        backend.put_bucket_policy(BUCKET, json.dumps(PUBLIC).encode())
        self.faults.clear()
        self.calls.clear()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer a request; one after the other."""
        request = Request(environ)
        path, mark, query = environ["RAW_URI"].partition("?")
        path = path.replace("+", "%20")  # as S3 reads a raw plus
        environ |= {"PATH_INFO": unquote(path, "latin-1")}
        environ |= dict.fromkeys(("RAW_URI", "REQUEST_URI"), f"{path}{mark}{query}")
        body = request.get_data()
        call = Call(request.method, request.path, request.query_string.decode(), dict(request.headers))
        with self.lock:
            fault = self.faults.get(len(self.calls))
            self.calls.append(call)
            answer = self.answer(environ, call, body, fault)
        if answer is None:
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            answer = Response()
        return answer(environ, start_response)

    def answer(self, environ: dict[str, Any], call: Call, body: bytes, fault: Fault | None) -> Response | None:
        """Answer a call; None breaks the connection."""
        if special := self.instead(call):
            return special
        if fault is Fault.LOST:
            return Response(headers={"ETag": f'"{hashlib.md5(body).hexdigest()}"'})  # noqa: S324 - as S3 has it
        if fault in _REFUSALS:
            return _error(*_REFUSALS[fault])
        if wrong := _damaged(call, body):
            return wrong
        kept = body[: len(body) // 2] if fault is Fault.TRUNCATED else body
        environ |= {"wsgi.input": io.BytesIO(kept), "CONTENT_LENGTH": str(len(kept))}
        content, status, headers = run_wsgi_app(self.app, environ)
        answer = Response(list(content), status, headers)
        if self.hashes and call.method == "HEAD" and answer.status_code == 200:
            stored = self.keys[call.path.removeprefix(f"/{BUCKET}/")].value
            answer.headers["x-amz-checksum-sha256"] = base64.b64encode(hashlib.sha256(stored).digest()).decode()
        instead: dict[Fault | None, Response | None] = {
            Fault.AFTER: _error("InternalError", 500),
            Fault.CUT: None,
            Fault.PAGE: Response("<html>Please come in!</html>", content_type="text/html"),
            Fault.EMPTY: Response(),
        }
        return instead.get(fault, answer)


def _error(code: str, status: int) -> Response:
    return Response(f"<Error><Code>{code}</Code></Error>", status, content_type="application/xml")


_REFUSALS = {
    Fault.BEFORE: ("InternalError", 500),
    Fault.SLOW_DOWN: ("SlowDown", 503),
    Fault.CONFLICT: ("ConditionalRequestConflict", 409),
}


def _damaged(call: Call, body: bytes) -> Response | None:
    """What S3 answers where the bytes that came are not those that were signed, or promised."""
    digest = hashlib.sha256(body)
    signed = call.headers.get("X-Amz-Content-Sha256")
    promised = call.headers.get("X-Amz-Checksum-Sha256")
    if signed and signed not in {digest.hexdigest(), "UNSIGNED-PAYLOAD"}:
        return _error("XAmzContentSHA256Mismatch", 400)
    if promised and promised != base64.b64encode(digest.digest()).decode():
        return _error("BadDigest", 400)
    return None


class _Silent(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # no part of an answer waits until another is acknowledged

    def log(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(s3: S3) -> Iterator[S3]:
    """Serve while the context is open."""
    s3.reset()
    server = make_server("127.0.0.1", 0, s3, threaded=True, request_handler=_Silent)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    s3.origin = f"http://127.0.0.1:{server.server_port}"
    try:
        with patch("botocore.session.create_loader", _read_once), patch("botocore.session.get_session", get_session):
            yield s3
    finally:
        server.shutdown()
        server.server_close()
