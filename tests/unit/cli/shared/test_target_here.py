"""The interpreter of the project that a command runs in."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from wheelmill.cli import application
from wheelmill.cli.shared.target import TargetOptions


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That of a Poetry project, which Poetry keeps elsewhere; the project is the current folder."""
    project, programs, environment = (tmp_path / name for name in ("project", "programs", "environment"))
    for folder in (project, programs, environment / "bin"):
        folder.mkdir(parents=True)
    (environment / "bin" / "python").touch()
    (project / "pyproject.toml").write_text('[project]\nname = "mine"\nversion = "1"\n\n[tool.poetry]\n')
    poetry = programs / "poetry"
    poetry.write_text(f"#!/bin/sh\necho {environment}/bin/python\n")
    poetry.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    monkeypatch.delenv("UV_PYTHON", raising=False)
    monkeypatch.chdir(project)
    return environment


def test_it_is_the_one_of_the_environment_that_the_projects_tool_keeps(environment: Path) -> None:
    assert TargetOptions().here().python_path == environment / "bin" / "python"


def test_one_that_was_named_is_taken_in_its_place(environment: Path) -> None:
    named = TargetOptions(python_path=environment.with_name("python"))
    assert named.here() == named


def test_one_that_uv_is_told_of_is_taken_in_its_place(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_PYTHON", str(environment.with_name("python")))
    assert TargetOptions().here() == TargetOptions()


def test_one_in_this_folder_is_taken_in_its_place(environment: Path) -> None:
    assert environment.exists()
    programs = Path(".venv", "bin")
    programs.mkdir(parents=True)
    (programs / "python").touch()
    assert TargetOptions().here() == TargetOptions()


def test_that_of_wheelmill_itself_is_never_taken(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(environment / "bin" / "python"))
    assert TargetOptions().here() == TargetOptions()


def test_where_none_is_asked_none_is_looked_for(environment: Path) -> None:
    assert environment.exists()
    described = TargetOptions(python="3.12", platform="linux_x86_64", torch="2.11", cuda="13.0")
    assert described.here() == described


def test_it_is_what_commands_choose_for(environment: Path) -> None:
    (environment / "bin" / "python").unlink()
    (environment / "bin" / "python").symlink_to(sys.executable)
    (environment / "pyvenv.cfg").touch()
    words = ["environment", "--json"]
    printed = CliRunner().invoke(application(words), words, catch_exceptions=False).output
    assert json.loads(printed)["interpreter"] == str(environment / "bin" / "python")


def test_a_project_whose_tool_is_missing_is_as_if_there_were_none(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(environment))
    assert TargetOptions().here() == replace(TargetOptions(), python_path=None)
