"""What an index lists of releases that somebody else may have written to."""

from pathlib import Path

import pytest

from tests.unit.plan.examples import FACTS
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.config.model import Listing
from wheelmill.errors import NetworkError
from wheelmill.names import ReleaseTag
from wheelmill.pipeline import build_index
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.publish import publish
from wheelmill.system.files import write_bytes
from wheelmill.wheel.attestation import ATTESTATIONS, Signer


class Silent(DirectoryStore):
    """A host that lists its files and gives none now."""

    def read(self, tag: ReleaseTag, filename: str) -> bytes:
        raise NetworkError(f"{tag}/{filename}: 503 Service Unavailable")


def test_attestations_that_cannot_be_read_now_do_not_empty_the_index(tmp_path: Path) -> None:
    store = Silent(directory=tmp_path / "releases")
    publication = publish(store, [certified_wheel(tmp_path / "demo-1.0-py3-none-any.whl")], now=NOW)
    write_bytes(store.directory / publication.releases[0].tag / ATTESTATIONS, b"{}")
    with pytest.raises(NetworkError, match="503"):
        build_index(
            store, Listing(), FACTS, base_url="../releases", output=tmp_path / "site", signer=Signer("owner/repo")
        )
    assert not (tmp_path / "site").exists()
