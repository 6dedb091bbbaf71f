"""The clean environment on this machine."""

import ctypes.util
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.unit.build.conftest import MACHINE, package_index_of
from tests.unit.plan.examples import FACTS
from tests.unit.smoke.conftest import LABELLED, METADATA
from tests.wheels import write_wheel
from wheelmill.pipeline.candidate import serve_candidate
from wheelmill.smoke.environment import LocalEnvironments
from wheelmill.smoke.examine import examine_wheel
from wheelmill.smoke.verdict import Verdict
from wheelmill.system.progress import Progress
from wheelmill.wheel.findings import Code
from wheelmill.wheel.name import WheelFile

PYTHON = f"cp{sys.version_info.major}{sys.version_info.minor}"


def verdict_on(folder: Path, *, machine_code: bytes, python: str = PYTHON, init: bytes = b"") -> Verdict:
    path = folder / f"demo-1.0+cu130-{python}-{python}-manylinux_2_17_{MACHINE}.whl"
    return verdict_of(write_wheel(path, files={"demo/__init__.py": init, "demo/_C.so": machine_code}))


def verdict_of(wheel: Path) -> Verdict:
    return examine_wheel(
        WheelFile.at(wheel), LocalEnvironments(compatibility=FACTS), serve_candidate, progress=Progress()
    )


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
