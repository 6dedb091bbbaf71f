"""Wheels that are not put on GitHub."""

from __future__ import annotations

import string
from typing import Final

from wheelmill.wheel.glibc import promised_glibc
from wheelmill.wheel.name import MAX_ASSET, WheelFile, WheelName

PUBLISHED_POLICY: Final = "manylinux_2_28"
"""What users of published wheels need: every Linux since 2018 has that glibc."""

_KEPT: Final = frozenset(string.ascii_letters + string.digits + "-_.+")
"""GitHub replaces other characters in the names of assets, such as the ``!`` of an epoch. It does not say which; wheels
with these are on GitHub under their own names, and what is listed after an upload is compared.

https://docs.github.com/en/rest/releases/assets#upload-a-release-asset
"""


def reason_to_refuse(wheel: WheelFile) -> str | None:
    """Why a wheel cannot be published on GitHub; None when it can."""
    if replaced := "".join(sorted(set(wheel.filename) - _KEPT)):
        return f"has {replaced!r} in its name, which GitHub would replace"
    if wheel.size >= MAX_ASSET:
        return f"has {wheel.size} bytes; GitHub takes less than 2 GiB: build fewer architectures"
    if newer := [name for name in WheelName.parse(wheel.filename).platforms if not _is_published_policy(name)]:
        return (
            f"is for {', '.join(newer)}; published wheels are for {PUBLISHED_POLICY} or older: build it with "
            f"--sandbox docker, or --policy {PUBLISHED_POLICY}"
        )
    return None


def _is_published_policy(platform: str) -> bool:
    glibc, newest = promised_glibc(platform), promised_glibc(PUBLISHED_POLICY)
    return platform == "any" or (glibc is not None and newest is not None and glibc <= newest)
