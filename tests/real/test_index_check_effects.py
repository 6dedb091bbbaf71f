"""What pip and uv do with an index that breaks a rule is what the rule says of them."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.broken_indexes import BROKEN, Spoil, variants_beside_plain_wheels
from tests.further_indexes import FURTHER
from tests.good_index import good_index
from tests.real.conftest import sampled
from tests.simple_server import Server, serving
from wheelmill.conformance.rules import RULES

pytestmark = pytest.mark.real

SPOILS = BROKEN | {name: fault.spoil for name, fault in FURTHER.items()}
FAILS = {rule.number: {"pip": rule.pip.fails, "uv": rule.uv.fails} for rule in RULES} | {
    name: {"pip": fault.pip_fails, "uv": fault.uv_fails} for name, fault in FURTHER.items()
}
"""Which installer takes nothing from an index with each fault: a broken rule says it, of further ones it was seen."""
FIRST = {(name in BROKEN, *FAILS[name].values()): name for name in reversed(SPOILS)}.values()
"""A fault for each that an installer may do."""
Installer = Callable[[str, str, Path], subprocess.CompletedProcess[str]]
PROJECT = {"503.2": "gone"}
"""The project whose page is broken, if it is not demo."""


def installing(*argv: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run an installer without this machine's own settings."""
    settings = {name: text for name, text in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    env = settings | {"PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1", "UV_CACHE_DIR": str(folder / "cache")}
    return subprocess.run(argv, env=env, capture_output=True, text=True, check=False)


def pip(url: str, project: str, folder: Path) -> subprocess.CompletedProcess[str]:
    options = ("--no-cache-dir", "--retries", "0", "--index-url", url, "--target", str(folder / "pip"))
    return installing(sys.executable, "-m", "pip", "install", *options, project, folder=folder)


def uv(url: str, project: str, folder: Path) -> subprocess.CompletedProcess[str]:
    options = ("--python", sys.executable, "--index-url", url, "--target", str(folder / "uv"))
    return installing(sys.executable, "-m", "uv", "pip", "install", *options, project, folder=folder)


INSTALLERS = pytest.mark.parametrize("installer", [pip, uv])


def outcome(installer: Installer, spoil: Spoil, folder: Path, project: str = "demo") -> tuple[bool, str]:
    """Install from an index; returns whether that failed, and what was said."""
    with serving(Server()) as server:
        index = good_index(folder, server.url)
        spoil(index)
        index.put_on(server)
        done = installer(f"{server.url}/simple/", project, folder)
    return done.returncode != 0, done.stdout + done.stderr


@INSTALLERS
@pytest.mark.parametrize("spoil", [lambda _index: None, variants_beside_plain_wheels], ids=["plain", "variants"])
def test_an_index_that_keeps_every_rule_serves_both(spoil: Spoil, installer: Installer, tmp_path: Path) -> None:
    failed, said = outcome(installer, spoil, tmp_path)
    assert not failed, said


@INSTALLERS
@sampled("name", SPOILS, *FIRST)
def test_the_effect_is_the_one_that_is_told(name: str, installer: Installer, tmp_path: Path) -> None:
    failed, said = outcome(installer, SPOILS[name], tmp_path, PROJECT.get(name, "demo"))
    assert failed == FAILS[name][installer.__name__], said


def test_uv_locks_by_the_metadata_of_one_wheel_for_all_of_a_version(tmp_path: Path) -> None:
    with serving(Server()) as server:
        index = good_index(tmp_path, server.url)
        BROKEN["643.1"](index)
        index.put_on(server)
        project = tmp_path / "project"
        project.mkdir()
        (project / "pyproject.toml").write_text(
            '[project]\nname = "it"\nversion = "1"\nrequires-python = ">=3.11"\ndependencies = ["demo"]\n'
        )
        options = ("--python", sys.executable, "--index-url", f"{server.url}/simple/", "--project", str(project))
        done = installing(sys.executable, "-m", "uv", "lock", *options, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    locked = (project / "uv.lock").read_text()
    assert "win_amd64" in locked
    assert "nowhere" not in locked, "the wheel for Windows requires it"
