"""Small files of many releases, read in parallel; those with a known hash are cached on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Final

from platformdirs import user_cache_path

from wheelmill.errors import NetworkError, ReleaseError, WheelmillError
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.system.files import sha256_of_bytes, write_bytes
from wheelmill.web.client import in_turn

_AT_ONCE: Final = 8


def read_each(
    wanted: Mapping[ReleaseTag, Sha256 | None], read: Callable[[ReleaseTag], bytes]
) -> Iterator[tuple[ReleaseTag, bytes | WheelmillError]]:
    """Read a small file of many releases; one with a known hash is cached.

    Args:
        wanted: the releases, and the hash of the file where it is known.
        read: reads the file of a release; called in threads.

    Yields:
        The tag of a release, and the file's bytes or why they cannot be fetched.
    """

    def look(tag: ReleaseTag) -> bytes | WheelmillError:
        try:
            return _kept(sha256, lambda: read(tag)) if (sha256 := wanted[tag]) else read(tag)
        except (NetworkError, ReleaseError) as error:
            return error

    yield from zip(wanted, in_turn(look, wanted, at_once=_AT_ONCE), strict=True)


def _kept(sha256: Sha256, read: Callable[[], bytes]) -> bytes:
    path = user_cache_path("wheelmill") / "manifests" / sha256
    try:
        content = path.read_bytes()
    except OSError:
        content = b""
    if sha256_of_bytes(content) == sha256:
        return content
    content = read()
    if sha256_of_bytes(content) == sha256:
        with suppress(OSError):  # a full disk
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, content)
    return content
