"""Answers of servers that mean harm, or are broken: pages, sidecars, manifests."""

import gzip
import json
from typing import Any

from tests.broken_indexes import FAULTY
from tests.page_server import JSON, Answer
from tests.wheels import wheel_name
from wheelmill.web.client import MAX_CONTENT

WHEEL = wheel_name("9.9.9")
"""The newest of its project: it would be chosen if its link were not wrong."""
ENTRY: dict[str, Any] = {"filename": WHEEL, "url": WHEEL, "hashes": {"sha256": "a" * 64}}
_JSON = {"Content-Type": JSON}
_HTML = {"Content-Type": "text/html"}


def page(*files: object, **more: object) -> bytes:
    """A project's page in JSON."""
    return json.dumps({"meta": {"api-version": "1.4"}, "name": "demo", "files": files} | more).encode()


def anchor(href: str) -> bytes:
    """A page in HTML with one link."""
    return f'<!DOCTYPE html><a href="{href}">x</a>'.encode()


def with_number(digits: bytes) -> bytes:
    """A page of one wheel, of a size that no JSON library writes."""
    return page(ENTRY | {"size": 0}).replace(b": 0}", b": " + digits + b"}")


LINKS: dict[str, dict[str, Any]] = {
    "size-of-31-digits": {"size": 10**30},
    "negative-size": {"size": -1},
    "size-as-text": {"size": "many"},
    "size-nan": {"size": float("nan")},
    "short-hash": {"hashes": {"sha256": "abc"}},
    "hash-that-is-a-number": {"hashes": {"sha256": 5}},
    "hashes-as-list": {"hashes": ["a" * 64]},
    "no-hashes": {"hashes": None},
    "bad-metadata-hash": {"core-metadata": {"sha256": "x"}},
    "nul-in-name": {"filename": f"demo\0{WHEEL}"},
    "half-a-surrogate-pair": {"filename": f"\ud800{WHEEL}"},
    "path-in-name": {"filename": f"../../{WHEEL}"},
    "name-of-5000-characters": {"filename": WHEEL.replace("9.9.9", "9" * 5000)},
    "file": {"url": f"file:///tmp/{WHEEL}"},
    "ftp": {"url": f"ftp://files.example/{WHEEL}"},
    "data": {"url": f"data:application/zip,x/{WHEEL}"},
    "javascript": {"url": f"javascript:alert(1)/{WHEEL}"},
    "no-host": {"url": f"https:///{WHEEL}"},
    "no-url": {"url": f"http://[/{WHEEL}"},
    "escape-in-url": {"url": f"\x1b[2J{WHEEL}"},
}
"""What is wrong with the entry of a wheel."""

ANSWERS: dict[str, Answer] = {
    **{name: Answer(page(ENTRY | change), headers=_JSON) for name, change in LINKS.items()},
    "number-of-5000-digits": Answer(with_number(b"9" * 5000), headers=_JSON),
    "entry-that-is-a-list": Answer(page([1, 2]), headers=_JSON),
    "files-as-object": Answer(b'{"meta": {}, "files": {}}', headers=_JSON),
    "nesting": Answer(b'{"files": ' + b"[" * 100_000, headers=_JSON),
    "nested-entry": Answer(with_number(b"[" * 500 + b"]" * 500), headers=_JSON),
    "half-a-page": Answer(page(ENTRY)[:-20], headers=_JSON),
    "not-utf-8": Answer(b'{"files": [{"filename": "\xff\xfe"}]}', headers=_JSON),
    "releases-as-numbers": Answer(b"[1, 2]", headers={"Content-Type": "application/json"}),
    "picture": Answer(b"\x89PNG", headers={"Content-Type": "image/png"}),
    "gzip-bomb": Answer(gzip.compress(bytes(MAX_CONTENT + 1), 1), headers=_HTML | {"Content-Encoding": "gzip"}),
    "no-gzip": Answer(b"plain", headers=_HTML | {"Content-Encoding": "gzip"}),
    "redirect-to-a-file": Answer(b"", 302, {"Location": "file:///etc/passwd"}),
    "part-of-a-page": Answer(anchor(WHEEL), 206, _HTML),
    "html-short-hash": Answer(anchor(f"{WHEEL}#sha256=abc"), headers=_HTML),
    "html-file": Answer(anchor(f"file:///tmp/{WHEEL}"), headers=_HTML),
    "html-base": Answer(b'<base href="file:///tmp/">' + anchor(WHEEL), headers=_HTML),
    "html-faulty": Answer(FAULTY.replace(b"=x", b"=" + WHEEL.encode()), headers=_HTML),
    "html-nul": Answer(anchor(f"a%00{WHEEL}"), headers=_HTML),
}
"""Pages that have nothing to choose, and something to warn of."""
COSTLY = ("html-faulty", "gzip-bomb")
"""Those that take as long as all others together."""

NAMES: tuple[str, ...] = (
    *(f"demo-{'9' * 200}-cp39-cp39-win_amd64.whl", f"demo-9.9.9+cu{'9' * 150}-cp312-cp312-manylinux_2_28_x86_64.whl"),
    "demo-9.9.9+cu12..5torch2..8-cp312-cp312-manylinux_2_28_x86_64.whl",
    "demo-9.9.9-²x-cp312-cp312-manylinux_2_28_x86_64.whl",
    f"demo-9.9.9-{'.'.join(['py3'] * 20)}-{'.'.join(['none'] * 15)}-{'.'.join(['win'] * 15)}.whl",
    *("demo-9!9-cp312-cp312-manylinux_2_999999999999_x86_64.whl", "demo---.whl", "----.whl", ".whl"),
)
"""File names that are nearly those of wheels: they are passed over, or do not fit."""
