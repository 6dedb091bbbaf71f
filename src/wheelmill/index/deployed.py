"""What the index that people use now has, so that a new one keeps its promises."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final, Literal

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from wheelmill.errors import SiteError
from wheelmill.index.tree import WHEELS_JSON
from wheelmill.names import Sha256
from wheelmill.web.origin import without_credentials


class _Wheel(TypedDict):
    filename: str
    sha256: Sha256


class _Wheels(TypedDict):
    schema: Literal["wheelmill.wheels/1"]
    wheels: list[_Wheel]


def deployed_wheels(place: str, *, none_yet: Callable[[str], None] | None = None) -> Mapping[str, Sha256]:
    """Read ``wheels.json`` of a site.

    Args:
        place: the site's folder, or its URL.
        none_yet: told that the server knows no index there, which is an error without it.

    Returns:
        The hash of every file that it lists, by file name.

    Raises:
        SiteError: it has none that can be read.
        NetworkError: its server does not answer.
    """
    content = _fetch(place, none_yet) if "://" in place else _read(Path(place) / WHEELS_JSON)
    if content is None:
        return {}
    try:
        site = TypeAdapter(_Wheels).validate_json(content, strict=True)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"])) or "the file"
        raise SiteError(f"{WHEELS_JSON} of {place} cannot be read: {where}: {problem['msg']}") from None
    return {wheel["filename"]: wheel["sha256"] for wheel in site["wheels"]}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SiteError(f"{path} cannot be read: {error.strerror}", hint=_FIRST) from None


def _fetch(site: str, none_yet: Callable[[str], None] | None) -> bytes | None:
    from wheelmill.web.client import Web  # noqa: PLC0415 - a tenth of a second

    with Web() as web:
        answer = web.get(url := f"{site.rstrip('/')}/{WHEELS_JSON}")
    if none_yet and answer.status == HTTPStatus.NOT_FOUND:
        none_yet(f"{without_credentials(site)} has no index yet: nothing is compared with it")
        return None
    if not answer.ok:
        raise SiteError(f"{without_credentials(url)} cannot be read: {answer.outcome}", hint=_FIRST)
    return answer.content


_FIRST: Final = "leave --previous out for the first index at a place"
