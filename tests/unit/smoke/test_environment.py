"""The clean environment on this machine."""

import ctypes.util
import io
import sys
import tarfile
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest

from tests.refusals import coded
from tests.unit.build.conftest import MACHINE, PROVENANCE, TARGET, package_index, package_index_of
from tests.unit.plan.examples import FACTS
from tests.unit.smoke.conftest import LABELLED, METADATA
from tests.wheels import write_wheel
from wheelmill.build.provenance import Provenance
from wheelmill.config.load import load_config
from wheelmill.errors import BuildError, UsageError
from wheelmill.names import Platform, PythonVersion, StableTorch, TorchVersion
from wheelmill.pipeline.run import serve_candidate
from wheelmill.smoke import environment
from wheelmill.smoke.environment import CandidateIndex, DockerEnvironment, DockerEnvironments, LocalEnvironments
from wheelmill.smoke.evidence import Contents, open_wheel, pythons_to_test
from wheelmill.smoke.examine import examine_wheel
from wheelmill.smoke.verdict import Verdict
from wheelmill.system import own_installation
from wheelmill.system.containers import Container, OwnImage
from wheelmill.system.progress import Progress
from wheelmill.wheel.findings import Code
from wheelmill.wheel.name import WheelFile

__all__ = ["package_index"]

RUNNING = PythonVersion(*sys.version_info[:2])
PYTHON = f"cp{sys.version_info.major}{sys.version_info.minor}"


def verdict_on(folder: Path, *, machine_code: bytes, python: str = PYTHON, init: bytes = b"") -> Verdict:
    path = folder / f"demo-1.0+cu130-{python}-{python}-manylinux_2_17_{MACHINE}.whl"
    return verdict_of(write_wheel(path, files={"demo/__init__.py": init, "demo/_C.so": machine_code}))


def verdict_of(wheel: Path) -> Verdict:
    environments = LocalEnvironments(compatibility=FACTS)
    return examine_wheel(WheelFile.at(wheel), environments, serve_candidate, progress=Progress())


def test_a_python_that_is_nowhere_is_a_finding(objects: Mapping[str, bytes], tmp_path: Path) -> None:
    verdict = verdict_on(tmp_path, machine_code=objects["as promised"], python="cp399")
    (finding,) = verdict.findings
    assert finding.code == Code.ENVIRONMENT
    assert "3.99" in finding.detail
    assert verdict.evidence is not None


def test_a_torch_for_another_cuda_is_a_finding(objects: Mapping[str, bytes], tmp_path: Path) -> None:
    name = LABELLED.replace("cp311", PYTHON)
    wheel = write_wheel(tmp_path / name, metadata=METADATA, files={"demo/_C.so": objects["as promised"]})
    with package_index_of(tmp_path / "wheels") as wheels:
        for seed in ("pip", "setuptools", "wheel"):
            write_wheel(wheels / f"{seed}-99.0-py3-none-any.whl")
        torch = {"torch/__init__.py": b"class version: cuda = '12.8'"}
        write_wheel(wheels / "torch-2.11.0-py3-none-any.whl", files=torch)
        (finding,) = verdict_of(wheel).findings
    assert finding.code == Code.ENVIRONMENT
    assert "the package index gives torch 2.11 for CUDA 12.8, so cu130torch2.11 cannot be tried" in finding.detail


@pytest.mark.real
def test_a_wheel_that_installs_and_imports_passes(objects: Mapping[str, bytes], tmp_path: Path) -> None:
    verdict = verdict_on(tmp_path, machine_code=objects["linked statically"])
    assert verdict.findings == ()
    (environment,) = verdict.clean_rooms
    assert environment.python.startswith(f"{sys.version_info.major}.{sys.version_info.minor}.")
    assert environment.installed["demo"] == "1.0+cu130"


