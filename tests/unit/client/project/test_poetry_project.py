"""Poetry's own words for dependencies."""

from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.unit.client.targets import candidate, resolution
from wheelmill.client.project.change import add_wheels, remove_packages
from wheelmill.client.project.poetry_project import PoetryPyproject
from wheelmill.errors import UsageError
from wheelmill.names import CudaVersion, project_name

FLASH = project_name("flash-attn")
PROJECT = "[tool.poetry.dependencies]\ntorch = {torch}\n\n[tool.other]\n"


def torch_after_adding(torch: str, folder: Path) -> tuple[object, str]:
    """How a project from before Poetry 2 depends on torch when a wheel was added, and all of its file."""
    path = folder / "pyproject.toml"
    path.write_text(PROJECT.format(torch=torch))
    chosen = resolution(candidate("flash_attn-2.8.3+cu130torch2.11-cp312-cp312-linux_x86_64.whl"))
    chosen = replace(chosen, torch_backend=CudaVersion(13, 0).tag, torch_index="https://torch.example/cu130")
    add_wheels(PoetryPyproject.read(path), [Requirement("flash-attn")], [chosen]).write()
    table = PoetryPyproject.read(path).table("tool", "poetry", "dependencies") or {}
    return table["torch"], path.read_text()


def test_torch_of_a_source_of_a_persons_own_stays_there(tmp_path: Path) -> None:
    torch, text = torch_after_adding('{ version = "^2.0", source = "near", optional = true }', tmp_path)
    assert torch == {"version": "==2.11.*", "source": "near", "optional": True}
    assert "torch.example" not in text


def test_torch_with_extras_and_no_source_gets_one(tmp_path: Path) -> None:
    torch, text = torch_after_adding('{ version = "^2.0", extras = ["opt"] }', tmp_path)
    assert torch == {"version": "==2.11.*", "extras": ["opt"], "source": "wheelmill-pytorch-cu130"}
    assert "torch.example" in text


@pytest.mark.parametrize(
    "torch",
    [
        "'^2.0'  # mine",
        '">=2.0,<3"',
        '{ version = "^2.0", extras = ["opt"] }',
        '{version="^2.0", source = "near"}',
        '[{version="^2.0", markers="os_name == \'posix\'"}]',
    ],
)
def test_how_a_person_wrote_torch_comes_back(torch: str, tmp_path: Path) -> None:
    torch_after_adding(torch, tmp_path)
    remove_packages(PoetryPyproject.read(tmp_path / "pyproject.toml"), [FLASH]).write()
    assert (tmp_path / "pyproject.toml").read_text() == PROJECT.format(torch=torch)


def test_torch_in_a_table_of_its_own_comes_back_in_meaning(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[[tool.poetry.dependencies.torch]]\nversion = "^2.0"\n')
    chosen = resolution(candidate("flash_attn-2.8.3+cu130torch2.11-cp312-cp312-linux_x86_64.whl"))
    add_wheels(PoetryPyproject.read(path), [Requirement("flash-attn")], [chosen]).write()
    remove_packages(PoetryPyproject.read(path), [FLASH]).write()
    assert PoetryPyproject.read(path).dependencies_on(project_name("torch")) == ["torch<3,>=2.0"]


def test_torch_that_a_person_changed_stays_and_leaves_the_index_of_ours(tmp_path: Path) -> None:
    _, text = torch_after_adding('"^2.0"', tmp_path)
    (tmp_path / "pyproject.toml").write_text(text.replace('"==2.11.*"', '"~2.11.1"'))
    remove_packages(PoetryPyproject.read(tmp_path / "pyproject.toml"), [FLASH]).write()
    after = (tmp_path / "pyproject.toml").read_text()
    assert 'version = "~2.11.1"' in after
    assert "tool.wheelmill" not in after


def test_a_note_of_torch_that_was_spoilt_is_told(tmp_path: Path) -> None:
    _, text = torch_after_adding('"^2.0"', tmp_path)
    (tmp_path / "pyproject.toml").write_text(text.replace('"\\"^2.0\\""', '"^2.0"'))
    with pytest.raises(UsageError, match="torch-as-written: expected a value of TOML"):
        remove_packages(PoetryPyproject.read(tmp_path / "pyproject.toml"), [FLASH])
