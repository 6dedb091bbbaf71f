"""Commands in the clone of a stranger's project, and below a folder of another user."""

import os
import sys
import venv
from pathlib import Path

import pytest

from tests.integration.conftest import Command
from tests.machine_folders import BASE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="programs are scripts of a shell")

PROJECT = '[project]\nname = "mine"\nversion = "1"\n'
READING = ("list", "environment", "resolve demo", "explain demo", "available demo", "doctor --offline", "show demo")
CHANGING = ("add demo", "install demo", "update", "lock demo", "sync", "test", "doctor --fix --yes --offline")
FILES = ("pyproject.toml", ".python-version", "uv.toml", "requirements.txt", "pylock.toml", ".pdm-python")


def write_environment(folder: Path, ran: Path, *programs: str) -> None:
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text(f"home = {BASE.parent}\nuv = 1\n")
    for name in ("python", *programs):
        program = folder / "bin" / name
        program.write_text(f'#!/bin/sh\ntouch "{ran}"\nexec "{BASE}" "$@"\n')
        program.chmod(0o755)


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize("tool", ["", "[tool.uv]\n", "[tool.poetry]\n", "[tool.pdm]\n"])
def test_a_reading_command_runs_nothing_of_a_clone(command: str, tool: str, wheelmill: Command, tmp_path: Path) -> None:
    """Its environment is the first on PATH, so that it has ``uv`` and ``poetry``, too."""
    ran = tmp_path / "ran"
    (tmp_path / "pyproject.toml").write_text(PROJECT + tool)
    write_environment(tmp_path / ".venv", ran, "uv", "poetry", "pdm", "nvidia-smi", "keyring", "gh")
    (tmp_path / ".pdm-python").write_text(str(tmp_path / ".venv" / "bin" / "poetry"))
    path = os.pathsep.join((str(tmp_path / ".venv" / "bin"), os.environ["PATH"]))
    wheelmill(*command.split(), exit_code=None, PATH=path)
    assert not ran.exists()


@pytest.fixture(scope="module")
def empty_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("empty") / "venv"
    venv.create(folder, symlinks=True)
    return folder


@pytest.mark.parametrize("command", ["list", "sync", "lock demo", "add demo", "doctor --offline"])
@pytest.mark.parametrize("name", FILES)
def test_a_pipe_of_a_project_is_never_opened(
    name: str, command: str, empty_environment: Path, wheelmill: Command, tmp_path: Path
) -> None:
    if name != "requirements.txt":
        tool = "[tool.pdm]\n" if name == ".pdm-python" else ""
        (tmp_path / "pyproject.toml").write_text(PROJECT + tool)
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    done = wheelmill(*command.split(), "--python-path", empty_environment, exit_code=None)
    assert done.returncode in (0, 2, 8, 9)


def test_an_endless_pyproject_is_refused(wheelmill: Command, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").symlink_to("/dev/zero")
    wheelmill("add", "demo", exit_code=2).check_refused("not-a-file", tmp_path / "pyproject.toml")


@pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("command", [*READING, *CHANGING])
def test_below_another_users_folder_commands_change_nothing(command: str, wheelmill: Command, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    (tmp_path / "pyproject.toml").write_text(f'{PROJECT}\n[tool.wheelmill]\nsource = ["https://evil.example/"]\n')
    write_environment(tmp_path / ".venv", ran)
    for path in (tmp_path / "pyproject.toml", tmp_path / ".venv", *(tmp_path / ".venv").rglob("*")):
        os.chown(path, 1234, 1234)
    done = wheelmill(*command.split(), exit_code=None)
    assert not ran.exists()
    assert "evil.example" not in done.stderr
    if command in CHANGING and not command.startswith("doctor"):
        done.check_refused("file-of-others", tmp_path / "pyproject.toml", "WHEELMILL_TRUST")


@pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="only root gives files away")
def test_an_environment_linked_to_that_of_another_user_is_not_changed(wheelmill: Command, tmp_path: Path) -> None:
    ran, theirs = tmp_path / "ran", tmp_path / "theirs"
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    write_environment(theirs, ran)
    for path in (theirs, *theirs.rglob("*")):
        os.chown(path, 1234, 1234)
    (tmp_path / ".venv").symlink_to(theirs)
    wheelmill("test", exit_code=2).check_refused("file-of-others", ".venv", "1234")
    wheelmill("list")
    assert not ran.exists()
    wheelmill("test", exit_code=0, WHEELMILL_TRUST=tmp_path)
