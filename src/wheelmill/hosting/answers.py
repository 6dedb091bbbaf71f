"""Answers of the API as records, or as `Unseen` where the token lacks a permission."""

from __future__ import annotations

import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, TypeVar

from wheelmill.errors import IntegrityError, NetworkError, RejectedError
from wheelmill.hosting.settings import Unseen
from wheelmill.release.github.api import Calls
from wheelmill.system.records import record_from

ADMINISTRATION: Final = "Administration: read"
"""The permission that most settings need."""
_PER_PAGE: Final = 100
_MOST: Final = 5_000
"""Entries of one list that are read; GitHub takes 500 variables and 100 environments."""

Found = TypeVar("Found")


class Answers:
    """Reads settings through the API."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def seen(self, what: str, needs: str, read: Callable[[], Found]) -> Found | Unseen:
        """Read a setting, if the token may see it.

        Args:
            what: the setting in words.
            needs: the permission that shows it.
            read: the function that reads it.

        Raises:
            NetworkError: GitHub fails, or gives an answer that cannot be read.
        """
        try:
            return read()
        except RejectedError:
            return Unseen(what, needs)

    def one(self, path: str, kind: type[Found], *, absent: Found | None = None) -> Found:
        """Read one thing.

        Args:
            path: where it is, below the repository.
            kind: the record that the answer must fit.
            absent: what a 404 means; None where it may mean that the token may not see it, as GitHub does not tell.

        Raises:
            NetworkError: GitHub fails, or gives an answer that cannot be read.
            RejectedError: GitHub will not say it.
        """
        try:
            what = path or "the repository"
            return _record(self._calls.answer(f"reading {what}", path), kind, what)
        except RejectedError as error:
            if absent is None or error.status != HTTPStatus.NOT_FOUND:
                raise
            return absent

    def all(self, path: str, kind: type[Found], *, within: str | None = None) -> list[Found]:
        """Read a list, page after page.

        Args:
            path: where it is, below the repository.
            kind: the record of one entry.
            within: the key that the entries stand under; None where an answer is nothing but the list.

        Raises:
            NetworkError: GitHub fails, or gives an answer that cannot be read.
            RejectedError: GitHub will not say it.
        """
        found: list[Found] = []
        for number in range(1, _MOST // _PER_PAGE + 1):
            answer = self._calls.answer(f"reading {path}", path, per_page=_PER_PAGE, page=number)
            entries = answer if within is None else answer.get(within) if isinstance(answer, dict) else None
            if not isinstance(entries, list):
                raise NetworkError(
                    "answer-invalid", f"reading {path}: expected a list{f' of {within}' if within else ''}"
                )
            found += (_record(entry, kind, path) for entry in entries)
            if len(entries) < _PER_PAGE:
                return found
        raise NetworkError("answer-too-long", f"reading {path}: there are more than {_MOST}")


def _record(answer: object, kind: type[Found], path: str) -> Found:
    try:
        return record_from(json.dumps(answer).encode(), kind, source="the answer")
    except IntegrityError as error:
        raise NetworkError("answer-unreadable", f"reading {path}: {error}") from None
