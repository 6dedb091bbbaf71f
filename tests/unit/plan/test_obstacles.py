"""Which cells can become wheels, and the words in which the others are refused."""

import datetime as dt
from dataclasses import replace

import pytest
from packaging.specifiers import SpecifierSet

from tests.unit.plan.examples import (
    ARM,
    CELL,
    CUDA_12,
    CUDA_13,
    FACTS,
    PACKAGE,
    PY_13T,
    TORCH_9,
    TORCH_11,
    V2,
    VOLTA,
    X86,
)
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.config.model.package import Package
from wheelmill.config.model.package_parts import ArchitectureRule, MatrixRule
from wheelmill.names import (
    Architecture,
    CudaVersion,
    Platform,
    PythonVersion,
    StableTorch,
    TorchVersion,
    project_version,
)
from wheelmill.plan.matrix import architectures_for, find_obstacle
from wheelmill.plan.targets import Cell, Obstacle


def reason_against(cell: Cell, package: Package, facts: Compatibility) -> str | None:
    skip = find_obstacle(cell, package, facts)
    return skip.reason if skip else None


WITHOUT_TORCH = replace(CELL, torch=None)


STABLE = StableTorch(oldest=TORCH_9)
OLD = MatrixRule(version=SpecifierSet("<2"), cuda=SpecifierSet(">=13"), reason="1.x does not know CUDA 13")
NO_ARM = MatrixRule(platform=(ARM,), reason="Its assembly is for x86")
EXCLUDING = replace(PACKAGE, exclude=(OLD, NO_ARM))
WITH_TORCH_ALONE = MatrixRule(torch=SpecifierSet(">=2"), reason="Breaks with torch")


@pytest.mark.parametrize(
    ("cell", "package", "expected"),
    [
        (CELL, PACKAGE, None),
        # What the facts do not have.
        (replace(CELL, cuda=CudaVersion(12, 1)), PACKAGE, (Obstacle.UNKNOWN, "CUDA 12.1")),
        (replace(CELL, torch=TorchVersion(2, 1)), PACKAGE, (Obstacle.UNKNOWN, "torch 2.1")),
        (replace(WITHOUT_TORCH, python=PY_13T), PACKAGE, (Obstacle.UNKNOWN, "Python 3.13t")),
        (replace(CELL, python=PythonVersion(3, 8)), PACKAGE, (Obstacle.UNKNOWN, "Python 3.8")),
        (replace(CELL, torch=TORCH_9), PACKAGE, (Obstacle.NO_TORCH, "CUDA 13.0 on linux_x86_64 (12.8")),
        (
            replace(CELL, torch=TORCH_9, cuda=CUDA_12, platform=ARM),
            PACKAGE,
            (Obstacle.NO_TORCH, "CUDA 12.8 on linux_aarch64 (no CUDA"),
        ),
        (replace(CELL, python=PY_13T), PACKAGE, (Obstacle.NO_TORCH, "Python 3.13t")),
        # A wheel for many torches needs one of them.
        (replace(CELL, torch=STABLE), PACKAGE, None),
        (replace(CELL, torch=STABLE, cuda=CUDA_12, python=PY_13T), PACKAGE, None),
        (replace(CELL, torch=STABLE, python=PY_13T), PACKAGE, (Obstacle.NO_TORCH, "torch>=2.9")),
        (replace(CELL, torch=StableTorch(oldest=TorchVersion(2, 99))), PACKAGE, (Obstacle.NO_TORCH, "torch>=2.99")),
        # What the entry is for.
        (CELL, replace(PACKAGE, python=SpecifierSet(">=3.13")), (Obstacle.LEFT_OUT, "Python >=3.13")),
        (CELL, replace(PACKAGE, cuda=SpecifierSet("==12.*")), (Obstacle.LEFT_OUT, "CUDA ==12.*")),
        (CELL, replace(PACKAGE, torch=SpecifierSet(">2.11")), (Obstacle.LEFT_OUT, "torch >2.11")),
        (CELL, replace(PACKAGE, platforms=(ARM,)), (Obstacle.LEFT_OUT, "linux_aarch64")),
        (CELL, replace(PACKAGE, python=SpecifierSet(">=3.9"), cuda=SpecifierSet("<14")), None),
        (CELL, replace(PACKAGE, torch=SpecifierSet(">=2.2,<3"), platforms=(ARM, X86)), None),
        (CELL, replace(PACKAGE, python=SpecifierSet("==3.12"), cuda=SpecifierSet("~=13.0")), None),
        (
            replace(CELL, torch=TORCH_9, cuda=CUDA_12, python=PY_13T),  # free-threaded ones are in a range, too
            replace(PACKAGE, python=SpecifierSet("==3.13")),
            None,
        ),
        # Rules of the entry, of which the first counts.
        (CELL, EXCLUDING, (Obstacle.LEFT_OUT, OLD.reason)),
        (replace(CELL, platform=ARM), EXCLUDING, (Obstacle.LEFT_OUT, OLD.reason)),
        (replace(CELL, version=V2, platform=ARM), EXCLUDING, (Obstacle.LEFT_OUT, NO_ARM.reason)),
        (replace(CELL, version=project_version("1.9rc1")), EXCLUDING, (Obstacle.LEFT_OUT, OLD.reason)),
        (replace(CELL, version=V2), EXCLUDING, None),
        (replace(CELL, cuda=CUDA_12), EXCLUDING, None),
        (WITHOUT_TORCH, replace(PACKAGE, extra_deps=(), exclude=(WITH_TORCH_ALONE,)), None),
        (
            CELL,
            replace(PACKAGE, exclude=(replace(OLD, since=dt.date(2026, 11, 21)),)),
            (Obstacle.LEFT_OUT, f"{OLD.reason} (since 2026-11-21)"),
        ),
        # A licence.
        (
            CELL,
            replace(PACKAGE, licence="LicenseRef-NVIDIA", redistributable=False),
            (Obstacle.LICENCE, "(LicenseRef-NVIDIA)"),
        ),
        (CELL, replace(PACKAGE, licence=None, redistributable=False), (Obstacle.LICENCE, "(not stated)")),
    ],
)
def test_a_cell_is_refused_by_its_obstacle(cell: Cell, package: Package, expected: tuple[Obstacle, str] | None) -> None:
    skip = find_obstacle(cell, package, FACTS)
    if expected is None:
        assert skip is None
    else:
        assert skip is not None
        assert skip.obstacle is expected[0]
        assert expected[1] in skip.reason


