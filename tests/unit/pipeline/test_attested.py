"""What an index lists of releases that somebody else may have written to."""

import io
import json
import os
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.github_server import CALLS_AN_HOUR, REPOSITORY, GitHub, serving
from tests.gpu_wheels import gpu_wheel
from tests.refusals import coded
from tests.releases import stopped_at, store_in
from tests.sigstore_instance import MAIN, Sigstore
from tests.unit.build.conftest import CELL
from tests.unit.pipeline.conftest import planned_group
from tests.unit.plan.examples import FACTS
from tests.unit.release.conftest import NOW, certified_wheel
from tests.unit.release.github.conftest import FakeClock, store_on
from wheelmill.config.model.files import Listing
from wheelmill.errors import NetworkError
from wheelmill.names import ProjectName
from wheelmill.pipeline.attested import Delivery, deliveries_of_runs, release_deliveries
from wheelmill.pipeline.gate import Gate
from wheelmill.pipeline.matrix_plan import MatrixPlan, Shard
from wheelmill.pipeline.site import Mirror, Stores, build_index
from wheelmill.pipeline.variants import publish_variants
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.github.api import Repository
from wheelmill.release.github.download import JobArtifacts
from wheelmill.release.ledger.releases import ReadFiles, WantedFiles
from wheelmill.release.publish import publish
from wheelmill.release.store import Publication
from wheelmill.smoke.verdict import certificate_path
from wheelmill.system.files import sha256_of, sha256_of_bytes
from wheelmill.system.progress import QUIET, Clock
from wheelmill.system.records import write_record
from wheelmill.wheel.archive import pack_members
from wheelmill.wheel.attestation import ATTESTATIONS, Signer
from wheelmill.wheel.metadata import metadata_bytes
from wheelmill.wheel.name import split_label


class Silent(DirectoryStore):
    """A host that lists its files and gives none now."""

    def read_each(self, wanted: WantedFiles, filename: str) -> ReadFiles:
        silence = NetworkError("server-silent", "503 Service Unavailable", status=503)
        for tag, content in super().read_each(wanted, filename):
            yield tag, silence if filename == ATTESTATIONS else content


@pytest.fixture
def attested(tmp_path: Path, sigstore: Sigstore) -> Path:
    """A folder with a store of one attested wheel, and one of its two variants."""
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


def add_to_record(members: dict[str, bytes]) -> None:
    (record,) = (name for name in members if name.endswith("/RECORD"))
    members[record] += b"../other/__init__.py,,\n"


