"""Defaults of options in a project's ``[tool.wheelmill]``."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomlkit
import typer
from packaging.requirements import Requirement
from typer.core import TyperGroup

from tests.refusals import coded
from tests.unit.client.targets import FLASH_ATTN, resolution
from wheelmill.cli import application
from wheelmill.client.project.change import add_wheels
from wheelmill.client.project.pyproject import PyprojectEditor, UvPyproject
from wheelmill.client.project.tools import PdmPyproject, PoetryPyproject
from wheelmill.errors import UsageError

TABLE = (
    "packages = ['demo']\ntorch = '2.8'\ncuda = '12.8'\ngpu = ['h100']\nindex = ['https://x.example/']\nno-look = true"
)


def parsed(folder: Path, table: str, *words: str) -> dict[str, Any]:
    (folder / "pyproject.toml").write_text(f"[tool.wheelmill]\n{table}")
    group = typer.main.get_command(application(words))
    assert isinstance(group, TyperGroup)
    return group.commands[words[0]].make_context(words[0], [*words[1:]]).params


@pytest.fixture(autouse=True)
def in_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    for name in ("WHEELMILL_SOURCES", "UV_PYTHON", "UV_TORCH_BACKEND", "UV_CUDA_DRIVER_VERSION"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("variable", "words", "expected"),
    [
        ("", (), {"torch": "2.8", "gpu": ("h100",), "no_look": True, "python": None}),
        ("UV_TORCH_BACKEND", (), {"torch": "2.8", "cuda": None}),
        ("WHEELMILL_SOURCES", (), {"index": (), "source": ()}),
        ("", ("--torch", "2.9", "--gpu", "9.0"), {"torch": "2.9", "gpu": ("9.0",), "cuda": "12.8"}),
        ("", ("--source", "y.yml", "--project", "name"), {"source": ("y.yml",), "index": (), "torch": "2.8"}),
    ],
)
def test_an_option_comes_before_a_variable_and_that_before_the_project(
    variable: str, words: tuple[str, ...], expected: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable or "UNUSED", "cu126")
    assert parsed(tmp_path, TABLE, "resolve", "demo", *words).items() >= expected.items()


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("toch = '2.8'", "setting-unknown", "toch"),
        ("torch = 2.10", "setting-invalid", "torch: Expected `str`"),
        ("gpu = 'h100'", "setting-invalid", "gpu: Expected `array`"),
        ("timeout = true", "setting-invalid", "timeout: Expected `int`"),
        ("cxx11-abi = 'perhaps'", "setting-invalid", "cxx11-abi: --cxx11-abi"),
    ],
)
def test_a_wrong_setting_names_file_and_expected_value(line: str, code: str, says: str, tmp_path: Path) -> None:
    for command in ("resolve", "list"):  # which has no timeout
        with pytest.raises(UsageError, check=coded(code, f"{tmp_path / 'pyproject.toml'}: tool.wheelmill.{says}")):
            parsed(tmp_path, line, command, "demo")


@pytest.mark.parametrize("editor", [PyprojectEditor, UvPyproject, PdmPyproject, PoetryPyproject])
def test_no_record_of_an_added_wheel_is_an_unknown_setting(editor: type[PyprojectEditor], tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[tool.poetry.dependencies]\ntorch = "^2.11"\n')
    add_wheels(editor.read(path), [Requirement("flash-attn")], [resolution(FLASH_ATTN)]).write()
    records = tomllib.loads(path.read_text())["tool"]["wheelmill"]
    assert records
    assert parsed(tmp_path, tomlkit.dumps(records), "list")
