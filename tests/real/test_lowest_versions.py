"""The lower bounds in pyproject.toml are true: with the oldest versions, tests of the client and of buckets pass."""

import os
import subprocess
from pathlib import Path

import pytest
from uv import find_uv_bin

from tests.machine_folders import constraints, locked
from tests.real.conftest import ROOT, sampled

pytestmark = pytest.mark.real

TESTED = ("cli", "client", "web", "system", "wheel", "release/s3", "hosting/test_upload.py")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lowest")
    install = [find_uv_bin(), "pip", "install", "--quiet", "--python", str(folder)]
    subprocess.run([find_uv_bin(), "venv", "--quiet", "--clear", folder], check=True)
    for lock in ("lowest", "lowest-tests"):
        subprocess.run([*install, *locked(lock)], check=True)
    subprocess.run([*install, "--no-deps", ROOT], check=True, env={**os.environ, **constraints()})
    subprocess.run([find_uv_bin(), "pip", "check", "--quiet", "--python", folder], check=True)
    return folder


def run(environment: Path, program: str, *arguments: str | Path, cwd: Path) -> None:
    words = [str(environment / "bin" / program), *map(str, arguments)]
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout[-5000:]}\n{done.stderr}"


def test_the_client_lists_what_is_installed(environment: Path) -> None:
    run(environment, "wheelmill", "list", "--json", cwd=environment)


@sampled("tests", TESTED, "cli", "release/s3")
def test_the_tests_pass(tests: str, environment: Path) -> None:
    without = ("-p", "no:cacheprovider", "-p", "no:anyio")  # a plugin of a dependency's, which warns
    run(environment, "python", "-m", "pytest", "--quiet", *without, ROOT / "tests" / "unit" / tests, cwd=ROOT)
