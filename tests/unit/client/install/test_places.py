"""Where installers write."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from wheelmill.client.install import places
from wheelmill.client.install.places import InstallPlace


def test_an_environment_is_one_tree_whether_it_is_there_or_not(tmp_path: Path) -> None:
    assert InstallPlace.of_environment(tmp_path / ".venv").trees == (tmp_path / ".venv",)


def test_the_interpreter_of_an_environment() -> None:
    place = InstallPlace.of_interpreter(Path(sys.executable))
    assert place.trees == (place.base,) == (Path(sys.prefix),)


def test_an_interpreter_that_is_in_no_environment() -> None:
    """As conda's and the system's: only the folders of packages and scripts, not all that is there."""
    place = InstallPlace.of_interpreter(Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}")
    assert place.base not in place.trees
    assert {tree.name for tree in place.trees} >= {"site-packages", "bin", "share", "etc", "include"}


def test_a_user_who_may_not_write_there_has_packages_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(_interpreter: Path, code: str) -> object:
        code = f"import os\nos.access = lambda *_: False\n{code}"
        python = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}"
        return json.loads(subprocess.run([python, "-I", "-c", code], capture_output=True, check=True).stdout)

    monkeypatch.setattr(places, "ask", ask)
    assert InstallPlace.of_interpreter(Path(sys.executable)).base.is_relative_to(Path.home())


def test_a_conda_prefix_is_asked_for_its_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()
    folders = [str(tmp_path / "lib" / "site-packages"), str(tmp_path / "bin")]
    monkeypatch.setattr(places, "ask", lambda *_: [str(tmp_path), False, folders])
    place = InstallPlace.of_environment(tmp_path)
    assert place.base == tmp_path
    assert place.trees == tuple(map(Path, folders))
