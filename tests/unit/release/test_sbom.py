"""The bill of materials beside a released wheel."""

import hashlib
import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.unit.build.conftest import PROVENANCE
from tests.unit.release.conftest import NOW, certified_wheel
from tests.wheels import write_wheel
from wheelmill.config.model import Expectations
from wheelmill.names import Sha256
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.publish import publish
from wheelmill.release.sbom import sbom_of
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.wheel.name import WheelFile

NAME = "demo-1.0+cu130torch2.11-cp311-cp311-manylinux_2_28_x86_64.whl"
BUILT = replace(
    PROVENANCE,
    patches=(Sha256("2" * 64),),
    expectations=Expectations(imports=("demo",), cudart="static"),
    build_environment=("torch==2.11.0", "setuptools==80.1"),
    images=("quay.io/pypa/manylinux_2_28_x86_64@sha256:" + "3" * 64,),
)


def bill_of(wheel: TestedWheel) -> dict[str, Any]:
    from cyclonedx.schema import SchemaVersion  # noqa: PLC0415
    from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415 - takes seconds, as for check-jsonschema

    text = sbom_of(wheel)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text.decode()) is None
    bill: dict[str, Any] = json.loads(text)
    return bill


def test_it_names_source_patches_toolkit_requirements_and_images(tmp_path: Path) -> None:
    bill = bill_of(certified_wheel(tmp_path / NAME, provenance=BUILT))
    itself = bill["metadata"]["component"]
    assert itself["purl"].startswith("pkg:pypi/demo@1.0%2Bcu130torch2.11?file_name=demo-1.0%2Bcu130torch2.11-cp311")
    (source,) = itself["pedigree"]["ancestors"]
    assert source["hashes"] == [{"alg": "SHA-256", "content": BUILT.source_sha256}]
    assert source["properties"] == [{"name": "wheelmill:patch:sha256", "value": "2" * 64}]
    assert {each["name"]: each["scope"] for each in bill["components"]} == {
        "cudart_static": "required",
        "cuda-toolkit": "excluded",
        "torch": "excluded",
        "setuptools": "excluded",
        "quay.io/pypa/manylinux_2_28_x86_64": "excluded",
    }


def test_libraries_that_were_copied_in_are_in_it_with_their_hashes(tmp_path: Path) -> None:
    wheel = certified_wheel(tmp_path / NAME)
    write_wheel(wheel.file.path, files={"demo.libs/libgomp-1.so": b"library", "demo/__init__.py": b""})
    bill = bill_of(replace(wheel, file=WheelFile.at(wheel.file.path)))
    (library,) = bill["components"]
    assert library["name"] == "demo.libs/libgomp-1.so"
    assert library["hashes"][0]["content"] == hashlib.sha256(b"library").hexdigest()
    assert {"ref": NAME, "dependsOn": [library["bom-ref"]]} in bill["dependencies"]


def test_the_same_wheel_gives_the_same_bytes_whatever_the_order_of_sets(tmp_path: Path) -> None:
    wheel = certified_wheel(tmp_path / NAME, provenance=BUILT)
    code = (
        "import pickle, sys; from wheelmill.release.sbom import sbom_of\n"
        "sys.stdout.buffer.write(sbom_of(pickle.load(sys.stdin.buffer)))"
    )
    elsewhere = [
        subprocess.run(
            [sys.executable, "-c", code],
            input=pickle.dumps(wheel),
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert elsewhere == [sbom_of(wheel)] * 2


def test_a_release_has_one_beside_every_wheel(tmp_path: Path, store: DirectoryStore) -> None:
    wheel = certified_wheel(tmp_path / NAME, provenance=BUILT)
    (manifest,) = publish(store, [wheel], now=NOW).releases
    assert (store.directory / manifest.tag / f"{NAME}.cdx.json").read_bytes() == sbom_of(wheel)
