"""The variables that the workflows read, and what may be in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from wheelmill.names import Platform

RUNNERS: Final = "WHEELMILL_RUNNERS"
GPU_RUNNER: Final = "WHEELMILL_GPU_RUNNER"
NOTIFIES: Final = "WHEELMILL_NOTIFY"
STORE: Final = "WHEELMILL_STORE"
PREFIX: Final = "WHEELMILL_"


@dataclass(frozen=True, kw_only=True)
class Values:
    """What may be in a variable."""

    expected: str
    fits: Callable[[str], bool]


def _one_of(*words: str) -> Values:
    return Values(expected=" or ".join(words), fits=words.__contains__)


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def labels_of(text: str) -> Iterator[tuple[str, ...]]:
    """Read the labels of each entry of WHEELMILL_RUNNERS.

    Args:
        text: the JSON object, by project and platform: a label, or a list of labels that one machine must have.

    Raises:
        ValueError: it is no such object.
    """
    for platforms in _object(json.loads(text)).values():
        for platform, asked in _object(platforms).items():
            Platform.parse(platform)
            labels = [asked] if isinstance(asked, str) else asked
            if (
                not isinstance(labels, list)
                or not labels
                or not all(isinstance(label, str) and label for label in labels)
            ):
                raise ValueError(f"expected a label or a list of labels, not {asked!r}")
            yield tuple(labels)


def _object(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, not {value!r}")  # noqa: TRY004 - its text is wrong
    return value


def _are_runners(text: str) -> bool:
    try:
        return bool(list(labels_of(text)))
    except (ValueError, RecursionError):  # of brackets that nobody closes
        return False


_FLAG: Final = _one_of("true", "false")
_URL: Final = Values(expected="an http or https URL", fits=_is_url)
VARIABLES: Final[Mapping[str, Values]] = {
    STORE: Values(
        expected="github:OWNER/REPO or dir:PATH",
        fits=lambda text: text.startswith(("github:", "dir:")) and text[-1] != ":",
    ),
    "WHEELMILL_PREVIOUS": Values(
        expected="an http or https URL, or github:OWNER/REPO",
        fits=lambda text: _is_url(text) or (text.startswith("github:") and text[-1] != ":"),
    ),
    "WHEELMILL_BASE_URL": _URL,
    "WHEELMILL_SANDBOX": _one_of("docker", "local"),
    RUNNERS: Values(
        expected='such as {"flash-attn": {"linux_x86_64": "LABEL"}}, each platform with a label or a list of labels',
        fits=_are_runners,
    ),
    GPU_RUNNER: Values(expected="the label of a machine", fits=lambda text: text == text.strip() != ""),
    "WHEELMILL_ATTEST": _FLAG,
    "WHEELMILL_CACHE": _FLAG,
    "WHEELMILL_SCHEDULE": _FLAG,
    NOTIFIES: _FLAG,
}
"""A test compares the names with those in .github/workflows."""


def labels_asked_for(variables: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """The labels that jobs ask for together; none of a value that cannot be read."""
    if _are_runners(text := variables.get(RUNNERS, "")):
        yield from labels_of(text)
    if label := variables.get(GPU_RUNNER):
        yield (label,)
