"""Clean environments in containers of the stand-ins for public images (tests/real/stand_ins)."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.real.conftest import DEMO, Command
from tests.unit.build.conftest import MACHINE, compile_shared_object
from tests.unit.smoke.conftest import OPEN_SYMBOLS
from tests.wheels import write_wheel
from wheelmill.config.load import load_config
from wheelmill.names import CudaVersion
from wheelmill.pipeline.run import serve_candidate
from wheelmill.smoke.environment import DockerEnvironments
from wheelmill.smoke.examine import examine_wheel
from wheelmill.smoke.verdict import Verdict
from wheelmill.system.progress import Progress
from wheelmill.wheel.findings import Code, Finding
from wheelmill.wheel.name import WheelFile

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("nothing_is_left")]

LOADS_ITSELF = "import ctypes, pathlib; ctypes.CDLL(str(pathlib.Path(__file__).with_name('_C.so')))\n"
LOOKS_AROUND = """
import os, pathlib, shutil
assert not [name for name in ("cc", "gcc", "g++", "nvcc") if shutil.which(name)]
assert "do-not-tell" not in str(os.environ)
assert os.getcwd() == "/"
for place in ("/etc/x", "/index/x", "/opt/python/x"):
    try:
        pathlib.Path(place).touch()
    except OSError as error:
        assert "Read-only" in str(error)
    else:
        raise AssertionError(place)
