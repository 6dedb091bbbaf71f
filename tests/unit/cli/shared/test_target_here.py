"""The interpreter of the project that a command runs in."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest
from typer.testing import CliRunner

from tests.machine_folders import BASE
from wheelmill.cli import application
from wheelmill.cli.shared.options import TargetOptions
from wheelmill.client.install.distributions import InstallPlace
from wheelmill.errors import UsageError

PLAIN = '[project]\nname = "mine"\nversion = "1"\n\n'
HATCH = f"{PLAIN}[tool.hatch.envs.default]\n"


INSTALL = ("install demo", "install --lock LOCK")
SYNC = "sync --lock LOCK"
COMMANDS = (
    *("add demo", "update", "remove demo --dry-run", "lock", *INSTALL, SYNC),
    *("list", "test", "explain demo", "available demo", "resolve demo", "environment", "doctor", "doctor demo"),
)


def make_environment(folder: Path) -> Path:
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    (folder / "bin" / "python").unlink(missing_ok=True)
    (folder / "bin" / "python").symlink_to(BASE)
    (folder / "pyvenv.cfg").write_text(f"home = {BASE.parent}\n")
    return folder


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


def test_uvs_environment_is_not_that_of_the_projects_tool(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_PYTHON", str(environment.with_name("python")))
    assert TargetOptions().here().python_path == environment / "bin" / "python"


def test_one_of_the_project_counts_if_wheelmill_is_in_it(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(environment / "bin" / "python"))
    assert TargetOptions().here().python_path == environment / "bin" / "python"


def test_where_none_is_asked_none_is_looked_for(environment: Path) -> None:
    assert environment.exists()
    described = TargetOptions(python="3.12", platform="linux_x86_64", torch="2.11", cuda="13.0")
    assert described.here() == described


def test_it_is_what_commands_choose_for(environment: Path) -> None:
    make_environment(environment)
    words = ["environment", "--json"]
    printed = CliRunner().invoke(application(words), words, catch_exceptions=False).output
    assert json.loads(printed)["interpreter"] == str(environment / "bin" / "python")


@pytest.fixture
def active(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    active = make_environment(tmp_path / "active")
    monkeypatch.setenv("VIRTUAL_ENV", str(active))
    return active


def test_a_project_whose_tool_is_missing_is_its_folder_alone_and_a_note_says_so(
    environment: Path, active: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(environment))
    assert TargetOptions().here().python_path == active / "bin" / "python"
    path = Path.cwd() / "pyproject.toml"
    assert capsys.readouterr().err == f"note: {path} is a project of poetry, which is not on PATH\n"


def test_credentials_that_others_may_read_are_named_where_another_interpreter_is_taken(
    environment: Path, active: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert environment.exists()
    credentials = tmp_path / "credentials.toml"
    credentials.touch()
    credentials.chmod(0o644)
    monkeypatch.setenv("WHEELMILL_CREDENTIALS", str(credentials))
    assert TargetOptions().here().python_path == active / "bin" / "python"
    assert f"note: {credentials} is open to other users of this machine\n" in capsys.readouterr().err


def test_a_silent_hatch_names_none(environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_PYTHON", str(make_environment(environment) / "bin" / "python"))
    Path("pyproject.toml").write_text(HATCH)
    write_program(tmp_path / "programs" / "hatch", "true")
    assert TargetOptions().here().python_path == environment / "bin" / "python"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of project: its files, and the environment that is its own, beside an active one."""

    files: Mapping[str, str]
    own: str = "project/.venv"
    folder: str = "."
    """Where commands run."""
    refused: tuple[str, ...] = ()
    """Commands that refuse to change an environment, as it is not the project's."""
    has_active: bool = True
    has_uv_python: bool = False
    """Whether ``UV_PYTHON`` names it, beside that of the project."""
    lacks: tuple[str, ...] = ()
    """Commands that have nothing to do here."""


