"""What an index lists of releases that somebody else may have written to."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.plan.examples import FACTS
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.config.model import Listing
from wheelmill.errors import NetworkError, WheelmillError
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.pipeline import build_index
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.publish import publish
from wheelmill.wheel.attestation import ATTESTATIONS, Signer


class Silent(DirectoryStore):
    """A host that lists its files and gives none now."""

    def read_each(
        self, wanted: Mapping[ReleaseTag, Sha256 | None], filename: str
    ) -> Iterator[tuple[ReleaseTag, bytes | WheelmillError]]:
        for tag, content in super().read_each(wanted, filename):
            yield tag, NetworkError("503 Service Unavailable", status=503) if filename == ATTESTATIONS else content


def test_attestations_that_cannot_be_read_now_do_not_empty_the_index(tmp_path: Path) -> None:
    store = Silent(directory=tmp_path / "releases")
    wheel = replace(certified_wheel(tmp_path / "demo-1.0-py3-none-any.whl"), bundles=(b"{}",))
    publish(store, [wheel], now=NOW)
    with pytest.raises(NetworkError, match="503"):
        build_index(
            store, Listing(), FACTS, base_url="../releases", output=tmp_path / "site", signer=Signer("owner/repo")
        )
    assert not (tmp_path / "site").exists()