status = pathlib.Path("/proc/self/status").read_text()
assert "CapEff:\\t0000000000000000" in status
assert "NoNewPrivs:\\t1" in status
"""


@pytest.fixture(scope="module")
def containers(docker_config: Callable[[Path], Path]) -> DockerEnvironments:
    config = load_config(docker_config(DEMO))
    return DockerEnvironments(images=config.images, compatibility=config.compatibility)


@pytest.fixture(scope="module")
def machine_code(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    """Shared objects by the library that they need or the symbol that they lack."""
    folder = tmp_path_factory.mktemp("objects")
    names = ("libcudart.so.13", "libcuda.so.1")
    needing = {name: compile_shared_object(folder / name, linker=[f"-soname={name}"]) for name in names}
    compiled = {name: compile_shared_object(folder / "_C.so", needs=[needing[name]]).read_bytes() for name in needing}
    return {
        **compiled,
        "": compile_shared_object(folder / "_C.so").read_bytes(),
        "outside": compile_shared_object(folder / "_C.so", OPEN_SYMBOLS).read_bytes(),
    }


def verdict_on(
    folder: Path,
    containers: DockerEnvironments,
    machine_code: bytes,
    *,
    init: str = "",
    label: str = "+cu130",
    requires: str = "",
) -> Verdict:
    python = f"cp3{sys.version_info.minor}"
    wheel = write_wheel(
        folder / f"demo-1.0{label}-{python}-{python}-manylinux_2_17_{MACHINE}.whl",
        metadata=f"Metadata-Version: 2.1\nName: demo\nVersion: 1.0{label}\n{requires}",
        files={"demo/__init__.py": init.encode(), "demo/_C.so": machine_code},
    )
    return examine_wheel(WheelFile.at(wheel), containers, serve_candidate, progress=Progress())


def places(verdict: Verdict) -> list[str]:
    return [room.place for room in verdict.clean_rooms]


def test_the_demo_passes_in_both_places(containers: DockerEnvironments, wheelmill: Command, tmp_path: Path) -> None:
    target = ("wheelmill-demo", "--config", DEMO, "--python", "3.12", "--cuda", "13.0")
    wheelmill("build", *target, "--output", tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    verdict = examine_wheel(WheelFile.at(wheel), containers, serve_candidate, progress=Progress())
    assert verdict.findings == ()
    images = containers.images
    assert places(verdict) == [str(images.of_cuda(CudaVersion(13, 0)).runtime), str(images.plain.image)]
    assert [room.installed for room in verdict.clean_rooms] == [{"wheelmill-demo": "1.0.0+cu130"}] * 2
    assert all(room.python.startswith("3.12.") for room in verdict.clean_rooms)


def test_a_missing_library(containers: DockerEnvironments, machine_code: Mapping[str, bytes], tmp_path: Path) -> None:
    verdict = verdict_on(tmp_path, containers, machine_code["libcudart.so.13"], init=LOADS_ITSELF)
    (finding,) = verdict.findings
    assert finding.code == Code.IMPORT
    assert finding.detail.startswith(f"in {containers.images.plain.image}: import demo: Traceback")
    assert "libcudart.so.13: cannot open shared object file" in finding.detail


def test_no_network(containers: DockerEnvironments, machine_code: Mapping[str, bytes], tmp_path: Path) -> None:
    init = "import socket; socket.create_connection(('192.0.2.1', 80), timeout=10)"
    (finding,) = verdict_on(tmp_path, containers, machine_code[""], init=init).findings
    assert finding.code == Code.IMPORT
    assert finding.detail.startswith("in docker.io/nvidia/cuda:13.0.2-runtime-ubuntu24.04@sha256:")
    assert finding.detail.endswith("Network is unreachable")


def test_the_rooms_have_no_compiler_no_secret_and_no_rights(
    containers: DockerEnvironments, machine_code: Mapping[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "do-not-tell")
    assert verdict_on(tmp_path, containers, machine_code[""], init=LOOKS_AROUND).findings == ()


def test_requirements_met(containers: DockerEnvironments, machine_code: Mapping[str, bytes], tmp_path: Path) -> None:
    requires = "Requires-Dist: jinja2==3.1.6\n"
    verdict = verdict_on(tmp_path, containers, machine_code[""], init="import markupsafe, jinja2", requires=requires)
    assert verdict.findings == ()
    assert [room.installed["Jinja2"] for room in verdict.clean_rooms] == ["3.1.6"] * 2


def test_missing_requirement(containers: DockerEnvironments, machine_code: Mapping[str, bytes], tmp_path: Path) -> None:
    (finding,) = verdict_on(tmp_path, containers, machine_code[""], requires="Requires-Dist: jinja2==99\n").findings
    assert finding.code == Code.ENVIRONMENT
    assert "there is no version of jinja2==99" in finding.detail


def test_undefined_symbol(containers: DockerEnvironments, machine_code: Mapping[str, bytes], tmp_path: Path) -> None:
    (finding,) = verdict_on(tmp_path, containers, machine_code["outside"]).findings
    assert finding.code == Code.UNDEFINED_SYMBOL
    assert ": nothing defines outside; neither Python nor torch nor CUDA does" in finding.detail


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has a driver")
def test_without_a_driver(containers: DockerEnvironments, machine_code: Mapping[str, bytes], tmp_path: Path) -> None:
    verdict = verdict_on(tmp_path, containers, machine_code["libcuda.so.1"], init="raise RuntimeError")
    assert verdict.findings == ()
    assert [room.skipped for room in verdict.clean_rooms] == [
        (f"import: libcuda.so.1 is not part of wheels, and {place} has none",) for place in places(verdict)
    ]


def test_no_label_no_cuda(containers: DockerEnvironments, machine_code: Mapping[str, bytes], tmp_path: Path) -> None:
    verdict = verdict_on(tmp_path, containers, machine_code[""], label="")
    assert verdict.findings == ()
    assert places(verdict) == [str(containers.images.plain.image)]


def test_missing_python(containers: DockerEnvironments, machine_code: Mapping[str, bytes], tmp_path: Path) -> None:
    wheel = write_wheel(
        tmp_path / f"demo-1.0+cu130-cp399-cp399-manylinux_2_17_{MACHINE}.whl",
        files={"demo/__init__.py": b"", "demo/_C.so": machine_code[""]},
    )
    (finding,) = examine_wheel(WheelFile.at(wheel), containers, serve_candidate, progress=Progress()).findings
    assert isinstance(finding, Finding)
    assert finding.code == Code.ENVIRONMENT
    assert "/opt/python/cp399-cp399/bin/python" in finding.detail
