"""A bill of materials of every kind of wheel, judged by CycloneDX's own validator."""

import functools
import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from wheelmill.names import Sha256
from wheelmill.wheel.bill_of_materials import Bill, bill_bytes
from wheelmill.wheel.build_facts import AppliedPatch, BuildFacts, SourceFacts

FACTS = BuildFacts(
    wheelmill="0.1.0",
    project="demo",
    version="1.0",
    python="3.12",
    pythons=("3.12",),
    platform="linux_x86_64",
    source=SourceFacts(kind="sdist", sha256=Sha256("1" * 64), sdist="demo-1.0.tar.gz"),
    patches=(AppliedPatch(file="mend.patch", sha256=Sha256("2" * 64)),),
    licence="BSD-3-Clause",
    on_package_index=True,
    cuda="13.0",
    toolkit="13.0.2",
    torch="2.11.0",
    architectures=("9.0",),
    compilers=("GCC: (GNU) 8.5.0 20210514 (Red Hat 8.5.0-20)", "rustc 1.90"),
    variables={},
    build_requirements=("setuptools==80.1", "torch==2.11.0"),
    system_packages=("libaio-dev",),
    images=("quay.io/pypa/manylinux_2_28_x86_64@sha256:" + "3" * 64,),
)
BILL = Bill(
    project="demo",
    version="1.0+cu130torch2.11",
    contents=Sha256("4" * 64),
    licence=None,
    facts=FACTS,
    patches=(b"--- a\n+++ b\n",),
    bundled={"demo.libs/libgomp-1.so": Sha256("5" * 64)},
    holds_cuda_runtime=True,
)
STRANGER = replace(BILL, facts=None, patches=(), licence="Apache-2.0 OR MIT")


@functools.cache
def validator() -> Any:
    from cyclonedx.schema import SchemaVersion  # noqa: PLC0415
    from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415

    return JsonStrictValidator(SchemaVersion.V1_6)


def written(bill: Bill) -> dict[str, Any]:
    text = bill_bytes(bill)
    assert validator().validate_str(text.decode()) is None
    found: dict[str, Any] = json.loads(text)
    return found


def test_it_names_what_is_inside_and_what_took_part() -> None:
    components = written(BILL)["components"]
    assert {(each["name"], each.get("version"), each["scope"]) for each in components} == {
        *(("demo.libs/libgomp-1.so", None, "required"), ("cuda-runtime-static", "13.0.2", "required")),
        *(("cpython", "3.12", "excluded"), ("cuda-toolkit", "13.0.2", "excluded"), ("GCC", "8.5.0", "excluded")),
        *(("rustc 1.90", None, "excluded"), ("setuptools", "80.1", "excluded"), ("torch", "2.11.0", "excluded")),
        *(("libaio-dev", None, "excluded"), ("quay.io/pypa/manylinux_2_28_x86_64", None, "excluded")),
    }


def test_the_wheel_depends_on_what_is_inside_alone() -> None:
    bill = written(BILL)
    inside = {each["bom-ref"] for each in bill["components"] if each["scope"] == "required"}
    (of_wheel,) = [each for each in bill["dependencies"] if each["ref"] == "the wheel"]
    assert set(of_wheel["dependsOn"]) == inside


def test_a_wheel_of_a_stranger_has_its_name_its_licence_and_what_is_inside() -> None:
    bill = written(STRANGER)
    itself = bill["metadata"]["component"]
    assert itself["purl"] == "pkg:pypi/demo@1.0%2Bcu130torch2.11"
    assert itself["licenses"] == [{"expression": "Apache-2.0 OR MIT"}]
    assert {each["name"] for each in bill["components"]} == {"demo.libs/libgomp-1.so", "cuda-runtime-static"}


@pytest.mark.parametrize(
    ("licence", "told"),
    [("BSD License", [{"license": {"name": "BSD License"}}]), ("mit", [{"expression": "MIT"}]), (None, None)],
)
def test_a_licence_that_is_no_spdx_expression_is_a_name(licence: str | None, told: Any) -> None:
    assert written(replace(STRANGER, licence=licence))["metadata"]["component"].get("licenses") == told


def test_the_same_wheel_gives_the_same_bytes_whatever_the_order_of_sets() -> None:
    code = (
        "import pickle, sys; from wheelmill.wheel.bill_of_materials import bill_bytes\n"
        "sys.stdout.buffer.write(bill_bytes(pickle.load(sys.stdin.buffer)))"
    )
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    elsewhere = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps(BILL),
        env=os.environ | {"PYTHONHASHSEED": seed},
        check=True,
        capture_output=True,
    ).stdout
    assert elsewhere == bill_bytes(BILL)
