"""Modules of wheels that a visit finds broken although their package can be imported."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.unit.smoke.conftest import Visit
from tests.unit.smoke.folders import Folders
from wheelmill.smoke.verdict import CleanRoom
from wheelmill.wheel.findings import Code, Finding

LOADS = "import ctypes, pathlib; ctypes.CDLL(str(pathlib.Path(__file__).with_name('{}')))"
HELPER = {"demo/helper.so": "helper"}
VARIANTS = dict.fromkeys(("demo/_cpu.so", "demo/_cuda.so"), "a library that is alone in its process")


@pytest.mark.parametrize(
    ("machine_code", "init", "held"),
    [
        ("an extension module", "", {}),
        ("linked statically", LOADS.format("_cpu.so"), VARIANTS),  # which cannot be in one process
        ("linked to its helper", LOADS.format("helper.so"), HELPER),  # which is loaded only after its package
    ],
)
def test_an_extension_module_or_a_library_that_can_be_loaded_passes(
    machine_code: str, init: str, held: Mapping[str, str], *, visit: Visit, objects: Mapping[str, bytes], tmp_path: Path
) -> None:
    files = {name: objects[kind] for name, kind in held.items()}
    (room,) = visit(Folders(tmp_path), init, machine_code=machine_code, files=files)
    assert isinstance(room, CleanRoom)


@pytest.mark.parametrize(
    ("name", "machine_code", "detail"),
    [
        ("_C.so", "an extension module that fails", "demo/_C.so: SystemError:"),
        ("_C.so", "an extension module that ends the process", "demo/_C.so: it ends the process"),
        (
            "_C.cpython-34.so",
            "an extension module",
            "demo/_C.cpython-34.so: ImportError:",
        ),  # of another Python
        ("_C.so", "linked to its helper", "demo/_C.so: OSError: libhelper.so.1: cannot open shared object file"),
    ],
)
def test_one_that_nobody_imports_and_that_cannot_be_loaded_is_found(
    name: str, machine_code: str, detail: str, *, visit: Visit, objects: Mapping[str, bytes], tmp_path: Path
) -> None:
    files = {"demo/_C.so": b"none", "demo/notes.so": b"", f"demo/{name}": objects[machine_code]}
    (finding,) = visit(Folders(tmp_path), files=files)
    assert isinstance(finding, Finding)
    assert finding.code == Code.EXTENSION
    assert finding.detail.startswith(detail)
    assert "notes" not in finding.detail


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


@pytest.mark.parametrize(
    ("theirs", "ours", "is_shared"),
    [
        ("other/__init__.py", "other/__init__.py", True),
        ("shared/x.py", "shared/x.py", True),
        ("shared/x.py", "shared/y.py", False),
    ],
)
def test_files_of_what_is_installed_already_are_not_overwritten(
    theirs: str, ours: str, *, is_shared: bool, visit: Visit, tmp_path: Path
) -> None:
    installed = {
        "other-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: other\nVersion: 1.0\n",
        "other-1.0.dist-info/RECORD": f"{theirs},,\nother-1.0.dist-info/METADATA,,\n",
    }
    (outcome,) = visit(Folders(tmp_path, files=installed), files={ours: b""})
    if is_shared:
        assert outcome == Finding(code=Code.FOREIGN_FILES, detail=f"it overwrites {theirs} of other")
    else:
        assert isinstance(outcome, CleanRoom)