@pytest.mark.real
def test_what_needs_a_driver_is_not_imported_where_there_is_none(objects: Mapping[str, bytes], tmp_path: Path) -> None:
    raises = b"raise RuntimeError"
    verdict = verdict_on(tmp_path, machine_code=objects["linked to the driver"], init=raises)
    if ctypes.util.find_library("cuda"):
        pytest.skip("this machine has a driver")
    assert verdict.findings == ()
    assert [environment.skipped for environment in verdict.clean_rooms] == [
        ("import: libcuda.so.1 is not part of wheels, and this machine has none",)
    ]


@pytest.mark.real
@pytest.mark.parametrize(
    ("machine_code", "init", "finding"),
    [
        ("with open symbols", b"", "undefined-symbol: nothing defines outside;"),
        ("linked statically", b"import demo.gone", "import: import demo: Traceback"),
    ],
)
def test_the_first_thing_that_goes_wrong_is_the_finding(
    machine_code: str, init: bytes, finding: str, objects: Mapping[str, bytes], tmp_path: Path
) -> None:
    verdict = verdict_on(tmp_path, machine_code=objects[machine_code], init=init)
    assert len(verdict.findings) == 1
    assert finding in str(verdict)
    assert verdict.clean_rooms == ()


CONFIG = load_config(own_installation.CONFIG)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What was asked of the doors to Docker and to the package index, none of which opens here."""
    asked: dict[str, Any] = {"bases": [], "mirrored": []}

    def make(image: OwnImage, _progress: Progress) -> str:
        asked["bases"].append(image.bases["BASE_IMAGE"].partition("@")[0])
        return "runtime"

    def mirror(requirements: tuple[str, ...], folder: Path, **options: object) -> None:
        asked["mirrored"].append({**options, "requirements": requirements, "folder": folder})

    monkeypatch.setattr(environment, "THIS_PLATFORM", Platform("linux", "x86_64"))
    monkeypatch.setattr(environment, "claim_run", nullcontext)
    monkeypatch.setattr(OwnImage, "make", make)
    monkeypatch.setattr(environment, "check_disks", lambda images, *_, **how: asked.update(checked=images, **how))
    monkeypatch.setattr(environment, "mirror", mirror)
    return asked


def rooms_for(folder: Path, label: str, provenance: Provenance | None = None) -> int:
    wheel = write_wheel(folder / f"demo-1.0{label}-cp312-cp312-manylinux_2_28_{MACHINE}.whl")
    contents = open_wheel(WheelFile.at(wheel), provenance)
    assert isinstance(contents, Contents)
    environments = DockerEnvironments(images=CONFIG.images, compatibility=CONFIG.compatibility)
    index = CandidateIndex(folder=folder, path="site/simple/", url="", requires=("numpy",))
    return sum(len(environments.of(contents, python, index, Progress())) for python in contents.pythons)


@pytest.mark.parametrize(
    ("label", "requirements", "backend"),
    [
        ("", ("numpy",), None),
        ("+cu130", ("numpy",), None),
        ("+cu130torch2.11", ("numpy", "torch==2.11.*"), None),  # what PyPI has
        ("+cu128torch2.11", ("numpy", "torch==2.11.*"), "cu128"),
        ("+cu130torch9.9", ("numpy", "torch==9.9.*"), "cu130"),
    ],
)
def test_torch_comes_from_where_it_is_for_that_cuda(
    label: str, requirements: tuple[str, ...], backend: str | None, asked: dict[str, Any], tmp_path: Path
) -> None:
    rooms_for(tmp_path, label)
    (mirrored,) = asked["mirrored"]
    assert mirrored["torch_backend"] == backend
    assert (mirrored["requirements"], str(mirrored["python"])) == (requirements, "3.12")
    assert mirrored["folder"].is_relative_to(tmp_path)


@pytest.mark.parametrize(("label", "first"), [("+cu130", ["13.0.2-runtime-ubuntu24.04"]), ("", [])])
def test_the_plain_image_is_the_last(label: str, first: list[str], asked: dict[str, Any], tmp_path: Path) -> None:
    assert rooms_for(tmp_path, label) == len(first) + 1
    assert [base.rpartition(":")[2] for base in asked["bases"]] == [*first, "8"]


@pytest.mark.usefixtures("asked")
def test_a_cuda_without_an_image_is_no_fault_of_the_wheel(tmp_path: Path) -> None:
    with pytest.raises(UsageError, check=coded("image-not-pinned", "10.2")):
        rooms_for(tmp_path, "+cu102")


def test_what_is_mounted_can_be_read_by_a_root_without_rights(asked: dict[str, Any], tmp_path: Path) -> None:
    secret = tmp_path / "files" / "demo.whl"
    secret.parent.mkdir(mode=0o700)
    secret.touch(mode=0o600)
    rooms_for(tmp_path, "+cu130")
    assert asked
    assert (secret.stat().st_mode & 0o777, secret.parent.stat().st_mode & 0o777) == (0o644, 0o755)


def test_a_wheel_for_many_torches_is_tested_at_the_ends_of_its_ranges(asked: dict[str, Any], tmp_path: Path) -> None:
    cell = replace(PROVENANCE.cell, torch=StableTorch(oldest=TorchVersion(2, 10), below=TorchVersion(2, 15)))
    pythons = tuple(PythonVersion(3, minor) for minor in (12, 10, 13, 11))
    assert rooms_for(tmp_path, "+cu130", replace(PROVENANCE, cell=cell, pythons=pythons)) == 8  # as many without CUDA
    assert [(str(each["python"]), each["requirements"], each["torch_backend"]) for each in asked["mirrored"]] == [
        (python, ("numpy", f"torch=={torch}.*"), place)
        for python in ("3.10", "3.13")
        for torch, place in (("2.10", "cu130"), ("2.14", None))
    ]
    assert len({each["folder"] for each in asked["mirrored"]}) == 4


def test_a_python_without_the_newest_torch_is_tested_with_its_newest(asked: dict[str, Any], tmp_path: Path) -> None:
    cell = replace(PROVENANCE.cell, torch=StableTorch(oldest=TorchVersion(2, 14)))
    rooms_for(tmp_path, "+cu130", replace(PROVENANCE, cell=cell, pythons=(PythonVersion(3, 10),)))
    assert [each["requirements"] for each in asked["mirrored"]] == [("numpy", "torch==2.14.*")]


def test_no_constraint_of_an_image_chooses_a_version() -> None:
    seen: dict[str, str] = {}
    container = create_autospec(Container, instance=True)
    container.run.side_effect = lambda _argv, *, env, timeout: seen.update(env, timeout=timeout)
    candidate = DockerEnvironment(
        place="demo", torch=None, container=container, python="python3", index_url="http://127.0.0.1/", beside="/wheels"
    )
    candidate.install(["demo==1.0"])
    assert (seen["PIP_CONSTRAINT"], seen["PIP_CONFIG_FILE"]) == ("/dev/null", "/dev/null")


BUILT = replace(TARGET, cell=replace(TARGET.cell, python=RUNNING), pythons=(RUNNING,))
WITHOUT_TORCH = replace(BUILT, cell=replace(BUILT.cell, torch=None))
LOCAL = LocalEnvironments(compatibility=CONFIG.compatibility)


@pytest.fixture
def only_here(package_index: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that uv and pip take wheels from; it has torch 2.11."""
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("wheelmill.installers.index_settings.pip_configuration", dict)
    monkeypatch.setattr(environment, "THIS_PLATFORM", Platform("linux", "x86_64"))  # for torch of the usual index
    write_wheel(package_index / "torch-2.11.0-py3-none-any.whl")
    return package_index


