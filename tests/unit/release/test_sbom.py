"""The bill of materials beside a released wheel."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from tests.unit.build.conftest import PROVENANCE, compile_shared_object
from tests.unit.release.conftest import NOW, certified_wheel
from tests.wheels import write_wheel
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.publish import publish
from wheelmill.release.sbom import sbom_of
from wheelmill.wheel.name import WheelFile

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
