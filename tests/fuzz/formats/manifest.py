"""Manifests of releases, from the release to the index and to the client."""

import json
from contextlib import suppress
from datetime import UTC, datetime

from tests.fuzz.harness import Format
from tests.fuzz.mutation import mutated
from tests.releases import NOW
from wheelmill.client.choose.wheel_inspection import inside_of_entry
from wheelmill.index.collect import site_of_releases
from wheelmill.index.render import pages_of
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.release.ledger.records import LedgerState
from wheelmill.release.ledger.releases import line_of, with_releases
from wheelmill.release.manifest.record import ManifestEntry, manifest_bytes, manifest_of
from wheelmill.release.manifest.rules import manifest_from
from wheelmill.smoke.verdict import Certificate, CleanRoom, Evidence

TAG = ReleaseTag("v2026-11-21")
ENTRY = ManifestEntry(
    filename="demo-1.0+cu130torch2.11-cp312-cp312-manylinux_2_28_x86_64.whl",
    sha256=Sha256("a" * 64),
    size=5,
    metadata_sha256=Sha256("b" * 64),
    name="demo",
    version="1.0+cu130torch2.11",
    requires_python=">=3.9",
    requires_dist=("torch==2.11.*",),
    certificate=Certificate(
        sha256=Sha256("a" * 64),
        evidence=Evidence(
            policy="manylinux_2_28_x86_64",
            needed=("libcudart.so.13",),
            glibc="2.28",
            glibcxx=None,
            cuda_major=13,
            sass=("sm_90",),
            ptx=("compute_90",),
            undefined_symbols=1,
        ),
        clean_rooms=(CleanRoom(python="3.12.4", installed={"demo": "1.0"}, skipped=()),),
        provenance=None,
    ),
)
MANIFEST = manifest_bytes(manifest_of(TAG, [ENTRY], now=datetime(2026, 11, 21, tzinfo=UTC)))
WORDS = rb"""" { } [ ] , : null true 1e999 \ud800 \u0000 ../ - + . sm_ >= javascript: 99999-01-01T00:00:00Z""".split()
WORDS += [b"9" * 5000, b"[" * 500, b"(" * 900, b"\xff"]


def read(content: bytes) -> None:
    manifest = manifest_from(content, tag=TAG, source="manifest.json", now=NOW)
    state = with_releases(LedgerState(), {TAG: line_of(manifest, Sha256("c" * 64))})
    assert (state.cells, state.past_builds) == ({}, {}) or state.published
    for _path, pieces in pages_of(site_of_releases([manifest], "https://files.example")):
        b"".join(pieces)
    for entry in manifest.wheels:
        with suppress(ValueError):  # the client then takes the wheel as one that it could not look into
            json.dumps(str(inside_of_entry(entry)))


FORMAT = Format(inputs=mutated([MANIFEST], WORDS), read=read)