def write_source_distribution(folder: Path) -> None:
    with tarfile.open(folder / "helper-2.0.tar.gz", "w:gz") as archive:
        metadata = tarfile.TarInfo("helper-2.0/PKG-INFO")
        content = b"Metadata-Version: 2.2\nName: helper\nVersion: 2.0\n"
        metadata.size = len(content)
        archive.addfile(metadata, io.BytesIO(content))


def test_a_torch_that_no_index_has_is_refused_before_the_build(only_here: Path) -> None:
    LOCAL.check(BUILT, (), Progress())
    (only_here / "torch-2.11.0-py3-none-any.whl").unlink()
    with pytest.raises(BuildError, check=coded("smoke-unsatisfiable", BUILT.cell.id, "torch==2.11", "exclude")):
        LOCAL.check(BUILT, (), Progress())
    LOCAL.check(WITHOUT_TORCH, (), Progress())


def test_a_requirement_that_no_index_has_is_refused_before_the_build(only_here: Path) -> None:
    write_wheel(only_here / "helper-1.0-py3-none-any.whl")
    LOCAL.check(BUILT, ("helper<2",), Progress())
    with pytest.raises(BuildError, check=coded("smoke-unsatisfiable", BUILT.cell.id, "helper>=2", "requires_dist")):
        LOCAL.check(BUILT, ("helper>=2",), Progress())
    write_wheel(only_here / "helper-2.0-cp27-cp27mu-win32.whl")
    with pytest.raises(BuildError, check=coded("smoke-unsatisfiable", "helper>=2")):
        LOCAL.check(BUILT, ("helper>=2",), Progress())


