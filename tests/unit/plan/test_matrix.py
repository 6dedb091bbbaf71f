"""Which wheels are wanted, and the words in which the others are refused."""

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest

from wheelmill.config.load import load_config
from wheelmill.config.records import (
    BuildArguments,
    Compatibility,
    Config,
    CudaRelease,
    Lock,
    LockedSdist,
    Package,
    TorchRelease,
)
from wheelmill.errors import UsageError
from wheelmill.names import (
    Architecture,
    CudaVersion,
    Platform,
    PythonVersion,
    ReleaseTag,
    Sha256,
    TorchVersion,
    project_name,
    project_version,
)
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.records import BuildTarget, Cell, Filters

MISSION = Path(__file__).parents[2] / "data" / "mission"

DEMO, PLAIN = project_name("demo"), project_name("plain")
V1, V2 = project_version("1.0"), project_version("2.0")
CUDA_12, CUDA_13 = CudaVersion(12, 8), CudaVersion(13, 0)
TORCH_9, TORCH_11 = TorchVersion(2, 9), TorchVersion(2, 11)
PY_12, PY_13T = PythonVersion(3, 12), PythonVersion(3, 13, free_threaded=True)
X86, ARM = Platform("linux_x86_64"), Platform("linux_aarch64")
VOLTA, HOPPER, BLACKWELL = Architecture(7, 0), Architecture(9, 0), Architecture(12, 0, ptx=True)
LOCKED = LockedSdist(filename="demo-1.0.tar.gz", sha256=Sha256("1" * 64))

PACKAGE = Package(
    name=DEMO,
    versions=(V1, V2),
    build_arguments=BuildArguments(isolation=False, config_settings=()),
    extra_deps=("ninja", "Torch>=2"),
    env=(),
    architectures=(VOLTA, BLACKWELL),
    test_import="demo",
    description="",
    source=None,
)
CONFIG = Config(
    directory=Path("config"),
    packages={
        DEMO: PACKAGE,
        PLAIN: replace(PACKAGE, name=PLAIN, versions=(V1,), extra_deps=(), source=Path("config/plain")),
    },
    compatibility=Compatibility(
        checked=dt.date(2026, 11, 21),
        cuda={
            CUDA_13: CudaRelease(toolkit="13.0.2", architectures=frozenset({"9.0", "12.0"})),
            CUDA_12: CudaRelease(toolkit="12.8.1", architectures=frozenset({"7.0", "9.0", "12.0"})),
        },
        torch={
            TORCH_11: TorchRelease(release="2.11.0", cuda=frozenset({CUDA_12, CUDA_13}), python=frozenset({PY_12})),
            TORCH_9: TorchRelease(release="2.9.1", cuda=frozenset({CUDA_12}), python=frozenset({PY_12, PY_13T})),
        },
        platforms=(X86, ARM),
    ),
    lock=Lock(sdists={(DEMO, V1): LOCKED}),
)

CELL = Cell(project=DEMO, version=V1, python=PY_12, cuda=CUDA_13, torch=TORCH_11, platform=X86)
ONE = Filters(
    projects=(DEMO,), versions=(V1,), pythons=(PY_12,), cudas=(CUDA_13,), torches=(TORCH_11,), platforms=(X86,)
)


def target(config: Config = CONFIG, filters: Filters = ONE) -> BuildTarget:
    (only,) = make_plan(config, filters, {}).targets
    return only


def test_a_target_has_all_that_its_build_needs() -> None:
    assert target() == BuildTarget(
        cell=CELL,
        package=PACKAGE,
        source=LOCKED,
        toolkit="13.0.2",
        torch_release="2.11.0",
        architectures=(BLACKWELL,),
    )


def test_what_is_not_locked_yet_is_planned_without_a_source() -> None:
    assert target(filters=replace(ONE, versions=(V2,))).source is None


def test_a_package_that_does_not_link_to_torch_has_no_torch_axis() -> None:
    without_torch = target(filters=replace(ONE, projects=(PLAIN,)))
    assert without_torch.cell == replace(CELL, project=PLAIN, torch=None)
    assert without_torch.torch_release is None
    assert without_torch.source == Path("config/plain")


