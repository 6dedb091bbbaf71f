"""wheelmill as a package: what is built is whole, the same each time, and its commands start in every Python."""

import os
import subprocess
import tarfile
import tomllib
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest

from tests.machine_folders import constraints
from tests.real.conftest import ROOT, sampled
from wheelmill.cli import COMMANDS
from wheelmill.errors import ProcessError
from wheelmill.installers.environments import VirtualEnvironment, create
from wheelmill.installers.uv import own_uv
from wheelmill.names import PythonVersion

pytestmark = pytest.mark.real

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OLDEST = PROJECT["requires-python"].removeprefix(">=")
NEWEST = ("3.14", "3.13", "3.12")
"""The first of them that this machine has."""
SHIPPED = {"config": "_resources/config", "docker": "_resources/docker", "index": "_resources/index"}
"""Folders of the repository, and where a wheel has them."""
PLAN = ("plan", "flash-attn", "--cuda", "13.0", "--torch", "2.11", "--python", "3.12")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return package(tmp_path_factory.mktemp("dist"))


def package(folder: Path) -> Path:
    done = subprocess.run([ROOT / "scripts" / "package", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAILED" not in done.stdout
    return folder


def environment_of(versions: Sequence[str], place: Path) -> VirtualEnvironment:
    """Make an empty environment of the first Python that this machine has."""
    for version in versions:
        with suppress(ProcessError):
            return create(place, python=PythonVersion.parse(version))
    pytest.fail(f"this machine has no Python of {versions}")


def listed(*folders: str) -> set[str]:
    """The files of the repository, those that are not committed yet too."""
    argv = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *folders]
    names = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return {name for name in names if (ROOT / name).is_file()}


def test_a_source_distribution_is_the_repository(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names == listed() | {"PKG-INFO"}


def test_a_wheel_has_the_code_and_what_it_reads(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    code = {name.removeprefix("src/") for name in listed("src")}
    read = {f"wheelmill/{place}/{name.partition('/')[2]}" for top, place in SHIPPED.items() for name in listed(top)}
    with zipfile.ZipFile(wheel) as archive:
        assert {name for name in archive.namelist() if ".dist-info/" not in name} == code | read


def test_the_same_commit_gives_the_same_bytes(built: Path, tmp_path: Path) -> None:
    again = package(tmp_path / "again")
    assert {path.name: path.read_bytes() for path in again.iterdir()} == {
        path.name: path.read_bytes() for path in built.iterdir()
    }


@sampled(
    ("pythons", "extra"), product(((OLDEST,), NEWEST), ("", "[factory,s3]")), (NEWEST, ""), ((OLDEST,), "[factory,s3]")
)
def test_commands_start(built: Path, tmp_path: Path, pythons: tuple[str, ...], extra: str) -> None:
    environment = environment_of(pythons, tmp_path / "environment")
    (wheel,) = built.glob("*.whl")
    install: list[str | Path] = [own_uv(), "pip", "install", "--quiet", "--python", environment.python]
    wanted = f"wheelmill{extra} @ {wheel.as_uri()}"
    subprocess.run([*install, wanted], check=True, env={**os.environ, **constraints()})
    subprocess.run([own_uv(), "pip", "check", "--quiet", "--python", environment.python], check=True)
    variables = {name: os.environ[name] for name in os.environ if not name.startswith(("WHEELMILL_", "PYTHON"))}

    def run(*words: str) -> str:
        argv = [str(environment.python.with_name("wheelmill")), *words]
        done = subprocess.run(argv, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    assert run("--version") == f"{PROJECT['version']}\n"
    assert "wheels to build: 1," in run(*PLAN)
    for command, (module, _) in COMMANDS.items():
        if extra or module.startswith("client."):
            assert f"wheelmill {command}" in run(command, "--help")
    if extra:
        run("config", "check")