def test_a_torch_may_lack_a_python_on_one_platform() -> None:
    torch = FACTS.torch[TORCH_11]
    python = {X86: frozenset({CELL.python, PY_13T}), ARM: frozenset({CELL.python})}
    facts = replace(FACTS, torch=replace(FACTS.torch, releases={TORCH_11: replace(torch, python=python)}))
    assert reason_against(replace(CELL, python=PY_13T), PACKAGE, facts) is None
    reason = reason_against(replace(CELL, python=PY_13T, platform=ARM), PACKAGE, facts)
    assert "Python 3.13t on linux_aarch64" in str(reason)


INCLUDED = MatrixRule(platform=(X86,), reason="Built from source")


@pytest.mark.parametrize(
    ("cell", "lifted"),
    [
        (replace(CELL, torch=TORCH_9), True),
        (replace(CELL, python=PY_13T), True),
        (replace(CELL, torch=TORCH_9, platform=ARM), False),
        (replace(CELL, python=PY_13T, platform=ARM), False),
    ],
)
def test_an_included_cell_need_not_be_published(cell: Cell, *, lifted: bool) -> None:
    assert reason_against(cell, PACKAGE, FACTS) is not None
    assert (reason_against(cell, replace(PACKAGE, include=(INCLUDED,)), FACTS) is None) == lifted


def test_an_included_cell_still_needs_facts_scope_and_architectures() -> None:
    everything = replace(PACKAGE, include=(MatrixRule(reason="All of it"),))
    assert reason_against(replace(CELL, cuda=CudaVersion(12, 1)), everything, FACTS) is not None
    assert reason_against(replace(CELL, python=PythonVersion(3, 8)), everything, FACTS) is not None
    assert reason_against(CELL, replace(everything, exclude=(OLD,)), FACTS) == OLD.reason
    assert reason_against(CELL, replace(everything, platforms=(ARM,)), FACTS) is not None
    assert reason_against(CELL, replace(everything, architectures=(VOLTA,)), FACTS) is not None


def test_a_package_that_no_gpu_of_a_cuda_release_could_run_is_refused() -> None:
    old = replace(PACKAGE, architectures=(VOLTA, Architecture(10, 0, "a")))
    assert "(7.0, 10.0a)" in str(reason_against(CELL, old, FACTS))
    assert architectures_for(old, replace(CELL, cuda=CUDA_12), FACTS) == (VOLTA,)


def rule(*architectures: str, cuda: str = "", platform: Platform | None = None) -> ArchitectureRule:
    """A rule of packages.yml."""
    return ArchitectureRule(
        list=tuple(map(Architecture.parse, architectures)),
        cuda=SpecifierSet(cuda) if cuda else None,
        platform=(platform,) if platform else None,
    )


RULES = (rule("9.0", "12.0", cuda=">=13", platform=ARM), rule("12.0", cuda=">=13"), rule("7.0", platform=X86))


@pytest.mark.parametrize(
    ("cuda", "platform", "expected"),
    [(CUDA_13, ARM, ("9.0", "12.0")), (CUDA_13, X86, ("12.0",)), (CUDA_12, X86, ("7.0",)), (CUDA_12, ARM, ())],
)
def test_the_first_match_has_the_architectures(
    cuda: CudaVersion, platform: Platform, expected: tuple[str, ...]
) -> None:
    cell = replace(CELL, cuda=cuda, platform=platform)
    chosen = architectures_for(replace(PACKAGE, architectures=RULES), cell, FACTS)
    assert tuple(map(str, chosen)) == expected


def test_a_cell_that_no_rule_is_for_is_refused() -> None:
    cell, package = replace(CELL, cuda=CUDA_12, platform=ARM), replace(PACKAGE, architectures=RULES)
    assert "CUDA 12.8 on linux_aarch64" in str(reason_against(cell, package, FACTS))


@pytest.mark.parametrize(
    ("wanted", "compiled"),
    [
        ("7.0 9.0 12.1+PTX", "7.0 9.0+PTX"),  # 12.1 is newer than the toolkit
        ("9.0 7.0 12.1+PTX", "9.0+PTX 7.0"),
        ("7.0+PTX 9.0 12.1+PTX", "7.0+PTX 9.0"),  # one that is known has it already
        ("7.0 9.0 12.1", "7.0 9.0"),  # nobody asked for any
        ("7.0 9.0a 12.1+PTX", "7.0+PTX"),
        ("9.0a 12.1+PTX", ""),
    ],
)
def test_ptx_that_a_toolkit_is_too_old_for_is_that_of_the_newest_it_knows(wanted: str, compiled: str) -> None:
    package = replace(PACKAGE, architectures=tuple(map(Architecture.parse, wanted.split())))
    chosen = architectures_for(package, replace(CELL, cuda=CUDA_12), FACTS)
    assert " ".join(map(str, chosen)) == compiled
