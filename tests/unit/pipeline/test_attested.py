"""What an index lists of releases that somebody else may have written to."""

import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.github_server import REPOSITORY
from tests.gpu_wheels import gpu_wheel
from tests.refusals import coded
from tests.releases import stopped_at, store_in
from tests.sigstore_instance import MAIN, Sigstore
from tests.unit.plan.examples import FACTS
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.config.model import Listing
from wheelmill.errors import NetworkError, WheelmillError
from wheelmill.names import ProjectName, ReleaseTag, Sha256
from wheelmill.pipeline import Mirror, Stores, build_index, publish_variants
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.publish import publish
from wheelmill.system.files import sha256_of, sha256_of_bytes
from wheelmill.system.progress import QUIET
from wheelmill.wheel.archive import pack_members
from wheelmill.wheel.attestation import ATTESTATIONS, TRUSTED_ROOT, Signer
from wheelmill.wheel.metadata import metadata_bytes
from wheelmill.wheel.name import split_label


class Silent(DirectoryStore):
    """A host that lists its files and gives none now."""

    def read_each(
        self, wanted: Mapping[ReleaseTag, Sha256 | None], filename: str
    ) -> Iterator[tuple[ReleaseTag, bytes | WheelmillError]]:
        for tag, content in super().read_each(wanted, filename):
            yield (
                tag,
                NetworkError("server-silent", "503 Service Unavailable", status=503)
                if filename == ATTESTATIONS
                else content,
            )


@pytest.fixture
def attested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store of one attested wheel, and one of its two variants."""
    sigstore = Sigstore()
    monkeypatch.setenv(TRUSTED_ROOT, str(sigstore.write_trusted_root(tmp_path / "trusted_root.json")))
    wheel = gpu_wheel(tmp_path / "wheels", "demo", "cu130", (90,))
    name, sidecar = wheel.file.filename, sha256_of_bytes(metadata_bytes(wheel.file.path))
    bundle = sigstore.attest({name: wheel.file.sha256, f"{name}.metadata": sidecar}, ref=MAIN)
    releases, variants = (store_in(tmp_path / folder) for folder in ("releases", "variants"))
    publish(releases, [replace(wheel, bundles=(bundle,))], now=NOW)
    publish_variants(releases, variants, {ProjectName("demo")}, progress=QUIET, warn=print)
    return tmp_path


def variants_listed(folder: Path) -> tuple[list[str], list[str]]:
    """The variants that an index of attested wheels lists, and what is warned of."""
    said: list[str] = []
    stores = Stores(
        store=store_in(folder / "releases"),
        base_url="../releases",
        listing=Listing(),
        facts=FACTS,
        variants=Mirror(store=store_in(folder / "variants"), base_url="../variants"),
        signer=Signer(REPOSITORY),
    )
    build_index(stores, folder / "site", warn=said.append)
    page = folder / "site" / "variants" / "simple" / "demo" / "index.json"
    names = [each["filename"] for each in json.loads(page.read_bytes())["files"]] if page.exists() else []
    labels = (split_label(name)[1] for name in names)
    return sorted(label.partition("_")[0] for label in labels if label), said


def test_the_variants_of_an_attested_wheel_are_listed(attested: Path) -> None:
    assert variants_listed(attested) == (["cu130", "null"], [])


def forge(folder: Path, change: Callable[[dict[str, bytes]], None], *, sidecar: str | None = None) -> None:
    """Put another null variant in the place of the one that is there, with a manifest that says so."""
    (path,) = folder.glob("variants/*/*-null.whl")
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    path.write_bytes(pack_members(members))
    (manifest,) = folder.glob("variants/*/manifest.json")
    content = json.loads(manifest.read_bytes())
    (entry,) = (each for each in content["wheels"] if each["filename"] == path.name)
    entry |= {"sha256": sha256_of(path), "size": path.stat().st_size}
    entry["certificate"]["sha256"] = entry["sha256"]
    entry["metadata_sha256"] = sidecar or entry["metadata_sha256"]
    manifest.write_text(json.dumps(content))


def add_code(members: dict[str, bytes]) -> None:
    members["demo/more.py"] = b"steal()"


def add_to_record(members: dict[str, bytes]) -> None:
    (record,) = (name for name in members if name.endswith("/RECORD"))
    members[record] += b"../other/__init__.py,,\n"


def change_nothing(members: dict[str, bytes]) -> None:
    assert members


@pytest.mark.parametrize(
    ("change", "sidecar", "reason"),
    [
        (add_code, None, "gives a wheel with sha256"),
        (add_to_record, None, "is listed but missing"),
        (change_nothing, "f" * 64, "its sidecar is not its METADATA"),
    ],
)
def test_a_variant_that_is_not_the_attested_wheel_is_not_listed(
    attested: Path, change: Callable[[dict[str, bytes]], None], sidecar: str | None, reason: str
) -> None:
    """Who can write to the store of variants says of it that it was made of an attested wheel."""
    forge(attested, change, sidecar=sidecar)
    listed, said = variants_listed(attested)
    assert listed == ["cu130"]
    warning = said[-1]  # the ledger tells of the manifest before
    assert "-null.whl is not listed: " in warning
    assert reason in warning


def test_a_variant_of_a_wheel_that_is_not_attested_is_not_listed(attested: Path) -> None:
    for bundles in attested.glob(f"releases/*/{ATTESTATIONS}"):
        bundles.write_bytes(b"")
    listed, said = variants_listed(attested)
    assert listed == []
    assert len(said) == 1


def test_attestations_that_cannot_be_read_now_do_not_empty_the_index(tmp_path: Path) -> None:
    store = Silent(directory=tmp_path / "releases", clock=stopped_at(NOW))
    wheel = replace(certified_wheel(tmp_path / "demo-1.0-py3-none-any.whl"), bundles=(b"{}",))
    publish(store, [wheel], now=NOW)
    signer = Signer("owner/repo")
    stores = Stores(store=store, base_url="../releases", listing=Listing(), facts=FACTS, signer=signer)
    with pytest.raises(NetworkError, check=coded("server-silent", "503")):
        build_index(stores, tmp_path / "site")
    assert not (tmp_path / "site").exists()
