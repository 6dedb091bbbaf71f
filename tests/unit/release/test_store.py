"""What is published together and what is refused, and tags of days. The bill of materials beside a released wheel."""

import hashlib
import itertools
import json
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.releases import manifests_in
from tests.unit.build.conftest import CELL, PROVENANCE, compile_shared_object
from tests.unit.release.conftest import NOW, certified_wheel, everything_in
from tests.wheels import write_wheel
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.ledger.records import date_tags, is_date_tag
from wheelmill.release.ledger.releases import published
from wheelmill.release.publish import publish
from wheelmill.release.store import Quotas, sbom_of
from wheelmill.wheel.name import WheelFile


def test_a_day_has_as_many_tags_as_are_needed() -> None:
    tags = list(itertools.islice(date_tags(date(2026, 1, 2)), 3))
    assert tags == ["v2026-01-02", "v2026-01-02.2", "v2026-01-02.3"]
    assert all(map(is_date_tag, tags))


@pytest.mark.parametrize(
    "text",
    [
        *("", "v1.2.3", "v2026-13-01", "2026-01-02", "v2026-01-02.", "v2026-01-02.1", "v2026-01-02.02"),
        *("v2026-01-02.x", "v20260102", "v2026-01-02-rc1", "v2026-W01-1"),
    ],
)
def test_other_tags_are_of_other_releases(text: str) -> None:
    assert not is_date_tag(text)


FIRST, SECOND, THIRD = (f"demo-1.{number}+cu130-py3-none-any.whl" for number in range(3))


def test_releases_of_a_day_are_numbered_and_the_next_day_starts_anew(store: DirectoryStore, tmp_path: Path) -> None:
    tags = [
        manifest.tag
        for name, days in ((FIRST, 0), (SECOND, 0), (THIRD, 1))
        for manifest in publish(store, [certified_wheel(tmp_path / name)], now=NOW + timedelta(days=days)).releases
    ]
    assert tags == ["v2026-11-21", "v2026-11-21.2", "v2026-11-22"]


def test_identical_bytes_are_not_released_again(store: DirectoryStore, tmp_path: Path) -> None:
    wheel = certified_wheel(tmp_path / FIRST)
    publish(store, [wheel], now=NOW)
    before = everything_in(store.directory)
    assert publish(store, [wheel], now=NOW + timedelta(days=1)).releases == ()
    assert everything_in(store.directory) == before


def test_only_what_is_new_is_released(store: DirectoryStore, tmp_path: Path) -> None:
    first, second = certified_wheel(tmp_path / FIRST), certified_wheel(tmp_path / SECOND)
    publish(store, [first], now=NOW)
    (manifest,) = publish(store, [first, second], now=NOW).releases
    assert [entry.filename for entry in manifest.wheels] == [SECOND]


def test_other_bytes_of_a_published_name_are_refused_and_hold_up_nothing(store: DirectoryStore, tmp_path: Path) -> None:
    publish(store, [certified_wheel(tmp_path / FIRST)], now=NOW)
    before = everything_in(store.directory)
    changed = certified_wheel(tmp_path / "changed" / FIRST, content=b"changed = True")
    publication = publish(store, [changed, certified_wheel(tmp_path / SECOND)], now=NOW)
    (refusal,) = publication.refusals
    assert refusal.filename == FIRST
    assert refusal.reason.startswith("is already published in v2026-11-21 with different content")
    assert [entry.filename for manifest in publication.releases for entry in manifest.wheels] == [SECOND]
    assert everything_in(store.directory).items() >= before.items()


def test_many_wheels_make_releases(store: DirectoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"demo-1.{number}-py3-none-any.whl" for number in range(5)]
    monkeypatch.setattr(DirectoryStore, "quotas", Quotas(wheels=4))
    manifests = publish(store, [certified_wheel(tmp_path / name) for name in reversed(names)], now=NOW).releases
    assert [manifest.tag for manifest in manifests] == ["v2026-11-21", "v2026-11-21.2"]
    assert [len(manifest.wheels) for manifest in manifests] == [4, 1]
    assert [entry.filename for manifest in manifests for entry in manifest.wheels] == names


def test_nothing_to_release_leaves_no_release(store: DirectoryStore) -> None:
    assert publish(store, [], now=NOW).releases == ()
    assert manifests_in(store) == ()


def test_published_cells_know_their_release(store: DirectoryStore, tmp_path: Path) -> None:
    other = replace(CELL, torch=None)
    with_torch = f"demo-{CELL.version}+{CELL.label}-py3-none-any.whl"
    publish(store, [certified_wheel(tmp_path / with_torch, provenance=PROVENANCE)], now=NOW)
    publish(store, [certified_wheel(tmp_path / FIRST, provenance=replace(PROVENANCE, cell=other))], now=NOW)
    publish(store, [certified_wheel(tmp_path / THIRD, provenance=None)], now=NOW)
    assert published(store, pytest.fail).cells == {CELL: "v2026-11-21", other: "v2026-11-21.2"}


NAME = "demo-1.0+cu130torch2.11-cp311-cp311-manylinux_2_28_x86_64.whl"
INSIDE = "demo-1.0+cu130torch2.11.dist-info/sboms/wheelmill.cdx.json"


def test_it_is_the_one_inside(tmp_path: Path) -> None:
    wheel = certified_wheel(tmp_path / NAME)
    bill = b'{"bomFormat": "CycloneDX", "specVersion": "1.6"}'
    write_wheel(wheel.file.path, files={INSIDE: bill})
    assert sbom_of(replace(wheel, file=WheelFile.at(wheel.file.path))) == bill


def test_a_wheel_with_none_or_with_something_else_has_what_its_bytes_show(tmp_path: Path) -> None:
    wheel = certified_wheel(tmp_path / NAME)
    machine_code = compile_shared_object(tmp_path / "_C.so").read_bytes()
    files = {"demo.libs/libgomp-1.so": machine_code, "demo/_C.so": machine_code}
    for inside in ({}, {INSIDE: b"[]"}):
        write_wheel(wheel.file.path, files={**files, **inside})
        file = WheelFile.at(wheel.file.path)
        bill = json.loads(sbom_of(replace(wheel, file=file)))
        (library,) = bill["components"]
        assert library["name"] == "demo.libs/libgomp-1.so"
        assert library["hashes"][0]["content"] == hashlib.sha256(machine_code).hexdigest()
        assert bill["metadata"]["component"]["purl"] == "pkg:pypi/demo@1.0%2Bcu130torch2.11"
        assert "pedigree" not in bill["metadata"]["component"]


def test_a_release_has_one_beside_every_wheel(tmp_path: Path, store: DirectoryStore) -> None:
    wheel = certified_wheel(tmp_path / NAME, provenance=PROVENANCE)
    (manifest,) = publish(store, [wheel], now=NOW).releases
    assert (store.directory / manifest.tag / f"{NAME}.cdx.json").read_bytes() == sbom_of(wheel)
