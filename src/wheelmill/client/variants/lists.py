"""Reading the lists of what variants ask for: ``{name}-{version}-variants.json``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from wheelmill.client.sources.page_cache import PageCache
from wheelmill.client.sources.variant_wheels import VariantList
from wheelmill.errors import IntegrityError, UnreadableError, WheelmillError
from wheelmill.system.files import sha256_of_bytes
from wheelmill.system.progress import QUIET, Progress, number_of
from wheelmill.wheel.variant import MAX_VARIANT_METADATA, VariantMetadata, read_variant_metadata

ReadLists = Mapping[str, VariantMetadata | str]
"""What each list says, by its URL, or why it could not be read."""


def read_lists(
    lists: Iterable[VariantList], cache: PageCache, *, offline: bool, progress: Progress = QUIET
) -> ReadLists:
    """Read lists, side by side. A list may change while it has its URL, so servers are asked each time.

    Args:
        lists: where they are.
        cache: keeps what was read, for when there is no network.
        offline: whether to use only what the cache has.
        progress: shows which lists are read.
    """
    wanted = {each.url: each for each in lists}
    if offline:
        return {url: _recall(url, cache) for url in wanted}
    from wheelmill.web.client import ATTENDED, PARALLEL, Web, begin  # noqa: PLC0415 - asks servers

    found: dict[str, VariantMetadata | str] = {}
    with Web(retries=ATTENDED) as web:

        def ask(listed: VariantList) -> bytes:
            content = web.read(listed.url, limit=MAX_VARIANT_METADATA)
            if listed.sha256 and (has := sha256_of_bytes(content)) != listed.sha256:
                raise IntegrityError("hash-differs", f"it has sha256 {has}; the page says {listed.sha256}")
            return content

        progress.line(f"reading what variants ask for: {number_of(len(wanted), 'list')}" if wanted else "")
        for url, future in zip(wanted, begin(ask, list(wanted.values()), threads=PARALLEL), strict=True):
            try:
                content = future.result()
                found[url] = read_variant_metadata(content)
                cache.keep_fact(_key(url), content.decode(errors="replace"))  # what nobody reads in it may be anything
            except WheelmillError as error:
                found[url] = str(error)
    progress.line("")
    return found


def _key(url: str) -> str:
    return f"variants:{url}"


def _recall(url: str, cache: PageCache) -> VariantMetadata | str:
    if kept := cache.fact(_key(url)):
        with suppress(UnreadableError):  # an older version of wheelmill could read it
            return read_variant_metadata(kept.encode())
    return "it was not read: --offline was given"
