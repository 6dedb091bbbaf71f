"""Set-up from the lock, on a machine whose index has newer releases by now and whose pip has settings of its own."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.wheels import write_wheel
from wheelmill.index.serve import serve_folder
from wheelmill.system.files import sha256_of

ROOT = Path(__file__).parents[2]
OWN = "own-0.1-py3-none-any.whl"
BACKEND = f"""
import shutil

def build_editable(folder, *_):
    shutil.copy("{OWN}", folder)
    return "{OWN}"
"""
PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "own"
version = "0.1"
dependencies = ["base[mail]>=1"]
"""
RELEASES = {
    "base-1.0": "Provides-Extra: mail\nRequires-Dist: checker>=1; extra == 'mail'\n",
    "base-2.0": "Provides-Extra: mail\nRequires-Dist: validator>=2; extra == 'mail'\nRequires-Dist: checker>=2\n",
    "checker-1.0": "Requires-Dist: base[mail]\n",
    "checker-2.0": "",
    "validator-2.0": "Requires-Dist: base>=2\n",
}
LOCKED = ("base-1.0", "checker-1.0")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    """An index that has newer releases than the lock, with other extras and bounds."""
    for release, requires in RELEASES.items():
        project, version = release.split("-")
        metadata = f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n{requires}"
        write_wheel(tmp_path / "index" / project / f"{release}-py3-none-any.whl", metadata=metadata)
        wheels = sorted((tmp_path / "index" / project).glob("*.whl"))
        links = "".join(f'<a href="{wheel.name}#sha256={sha256_of(wheel)}">{wheel.name}</a>' for wheel in wheels)
        (tmp_path / "index" / project / "index.html").write_text(f"<!DOCTYPE html>{links}")
    with serve_folder(tmp_path / "index") as url:
        yield url


@pytest.fixture
def clone(tmp_path: Path, index: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of a project with the real set-up, on a machine with constraints on both of its packages."""
    clone = tmp_path / "clone"
    (clone / "scripts").mkdir(parents=True)
    for name in ("setup", "machine.sh"):
        shutil.copy(ROOT / "scripts" / name, clone / "scripts")
    (clone / "backend.py").write_text(BACKEND)
    metadata = "Metadata-Version: 2.1\nName: own\nVersion: 0.1\nRequires-Dist: base[mail]>=1\n"
    write_wheel(clone / OWN, metadata=metadata)
    (clone / "pyproject.toml").write_text(PYPROJECT)
    lock(clone, *LOCKED)
    (tmp_path / "constraints.txt").write_text("base<1\n")
    (tmp_path / "own.txt").write_text("checker<1\n")
    settings = (
        f"[global]\nindex-url = {index}\nconstraint = {tmp_path / 'constraints.txt'}\nno-binary = :all:\npre = true\n"
    )
    (tmp_path / "pip.conf").write_text(settings)
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_CONSTRAINT", str(tmp_path / "own.txt"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return clone


def lock(clone: Path, *releases: str) -> None:
    wheels = [(release, clone.parent / "index" / release.split("-")[0]) for release in releases]
    pins = [
        f"{release.replace('-', '==')} \\\n    --hash=sha256:{sha256_of(folder / f'{release}-py3-none-any.whl')}\n"
        for release, folder in wheels
    ]
    (clone / "requirements.lock").write_text("".join(pins))


def set_up(clone: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([clone / "scripts" / "setup"], capture_output=True, text=True, check=False)


def test_set_up_ends_with_the_locked_versions_whatever_was_published(clone: Path) -> None:
    done = set_up(clone)
    assert done.returncode == 0, done.stderr
    listed = subprocess.run(
        [clone / ".venv/bin/python", "-m", "pip", "freeze"], capture_output=True, text=True, check=True
    ).stdout
    assert {"base==1.0", "checker==1.0"} <= set(listed.splitlines())
    assert "validator" not in listed
    assert set_up(clone).stderr == ""  # it is done already


def test_nothing_of_an_earlier_lock_is_left(clone: Path) -> None:
    lock(clone, "base-2.0", "checker-2.0", "validator-2.0")
    assert set_up(clone).returncode == 0
    lock(clone, *LOCKED)  # with which validator does not go
    done = set_up(clone)
    assert done.returncode == 0, done.stderr
    assert not list(clone.glob(".venv/lib/python*/site-packages/validator*"))


def test_an_environment_that_set_up_did_not_make_keeps_what_it_has(clone: Path) -> None:
    (clone / ".venv").mkdir()
    (clone / ".venv" / "own.txt").write_text("mine")
    assert set_up(clone).returncode == 0
    assert (clone / ".venv" / "own.txt").read_text() == "mine"


def test_a_lock_that_lacks_a_requirement_ends_set_up(clone: Path) -> None:
    lock(clone, "base-2.0")
    for _ in range(2):  # it is not taken for done
        done = set_up(clone)
        assert done.returncode == 2
        assert "base 2.0 requires checker, which is not installed" in done.stderr
        assert done.stderr.endswith("error: requirements.lock is not complete: run scripts/lock\n")


def test_another_hash_than_the_locked_one_ends_set_up(clone: Path) -> None:
    path = clone / "requirements.lock"
    path.write_text(re.sub("[0-9a-f]{64}", "0" * 64, path.read_text(), count=1))
    assert set_up(clone).returncode != 0
    assert (clone / ".venv" / "wheelmill-setup").read_text() == ""  # it is not taken for done
