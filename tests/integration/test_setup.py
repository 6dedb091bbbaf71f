"""Set-up from the lock with newer releases and pip's own settings: a stand-in for Python, or pip with ``--real``."""

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
STAND_IN = """#!/bin/sh
case "$*" in
-c*) exit 0 ;;
*/dev/stdin*) cat >own_pip ;;
"-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
*) cp .venv/wheelmill-setup marker_at_pip ;;
esac
echo "${PIP_CONSTRAINT:-} $*" >>asked
case " $* " in
*" ${FAILING:-none} "*) echo "pip has a reason"; exit 1 ;;
esac
"""
"""Python as far as set-up starts it: it notes what it is asked for, and fails where a word is ``FAILING``."""
QUIET_PIP = "/dev/null -m pip --disable-pip-version-check"
ASKED_OF_PIP = [
    f"{QUIET_PIP} install --quiet --require-hashes --no-deps --only-binary :all: --no-compile -r requirements.lock",
    f"{QUIET_PIP} install --quiet --no-deps --no-build-isolation -e .",
    f"{QUIET_PIP} check",
]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone of a project with the real set-up."""
    clone = tmp_path / "clone"
    (clone / "scripts").mkdir(parents=True)
    for name in ("setup", "machine.sh"):
        shutil.copy(ROOT / "scripts" / name, clone / "scripts")
    (clone / "pyproject.toml").write_text(PYPROJECT)
    (clone / "requirements.lock").touch()
    return clone


def set_up(clone: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | variables
    return subprocess.run([clone / "scripts" / "setup"], env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def stand_in(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clone find a stand-in for Python, on a machine with constraints."""
    program = clone / "stand-in"
    program.write_text(STAND_IN)
    program.chmod(0o755)
    monkeypatch.setenv("PYTHON", str(program))
    monkeypatch.setenv("PIP_CONSTRAINT", "own.txt")


def asked(clone: Path) -> list[str]:
    """What was asked of the stand-in since the last look."""
    path = clone / "asked"
    lines = path.read_text().splitlines() if path.exists() else []
    path.write_text("")
    return lines


@pytest.mark.usefixtures("stand_in")
def test_pip_takes_what_is_locked_and_resolves_nothing(clone: Path) -> None:
    (clone / ".venv").mkdir()  # set-up did not make it, so it keeps what it has
    assert set_up(clone).returncode == 0
    assert asked(clone) == ["own.txt -m venv .venv", *ASKED_OF_PIP]
    assert (clone / "marker_at_pip").read_text() == ""  # what is not done is not taken for done
    assert set_up(clone).stderr == ""
    assert asked(clone) == []
    (clone / "requirements.lock").write_text("# another one\n")
    assert set_up(clone).returncode == 0
    assert asked(clone) == ["own.txt -m venv --clear .venv", *ASKED_OF_PIP]
    (clone / ".venv").rename(clone.parent / "elsewhere")
    (clone / ".venv").symlink_to(clone.parent / "elsewhere")  # whose it is, set-up does not know
    (clone / "requirements.lock").write_text("# a third one\n")
    assert set_up(clone).returncode == 0
    assert asked(clone) == ["own.txt -m venv .venv", *ASKED_OF_PIP]


@pytest.mark.usefixtures("stand_in")
def test_the_pip_of_the_lock_comes_first(clone: Path) -> None:
    pinned = "pip==26.3 \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\n"
    (clone / "requirements.lock").write_text(f"base==1.0 \\\n    --hash=sha256:3\n{pinned}pip-api==1.0 \\\n")
    assert set_up(clone).returncode == 0
    assert (clone / "own_pip").read_text() == pinned
    own_pip = f"{QUIET_PIP} install --quiet --require-hashes --no-deps --only-binary :all: -r /dev/stdin"
    assert asked(clone)[1:] == [own_pip, *ASKED_OF_PIP]


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(("failing", "code", "steps"), [("check", 2, 3), ("--require-hashes", 1, 1), ("-e", 1, 2)])
def test_what_failed_is_not_taken_for_done(failing: str, code: int, steps: int, clone: Path) -> None:
    for _ in range(2):
        done = set_up(clone, FAILING=failing)
        assert done.returncode == code
        assert asked(clone)[1:] == ASKED_OF_PIP[:steps]
        if failing == "check":
            assert "pip has a reason\nerror: requirements.lock is not complete: run scripts/lock\n" in done.stderr


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
def own_settings(tmp_path: Path, clone: Path, index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set pip to the index and to constraints on both of its packages, and let it build the clone's own wheel."""
    (clone / "backend.py").write_text(BACKEND)
    metadata = "Metadata-Version: 2.1\nName: own\nVersion: 0.1\nRequires-Dist: base[mail]>=1\n"
    write_wheel(clone / OWN, metadata=metadata)
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


def lock(clone: Path, *releases: str) -> None:
    wheels = [(release, clone.parent / "index" / release.split("-")[0]) for release in releases]
    pins = [
        f"{release.replace('-', '==')} \\\n    --hash=sha256:{sha256_of(folder / f'{release}-py3-none-any.whl')}\n"
        for release, folder in wheels
    ]
    (clone / "requirements.lock").write_text("".join(pins))


@pytest.mark.real
@pytest.mark.usefixtures("own_settings")
def test_set_up_ends_with_the_locked_versions_and_nothing_of_an_earlier_lock(clone: Path) -> None:
    lock(clone, "base-2.0", "checker-2.0", "validator-2.0")
    assert set_up(clone).returncode == 0
    lock(clone, *LOCKED)  # with which validator does not go
    done = set_up(clone)
    assert done.returncode == 0, done.stderr
    python = clone / ".venv/bin/python"
    listed = subprocess.run([python, "-m", "pip", "freeze"], capture_output=True, text=True, check=True).stdout
    assert {"base==1.0", "checker==1.0"} <= set(listed.splitlines())
    assert not list(clone.glob(".venv/lib/python*/site-packages/validator*"))


@pytest.mark.real
@pytest.mark.nightly
@pytest.mark.usefixtures("own_settings")
def test_another_hash_and_a_lock_that_lacks_a_requirement_end_set_up(clone: Path) -> None:
    (clone / ".venv").mkdir()
    (clone / ".venv" / "own.txt").write_text("mine")
    lock(clone, "base-2.0")
    path = clone / "requirements.lock"
    sound = path.read_text()
    path.write_text(re.sub("[0-9a-f]{64}", "0" * 64, sound))
    done = set_up(clone)
    assert done.returncode not in {0, 2}
    assert "0" * 64 in done.stderr
    assert (clone / ".venv" / "own.txt").read_text() == "mine"
    path.write_text(sound)
    done = set_up(clone)
    assert done.returncode == 2
    assert "base 2.0 requires checker, which is not installed" in done.stderr
