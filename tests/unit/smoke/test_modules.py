"""Modules of wheels that a visit finds broken although their package can be imported."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.unit.smoke.conftest import Visit
from tests.unit.smoke.folders import Folder, Folders
from wheelmill.smoke.environment import CandidateIndex, SmokeEnvironment
from wheelmill.smoke.verdict import CleanRoom
from wheelmill.wheel.findings import Code, Finding

SHARED = "Metadata-Version: 2.1\nName: other\nVersion: 1.0\n"


def finding_of(outcome: tuple[CleanRoom | Finding, ...]) -> Finding:
    (finding,) = outcome
    assert isinstance(finding, Finding)
    return finding


def test_an_extension_module_that_can_be_loaded_passes(visit: Visit, tmp_path: Path) -> None:
    (room,) = visit(Folders(tmp_path), machine_code="an extension module")
    assert isinstance(room, CleanRoom)


def test_an_extension_module_that_nobody_imports_is_loaded(visit: Visit, tmp_path: Path) -> None:
    finding = finding_of(visit(Folders(tmp_path), machine_code="an extension module that fails"))
    assert finding.code == Code.EXTENSION
    assert finding.detail.startswith("demo/_C.so: SystemError:")


def test_an_extension_module_that_ends_the_process_well_is_found(visit: Visit, tmp_path: Path) -> None:
    finding = finding_of(visit(Folders(tmp_path), machine_code="an extension module that ends the process"))
    assert finding.code == Code.EXTENSION
    assert finding.detail == "demo/_C.so: it ends the process"


def test_variants_that_cannot_be_in_one_process_pass(
    visit: Visit, objects: Mapping[str, bytes], tmp_path: Path
) -> None:
    variant = objects["a library that is alone in its process"]
    init = "import ctypes, pathlib; ctypes.CDLL(str(pathlib.Path(__file__).with_name('_cpu.so')))"
    (room,) = visit(Folders(tmp_path), init, files={"demo/_cpu.so": variant, "demo/_cuda.so": variant})
    assert isinstance(room, CleanRoom)


def test_a_library_that_loads_only_after_its_package_passes(
    visit: Visit, objects: Mapping[str, bytes], tmp_path: Path
) -> None:
    init = "import ctypes, pathlib; ctypes.CDLL(str(pathlib.Path(__file__).with_name('helper.so')))"
    (room,) = visit(
        Folders(tmp_path), init, machine_code="linked to its helper", files={"demo/helper.so": objects["helper"]}
    )
    assert isinstance(room, CleanRoom)


def test_an_extension_module_for_another_python_is_found(
    visit: Visit, objects: Mapping[str, bytes], tmp_path: Path
) -> None:
    files = {"demo/_C.so": b"none", "demo/notes.so": b"", "demo/_C.cpython-34.so": objects["an extension module"]}
    finding = finding_of(visit(Folders(tmp_path), files=files))
    assert finding.code == Code.EXTENSION
    assert "notes" not in finding.detail
    assert finding.detail.startswith("demo/_C.cpython-34.so: ImportError:")


def test_a_library_that_needs_what_is_not_there_is_found(visit: Visit, tmp_path: Path) -> None:
    finding = finding_of(visit(Folders(tmp_path), machine_code="linked to its helper"))
    assert finding.code == Code.EXTENSION
    assert "libhelper.so.1: cannot open shared object file" in finding.detail


def test_what_packages_yml_allows_ends_no_visit(visit: Visit, tmp_path: Path) -> None:
    finding, room = visit(
        Folders(tmp_path), machine_code="linked to its helper", allow={Code.EXTENSION: "The helper is of the cluster"}
    )
    assert isinstance(finding, Finding)
    assert finding.reason == "The helper is of the cluster"
    assert isinstance(room, CleanRoom)


def test_a_module_that_does_not_compile_is_a_warning(visit: Visit, tmp_path: Path) -> None:
    warning, room = visit(Folders(tmp_path), files={"demo/later.py": b"match = = 1\n", "demo/data.txt": b"= ="})
    assert isinstance(warning, Finding)
    assert warning.code == Code.SYNTAX
    assert warning.detail.startswith("demo/later.py: invalid syntax")
    assert isinstance(room, CleanRoom)


def test_a_module_is_compiled_and_not_run(visit: Visit, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    (room,) = visit(Folders(tmp_path), files={"demo/unused.py": f"open({str(witness)!r}, 'w')".encode()})
    assert isinstance(room, CleanRoom)
    assert not witness.exists()


@pytest.mark.parametrize("name", ["other/__init__.py", "shared/x.py"])
def test_files_of_what_is_installed_already_are_not_overwritten(name: str, visit: Visit, tmp_path: Path) -> None:
    environments = Folders(tmp_path)

    @contextmanager
    def environment(place: str, index: CandidateIndex) -> Iterator[SmokeEnvironment]:
        dist_info = tmp_path / "environment" / "other-1.0.dist-info"
        dist_info.mkdir(parents=True)
        (dist_info / "METADATA").write_text(SHARED)
        (dist_info / "RECORD").write_text(f"{name},,\nother-1.0.dist-info/METADATA,,\n")
        yield Folder(place=place, path=tmp_path / "environment", index=index.folder, gpus=0)

    environments.environment = environment  # type: ignore[method-assign]
    finding = finding_of(visit(environments, files={name: b""}))
    assert finding == Finding(code=Code.FOREIGN_FILES, detail=f"it overwrites {name} of other")
