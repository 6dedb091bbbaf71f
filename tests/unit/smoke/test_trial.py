"""The visit to clean environments, in environments that are folders on this interpreter's path."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.unit.smoke.conftest import Visit
from tests.unit.smoke.folders import Folder, Folders
from wheelmill.errors import IntegrityError, NetworkError, ProcessError, UsageError
from wheelmill.smoke import trial
from wheelmill.smoke.environment import CandidateIndex, SmokeEnvironment
from wheelmill.smoke.verdict import CleanRoom, kernels_in
from wheelmill.wheel.findings import Code, Finding
from wheelmill.wheel.libraries import DRIVER

NO_SUCH_PYTHON = ProcessError("uv exited with 2", returncode=2, tail="no Python 3.99")


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


def test_on_this_machine_a_finding_names_no_environment(visit: Visit, tmp_path: Path) -> None:
    (finding,) = visit(Folders(tmp_path), "import demo.gone")
    assert isinstance(finding, Finding)
    assert finding.detail.startswith("import demo: Traceback")


def test_an_import_that_ends_without_a_word_says_how(visit: Visit, tmp_path: Path) -> None:
    (finding,) = visit(Folders(tmp_path), "import os; os.abort()")
    assert isinstance(finding, Finding)
    assert finding.code == Code.IMPORT
    assert finding.detail.endswith("exited with -6")


@pytest.mark.parametrize("end", ["import sys; sys.exit(0)", "import os; os._exit(0)"])
def test_an_import_that_ends_the_process_well_did_not_come_back(end: str, visit: Visit, tmp_path: Path) -> None:
    (finding,) = visit(Folders(tmp_path), end)
    assert isinstance(finding, Finding)
    assert finding.code == Code.IMPORT
    assert "printed what was not asked for" in finding.detail


def test_a_symbol_that_nothing_defines_is_found_where_the_wheel_is_not_installed_yet(
    visit: Visit, tmp_path: Path
) -> None:
    environments = Folders(tmp_path)
    (finding,) = visit(environments, machine_code="with open symbols")
    assert isinstance(finding, Finding)
    assert finding.code == Code.UNDEFINED_SYMBOL
    assert finding.detail.startswith("nothing defines outside;")
    assert list(environments.made[0].path.iterdir()) == []


def test_what_the_process_defines_is_not_missing(visit: Visit, tmp_path: Path) -> None:
    (environment,) = visit(Folders(tmp_path), machine_code="that calls Python")
    assert isinstance(environment, CleanRoom)


def test_what_is_replaced_by_installing_it_is_named(visit: Visit, tmp_path: Path) -> None:
    environments = Folders(tmp_path)

    class Replacing(Folder):
        def install(self, requirements: Sequence[str]) -> None:
            (self.path / "other-1.0.dist-info").rename(self.path / "other-2.0.dist-info")
            (self.path / "other-2.0.dist-info" / "METADATA").write_text("Name: other\nVersion: 2.0\n")
            super().install(requirements)

    @contextmanager
    def environment(place: str, index: CandidateIndex) -> Iterator[SmokeEnvironment]:
        metadata = tmp_path / "environment" / "other-1.0.dist-info" / "METADATA"
        metadata.parent.mkdir(parents=True)
        metadata.write_text("Name: other\nVersion: 1.0\n")
        yield Replacing(place=place, path=tmp_path / "environment", index=index.folder, gpus=0)

    environments.environment = environment  # type: ignore[method-assign]
    (finding,) = visit(environments)
    assert finding == Finding(code=Code.INSTALL, detail="installing it replaced other")


@pytest.mark.parametrize("noise", ["hello", "[]"])
def test_a_wheel_that_prints_in_every_program_ends_its_own_visit(noise: str, visit: Visit, tmp_path: Path) -> None:
    """A ``.pth`` file in it is enough for that."""
    environments = Folders(tmp_path)

    class Noisy(Folder):
        def run(self, code: str, *arguments: str) -> str:
            printed = super().run(code, *arguments)
            return f"{printed}{noise}\n" if (self.path / "demo").exists() else printed

    @contextmanager
    def environment(place: str, index: CandidateIndex) -> Iterator[SmokeEnvironment]:
        (tmp_path / "environment").mkdir()
        yield Noisy(place=place, path=tmp_path / "environment", index=index.folder, gpus=0)

    environments.environment = environment  # type: ignore[method-assign]
    (finding,) = visit(environments)
    assert isinstance(finding, Finding)
    assert finding.code == Code.ENVIRONMENT
    assert f"\n{noise}" in finding.detail


def test_the_smoke_script_decides_where_there_is_a_gpu(visit: Visit, tmp_path: Path) -> None:
    script = "import demo; raise SystemExit('wrong sum')"
    (finding,) = visit(Folders(tmp_path, places=("cuda:13.0",), gpus=1), script=script)
    assert finding == Finding(code=Code.SCRIPT, detail="in cuda:13.0: wrong sum")


def test_evidence_names_the_gpu_that_kernels_ran_on(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "name_gpus", lambda: ("NVIDIA H200, driver 580.65.06",))
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
    monkeypatch.setattr(trial, "absent_libraries", lambda _contents, _environment: (DRIVER,))


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
def test_a_machine_without_a_c_compiler_makes_no_stub(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match=r"a stub of libcuda.so.1 is needed, and there is no C compiler"):
        visit(Folders(tmp_path), machine_code="that calls the driver", import_needs="driver")


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (NO_SUCH_PYTHON, "no Python 3.99"),
        (ProcessError("docker exited with 1", returncode=1, tail=""), "docker exited with 1"),
        (NetworkError("the package index does not answer"), "the package index does not answer"),
        (IntegrityError("lib-1.0.whl has another sha256"), "lib-1.0.whl has another sha256"),
    ],
)
def test_an_environment_that_cannot_be_made_is_a_finding(
    error: Exception, detail: str, visit: Visit, tmp_path: Path
) -> None:
    assert visit(Folders(tmp_path, error=error)) == (Finding(code=Code.ENVIRONMENT, detail=detail),)


def test_a_torch_that_cannot_be_had_is_one_too(visit: Visit, tmp_path: Path) -> None:
    expected = Finding(code=Code.ENVIRONMENT, detail="no torch here")
    assert visit(Folders(tmp_path), label="cu130torch2.11") == (expected,)


def test_a_machine_without_docker_is_no_finding(visit: Visit, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no docker"):
        visit(Folders(tmp_path, error=UsageError("there is no docker on this machine")))
