"""The lower bounds in pyproject.toml are true: with the oldest versions, tests of the client and of buckets pass."""

import subprocess
from pathlib import Path

import pytest
from uv import find_uv_bin

from tests.real.conftest import ROOT, sampled

pytestmark = pytest.mark.real

TESTED = ("cli", "client", "web", "system", "wheel", "release/s3", "hosting/test_upload.py")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lowest")
    install = [find_uv_bin(), "pip", "install", "--quiet", "--python", str(folder)]
    subprocess.run([find_uv_bin(), "venv", "--quiet", "--clear", folder], check=True)
    subprocess.run([*install, "--resolution", "lowest-direct", f"{ROOT}[factory,s3]"], check=True)
    listing = [find_uv_bin(), "pip", "freeze", "--python", str(folder)]
    frozen = subprocess.run(listing, check=True, capture_output=True, text=True).stdout.splitlines()
    (lowest := folder / "lowest.txt").write_text("\n".join(line for line in frozen if " @ " not in line))
    tools = ("flask-cors", "hypothesis", "jsonschema", "moto[s3]", "pytest")  # which would bring newer ones
    subprocess.run([*install, "--constraint", lowest, *tools], check=True)
    return folder


def run(environment: Path, program: str, *arguments: str | Path, cwd: Path) -> None:
    words = [str(environment / "bin" / program), *map(str, arguments)]
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout[-5000:]}\n{done.stderr}"


def test_the_client_lists_what_is_installed(environment: Path) -> None:
    run(environment, "wheelmill", "list", "--json", cwd=environment)


@sampled("tests", TESTED, "cli", "web", "release/s3")
def test_the_tests_pass(tests: str, environment: Path) -> None:
    without = ("-p", "no:cacheprovider", "-p", "no:anyio")  # a plugin of a dependency's, which warns
    run(environment, "python", "-m", "pytest", "--quiet", *without, ROOT / "tests" / "unit" / tests, cwd=ROOT)
