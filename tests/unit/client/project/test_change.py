"""What a project's own pin on torch says."""

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.unit.client.targets import INDEX, LINUX, candidate, resolution
from wheelmill.client.project.change import Edit, add_wheels, find_torch_pin, remove_packages
from wheelmill.client.project.pyproject import UvPyproject
from wheelmill.names import CudaVersion, TorchVersion, project_name


@pytest.mark.parametrize(
    ("requirement", "torch"),
    [
        ("torch==2.11.0", "2.11"),
        ("torch==2.11.*", "2.11"),
        ("torch~=2.11.0", "2.11"),
        ("torch==2.16.0rc1", "2.16rc1"),
        ("torch==2.16.1rc1", "2.16"),
        ("torch>=2.11", None),
        ("torch==2.*", None),
    ],
)
def test_a_project_that_pins_torch_says_which(requirement: str, torch: str | None) -> None:
    found = find_torch_pin([Requirement("rich"), Requirement(requirement)])
    assert (str(found) if found else None) == torch


PROJECT = """\
[project]
name = "mine"
version = "1"
dependencies = [
    {torch}
]

[tool.ruff]
line-length = 100
"""


@pytest.mark.parametrize("torch", ["", '"torch >=2.0, <3",  # any', '"torch==2.11.0",'])
def test_removing_undoes_adding(torch: str, tmp_path: Path) -> None:
    """The pin on torch and its index go with the last wheel that needs them; what was there comes back."""
    path = tmp_path / "pyproject.toml"
    before = PROJECT.format(torch=torch)
    path.write_text(before)
    names = ("flash_attn-2.8.3+cu130torch2.11", "mamba_ssm-2.3+cu130torch2.11")
    chosen = resolution(*(candidate(f"{name}-cp312-cp312-linux_x86_64.whl", source=INDEX) for name in names))
    chosen = replace(chosen, torch_backend=CudaVersion(13, 0).tag, torch_index="https://torch.example/cu130")
    asked = [Requirement("flash-attn"), Requirement("mamba-ssm")]
    add_wheels(UvPyproject.read(path), asked, [chosen]).write()
    assert "torch.example" in path.read_text()
    remove_packages(UvPyproject.read(path), [project_name("flash-attn")]).write()
    assert "torch==2.11" in path.read_text()
    assert "torch.example" in path.read_text()
    remove_packages(UvPyproject.read(path), [project_name("mamba-ssm")]).write()
    assert path.read_text() == before


def test_a_torch_that_was_changed_by_hand_stays(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(PROJECT.format(torch=""))
    wheel = candidate("flash_attn-2.8.3+cu130torch2.11-cp312-cp312-linux_x86_64.whl")
    add_wheels(UvPyproject.read(path), [Requirement("flash-attn")], [resolution(wheel)]).write()
    path.write_text(path.read_text().replace("torch==2.11.*", "torch>=2.11"))
    remove_packages(UvPyproject.read(path), [project_name("flash-attn")]).write()
    assert '"torch>=2.11"' in path.read_text()


def test_a_pin_of_ours_gives_way_to_another_torch(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(PROJECT.format(torch='"torch>=2.5",'))
    for environment, label in ((LINUX, "2.11"), (replace(LINUX, torch=TorchVersion(2, 12)), "2.12")):
        wheel = candidate(f"flash_attn-2.8.3+cu130torch{label}-cp312-cp312-linux_x86_64.whl")
        chosen = resolution(wheel, environment=environment)
        add_wheels(UvPyproject.read(path), [Requirement("flash-attn")], [chosen]).write()
        assert f'"torch=={label}.*"' in path.read_text()


def test_hatchling_is_told_that_urls_are_meant(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(PROJECT.format(torch="") + '[build-system]\nbuild-backend = "hatchling.build"\n')
    wheel = candidate("flash_attn-2.8.3+cu130torch2.11-cp312-cp312-linux_x86_64.whl")
    edit = add_wheels(UvPyproject.read(path), [Requirement("flash-attn")], [resolution(wheel)])
    assert b"allow-direct-references = true" in edit.contents[path]
    assert any("hatchling" in note for note in edit.notes)


def test_a_link_and_the_mode_of_a_file_stay(tmp_path: Path) -> None:
    goal, link = tmp_path / "goal.toml", tmp_path / "pyproject.toml"
    goal.touch(mode=0o600)
    link.symlink_to("goal.toml")
    Edit.of(link, b"new").write()
    assert (link.readlink(), goal.read_bytes()) == (Path("goal.toml"), b"new")
    assert stat.S_IMODE(goal.stat().st_mode) == 0o600


def test_a_file_that_is_read_only_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda named, mode: not (named == path and mode == os.W_OK))
    with pytest.raises(PermissionError, match=str(path)):
        Edit.of(path, b"new").write()
    assert path.read_bytes() == b"old"
