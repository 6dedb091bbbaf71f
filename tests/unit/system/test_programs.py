"""Programs that a clone puts first on PATH."""

import os
import sys
from pathlib import Path

import pytest

from wheelmill.installers.uv import find_uv
from wheelmill.system.process import find_program, program_folders


def write_program(folder: Path, name: str = "uv") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("marker", ["pyvenv.cfg", "conda-meta"])
@pytest.mark.parametrize("below", [".", "src/deep"])
def test_clones_programs_do_not_run(marker: str, below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evil = write_program(tmp_path / "clone" / ".venv" / "bin")
    (tmp_path / "clone" / ".venv" / marker).touch()
    own = write_program(tmp_path / "tools")
    (tmp_path / "clone" / below).mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(tmp_path / "clone" / below)
    monkeypatch.setenv("PATH", os.pathsep.join((str(evil.parent), str(own.parent))))
    assert find_program("uv") == str(own)
    assert find_uv() == own
    monkeypatch.chdir(tmp_path / "tools")
    assert find_program("uv") == str(evil)


def test_a_folder_of_path_that_cannot_be_looked_at_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root's home, which an image leaves on the PATH of its user; here a name that no disk holds."""
    own = write_program(tmp_path / "tools")
    monkeypatch.setenv("PATH", os.pathsep.join((f"/usr/{'x' * 300}/bin", str(own.parent))))
    assert find_program("uv") == str(own)


def test_a_relative_folder_of_path_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_program(tmp_path / "bin")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join(("bin", ".", "")))
    assert find_program("uv") is None


def test_an_environment_in_the_home_folder_is_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = write_program(tmp_path / "venv" / "bin")
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(own.parent))
    assert program_folders() == [own.parent]


def test_the_environment_that_runs_wheelmill_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = write_program(tmp_path / ".venv" / "bin")
    (tmp_path / ".venv" / "pyvenv.cfg").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(own.parent))
    monkeypatch.setattr(sys, "executable", str(own.with_name("python")))
    assert find_program("uv") == str(own)
