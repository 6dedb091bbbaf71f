"""A page in JSON before anybody asks what it says: one that Python reads is not yet one that every installer reads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Final

from wheelmill.conformance.pep691 import NULL, PARSED, STRICT
from wheelmill.conformance.served import Document
from wheelmill.conformance.violation import Violation

_NEVER_NULL: Final = ("size", "upload-time", "yanked")


def is_json(document: Document) -> bool:
    """Whether a document is JSON, whatever its content type says."""
    return document.content.lstrip()[:1] in (b"{", b"[")


def check_json(document: Document) -> list[Violation]:
    """What a page in JSON breaks before anybody asks what it says."""
    noted: dict[str, None] = {}

    def object_of(pairs: list[tuple[str, object]]) -> dict[str, object]:
        content = dict(pairs)
        if len(content) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            noted.update((f"the key {key!r} appears twice", None) for key, count in counts.items() if count > 1)
        return content

    def constant(name: str) -> None:
        noted[f"{name} is not a number in JSON"] = None

    try:
        page = json.loads(document.content, parse_int=str, parse_constant=constant, object_pairs_hook=object_of)
    except (ValueError, RecursionError) as error:
        return [PARSED.violation(document.url, f"expected JSON: {error}")]
    encoding = json.detect_encoding(document.content)
    if encoding != "utf-8":
        noted["it begins with a byte order mark" if encoding == "utf-8-sig" else f"it is in {encoding}"] = None
    strict = [STRICT.violation(document.url, note) for note in noted]
    return strict + [NULL.violation(document.url, f"{path} is null") for path in _nulls(page)]


def _nulls(page: object) -> Iterator[str]:
    """Where a page has null and may not. Values of other types are other rules'."""
    if not isinstance(page, dict):
        return
    status = page.get("project-status", {})
    if status is None or (isinstance(status, dict) and status.get("status", "") is None):
        yield "project-status" if status is None else "project-status.status"
    files = page.get("files")
    for number, file in enumerate(files if isinstance(files, list) else ()):
        if isinstance(file, dict):
            yield from (f"files.{number}.{key}" for key in _NEVER_NULL if file.get(key, "") is None)
