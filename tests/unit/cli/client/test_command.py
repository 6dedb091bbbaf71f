"""Defaults of options in a project's ``[tool.wheelmill]``."""

from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from tests.refusals import coded
from wheelmill.cli import application
from wheelmill.errors import UsageError

VARIABLES = ("WHEELMILL_SOURCES", "UV_PYTHON", "UV_TORCH_BACKEND", "UV_CUDA_DRIVER_VERSION")
TABLE = """
packages = ["demo"]
torch = "2.8"
cuda = "12.8"
gpu = ["h100"]
index = ["https://x.example/simple"]
timeout = 5
no-look = true
"""


def parsed(folder: Path, table: str, *words: str) -> dict[str, Any]:
    """The options of a command that is started in a folder of a project."""
    (folder / "pyproject.toml").write_text(f"[tool.wheelmill]\n{table}")
    (folder / "src").mkdir(exist_ok=True)
    group = typer.main.get_command(application(words))
    assert isinstance(group, TyperGroup)
    return group.commands[words[0]].make_context(words[0], [*words[1:]]).params


@pytest.fixture(autouse=True)
def in_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("words", "variables", "expected"),
    [
        ((), {}, {"torch": "2.8", "gpu": ("h100",), "timeout": 5, "no_look": True, "python": None}),
        ((), {"UV_TORCH_BACKEND": "cu126"}, {"torch": "2.8", "cuda": None}),
        ((), {"WHEELMILL_SOURCES": "x.yml"}, {"index": (), "source": ()}),
        (("--torch", "2.9", "--gpu", "9.0"), {}, {"torch": "2.9", "gpu": ("9.0",), "cuda": "12.8"}),
        (("--source", "y.yml"), {}, {"source": ("y.yml",), "index": ()}),
        (("--project", "resolved"), {}, {"torch": "2.8"}),
    ],
)
def test_an_option_comes_before_a_variable_and_that_before_the_project(
    words: tuple[str, ...],
    variables: dict[str, str],
    expected: dict[str, object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = parsed(tmp_path, TABLE, "resolve", "demo", *words)
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("toch = '2.8'", "setting-unknown", "tool.wheelmill.toch"),
        ("python-path = 'x'", "setting-unknown", "tool.wheelmill.python-path"),
        ("torch = 2.10", "setting-invalid", "tool.wheelmill.torch: Expected `str`"),
        ("gpu = 'h100'", "setting-invalid", "tool.wheelmill.gpu: Expected `array`"),
        ("timeout = true", "setting-invalid", "tool.wheelmill.timeout: Expected `int`"),
        ("cxx11-abi = 'perhaps'", "setting-invalid", "--cxx11-abi"),
    ],
)
@pytest.mark.parametrize("command", ["resolve", "list"])  # of which list has no timeout
def test_a_wrong_setting_is_named_with_its_file_and_what_was_expected(
    command: str, line: str, code: str, says: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, check=coded(code)) as refused:
        parsed(tmp_path, line, command, "demo")
    assert f"{tmp_path / 'pyproject.toml'}: " in str(refused.value)
    assert says in str(refused.value)


@pytest.mark.parametrize("text", ["", "packages = ['demo']", "sources = {demo = ['https://x.example/']}", "not TOML"])
def test_a_project_without_settings_changes_nothing(text: str, tmp_path: Path) -> None:
    assert parsed(tmp_path, text, "list", "demo")["torch"] is None
