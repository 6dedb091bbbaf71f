"""`pip install wheelmill` without the factory: the client imports, and the factory's commands say what is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.real.conftest import ROOT

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("client")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", ROOT], check=True)
    return folder


def run(environment: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    program = environment / "bin" / argv[0]
    return subprocess.run([program, *argv[1:]], cwd=environment, capture_output=True, text=True, check=False)


def test_the_client_imports(environment: Path) -> None:
    assert run(environment, "python", "-c", "import wheelmill.client").returncode == 0


def test_the_configuration_ships_with_it(environment: Path) -> None:
    done = run(environment, "wheelmill", "plan", "flash-attn", "--cuda", "13.0", "--torch", "2.11", "--python", "3.12")
    assert done.returncode == 0, done.stderr
    assert "wheels to build: 2," in done.stdout


def test_a_command_of_the_factory_asks_for_it_by_name(environment: Path) -> None:
    done = run(environment, "wheelmill", "run", "flash-attn", "--cuda", "13.0")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "hint: pip install 'wheelmill[factory]'"
