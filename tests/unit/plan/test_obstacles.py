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
from wheelmill.config.model import ArchitectureRule, Compatibility, MatrixRule, Package
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
from wheelmill.plan.targets import Cell


def reason_against(cell: Cell, package: Package, facts: Compatibility) -> str | None:
    skip = find_obstacle(cell, package, facts)
    return skip.reason if skip else None


WITHOUT_TORCH = replace(CELL, torch=None)


NO_TORCH_9 = "torch 2.9 is not published for"
STABLE = StableTorch(oldest=TORCH_9)
OLD = MatrixRule(version=SpecifierSet("<2"), cuda=SpecifierSet(">=13"), reason="1.x does not know CUDA 13")
NO_ARM = MatrixRule(platform=(ARM,), reason="Its assembly is for x86")
EXCLUDING = replace(PACKAGE, exclude=(OLD, NO_ARM))
WITH_TORCH_ALONE = MatrixRule(torch=SpecifierSet(">=2"), reason="Breaks with torch")


@pytest.mark.parametrize(
    ("cell", "package", "reason"),
    [
        (CELL, PACKAGE, None),
        # What the facts do not have.
        (replace(CELL, cuda=CudaVersion(12, 1)), PACKAGE, "CUDA 12.1 is not in compatibility.yml"),
        (replace(CELL, torch=TorchVersion(2, 1)), PACKAGE, "torch 2.1 is not in compatibility.yml"),
        (replace(WITHOUT_TORCH, python=PY_13T), PACKAGE, "Python 3.13t is not in compatibility.yml"),
        (replace(CELL, python=PythonVersion(3, 8)), PACKAGE, "Python 3.8 is not in compatibility.yml"),
        (
            replace(CELL, torch=TORCH_9),
            PACKAGE,
            f"{NO_TORCH_9} CUDA 13.0 on linux_x86_64 (12.8 there)",
        ),
        (
            replace(CELL, torch=TORCH_9, cuda=CUDA_12, platform=ARM),
            PACKAGE,
            f"{NO_TORCH_9} CUDA 12.8 on linux_aarch64 (no CUDA there)",
        ),
        (replace(CELL, python=PY_13T), PACKAGE, "torch 2.11 is not published for Python 3.13t"),
        # A wheel for many torches needs one of them.
        (replace(CELL, torch=STABLE), PACKAGE, None),
        (replace(CELL, torch=STABLE, cuda=CUDA_12, python=PY_13T), PACKAGE, None),
        (
            replace(CELL, torch=STABLE, python=PY_13T),
            PACKAGE,
            "no torch>=2.9 is published for CUDA 13.0 on linux_x86_64 and Python 3.13t",
        ),
        (
            replace(CELL, torch=StableTorch(oldest=TorchVersion(2, 99))),
            PACKAGE,
            "no torch>=2.99 is published for CUDA 13.0 on linux_x86_64 and Python 3.12",
        ),
        # What the entry is for.
        (CELL, replace(PACKAGE, python=SpecifierSet(">=3.13")), "its entry is for Python >=3.13 only"),
        (CELL, replace(PACKAGE, cuda=SpecifierSet("==12.*")), "its entry is for CUDA ==12.* only"),
        (CELL, replace(PACKAGE, torch=SpecifierSet(">2.11")), "its entry is for torch >2.11 only"),
        (CELL, replace(PACKAGE, platforms=(ARM,)), "its entry is for linux_aarch64 only"),
        (CELL, replace(PACKAGE, python=SpecifierSet(">=3.9"), cuda=SpecifierSet("<14")), None),
        (CELL, replace(PACKAGE, torch=SpecifierSet(">=2.2,<3"), platforms=(ARM, X86)), None),
        (CELL, replace(PACKAGE, python=SpecifierSet("==3.12"), cuda=SpecifierSet("~=13.0")), None),
        (
            replace(CELL, torch=TORCH_9, cuda=CUDA_12, python=PY_13T),  # free-threaded ones are in a range, too
            replace(PACKAGE, python=SpecifierSet("==3.13")),
            None,
        ),
        # Rules of the entry, of which the first counts.
        (CELL, EXCLUDING, OLD.reason),
        (replace(CELL, platform=ARM), EXCLUDING, OLD.reason),
        (replace(CELL, version=V2, platform=ARM), EXCLUDING, NO_ARM.reason),
        (replace(CELL, version=project_version("1.9rc1")), EXCLUDING, OLD.reason),
        (replace(CELL, version=V2), EXCLUDING, None),
        (replace(CELL, cuda=CUDA_12), EXCLUDING, None),
        (WITHOUT_TORCH, replace(PACKAGE, extra_deps=(), exclude=(WITH_TORCH_ALONE,)), None),
        (
            CELL,
            replace(PACKAGE, exclude=(replace(OLD, since=dt.date(2026, 11, 21)),)),
            f"{OLD.reason} (since 2026-11-21)",
        ),
        # A licence.
        (
            CELL,
            replace(PACKAGE, licence="LicenseRef-NVIDIA", redistributable=False),
            "its licence (LicenseRef-NVIDIA) does not let others be given the wheel",
        ),
        (
            CELL,
            replace(PACKAGE, licence=None, redistributable=False),
            "its licence (not stated) does not let others be given the wheel",
        ),
    ],
)
def test_a_cell_is_refused_for_what_stands_against_it(cell: Cell, package: Package, reason: str | None) -> None:
    assert reason_against(cell, package, FACTS) == reason


def test_a_torch_may_lack_a_python_on_one_platform() -> None:
    torch = FACTS.torch[TORCH_11]
    python = {X86: frozenset({CELL.python, PY_13T}), ARM: frozenset({CELL.python})}
    facts = replace(FACTS, torch=replace(FACTS.torch, releases={TORCH_11: replace(torch, python=python)}))
    assert reason_against(replace(CELL, python=PY_13T), PACKAGE, facts) is None
    reason = reason_against(replace(CELL, python=PY_13T, platform=ARM), PACKAGE, facts)
    assert reason == "torch 2.11 is not published for Python 3.13t on linux_aarch64"


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
    assert reason_against(CELL, old, FACTS) == "CUDA 13.0 compiles for none of its GPU architectures (7.0, 10.0a)"
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
    [
        (CUDA_13, ARM, ("9.0", "12.0")),
        (CUDA_13, X86, ("12.0",)),
        (CUDA_12, X86, ("7.0",)),
        (CUDA_12, ARM, ()),
    ],
)
def test_the_first_rule_that_matches_says_the_architectures(
    cuda: CudaVersion, platform: Platform, expected: tuple[str, ...]
) -> None:
    cell = replace(CELL, cuda=cuda, platform=platform)
    chosen = architectures_for(replace(PACKAGE, architectures=RULES), cell, FACTS)
    assert tuple(map(str, chosen)) == expected


def test_a_cell_that_no_rule_is_for_is_refused() -> None:
    cell, package = replace(CELL, cuda=CUDA_12, platform=ARM), replace(PACKAGE, architectures=RULES)
    assert reason_against(cell, package, FACTS) == "no rule of its architectures is for CUDA 12.8 on linux_aarch64"


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
