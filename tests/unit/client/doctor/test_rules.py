from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.unit.client.targets import LINUX
from wheelmill.client.doctor.examination import defects_of_environment, defects_of_project
from wheelmill.client.doctor.inventory import Examined, ImportPath, Installed
from wheelmill.client.doctor.rules import Defect, DefectCode
from wheelmill.client.install.distributions import Distribution
from wheelmill.client.project.pyproject import PyprojectEditor
from wheelmill.client.records import TargetEnvironment
from wheelmill.config.load import load_config
from wheelmill.names import ProjectName, TorchVersion, project_name
from wheelmill.system import own_installation
from wheelmill.wheel.torch_symbols import TorchFit, TorchWindow

FACTS = load_config(own_installation.CONFIG).compatibility
FLASH = project_name("flash-attn")


def defects_of(
    environment: TargetEnvironment,
    *installed: Distribution,
    windows: Mapping[ProjectName, TorchWindow] = MappingProxyType({}),
) -> list[Defect]:
    known = type("Known", (Examined,), {"windows": windows})
    path = ImportPath(folders=(), prefix=Path("/env"))
    found = [Installed(distribution=each) for each in installed]
    return list(defects_of_environment(known(environment=environment, facts=FACTS, path=path, installed=found)))


def flash(version: str, *requires: str) -> Distribution:
    return Distribution(project=FLASH, version=version, requires_dist=requires)


@pytest.mark.parametrize(
    ("version", "code"),
    [
        ("2.8.3+cu130torch2.11", None),
        ("2.8.3+cu13torch2.11cxx11abiTRUE", None),
        ("2.8.3+cu130torch2.10", DefectCode.TORCH),
        ("2.8.3+cu130.torch211", None),
        ("2.8.3+cu130.torch210", DefectCode.TORCH),
        ("2.8.3+torch211", None),
        ("2.8.3+cu128torch2.11", DefectCode.CUDA),
        ("2.8.3+cu13torch2.11cxx11abiFALSE", DefectCode.ABI),
        ("2.8.3", None),
    ],
)
def test_a_wheel_for_another_torch_is_found(version: str, code: DefectCode | None) -> None:
    environment = replace(LINUX, cxx11_abi=True)
    found = defects_of(environment, flash(version))
    assert [defect.code for defect in found] == ([code] if code else [])


@pytest.mark.parametrize(
    ("version", "requirement", "detail"),
    [
        ("2.8.3+cu130", "torch>=2.10", None),
        ("2.8.3+cu130", "torch>=2.12", "built for any torch from 2.12, but 2.11 is installed"),
        ("2.8.3+cu130", "torch<2.11,>=2.9", "built for any torch from 2.9, below 2.11, but 2.11 is installed"),
        ("2.8.3+cu130torch2.11", "torch>=2.12", None),
        ("2.8.3", "torch>=2.12", None),
        ("2.8.3+cu13torch2.12.0andhigher", "torch", "built for any torch from 2.12, but 2.11 is installed"),
    ],
)
def test_a_wheel_for_many_torches_must_match_its_range(version: str, requirement: str, detail: str | None) -> None:
    found = defects_of(LINUX, flash(version, requirement))
    assert [defect.detail for defect in found] == ([detail] if detail else [])


WINDOW = TorchWindow(symbols=2, cuda=False, torches=(TorchFit(torch="2.10"), TorchFit(torch="2.11", lacks=("gone",))))


def test_a_wheel_whose_symbols_the_torch_lacks_is_found() -> None:
    (defect,) = defects_of(LINUX, flash("2.8.3"), windows={FLASH: WINDOW})
    assert defect.code is DefectCode.TORCH
    assert defect.detail.endswith(" lacks gone")


def test_of_a_wheel_for_another_torch_its_symbols_are_told() -> None:
    (defect,) = defects_of(LINUX, flash("2.8.3+cu130torch2.10"), windows={FLASH: WINDOW})
    assert str(WINDOW) in defect.detail


def test_a_torch_that_is_not_known_is_no_defect() -> None:
    environment = replace(LINUX, torch=TorchVersion(2, 12))
    assert defects_of(environment, flash("2.8.3"), windows={FLASH: WINDOW}) == []


@pytest.mark.parametrize(
    ("version", "requires", "found"),
    [
        ("1.0+cu130", (), ["CUDA 13.0 needs driver 580.65.06 or newer, and here is 535.104.05"]),
        ("1.0+cu124", (), []),
        ("1.0", (), []),
        ("1.0+cu130", ("torch",), []),
    ],
    ids=["too old", "new enough", "no label", "torch says it"],
)
def test_an_old_driver_is_found_without_torch(version: str, requires: tuple[str, ...], found: list[str]) -> None:
    environment = replace(LINUX, driver="535.104.05", torch=None, cuda=None)
    defects = defects_of(environment, flash(version, *requires))
    assert [defect.detail for defect in defects if defect.code is DefectCode.DRIVER] == found


def test_what_two_folders_list_in_one_version_is_no_fault() -> None:
    assert defects_of(LINUX, flash("2.8.3"), flash("2.8.3")) == []


def test_what_the_usual_index_may_replace_is_found(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(
        '[project]\ndependencies = ["flash-attn", "mamba-ssm @ https://x.example/mamba_ssm-1-py3-none-any.whl"]\n'
        '[tool.wheelmill]\npackages = ["flash-attn", "mamba-ssm"]\n'
    )
    found = [(defect.code, defect.subject) for defect in defects_of_project(PyprojectEditor.read(path))]
    assert found == [(DefectCode.SHADOWED, "flash-attn"), (DefectCode.HASH, "mamba-ssm")]


DEMO, DEMO_CU12, DEMO_CU13 = map(project_name, ("demo", "demo-cu12", "demo-cu13"))
CU12, CU13 = "1.0+cu128torch2.11", "1.0+cu130torch2.11"


def alias(project: ProjectName, version: str) -> Distribution:
    return Distribution(project=project, version=version, requires_dist=(f"demo=={version}",))


def demo(version: str) -> Distribution:
    return Distribution(project=DEMO, version=version, requires_dist=("torch==2.11.*",))


def test_an_alias_beside_its_wheel_is_right() -> None:
    assert defects_of(LINUX, demo(CU13), alias(DEMO_CU13, CU13)) == []


def test_of_aliases_for_two_cudas_one_is_wrong() -> None:
    (defect,) = defects_of(LINUX, demo(CU13), alias(DEMO_CU12, CU12), alias(DEMO_CU13, CU13))
    assert defect == Defect(
        code=DefectCode.ALIAS,
        subject=f"demo-cu12 {CU12}",
        detail=f"stands for demo {CU12}, but demo {CU13} is installed",
        project=DEMO_CU12,
    )


def test_an_alias_without_its_wheel_is_told() -> None:
    (defect,) = defects_of(LINUX, alias(DEMO_CU13, CU13))
    assert (defect.code, defect.project) == (DefectCode.ALIAS, DEMO)
    assert f"demo {CU13}" in defect.detail


def test_what_is_wrong_with_a_wheel_is_told_once() -> None:
    defects = defects_of(LINUX, demo(CU12), alias(DEMO_CU12, CU12))
    assert [(each.code, each.project) for each in defects] == [(DefectCode.CUDA, DEMO)]


@pytest.mark.parametrize("requires", [(), ("demo",), ("demo==1.0",), ("demo==",), (f"demo=={CU13}", "einops")])
def test_a_package_that_requires_anything_else_is_no_alias(requires: tuple[str, ...]) -> None:
    assert Distribution(project=DEMO_CU13, version=CU13, requires_dist=requires).stands_for is None
