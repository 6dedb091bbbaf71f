"""For every Python x CUDA x torch x platform of real names, the wheel that is chosen is for exactly that one."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import islice, product

import pytest
from packaging.requirements import Requirement
from packaging.tags import Tag

from tests.flash_attn_wheels import NAMES
from tests.unit.client.conftest import candidates
from wheelmill.client.choose.choice import choose
from wheelmill.client.records import Candidate, TargetEnvironment
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.names import CudaVersion, Platform, PythonVersion, TorchVersion, project_name
from wheelmill.wheel.platforms import Libc

LIBC = Libc("glibc", 2, 39)
PYTHONS = [*map(PythonVersion.parse, ("3.9", "3.10", "3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t"))]

Cell = tuple[PythonVersion, Platform, TorchVersion, CudaVersion]


def platform_of(tag: Tag) -> Platform:
    processor = next(each for each in ("x86_64", "aarch64", "amd64") if tag.platform.endswith(each))
    return Platform.parse(f"{'win' if tag.platform.startswith('win') else 'linux'}_{processor}")


def runs(tag: Tag, python: PythonVersion) -> bool:
    """Whether a tag is for a Python: its own ABI, or the stable one from some release on, which needs a GIL."""
    if tag.abi != "abi3":
        return tag.abi == python.abi
    return not python.free_threaded and PythonVersion.parse(tag.interpreter) <= python


def wheels_by_cell(wheels: Sequence[Candidate]) -> dict[Cell, set[str]]:
    """The names of the wheels for each combination, told from tags and labels alone."""
    found = defaultdict(set)
    for wheel, python in product(wheels, PYTHONS):
        for tag in wheel.tags:
            if runs(tag, python) and isinstance(wheel.label.torch, TorchVersion) and wheel.label.cuda:
                found[python, platform_of(tag), wheel.label.torch, wheel.label.cuda].add(wheel.filename)
    return dict(found)


@pytest.mark.parametrize("project", ["flash-attn", "flash-attn-3"])
def test_the_chosen_wheel_is_for_the_target(project: str, facts: Compatibility, pytestconfig: pytest.Config) -> None:
    """A combination without a wheel gets one for an older CUDA of the same major release, or none."""
    wheels = candidates(NAMES, project)
    by_cell = wheels_by_cell(wheels)
    pythons, platforms, torches, cudas = (sorted(set(values)) for values in zip(*by_cell, strict=True))
    step = 1 if pytestconfig.getoption("--nightly") else 29
    sample = [*islice(product(pythons, platforms, torches, cudas), 0, None, step)]
    assert [set(values) for values in zip(*sample, strict=True)] == [*map(set, (pythons, platforms, torches, cudas))]
    for cell in sample:
        python, platform, torch, cuda = cell
        offered = wheels if cell in by_cell else [wheel for wheel in wheels if wheel.label.torch == torch]
        target = TargetEnvironment(
            python=python,
            python_release=None,
            interpreter=None,
            platform=platform,
            libc=LIBC if platform.is_linux else None,
            torch=torch,
            cuda=cuda,
        )
        choices = choose([Requirement(project)], target, {project_name(project): offered}, facts).choices.values()
        chosen = next((choice.candidate.filename for choice in choices), None)
        before = [each for each in cudas if each.major == cuda.major and each < cuda]
        older = (by_cell.get((python, platform, torch, each), set()) for each in before)
        expected = by_cell.get(cell) or set[str]().union(*older)
        assert chosen in expected if expected else chosen is None, cell


def test_the_pages_names_are_all_read() -> None:
    read = {wheel.filename for project in ("flash-attn", "flash-attn-3") for wheel in candidates(NAMES, project)}
    assert read == set(NAMES)
