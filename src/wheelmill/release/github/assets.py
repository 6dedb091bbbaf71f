"""The files of a draft: uploaded one by one, and compared with what GitHub reports.

https://docs.github.com/en/rest/releases/assets
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Self

from github.GitRelease import GitRelease
from github.GitReleaseAsset import GitReleaseAsset

from wheelmill.errors import NetworkError, RejectedError
from wheelmill.release.asset import Asset
from wheelmill.release.github.calls import Calls
from wheelmill.web.transport import PATIENT

_TOO_MANY_OUTAGES: Final = 3
"""Failures in a row, after which GitHub is considered out of reach, and the other files wait."""


@dataclass(frozen=True, kw_only=True)
class Sent:
    """The outcome of uploading assets."""

    faults: Mapping[str, str]
    """Why each asset is missing or wrong, by name."""
    unhashed: frozenset[str]
    """Assets for which GitHub gives no digest: their sizes are right, their bytes are yet to be compared."""


class DraftFiles:
    """The files of a draft, as GitHub lists them: asked for once, and again after every failure."""

    def __init__(self, calls: Calls, draft: GitRelease) -> None:
        self._calls, self._draft = calls, draft
        self._unsure = False
        self._listed = self._list()

    def send(self, wanted: Sequence[Asset]) -> Mapping[str, str]:
        """Upload files to the draft, whatever others it has.

        Missing files are sent, up to four times; incomplete and different ones are replaced. One that cannot be sent
        does not hold up the others.

        Returns:
            Why an asset is not there as it should be, by name.
        """
        return self._send(wanted, alone=False)

    def settle(self, wanted: Sequence[Asset]) -> Sent:
        """Make the draft have exactly these files, by what GitHub lists now."""
        self._listed = self._list()
        faults = self._send(wanted, alone=True)
        unhashed = frozenset(found.name for found in self._listed.values() if found.digest is None)
        return Sent(faults=faults, unhashed=unhashed)

    def faults(self, wanted: Sequence[Asset]) -> dict[str, str]:
        """Why each asset is missing or wrong, by name, as far as is known."""
        compared = {asset.name: _fault(asset, self._listed.get(asset.name)) for asset in wanted}
        return {name: fault for name, fault in compared.items() if fault}

    def _send(self, wanted: Sequence[Asset], *, alone: bool) -> dict[str, str]:
        rejected: dict[str, str] = {}
        names = {each.name for each in wanted}
        for pause in (0.0, *PATIENT):
            faults = self.faults(wanted)
            stray = [found for name, found in self._listed.items() if name in faults or (alone and name not in names)]
            if not stray and faults.keys() <= rejected.keys():
                break
            self._calls.clock.sleep(pause)
            missing = [asset for asset in wanted if asset.name in faults and asset.name not in rejected]
            self._remove(stray)
            self._upload(missing, rejected)
            if alone or self._unsure:
                self._listed = self._list()
        return {name: rejected.get(name, fault) for name, fault in self.faults(wanted).items()}

    def _list(self) -> dict[str, _Listed]:
        self._unsure = False
        return self._calls.read(
            f"listing the assets of {self._draft.tag_name}",
            lambda: {asset.name: _Listed.of(asset) for asset in self._draft.get_assets()},
        )

    def _remove(self, stray: Sequence[_Listed]) -> None:
        for found in stray:
            try:
                self._calls.write(f"removing {found.name}", found.asset.delete_asset)
                del self._listed[found.name]
            except (NetworkError, RejectedError) as error:
                self._calls.progress.line(str(error))
                self._unsure = True

    def _upload(self, assets: Sequence[Asset], rejected: dict[str, str]) -> None:
        """Send assets.

        Args:
            assets: the assets to send.
            rejected: gets why some of them never will be sent, by name.
        """
        outages = 0
        for number, asset in enumerate(assets, start=1):
            self._calls.progress.line(f"sending {asset.name} ({number} of {len(assets)})")
            try:
                self._listed[asset.name] = self._calls.write(f"sending {asset.name}", partial(self._post, asset))
                outages = 0
            except RejectedError as error:
                self._unsure = True
                if not error.exists:
                    rejected[asset.name] = str(error)
            except NetworkError as error:
                self._calls.progress.step(str(error))
                self._unsure = True
                outages += 1
                if outages == _TOO_MANY_OUTAGES:
                    break
            except OSError as error:
                rejected[asset.name] = f"cannot be read: {error.strerror or error}"

    def _post(self, asset: Asset) -> _Listed:
        with asset.open() as file:
            return _Listed.of(
                self._draft.upload_asset_from_memory(file, asset.size, asset.name, "application/octet-stream")
            )


@dataclass(frozen=True, kw_only=True)
class _Listed:
    """An asset as GitHub shows it."""

    asset: GitReleaseAsset
    name: str
    state: str
    """``starter`` when an upload broke off."""
    size: int
    digest: str | None
    """``sha256:...``; older servers do not say."""

    @classmethod
    def of(cls, asset: GitReleaseAsset) -> Self:
        """What an answer says of an asset."""
        return cls(asset=asset, name=asset.name, state=asset.state, size=asset.size, digest=asset.digest)


def _fault(wanted: Asset, found: _Listed | None) -> str | None:
    """What is wrong with an asset; None if nothing is."""
    if found is None:
        return "did not arrive"
    if found.state != "uploaded":
        return f"did not arrive whole: its state is {found.state}"
    if found.size != wanted.size:
        return f"arrived with {found.size} bytes instead of {wanted.size}"
    if found.digest is not None and found.digest != f"sha256:{wanted.sha256}":
        return f"arrived with {found.digest} instead of sha256:{wanted.sha256}"
    return None
