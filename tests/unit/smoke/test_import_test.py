"""The visit to clean environments, in environments that are folders on this interpreter's path."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.refusals import coded
from tests.unit.smoke.conftest import Visit
from tests.unit.smoke.folders import Folder, Folders
from wheelmill.errors import IntegrityError, NetworkError, ProcessError, UsageError
from wheelmill.smoke import import_test
from wheelmill.smoke.verdict import CleanRoom, kernels_in
from wheelmill.wheel.findings import Code, Finding
from wheelmill.wheel.libraries import DRIVER

NO_SUCH_PYTHON = ProcessError("program-failed", "uv exited with 2", returncode=2, tail="no Python 3.99")
OTHER = {"other-1.0.dist-info/METADATA": "Name: other\nVersion: 1.0\n"}


class Replaces(Folder):
    """One whose installer replaces another project."""

    def install(self, requirements: Sequence[str]) -> None:
        (self.path / "other-1.0.dist-info").rename(self.path / "other-2.0.dist-info")
        (self.path / "other-2.0.dist-info" / "METADATA").write_text("Name: other\nVersion: 2.0\n")
        super().install(requirements)


class Refuses(Folder):
    """One whose installer takes nothing."""

    def install(self, _requirements: Sequence[str]) -> None:
        raise ProcessError("program-failed", "pip exited with 1", returncode=1, tail="not for this platform")


class HasTorch(Folder):
    """One that gets a torch for CUDA 13.0."""

    def install_torch(self, _requirement: str) -> None:
        (self.path / "torch.py").write_text("class version: cuda = '13.0'")


class PrintsText(Folder):
    """One that prints more than it is asked for as soon as the wheel is installed, for which a ``.pth`` is enough."""

    noise = "hello"

    def run(self, code: str, *arguments: str) -> str:
        printed = super().run(code, *arguments)
        return f"{printed}{self.noise}\n" if (self.path / "demo").exists() else printed


class PrintsJson(PrintsText):
    """One that prints what could be an answer."""

    noise = "[]"


def test_every_room_that_it_passes_is_named(visit: Visit, tmp_path: Path) -> None:
    environments = Folders(tmp_path, places=("cuda:13.0", "plain:8"))
    first, second = visit(environments)
    assert isinstance(first, CleanRoom)
    assert isinstance(second, CleanRoom)
    assert (first.place, second.place) == ("cuda:13.0", "plain:8")
    assert first.installed["demo"] == "1.0+cu130"
    assert first.python == second.python == ".".join(map(str, sys.version_info[:3]))
    assert all(environment.left for environment in environments.made)


def test_a_finding_names_its_room_and_is_the_last(visit: Visit, tmp_path: Path) -> None:
    environments = Folders(tmp_path, places=("cuda:13.0", "plain:8", "never"))
    passed, finding = visit(environments, "import sys; assert 'environment 0' in str(sys.path), 'a library is missing'")
    assert isinstance(passed, CleanRoom)
    assert isinstance(finding, Finding)
    assert finding.code == Code.IMPORT
    assert finding.detail.startswith("in plain:8: import demo: Traceback")
    assert finding.detail.endswith("a library is missing")
    assert [environment.left for environment in environments.made] == [True, True]


@pytest.mark.parametrize(
    ("given", "wheel"),
    [
        pytest.param({}, {"init": "import json"}, id="import"),
        pytest.param({}, {"machine_code": "that calls Python"}, id="undefined-symbol: the process defines it"),
        pytest.param({"files": OTHER}, {}, id="install: nothing is replaced"),
        pytest.param({"kind": HasTorch}, {"label": "cu130torch2.11"}, id="environment: the torch is for its CUDA"),
        pytest.param({"gpus": 1}, {"script": "import demo"}, id="script"),
    ],
)
def test_a_sound_wheel_passes(given: dict[str, Any], wheel: dict[str, Any], visit: Visit, tmp_path: Path) -> None:
    (room,) = visit(Folders(tmp_path, **given), **wheel)
    assert isinstance(room, CleanRoom)
    assert room.skipped == ()


@pytest.mark.parametrize(
    ("given", "wheel", "code", "detail"),
    [
        ({}, {"init": "import demo.gone"}, Code.IMPORT, "No module named 'demo.gone'"),
        ({}, {"init": "import os; os.abort()"}, Code.IMPORT, "exited with -6"),
        ({}, {"init": "import sys; sys.exit(0)"}, Code.IMPORT, "what was not asked for"),
        ({}, {"init": "import os; os._exit(0)"}, Code.IMPORT, "what was not asked for"),
        ({}, {"machine_code": "with open symbols"}, Code.UNDEFINED_SYMBOL, "nothing defines outside;"),
        ({"files": OTHER, "kind": Replaces}, {}, Code.INSTALL, "replaced other"),
        ({"kind": Refuses}, {}, Code.INSTALL, "not for this platform"),
        ({"kind": HasTorch}, {"label": "cu128torch2.11"}, Code.ENVIRONMENT, "cu128torch2.11 cannot be tried"),
        ({}, {"label": "cu130torch2.11"}, Code.ENVIRONMENT, "no torch here"),
        ({"kind": PrintsText}, {}, Code.ENVIRONMENT, "\nhello\n"),
        ({"kind": PrintsJson}, {}, Code.ENVIRONMENT, "\n[]\n"),
        ({"gpus": 1}, {"script": "import demo; raise SystemExit('wrong sum')"}, Code.SCRIPT, "wrong sum"),
        ({"error": NO_SUCH_PYTHON}, {}, Code.ENVIRONMENT, "no Python 3.99"),
        (
            {"error": ProcessError("program-failed", "docker exited with 1", returncode=1, tail="")},
            {},
            Code.ENVIRONMENT,
            "docker exited with 1",
        ),
        ({"error": NetworkError("server-silent", "no answer")}, {}, Code.ENVIRONMENT, "no answer"),
        ({"error": IntegrityError("hash-differs", "another sha256")}, {}, Code.ENVIRONMENT, "another sha256"),
    ],
)
def test_the_first_thing_that_goes_wrong_is_the_finding_and_on_this_machine_it_names_no_room(
    given: dict[str, Any], wheel: dict[str, Any], code: Code, detail: str, *, visit: Visit, tmp_path: Path
) -> None:
    (finding,) = visit(Folders(tmp_path, **given), **wheel)
    assert isinstance(finding, Finding)
    assert finding.code == code
    assert detail in finding.detail
    assert "this machine" not in finding.detail


def test_symbols_are_looked_for_where_the_wheel_is_not_installed_yet(visit: Visit, tmp_path: Path) -> None:
    environments = Folders(tmp_path)
    visit(environments, machine_code="with open symbols")
    assert list(environments.made[0].path.iterdir()) == []


def test_evidence_names_the_gpu_of_kernels(visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_test, "name_gpus", lambda: ("NVIDIA H200, driver 580.65.06",))
    (room,) = visit(Folders(tmp_path, gpus=1), script="import demo")
    assert isinstance(room, CleanRoom)
    assert kernels_in([room]) == "tried on NVIDIA H200, driver 580.65.06"


def test_evidence_says_why_no_kernel_ran(visit: Visit, tmp_path: Path) -> None:
    (without_gpu,) = visit(Folders(tmp_path), script="import demo")
    assert isinstance(without_gpu, CleanRoom)
    assert kernels_in([without_gpu]) == "not tried on a GPU: smoke script: this machine has no GPU"
    (tmp_path / "environment 0").rename(tmp_path / "of the other")
    (without_script,) = visit(Folders(tmp_path, gpus=1))
    assert isinstance(without_script, CleanRoom)
    assert kernels_in([without_script]) == "not tried on a GPU: it has no smoke script"


def test_an_environment_without_a_gpu_skips_the_smoke_script_and_says_so(visit: Visit, tmp_path: Path) -> None:
    (environment,) = visit(Folders(tmp_path, places=("plain:8",)), script="raise SystemExit")
    assert isinstance(environment, CleanRoom)
    assert environment.skipped == ("smoke script: plain:8 has no GPU",)


CALLS_THE_DRIVER = """
import ctypes, pathlib
code = ctypes.CDLL(str(pathlib.Path(__file__).with_name("_C.so"))).call()
assert code == 34, f"the driver says {code}"  # CUDA_ERROR_STUB_LIBRARY
"""


@pytest.fixture
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """No environment has the driver, on a machine with a GPU neither."""
    monkeypatch.setattr(import_test, "absent_libraries", lambda _contents, _environment: (DRIVER,))


@pytest.mark.usefixtures("no_driver")
def test_modules_that_load_the_driver_are_imported_beside_a_stub_which_is_said(visit: Visit, tmp_path: Path) -> None:
    environments = Folders(tmp_path, places=("plain:8",))
    (room,) = visit(environments, CALLS_THE_DRIVER, machine_code="that calls the driver", import_needs="driver")
    assert isinstance(room, CleanRoom)
    why = (
        "import: libcuda.so.1 is not part of wheels, and plain:8 has none, so modules were imported beside a stub of it"
    )
    assert room.skipped == (why,)


@pytest.mark.usefixtures("no_driver")
def test_what_fails_beside_the_stub_of_the_driver_refuses_the_wheel(visit: Visit, tmp_path: Path) -> None:
    wrong = CALLS_THE_DRIVER.replace("== 34", "== 0")
    (finding,) = visit(Folders(tmp_path), wrong, machine_code="that calls the driver", import_needs="driver")
    assert isinstance(finding, Finding)
    assert finding.code == Code.IMPORT
    assert finding.detail.endswith("the driver says 34")


@pytest.mark.usefixtures("no_driver")
def test_without_the_key_modules_that_load_the_driver_are_not_imported(visit: Visit, tmp_path: Path) -> None:
    (room,) = visit(Folders(tmp_path), "raise RuntimeError", machine_code="that calls the driver")
    assert isinstance(room, CleanRoom)
    assert room.skipped == ("import: libcuda.so.1 is not part of wheels, and this machine has none",)


@pytest.mark.usefixtures("no_driver")
def test_a_machine_without_gcc_has_no_stub(visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, check=coded("no-c-compiler", "libcuda.so.1")):
        visit(Folders(tmp_path), machine_code="that calls the driver", import_needs="driver")


def test_a_machine_without_docker_is_no_finding(visit: Visit, tmp_path: Path) -> None:
    with pytest.raises(UsageError, check=coded("docker-absent")):
        visit(Folders(tmp_path, error=UsageError("docker-absent", "there is no docker on this machine")))


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
        ("_C.so", "a module of PEP 793 that fails", "demo/_C.so: ImportError:"),  # before Python 3.15
        ("_C.so", "an extension module that ends the process", "demo/_C.so: it ends the process"),
        ("_C.cpython-34.so", "an extension module", "demo/_C.cpython-34.so: ImportError:"),  # of another Python
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


def test_an_extension_module_that_is_no_machine_code_is_found(visit: Visit, tmp_path: Path) -> None:
    held = {"demo/_other.abi3.so": b"none", "demo/libscript.so": b"INPUT(libm.so)"}
    (finding,) = visit(Folders(tmp_path), machine_code="an extension module", files=held)
    assert isinstance(finding, Finding)
    assert finding.code == Code.EXTENSION
    assert finding.detail.startswith("demo/_other.abi3.so: OSError:")
    assert "script" not in finding.detail


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
def test_installed_files_stay(theirs: str, ours: str, *, is_shared: bool, visit: Visit, tmp_path: Path) -> None:
    installed = {
        "other-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: other\nVersion: 1.0\n",
        "other-1.0.dist-info/RECORD": f"{theirs},,\nother-1.0.dist-info/METADATA,,\n",
    }
    (outcome,) = visit(Folders(tmp_path, files=installed), files={ours: b""})
    if is_shared:
        assert outcome == Finding(code=Code.FOREIGN_FILES, detail=f"it overwrites {theirs} of other")
    else:
        assert isinstance(outcome, CleanRoom)
