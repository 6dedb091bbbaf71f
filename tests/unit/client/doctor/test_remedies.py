"""The commands that mend."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.installed import EXTENSION, FLASH_FILES, TORCH_FILES, install, install_sound
from tests.shared_objects import shared_object
from tests.unit.client.doctor.conftest import TARGET, Examine, named
from wheelmill.client.doctor.inventory import Examined
from wheelmill.client.doctor.remedies import Remedies, Remedy, started_as
from wheelmill.client.doctor.rules import Defect, DefectCode
from wheelmill.names import Architecture, CudaVersion, Gpu, TorchVersion, project_name

NO_TORCH = replace(TARGET, torch=None, torch_release=None, cuda=None, cxx11_abi=None)
PY = "/env/bin/python"
MISSING = Defect(code=DefectCode.TORCH_MISSING, subject="torch", detail="", project=project_name("torch"))


def remedy(examined: Examined) -> Remedy:
    """Find the remedy for the only defect."""
    (defect,) = named(examined)
    return Remedies(examined=examined, uv="uv").remedy_of(defect)


@pytest.mark.parametrize(
    ("version", "driver", "line"),
    [
        ("1.0+cu130torch2.11", None, f"uv pip install --python {PY} 'torch==2.11.*' --reinstall-package torch"),
        ("1.0+cu128torch2.11", None, " --torch-backend cu128"),
        ("1.0+cu12torch2.8cxx11abiTRUE", "550.54.14", "'torch==2.8.*' --reinstall-package torch"),
        ("1.0+cu13torch2.11", "580.65.06", "'torch==2.11.*' --reinstall-package torch"),
    ],
)
def test_torch_of_wheels_is_installed(
    version: str, driver: str | None, line: str, site: Path, examined: Examine
) -> None:
    install(site, "flash-attn", version, FLASH_FILES)
    found = examined(replace(NO_TORCH, driver=driver))
    assert Remedies(examined=found, uv="uv").remedy_of(MISSING).lines[0].endswith(line)


def test_without_uv_pip_does_it(site: Path, examined: Examine) -> None:
    install(site, "flash-attn", "1.0+cu128torch2.11", FLASH_FILES)
    install(site, "torchvision", "0.26.0", {"torchvision/__init__.py": b""}, requires=["torch==2.11.0"])
    lines = Remedies(examined=examined(NO_TORCH), uv=None).remedy_of(MISSING).lines
    assert lines[0] == f"{PY} -m pip uninstall --yes torch torchvision"
    assert lines[1].startswith(f"{PY} -m pip install 'torch==2.11.*' torchvision --index-url http")
    assert lines[1].endswith("/cu128")


def test_a_driver_for_which_there_is_no_torch_is_left_to_a_person(site: Path, examined: Examine) -> None:
    install_sound(site)
    assert remedy(examined(replace(TARGET, driver="390.10"))).advice == "install a newer NVIDIA driver"


@pytest.mark.parametrize(
    ("gpu", "torch", "line"),
    [
        (Architecture(7, 0), "2.11", "'torch==2.11.*' --reinstall-package torch --torch-backend cu126"),
        (Architecture(12, 0), "2.6", "'torch==2.7.*' --reinstall-package torch --torch-backend cu128"),
        (Architecture(3, 5), "2.11", "build torch from source: no published one is for it"),
    ],
)
def test_a_torch_without_code_for_a_gpu_gives_way_to_one_that_has_it(
    gpu: Architecture, torch: str, line: str, site: Path, examined: Examine
) -> None:
    install_sound(site)
    cuda = CudaVersion.parse("13.0" if torch == "2.11" else "12.4")
    here = replace(TARGET, gpus=(Gpu(capability=gpu),), torch=TorchVersion.parse(torch), cuda=cuda)
    defect = Defect(code=DefectCode.GPU, subject="torch", detail="", project=project_name("torch"))
    (mended,) = Remedies(examined=examined(here), uv="uv").remedy_of(defect).lines
    assert mended.endswith(line)


def test_what_nvidias_own_libraries_lack_comes_with_torch(site: Path, examined: Examine) -> None:
    install_sound(site)
    solver = {"nvidia/cu13/lib/libcusolver.so.12": shared_object(needed=["libcublas.so.13"])}
    install(site, "nvidia-cusolver", "12.0", solver, tag="py3-none-manylinux2014_x86_64")
    found = examined()
    (defect,) = named(found)
    assert defect.code is DefectCode.LIBRARY
    assert remedy(found).lines[0].startswith(f"uv pip install --python {PY} torch==")


def test_what_a_project_got_from_wheelmill_is_updated_there(site: Path, examined: Examine) -> None:
    install_sound(site)
    install(site, "demo", "1.0+cu128torch2.11", {"demo.so": EXTENSION}, requires=["torch"])
    found = examined()
    (defect,) = named(found)
    project = Path("/p/pyproject.toml")
    remedies = Remedies(examined=found, uv="uv", project=project, asked=frozenset({project_name("demo")}))
    assert remedies.remedy_of(defect).lines == (f"wheelmill update demo --project {project}",)
    assert replace(remedies, asked=frozenset()).remedy_of(defect).lines == (
        f"wheelmill install demo --python-path {PY}",
    )
    assert started_as(remedies.remedy_of(defect).commands[0])[:3] == (sys.executable, "-m", "wheelmill")


def test_what_came_from_a_file_that_is_there_comes_from_it_again(site: Path, examined: Examine, tmp_path: Path) -> None:
    wheel = tmp_path / "demo-1.0-py3-none-any.whl"
    wheel.touch()
    install(site, "demo", "1.0", {"demo.py": b"x"}, origin=wheel.as_uri(), tag="py3-none-any")
    (site / "demo.py").unlink()
    (line,) = remedy(examined(NO_TORCH)).lines
    assert line == f"uv pip install --python {PY} --reinstall --no-deps 'demo @ {wheel.as_uri()}'"


def test_what_came_from_a_folder_is_left_to_a_person(site: Path, examined: Examine, tmp_path: Path) -> None:
    install(site, "demo", "1.0", {"demo.py": b"x"}, origin=tmp_path.as_uri(), tag="py3-none-any")
    (site / "demo.py").unlink()
    assert remedy(examined(NO_TORCH)).lines == (f"install demo from {tmp_path} again",)


def test_torch_of_a_labelled_index_comes_from_there_again(site: Path, examined: Examine) -> None:
    install(site, "torch", "2.11.0+cu130", TORCH_FILES)
    (site / "torch" / "__init__.py").unlink()
    (line,) = remedy(examined()).lines
    assert line.endswith("--reinstall --no-deps torch==2.11.0+cu130 --torch-backend cu130")


def test_a_second_runtime_that_something_requires_is_not_taken_away(site: Path, examined: Examine) -> None:
    install_sound(site)
    runtime = {"nvidia/cuda_runtime/lib/libcudart.so.12": shared_object(soname="libcudart.so.12")}
    install(site, "nvidia-cuda-runtime-cu12", "12.8.90", runtime)
    install(site, "demo", "1.0", {"demo.py": b""}, requires=["nvidia-cuda-runtime-cu12", "not a requirement!"])
    assert remedy(examined()).lines == (f"wheelmill install demo --python-path {PY}",)


def test_of_aliases_for_two_cudas_the_one_without_its_wheel_is_removed(site: Path, examined: Examine) -> None:
    install_sound(site)
    install(site, "demo", "1.0+cu130torch2.11", {"demo.py": b""}, requires=["torch==2.11.*"])
    for alias, version in (("demo-cu12", "1.0+cu128torch2.11"), ("demo-cu13", "1.0+cu130torch2.11")):
        install(site, alias, version, {}, requires=[f"demo=={version}"])
    assert remedy(examined()).lines == (f"uv pip uninstall --python {PY} demo-cu12",)


def test_the_wheel_of_an_alias_is_chosen_again(site: Path, examined: Examine) -> None:
    install_sound(site)
    install(site, "demo-cu13", "1.0+cu130torch2.11", {}, requires=["demo==1.0+cu130torch2.11"])
    assert remedy(examined()).lines == (f"wheelmill install demo --python-path {PY}",)


def test_a_wheel_without_torch_is_chosen_for_the_driver(site: Path, examined: Examine) -> None:
    install(site, "demo", "1.0+cu130", {"demo.py": b""})
    assert remedy(examined(replace(NO_TORCH, driver="535.104.05"))).lines[0].startswith("wheelmill install ")


def test_what_the_projects_lock_has_comes_from_there_again(site: Path, examined: Examine, tmp_path: Path) -> None:
    lock, flash = tmp_path / "uv.lock", project_name("flash-attn")
    lock.touch()
    install(site, flash, "2.8.3+cu130torch2.11", FLASH_FILES, requires=["torch"])
    (site / "flash_attn" / "__init__.py").unlink()
    found = examined(NO_TORCH)
    torch, files = named(found)
    remedies = Remedies(examined=found, uv="uv", lock=lock, locked=frozenset((flash, project_name("torch"))))
    sync = f"uv sync --project {tmp_path} --frozen --inexact --reinstall-package"
    assert [remedies.remedy_of(each).lines for each in (torch, files)] == [(f"{sync} torch",), (f"{sync} flash-attn",)]
    without = replace(remedies, locked=frozenset())
    assert without.remedy_of(files).lines == (f"wheelmill install flash-attn --python-path {PY}",)


def test_a_labelled_wheel_comes_from_its_url_again(site: Path, examined: Examine) -> None:
    url = "https://x.example/demo-1.0%2Bcu130-py3-none-any.whl"
    install(site, "demo", "1.0+cu130", {"demo.py": b"x"}, origin=url, tag="py3-none-any")
    (site / "demo.py").unlink()
    (line,) = remedy(examined(NO_TORCH)).lines
    assert line == f"uv pip install --python {PY} --reinstall --no-deps 'demo @ {url}'"
