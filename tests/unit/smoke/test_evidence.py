"""Opening wheels that nobody trusts, and reading what their bytes show."""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.shared_objects import compiled
from tests.unit.smoke.conftest import LABELLED
from tests.wheels import write_wheel
from wheelmill.names import TorchVersion
from wheelmill.smoke.evidence import Contents, open_wheel
from wheelmill.smoke.verdict import Evidence
from wheelmill.wheel.findings import Code
from wheelmill.wheel.name import WheelFile
from wheelmill.wheel.shared_objects import open_symbols


def refusal_of(path: Path) -> list[Code]:
    findings = open_wheel(WheelFile.at(path), None)
    assert not isinstance(findings, Contents)
    return [finding.code for finding in findings]


@pytest.mark.parametrize("name", ["demo.whl", "demo-1.0.tar.gz", "demo-one-py3-none-any.whl", "notes.txt"])
def test_a_name_that_is_not_a_wheels_is_refused(name: str, tmp_path: Path) -> None:
    path = write_wheel(tmp_path / "demo-1.0-py3-none-any.whl").rename(tmp_path / name)
    assert refusal_of(path) == [Code.FILENAME]


@pytest.mark.parametrize("tag", ["cp27-cp27mu", "cp312-cpabc", "py3-none"])
def test_a_wheel_that_names_no_python_of_today_is_tried_on_the_running_one(tag: str, tmp_path: Path) -> None:
    contents = open_wheel(WheelFile.at(write_wheel(tmp_path / f"demo-1.0-{tag}-linux_x86_64.whl")), None)
    assert isinstance(contents, Contents)
    assert contents.pythons == (None,)


@pytest.mark.parametrize(
    ("wheel", "code"),
    [
        ({"files": {"../x": b""}}, Code.PATH),
        ({"files": {"demo/_C.so": b"\x7fELF and no more"}}, Code.ARCHIVE),
        *(
            ({"metadata": metadata}, Code.METADATA)
            for metadata in ("Name: demo\n", "Name: demo\nVersion: one\n", "Version: 1.0\n")
        ),
    ],
)
def test_what_cannot_be_read_or_leads_outside_is_refused(wheel: dict[str, Any], code: Code, tmp_path: Path) -> None:
    assert refusal_of(write_wheel(tmp_path / LABELLED, **wheel)) == [code]


def test_what_is_no_zip_is_refused(tmp_path: Path) -> None:
    (tmp_path / LABELLED).write_bytes(b"no zip")
    assert refusal_of(tmp_path / LABELLED) == [Code.ARCHIVE]


@pytest.mark.parametrize("missing", ["METADATA", "WHEEL"])
def test_a_wheel_without_one_of_its_two_descriptions_is_refused(missing: str, tmp_path: Path) -> None:
    whole = write_wheel(tmp_path / "whole" / LABELLED)
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(tmp_path / LABELLED, "w") as target:
        for member in source.namelist():
            if not member.endswith(f"/{missing}"):
                target.writestr(member, source.read(member))
    assert refusal_of(tmp_path / LABELLED) == [Code.METADATA]


def opened(folder: Path, *machine_code: bytes) -> Contents:
    files = {f"demo/_{number}.so": content for number, content in enumerate(machine_code)}
    contents = open_wheel(WheelFile.at(write_wheel(folder / LABELLED, files=files)), None)
    assert isinstance(contents, Contents)
    return contents


def test_what_the_bytes_show_is_read(objects: Mapping[str, bytes], tmp_path: Path) -> None:
    assert opened(tmp_path, objects["as promised"]).evidence == Evidence(
        policy=LABELLED.removesuffix(".whl").rpartition("-")[2],
        needed=("libcudart.so.13",),
        glibc=None,
        glibcxx=None,
        cuda_major=13,
        sass=("sm_90", "sm_120"),
        ptx=("compute_120",),
        undefined_symbols=0,
    )


@pytest.mark.parametrize(
    ("kinds", "fact", "value"),
    [
        (["as promised", "from the future"], "glibc", "2.99"),
        (["linked to its helper"], "needed", ("libhelper.so.1",)),
        (["linked to its helper", "helper"], "needed", ()),
        (["for Blackwell", "for Hopper"], "sass", ("sm_90", "sm_100", "sm_120")),
        (["for Blackwell", "for Hopper"], "ptx", ("compute_100",)),
        (["linked statically"], "cuda_major", None),
        (["with open symbols"], "torch_window", None),
    ],
)
def test_evidence_is_of_all_objects_together(
    kinds: list[str], fact: str, value: object, objects: Mapping[str, bytes], tmp_path: Path
) -> None:
    assert getattr(opened(tmp_path, *(objects[kind] for kind in kinds)).evidence, fact) == value


def test_symbols_that_others_must_define_are_open(objects: Mapping[str, bytes], tmp_path: Path) -> None:
    contents = opened(tmp_path, objects["with open symbols"], objects["from the future"])
    assert open_symbols(contents.shared_objects) == {"outside"}
    assert contents.evidence.undefined_symbols == 1


def test_in_which_torches_a_wheel_could_load_is_evidence(tmp_path: Path) -> None:
    # c10::cuda::SetDevice(signed char) has a second argument since torch 2.8.
    code = "extern void _ZN3c104cuda9SetDeviceEa(void); void run(void) { _ZN3c104cuda9SetDeviceEa(); }"
    window = opened(tmp_path, compiled(tmp_path / "extension.so", code).read_bytes()).evidence.torch_window
    assert window is not None
    assert window.lacking(TorchVersion(2, 7)) == ()
    assert window.lacking(TorchVersion(2, 8)) == ("_ZN3c104cuda9SetDeviceEa",)
    assert window.cuda


def test_symbols_that_a_neighbour_defines_are_not_open(objects: Mapping[str, bytes], tmp_path: Path) -> None:
    contents = opened(tmp_path, objects["with open symbols"], objects["that defines outside"])
    assert open_symbols(contents.shared_objects) == frozenset()
