"""What it means when GitHub does not do what it was asked.

https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from github import GithubException

from wheelmill.errors import ReleaseError

_HINTS: Final = {
    401: "GITHUB_TOKEN is not a token that is valid now",
    403: "GITHUB_TOKEN needs the permission 'contents: write' for this repository",
    404: "is there such a repository, and may GITHUB_TOKEN see it?",
}


class OutageError(ReleaseError):
    """GitHub could not be reached, or failed: the call may have had its effect, or not."""


class RejectedError(ReleaseError):
    """GitHub understood a call and will not do it."""

    def __init__(self, message: str, *, exists: bool, hint: str | None) -> None:
        super().__init__(message, hint=hint)
        self.exists = exists
        """Whether the reason is that there is such a thing already."""


def understood(what: str, error: GithubException) -> OutageError | RejectedError:
    """Tell an answer that may be another one later from one that will not be."""
    data = error.data if isinstance(error.data, dict) else {}
    said = str(data.get("message") or "")
    errors = data.get("errors")
    details = [each for each in errors if isinstance(each, dict)] if isinstance(errors, list) else []
    more = "; ".join(str(each.get("message") or f"{each.get('field')}: {each.get('code')}") for each in details)
    message = f"{what}: GitHub answers {error.status} {said}{f' ({more})' if more else ''}".rstrip()
    if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return OutageError(message)
    exists = any(each.get("code") == "already_exists" for each in details) or said == "Reference already exists"
    return RejectedError(message, exists=exists, hint=_HINTS.get(error.status))
