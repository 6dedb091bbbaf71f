"""What ``wheelmill lock`` writes beside other commands."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from packaging.pylock import Pylock
from packaging.version import Version
from typer.testing import CliRunner

from wheelmill.cli import application
from wheelmill.cli.client import lock
from wheelmill.cli.client.change import relock
from wheelmill.client.lock.files import pylock_text
from wheelmill.client.project.tools import PdmProject
from wheelmill.system.progress import QUIET


def test_a_lock_that_changed_meanwhile_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = tmp_path / "pylock.toml"
    merged = Pylock(lock_version=Version("1.0"), created_by="wheelmill", packages=[])
    written.write_bytes(pylock_text(merged))

    @contextmanager
    def exclusive(_place: Path) -> Iterator[None]:
        written.write_text("another")
        yield

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lock, "exclusive", exclusive)
    monkeypatch.setattr(lock, "_resolutions", lambda *_: ())
    monkeypatch.setattr("wheelmill.client.lock.files.merge", lambda _locks: merged)
    words = ["lock", "demo", "--python", "3.12", "--torch", "2.8", "--cuda", "12.8", "--platform", "linux_x86_64"]
    done = CliRunner().invoke(application(words), words, catch_exceptions=False)
    assert "wrote" in done.stderr
    assert written.read_bytes() == pylock_text(merged)


def test_a_lock_without_an_environment_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = PdmProject(path=tmp_path / "pyproject.toml", python=None)
    relock(project, QUIET)
    assert capsys.readouterr().err == ""
    project.lock.write_text("")
    relock(project, QUIET)
    assert "'pdm lock'" in capsys.readouterr().err