@pytest.mark.parametrize(
    ("change", "sidecar", "reason"),
    [
        (lambda members: members.update({"demo/more.py": b"steal()"}), None, "gives a wheel with sha256"),
        (add_to_record, None, "is listed but missing"),
        (lambda _members: None, "f" * 64, "its sidecar is not its METADATA"),
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


GROUPS = 5
RUN = "7"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def github(clock: FakeClock) -> Iterator[GitHub]:
    with serving(GitHub(now=clock.now)) as server:
        yield server


def planned(count: int) -> MatrixPlan:
    groups = (planned_group(CELL, f"demo-1.{number}-cu130") for number in range(count))
    return MatrixPlan(shards=(Shard(include=tuple(groups)),), waiting=())


def keep_wheel(github: GitHub, folder: Path, number: int, *, attempt: int = 1, size: int = 300_000) -> None:
    """Keep what a job of a group makes."""
    name = f"demo-1.{number}-py3-none-any.whl"
    wheel = certified_wheel(folder / str(attempt) / name, content=os.urandom(size).hex().encode())
    write_record(certificate_path(wheel.file.path), wheel.certificate)
    files = {path.name: path.read_bytes() for path in (wheel.file.path, certificate_path(wheel.file.path))}
    github.artifacts.keep(int(RUN), f"wheels-0-demo-1.{number}-cu130-{attempt}", files)


def artifacts_on(github: GitHub, clock: FakeClock) -> JobArtifacts:
    repository = Repository.parse(REPOSITORY, github.environment)
    return JobArtifacts(repository, [RUN], Clock(now=clock.now, sleep=clock.sleep))


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files."""
    folder = tmp_path / "disk"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_a_release_of_many_groups_has_one_of_them_on_disk_at_once(
    github: GitHub, clock: FakeClock, tmp_path: Path, disk: Path
) -> None:
    for number in range(GROUPS):
        keep_wheel(github, tmp_path, number)
    largest = max(len(each.content) for each in github.artifacts.kept)
    seen: list[int] = []

    def watched(deliveries: Iterator[Delivery]) -> Iterator[Delivery]:
        for delivery in deliveries:
            seen.append(sum(path.stat().st_size for path in disk.rglob("*") if path.is_file()))
            yield delivery

    deliveries = deliveries_of_runs(artifacts_on(github, clock), planned(GROUPS), lambda _folder, _plan: Gate(), QUIET)
    done = release_deliveries(watched(deliveries), store_on(github, clock), progress=QUIET)
    assert done.refusals == ()
    (manifest,) = done.releases
    assert len(manifest.wheels) == GROUPS
    assert len(seen) == GROUPS
    assert 0 < max(seen) < 1.5 * largest * 2  # wheels pack no further, so a group and its archive are two of it
    assert not any(path.is_file() for path in disk.rglob("*.whl"))


def test_what_cannot_be_read_is_named_and_holds_up_nothing(github: GitHub, clock: FakeClock, tmp_path: Path) -> None:
    for number in range(3):
        keep_wheel(github, tmp_path, number, size=10)
    hostile = io.BytesIO()
    with zipfile.ZipFile(hostile, "w") as archive:
        archive.writestr("../../demo-1.1-py3-none-any.whl", b"out of the folder")
    kept = github.artifacts.kept
    kept[0] = type(kept[0])(id=1, run=7, name=kept[0].name, content=b"no archive")
    kept[1] = type(kept[1])(id=2, run=7, name=kept[1].name, content=hostile.getvalue())
    done = released(github, clock, groups=3)
    (refusal,) = done.refusals
    assert str(refusal).startswith("demo-1.0-cu130 was not delivered whole: not a readable zip")
    assert [entry.filename for manifest in done.releases for entry in manifest.wheels] == ["demo-1.2-py3-none-any.whl"]


def test_artifacts_of_another_run_group_or_kind_count_not(github: GitHub, clock: FakeClock, tmp_path: Path) -> None:
    keep_wheel(github, tmp_path, 0, size=10)
    github.artifacts.keep(8, "wheels-0-demo-1.0-cu130-1", {"demo-1.0-py3-none-any.whl": b"of another run"})
    for name in ("plan-1", "wheels-0-demo-1.0-cu130", "other-0-demo-1.0-cu130-1", "wheels-x-demo-1.0-cu130-1"):
        github.artifacts.keep(int(RUN), name, {"a.json": b"{}"})
    artifacts = artifacts_on(github, clock)
    assert artifacts.of_group("demo-1.0-cu130") == (1,)
    assert artifacts.of_group("demo-1.0-cu13") == ()


def released(github: GitHub, clock: FakeClock, *, groups: int) -> Publication:
    """Release what the jobs of the run kept."""
    deliveries = deliveries_of_runs(artifacts_on(github, clock), planned(groups), lambda _folder, _plan: Gate(), QUIET)
    return release_deliveries(deliveries, store_on(github, clock), progress=QUIET)


@pytest.mark.parametrize(
    ("names", "said"),
    [(["a.gpu.json", "a.gpu.json"], "File exists"), ([f"{'a' * 300}.gpu.json"], "File name too long")],
    ids=["twice", "long"],
)
def test_a_hostile_archive_holds_up_neither_its_group_nor_the_others(
    github: GitHub, clock: FakeClock, tmp_path: Path, names: list[str], said: str
) -> None:
    hostile = io.BytesIO()
    with zipfile.ZipFile(hostile, "w") as archive, warnings.catch_warnings(action="ignore"):
        for name in names:
            archive.writestr(name, b"{}")
    kept = github.artifacts.keep(int(RUN), "gpu-0-demo-1.0-cu130-1", {})
    github.artifacts.kept[0] = replace(kept, content=hostile.getvalue())
    for number in range(2):
        keep_wheel(github, tmp_path, number, size=10)
    done = released(github, clock, groups=2)
    (refusal,) = done.refusals
    assert str(refusal).startswith("demo-1.0-cu130 was not delivered whole: ")
    assert said in refusal.reason
    assert len(done.releases[0].wheels) == 2


@pytest.mark.usefixtures("disk")
@pytest.mark.parametrize("packed", [True, False])
def test_what_is_too_large_for_this_disk_leaves_nothing_on_it(
    github: GitHub, clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, packed: bool
) -> None:
    keep_wheel(github, tmp_path, 0, size=10)
    kept: list[Path] = []
    bomb = os.urandom(200_000) if packed else bytes(200_000)
    for attempt in range(2, 6):
        github.artifacts.keep(int(RUN), f"wheels-0-demo-1.0-cu130-{attempt}", {"bomb.whl": bomb})
    monkeypatch.setattr("wheelmill.release.github.download.MAX_ARTIFACT", 100_000)

    def gate_of(folder: Path, _plan: MatrixPlan) -> Gate:
        kept.extend(folder.rglob("*"))
        return Gate()

    (delivery,) = deliveries_of_runs(artifacts_on(github, clock), planned(1), gate_of, QUIET)
    assert sorted(path.suffix for path in kept) == ["", ".json", ".whl"]
    said = "has more than the promised 100000 bytes" if packed else "more than 100000 bytes when unpacked"
    assert [said in str(refusal) for refusal in delivery.refusals] == [True] * 4


def test_a_job_delivers_only_what_its_kind_may_say(github: GitHub, clock: FakeClock, tmp_path: Path) -> None:
    """A build that says what a GPU saw, and a machine with a GPU that brings wheels or signs."""
    names = ("d-1-py3-none-any.whl", "d-1-py3-none-any.whl.tested.json", "d-1-py3-none-any.whl.gpu.json", "a.jsonl")
    said = {}
    for number, kind in enumerate(("wheels", "gpu", "attestation"), 1):
        github.artifacts.keep(int(RUN), f"{kind}-0-demo-1.0-cu130-1", dict.fromkeys(names, b"{}"))
        (folder := tmp_path / kind).mkdir()
        artifacts_on(github, clock).unpack(number, folder)
        said[kind] = sorted(path.name for path in folder.iterdir())
    assert said == {"wheels": [*names[:2]], "gpu": [names[2]], "attestation": [names[3]]}


def test_a_used_up_quota_is_waited_for(github: GitHub, clock: FakeClock, tmp_path: Path) -> None:
    """Two hundred groups have six hundred artifacts, and all jobs of a repository have a thousand calls an hour."""
    keep_wheel(github, tmp_path, 0, size=10)
    artifacts = artifacts_on(github, clock)
    github.asked = [clock.time - 100] * CALLS_AN_HOUR
    (tmp_path / "unpacked").mkdir()
    artifacts.unpack(1, tmp_path / "unpacked")
    assert sum(clock.waited) == pytest.approx(3501, abs=2)
    assert len(list((tmp_path / "unpacked").glob("*.whl"))) == 1