ADDED = '[tool.wheelmill]\npackages = ["demo"]\n'
PROJECT = f'[project]\nname = "mine"\nversion = "1"\ndependencies = ["demo"]\n\n{ADDED}'
MARKED = (
    "# >>> wheelmill add: what stands between this line and the next mark is replaced\n"
    "# asked for: demo\ndemo\n# <<< wheelmill add\n"
)
OURS = ("update", "remove demo --dry-run", "lock")
KINDS = {
    "uv": Kind(files={"pyproject.toml": f"{PROJECT}[tool.uv]\n"}),
    "uv workspace member": Kind(
        files={"pyproject.toml": '[tool.uv.workspace]\nmembers = ["member"]\n', "member/pyproject.toml": PROJECT},
        folder="member",
    ),
    "uv without an environment": Kind(
        files={"pyproject.toml": f"{PROJECT}[tool.uv]\n"},
        own="global",
        refused=(SYNC, *INSTALL),
        lacks=("remove demo --dry-run",),
    ),
    "Poetry": Kind(files={"pyproject.toml": f"{PROJECT}[tool.poetry]\n"}, own="environment"),
    "Poetry in the project": Kind(files={"pyproject.toml": f"{PROJECT}[tool.poetry]\n"}),
    "PDM": Kind(files={"pyproject.toml": f"{PROJECT}[tool.pdm]\n"}, own="environment"),
    "Hatch": Kind(files={"pyproject.toml": f"{PROJECT}[tool.hatch.envs.default]\n"}, own="environment"),
    "a folder in a project": Kind(
        files={"pyproject.toml": f"{PROJECT}[tool.hatch.envs.default]\n"}, own="environment", folder="src"
    ),
    "plain": Kind(files={"pyproject.toml": PROJECT}, own="project/venv"),
    "plain, active": Kind(files={"pyproject.toml": PROJECT}, own="active", refused=(SYNC,)),
    "plain, UV_PYTHON": Kind(
        files={"pyproject.toml": PROJECT, ".venv/pyvenv.cfg": ""}, own="global", has_uv_python=True, refused=(SYNC,)
    ),
    "requirements": Kind(files={"requirements.txt": MARKED}, own="project/env"),
    "requirements, active": Kind(files={"requirements.txt": MARKED}, own="active", refused=(SYNC,)),
    "bare environment": Kind(files={".venv/wheelmill-requirements.txt": MARKED}),
    "no project, active": Kind(files={"../active/wheelmill-requirements.txt": MARKED}, own="active", refused=(SYNC,)),
    "no project": Kind(files={}, own="global", refused=(SYNC,), has_active=False, lacks=OURS),
    "unchanged by wheelmill": Kind(files={"setup.py": ""}, lacks=("add demo", *OURS)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("environment", "active")
def test_every_command_names_the_same_interpreter(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = KINDS[kind]
    own = make_environment(tmp_path / case.own)
    write_files(case, own, tmp_path / "programs")
    if not case.has_active:
        monkeypatch.delenv("VIRTUAL_ENV")
    if case.own == "global":
        (own / "pyvenv.cfg").unlink()
        monkeypatch.setenv("PATH", str(own / "bin"), prepend=":")
    if case.has_uv_python:
        monkeypatch.setenv("UV_PYTHON", str(own / "bin" / "python"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(case.folder)
    named: list[Path | None] = []

    def name_environment(place: InstallPlace) -> NoReturn:
        named.append(place.interpreter)
        raise UsageError("value-invalid", "that is all")

    def name_target(target: TargetOptions) -> NoReturn:
        named.append(target.python_path)
        raise UsageError("value-invalid", "that is all")

    monkeypatch.setattr(TargetOptions, "detect", name_target)
    monkeypatch.setattr("wheelmill.cli.client.add.packages_of", name_environment)
    for command in [each for each in COMMANDS if each not in case.lacks]:
        words = words_of(command, tmp_path)
        error = CliRunner().invoke(application(words), words).exception
        assert isinstance(error, UsageError), (command, error)
        assert error.code == ("environment-not-own" if command in case.refused else "value-invalid"), (command, error)
        if command not in case.refused:
            assert (command, named.pop()) == (command, own / "bin" / "python")


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(
    ("command", "code"),
    [
        (SYNC, "lock-without-wheelmill"),
        (f"{SYNC} --python-path .venv", "lock-without-wheelmill"),
        (f"{SYNC} --check", "value-invalid"),
        ("install --lock LOCK", "value-invalid"),
    ],
)
def test_no_lock_removes_wheelmill(command: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("pyproject.toml").unlink()
    monkeypatch.setattr(sys, "executable", str(make_environment(tmp_path / "project" / ".venv") / "bin" / "python"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def end(_target: TargetOptions) -> NoReturn:
        raise UsageError("value-invalid", "that is all")

    monkeypatch.setattr(TargetOptions, "detect", end)
    error = CliRunner().invoke(application(words := words_of(command, tmp_path)), words).exception
    assert isinstance(error, UsageError)
    assert error.code == code


def words_of(command: str, folder: Path) -> list[str]:
    """The words of a command, with an empty lock that is written into a folder."""
    lock = folder / "pylock.toml"
    lock.write_text('lock-version = "1.0"\ncreated-by = "a test"\npackages = []\n')
    return command.replace("LOCK", str(lock)).split()


def write_files(case: Kind, own: Path, programs: Path) -> None:
    """Write the files of a kind into this folder, and the programs that know its environment."""
    Path("pyproject.toml").unlink()
    for name, text in {**case.files, ".pdm-python": str(own / "bin" / "python")}.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    Path("src").mkdir()
    write_program(programs / "poetry", f"echo {own}/bin/python")
    write_program(programs / "hatch", f"echo {own}")
    write_program(programs / "pdm", "true")