def test_cells_follow_each_other_from_version_to_python() -> None:
    planned = make_plan(CONFIG, Filters(projects=(DEMO,), platforms=(X86,)), {})
    assert [target.cell.id for target in planned.targets] == [
        "demo-1.0+cu128torch2.9-cp312-linux_x86_64",
        "demo-1.0+cu128torch2.9-cp313t-linux_x86_64",
        "demo-1.0+cu128torch2.11-cp312-linux_x86_64",
        "demo-1.0+cu130torch2.11-cp312-linux_x86_64",
        "demo-2.0+cu128torch2.9-cp312-linux_x86_64",
        "demo-2.0+cu128torch2.9-cp313t-linux_x86_64",
        "demo-2.0+cu128torch2.11-cp312-linux_x86_64",
        "demo-2.0+cu130torch2.11-cp312-linux_x86_64",
    ]


def test_cells_that_differ_only_in_python_are_one_group() -> None:
    other_python = replace(CELL, python=PY_13T)
    assert CELL.group == other_python.group == "demo-1.0+cu130torch2.11-linux_x86_64"
    assert replace(CELL, platform=ARM).group != CELL.group


@pytest.mark.parametrize(
    ("filters", "reason"),
    [
        (replace(ONE, platforms=(Platform("win_amd64"),)), "platform win_amd64 is not in compatibility.yml"),
        (replace(ONE, cudas=(CudaVersion(12, 1),)), "CUDA 12.1 is not in compatibility.yml"),
        (replace(ONE, pythons=(PythonVersion(3, 8),)), "Python 3.8 is not in compatibility.yml"),
        (replace(ONE, torches=(TorchVersion(2, 1),)), "torch 2.1 is not in compatibility.yml"),
        (replace(ONE, torches=(TORCH_9,)), "torch 2.9 is not published for CUDA 13.0 (only for 12.8)"),
        (replace(ONE, pythons=(PY_13T,)), "torch 2.11 is not published for Python 3.13t"),
    ],
)
def test_what_cannot_be_is_skipped_for_a_reason(filters: Filters, reason: str) -> None:
    planned = make_plan(CONFIG, filters, {})
    assert planned.targets == ()
    assert [skip.reason for skip in planned.skips] == [reason]


def test_a_package_that_no_gpu_of_a_cuda_release_could_run_is_skipped() -> None:
    old = replace(CONFIG, packages={DEMO: replace(PACKAGE, architectures=(VOLTA, Architecture(10, 0, "a")))})
    (skip,) = make_plan(old, ONE, {}).skips
    assert skip.reason == "CUDA 13.0 compiles for none of its GPU architectures (7.0, 10.0a)"


def test_what_is_published_is_skipped_unless_it_is_forced() -> None:
    published = {CELL: ReleaseTag("v2026-11-21")}
    planned = make_plan(CONFIG, ONE, published)
    assert [skip.reason for skip in planned.skips] == ["already published in v2026-11-21"]
    assert make_plan(CONFIG, replace(ONE, force=True), published).targets == (target(),)


def test_an_unknown_project_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(UsageError, match=r"^demoo: not in packages\.yml$") as caught:
        make_plan(CONFIG, Filters(projects=(DEMO, project_name("demoo"))), {})
    assert caught.value.hint == "it has demo, plain"


def test_an_unknown_version_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(UsageError, match=r"^version 3\.0 is not in packages\.yml$") as caught:
        make_plan(CONFIG, Filters(versions=(V1, project_version("3.0"))), {})
    assert caught.value.hint == "demo has 1.0, 2.0; plain has 1.0"


def test_every_cell_of_the_form_that_people_have_is_built_or_explained() -> None:
    wanted = Filters(
        pythons=(PythonVersion.parse("3.12"), PythonVersion.parse("3.13")),
        cudas=(CudaVersion.parse("12.1.0"), CudaVersion.parse("13.0")),
        torches=(TorchVersion.parse("2.11"),),
        platforms=(X86,),
    )
    planned = make_plan(load_config(MISSION), wanted, {})
    assert [target.cell.id for target in planned.targets] == [
        f"flash-attn-{version}+cu130torch2.11-{python}-linux_x86_64"
        for version in ("2.5.0", "2.5.6")
        for python in ("cp312", "cp313")
    ]
    assert [(skip.cell.version, str(skip.cell.python)) for skip in planned.skips] == [
        (version, python) for version in ("2.5.0", "2.5.6") for python in ("3.12", "3.13")
    ]
    assert {skip.reason for skip in planned.skips} == {"CUDA 12.1 is not in compatibility.yml"}
