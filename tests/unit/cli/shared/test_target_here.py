"""The interpreter of the project that a command runs in."""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from typer.testing import CliRunner

from wheelmill.cli import application
from wheelmill.cli.shared.options import TargetOptions
from wheelmill.client.target.detect import find_interpreter
from wheelmill.errors import UsageError

PLAIN = '[project]\nname = "mine"\nversion = "1"\n\n'
HATCH = f"{PLAIN}[tool.hatch.envs.default]\n"


def write_program(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That of a Poetry project, which Poetry keeps elsewhere; the project is the current folder."""
    project, programs, environment = (tmp_path / name for name in ("project", "programs", "environment"))
    for folder in (project, programs, environment / "bin"):
        folder.mkdir(parents=True)
    (environment / "bin" / "python").touch()
    (project / "pyproject.toml").write_text(f"{PLAIN}[tool.poetry]\n")
    write_program(programs / "poetry", f"echo {environment}/bin/python")
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


def test_a_project_whose_tool_is_missing_is_as_if_there_were_none_and_a_note_says_so(
    environment: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(environment))
    assert TargetOptions().here() == replace(TargetOptions(), python_path=None)
    path = Path.cwd() / "pyproject.toml"
    said = f"note: the environment of {path} is not used: {path} is a project of poetry, which is not on PATH\n"
    assert capsys.readouterr().err == said


def test_credentials_that_others_may_read_are_named_where_another_interpreter_is_taken(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert environment.exists()
    credentials = tmp_path / "credentials.toml"
    credentials.touch()
    credentials.chmod(0o644)
    monkeypatch.setenv("WHEELMILL_CREDENTIALS", str(credentials))
    assert TargetOptions().here() == TargetOptions()
    assert f"is not used: {credentials} is open to other users of this machine\n" in capsys.readouterr().err


def test_a_hatch_that_prints_nothing_names_no_environment(environment: Path, tmp_path: Path) -> None:
    assert environment.exists()
    Path("pyproject.toml").write_text(HATCH)
    write_program(tmp_path / "programs" / "hatch", "true")
    assert TargetOptions().here() == TargetOptions()


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path | None]:
    """The interpreter of each command, in the order in which they run; they end there. An environment is active."""
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "active"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    asked: list[Path | None] = []

    def record(target: TargetOptions) -> NoReturn:
        asked.append(target.python_path or find_interpreter(Path.cwd()))
        raise UsageError("value-invalid", "that is all")

    monkeypatch.setattr(TargetOptions, "detect", record)
    monkeypatch.setattr("wheelmill.cli.client.install.install_place_of", record)
    return asked


@pytest.mark.parametrize(
    ("files", "taken"),
    [
        pytest.param({}, "active", id="an empty folder"),
        pytest.param({"venv/pyvenv.cfg": "", "venv/bin/python": ""}, "active", id="venv"),
        pytest.param({".venv/pyvenv.cfg": "", ".venv/bin/python": ""}, "project/.venv", id=".venv"),
        pytest.param({"requirements.txt": "", "env/pyvenv.cfg": "", "env/bin/python": ""}, "active", id="requirements"),
        pytest.param({"setup.py": ""}, "active", id="a file that wheelmill does not change"),
        pytest.param({"pyproject.toml": PLAIN}, "active", id="a plain project"),
        pytest.param({"pyproject.toml": PLAIN, "venv/pyvenv.cfg": "", "venv/bin/python": ""}, "active", id="its venv"),
        pytest.param({"pyproject.toml": f"{PLAIN}[tool.uv]\n"}, "active", id="uv"),
        pytest.param({"pyproject.toml": f"{PLAIN}[tool.poetry]\n"}, "environment", id="Poetry"),
        pytest.param({"pyproject.toml": f"{PLAIN}[tool.pdm]\n", ".pdm-python": ""}, "environment", id="PDM"),
        pytest.param({"pyproject.toml": HATCH}, "environment", id="Hatch"),
        pytest.param({"../pyproject.toml": HATCH}, "environment", id="a folder in a project"),
    ],
)
def test_every_command_takes_the_same_interpreter(
    files: Mapping[str, str],
    taken: str,
    environment: Path,
    asked: list[Path | None],
    tmp_path: Path,
) -> None:
    Path("pyproject.toml").unlink()
    write_program(tmp_path / "programs" / "hatch", f"echo {environment}")
    for name, text in {**files, "../active/bin/python": ""}.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text or f"{environment}/bin/python\n")
    lock = Path("../pylock.toml")
    lock.write_text('lock-version = "1.0"\ncreated-by = "a test"\npackages = []\n')
    commands = (
        *("environment", "list", "test", "resolve demo", "explain demo", "available demo", "doctor demo"),
        *("install demo", f"install --lock {lock}", f"sync --lock {lock}"),
    )
    for command in commands:
        done = CliRunner().invoke(application(command.split()), command.split())
        assert (str(done.exception), done.stderr) == ("that is all", "")
    named = [str(each) for each in asked]
    assert dict(zip(commands, named, strict=True)) == dict.fromkeys(commands, str(tmp_path / taken / "bin" / "python"))
