"""The files of a draft: sent one by one, and compared with what GitHub says that it has.

https://docs.github.com/en/rest/releases/assets
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final, Self

from github.GitRelease import GitRelease
from github.GitReleaseAsset import GitReleaseAsset

from wheelmill.errors import NetworkError, RejectedError
from wheelmill.names import Sha256
from wheelmill.release.github.calls import Calls
from wheelmill.release.github.connection import PAUSES
from wheelmill.system.files import sha256_of_bytes

_TOO_MANY_OUTAGES: Final = 3
"""In a row: then GitHub is out of reach, and the other files are not tried at once."""


@dataclass(frozen=True, kw_only=True)
class Asset:
    """A file that a release is to have."""

    name: str
    content: Path | bytes = field(repr=False)
    size: int
    """Bytes."""
    sha256: Sha256

    @classmethod
    def of_bytes(cls, name: str, content: bytes) -> Self:
        """A file that is on no disk."""
        return cls(name=name, content=content, size=len(content), sha256=sha256_of_bytes(content))

    def open(self) -> BinaryIO:
        """Its bytes."""
        return self.content.open("rb") if isinstance(self.content, Path) else io.BytesIO(self.content)


@dataclass(frozen=True, kw_only=True)
class Sent:
    """How sending assets went."""

    faults: Mapping[str, str]
    """Why an asset is not there as it should be, by name; nothing for those that are."""
    unhashed: frozenset[str]
    """Names of those that GitHub gave no digest for: their sizes are right, their bytes are not compared yet."""


def send(calls: Calls, release: GitRelease, wanted: Sequence[Asset]) -> Sent:
    """Make a draft have these assets and no others.

    What is missing is sent; what is not whole, different or not wanted is removed; then everything is listed and
    compared again, up to four times. An asset that cannot be sent does not hold up the others.
    """
    rejected: dict[str, str] = {}
    listed = _list(calls, release)
    for pause in (0.0, *PAUSES):
        faults = _faults(wanted, listed)
        stray = [asset for asset in listed if asset.name in faults or asset.name not in {each.name for each in wanted}]
        if not stray and faults.keys() <= rejected.keys():
            break
        calls.clock.sleep(pause)
        for asset in stray:
            _remove(calls, asset)
        missing = [asset for asset in wanted if asset.name in faults and asset.name not in rejected]
        rejected |= _upload(calls, release, missing)
        listed = _list(calls, release)
    faults = _faults(wanted, listed)
    return Sent(
        faults={name: rejected.get(name, fault) for name, fault in faults.items()},
        unhashed=frozenset(asset.name for asset in listed if asset.digest is None),
    )


@dataclass(frozen=True, kw_only=True)
class _Listed:
    """An asset as GitHub lists it."""

    asset: GitReleaseAsset
    name: str
    state: str
    """``starter`` when an upload broke off."""
    size: int
    digest: str | None
    """``sha256:...``; older servers do not say."""


def _list(calls: Calls, release: GitRelease) -> list[_Listed]:
    return calls.read(
        f"listing the assets of {release.tag_name}",
        lambda: [
            _Listed(asset=asset, name=asset.name, state=asset.state, size=asset.size, digest=asset.digest)
            for asset in release.get_assets()
        ],
    )


def _faults(wanted: Sequence[Asset], listed: Sequence[_Listed]) -> dict[str, str]:
    by_name = {asset.name: asset for asset in listed}
    compared = {asset.name: _fault(asset, by_name.get(asset.name)) for asset in wanted}
    return {name: fault for name, fault in compared.items() if fault}


def _fault(wanted: Asset, found: _Listed | None) -> str | None:
    """What is wrong with an asset; None when it is as it should be."""
    if found is None:
        return "did not arrive"
    if found.state != "uploaded":
        return f"did not arrive whole: its state is {found.state}"
    if found.size != wanted.size:
        return f"arrived with {found.size} bytes instead of {wanted.size}"
    if found.digest is not None and found.digest != f"sha256:{wanted.sha256}":
        return f"arrived with {found.digest} instead of sha256:{wanted.sha256}"
    return None


def _remove(calls: Calls, listed: _Listed) -> None:
    try:
        calls.write(f"removing {listed.name}", listed.asset.delete_asset)
    except (NetworkError, RejectedError) as error:  # the next listing shows whether it is gone
        calls.progress.line(str(error))


def _upload(calls: Calls, release: GitRelease, assets: Sequence[Asset]) -> dict[str, str]:
    """Send assets; returns why some of them never will be sent, by name."""
    rejected: dict[str, str] = {}
    outages = 0
    for number, asset in enumerate(assets, start=1):
        calls.progress.line(f"sending {asset.name} ({number} of {len(assets)})")
        try:
            calls.write(f"sending {asset.name}", partial(_post, release, asset))
            outages = 0
        except RejectedError as error:
            if not error.exists:
                rejected[asset.name] = str(error)
        except NetworkError as error:
            calls.progress.step(str(error))
            outages += 1
            if outages == _TOO_MANY_OUTAGES:
                break
        except OSError as error:
            rejected[asset.name] = f"cannot be read: {error.strerror or error}"
    return rejected


def _post(release: GitRelease, asset: Asset) -> None:
    with asset.open() as file:
        release.upload_asset_from_memory(file, asset.size, asset.name, "application/octet-stream")