@pytest.mark.usefixtures("asked")
def test_a_source_distribution_is_enough_for_pip_and_not_for_a_container(only_here: Path) -> None:
    write_source_distribution(only_here)
    docker = DockerEnvironments(images=CONFIG.images, compatibility=CONFIG.compatibility)
    LOCAL.check(WITHOUT_TORCH, ("helper",), Progress())
    docker.check(WITHOUT_TORCH, (), Progress())
    with pytest.raises(BuildError, check=coded("smoke-unsatisfiable", "helper")):
        docker.check(WITHOUT_TORCH, ("helper",), Progress())


@pytest.mark.usefixtures("only_here")
@pytest.mark.parametrize("variable", ["PIP_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX"])
def test_an_index_of_pip_or_one_that_does_not_answer_now_refuses_no_build(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    LOCAL.check(BUILT, ("helper",), Progress())


@pytest.mark.usefixtures("only_here")
def test_every_python_that_is_tested_must_be_there_and_no_other() -> None:
    nowhere = PythonVersion(3, 99)
    with pytest.raises(BuildError, check=coded("no-smoke-python", BUILT.cell.id, "3.99", "install Python 3.99")):
        LOCAL.check(replace(BUILT, pythons=(RUNNING, nowhere)), (), Progress())
    three = (RUNNING, nowhere, PythonVersion(3, 100))
    assert pythons_to_test(three, TorchVersion(2, 11)) == three
    assert pythons_to_test(three, StableTorch(oldest=TorchVersion(2, 11))) == (RUNNING, three[-1])


@pytest.mark.usefixtures("only_here")
def test_a_disk_without_room_is_noticed_before_the_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "wheelmill").mkdir()
    LOCAL.check(BUILT, (), Progress())
    monkeypatch.setattr(environment, "FREE_DISK", 1 << 60)
    with pytest.raises(BuildError, check=coded("disk-too-small", tmp_path, "XDG_CACHE_HOME")):
        LOCAL.check(BUILT, (), Progress())


@pytest.mark.usefixtures("only_here")
def test_images_of_a_test_are_there_before_the_build(asked: dict[str, Any]) -> None:
    DockerEnvironments(images=CONFIG.images, compatibility=CONFIG.compatibility).check(BUILT, (), Progress())
    assert [base.rpartition(":")[2] for base in asked["bases"]] == ["13.0.2-runtime-ubuntu24.04", "8"]
    assert asked["mirrored"] == []
    assert ([image.name for image in asked["checked"]], asked["torches"]) == (["build", "runtime", "runtime"], 1)
