"""For every combination that real names have, the wheel that is chosen is for exactly that one."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.tags import Tag

from tests.unit.client.conftest import candidates
from wheelmill.client.choose import choose
from wheelmill.client.records import Candidate, TargetEnvironment
from wheelmill.client.target_tags import Libc
from wheelmill.config.records.compatibility import Compatibility
from wheelmill.names import CudaVersion, Platform, PythonVersion, TorchVersion, project_name

NAMES = (Path(__file__).parents[2] / "data" / "flash-attn-wheel-names.txt").read_text().splitlines()
LIBC = Libc("glibc", 2, 39)

Cell = tuple[PythonVersion, CudaVersion, TorchVersion, Platform]


def cells_of(wheels: Iterable[Candidate]) -> set[Cell]:
    return {
        (PythonVersion.parse(tag.interpreter if tag.abi == "abi3" else tag.abi), cuda, torch, platform_of(tag))
        for wheel in wheels
        if (cuda := wheel.label.cuda) and (torch := wheel.label.torch)
        for tag in wheel.tags
    }


def platform_of(tag: Tag) -> Platform:
    processor = next(each for each in ("x86_64", "aarch64", "amd64") if tag.platform.endswith(each))
    return Platform(f"{'win' if tag.platform.startswith('win') else 'linux'}_{processor}")


@pytest.mark.parametrize("project", ["flash-attn", "flash-attn-3"])
def test_the_chosen_wheel_is_for_exactly_the_target(project: str, facts: Compatibility) -> None:
    name = project_name(project)
    wheels = candidates(NAMES, project)
    cells = cells_of(wheels)
    assert len(cells) > 20
    for python, cuda, torch, platform in cells:
        libc = LIBC if platform.startswith("linux") else None
        target = TargetEnvironment(
            python=python,
            python_release=None,
            interpreter=None,
            platform=platform,
            libc=libc,
            torch=torch,
            cuda=cuda,
        )
        chosen = choose([Requirement(project)], target, {name: wheels}, facts).choices[name].candidate
        abis = {tag.abi for tag in chosen.tags}
        assert abis == {python.abi} or (abis == {"abi3"} and not python.free_threaded), chosen.filename
        assert (chosen.label.cuda, chosen.label.torch) == (cuda, torch), chosen.filename
        assert {platform_of(tag) for tag in chosen.tags} == {platform}, chosen.filename


def test_the_pages_names_are_all_read() -> None:
    read = {wheel.filename for project in ("flash-attn", "flash-attn-3") for wheel in candidates(NAMES, project)}
    assert read == set(NAMES)
