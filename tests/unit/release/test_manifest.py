"""Manifests that were changed since they were written: each is named with what is wrong in it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.releases import manifests_in
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.errors import ReleaseError
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.manifest import MANIFEST, Manifest, manifest_from
from wheelmill.release.publish import publish

HOSTILE: dict[str, tuple[str, object]] = {
    "a size that is text": ("size", "9"),
    "a size that is true": ("size", True),
    "a size that is no number": ("size", float("nan")),
    "a hash that is a number": ("sha256", 5),
    "a list for an object": ("certificate", []),
    "an object for a list": ("requires_dist", {}),
    "NUL in the name": ("filename", "demo\0-1.0-py3-none-any.whl"),
    "half a surrogate pair": ("filename", "demo-1.0-py3-none-any\ud800.whl"),
    "a path": ("filename", "../demo-1.0-py3-none-any.whl"),
    "a name of 5,000 characters": ("filename", f"demo-{'1' * 5000}-py3-none-any.whl"),
}


@pytest.fixture
def released(tmp_path: Path) -> DirectoryStore:
    store = DirectoryStore(directory=tmp_path / "releases")
    publish(store, [certified_wheel(tmp_path / "demo-1.0-py3-none-any.whl")], now=NOW)
    return store


def content_of(store: DirectoryStore) -> tuple[Manifest, dict[str, Any]]:
    (manifest,) = manifests_in(store)
    return manifest, json.loads((store.directory / manifest.tag / MANIFEST).read_bytes())


@pytest.mark.parametrize(("key", "value"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_value_is_an_error_that_names_the_manifest(key: str, value: object, released: DirectoryStore) -> None:
    manifest, content = content_of(released)
    content["wheels"][0][key] = value
    with pytest.raises(ReleaseError, match=r"^here: |^here is not a Manifest: ") as refused:
        manifest_from(json.dumps(content).encode(), tag=manifest.tag, source="here")
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 1200


@pytest.mark.parametrize("date", ["99999-01-01T00:00:00Z", "0000-01-01T00:00:00Z", 10**30, "today", None, []])
def test_a_date_out_of_range_is_an_error(date: object, released: DirectoryStore) -> None:
    manifest, content = content_of(released)
    with pytest.raises(ReleaseError, match=r"^here is not a Manifest: published_at: "):
        manifest_from(json.dumps(content | {"published_at": date}).encode(), tag=manifest.tag, source="here")


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"[" * 100_000, b"\xff", b'{"wheels": 1e999}', b"null"])
def test_what_is_no_manifest_is_an_error(content: bytes) -> None:
    with pytest.raises(ReleaseError, match=r"^here is not a Manifest: "):
        manifest_from(content, tag="v2026-11-21", source="here")


def test_every_manifest_that_is_none_is_left_out_with_a_warning(released: DirectoryStore) -> None:
    manifest, _ = content_of(released)
    for tag in ("v2026-11-22", "v2026-11-23"):
        (released.directory / tag).mkdir()
        (released.directory / tag / MANIFEST).write_bytes(b"[" * 5000)
    warnings: list[str] = []
    assert manifests_in(released, warnings.append) == (manifest,)
    assert ["v2026-11-22" in warnings[0], "v2026-11-23" in warnings[1]] == [True, True]
