"""What GitHub takes, and the wheels that are not put there."""

from __future__ import annotations

import string
from typing import Final

from wheelmill.release.store import Quotas
from wheelmill.wheel.glibc import promised_glibc
from wheelmill.wheel.name import WheelFile, WheelName

MAX_ASSET: Final = 2 << 30
"""Bytes that an asset must stay under
(https://docs.github.com/en/repositories/releasing-projects-on-github/about-releases#storage-and-bandwidth-quotas)."""

MAX_WHEELS: Final = 240
"""In one release: GitHub allows 1,000 assets in each and 500 new ones an hour, and every wheel is three."""

QUOTAS: Final = Quotas(asset=MAX_ASSET, wheels=MAX_WHEELS)

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
