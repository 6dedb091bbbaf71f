"""A driver that is too old is told before anything is downloaded."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.conftest import TAG, Command
from tests.page_server import PageServer

WHEEL = f"demo-1.0+cu130-{TAG}.whl"


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """The interpreter of an empty environment."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    return tmp_path / ".venv" / "bin" / "python"


@pytest.fixture
def lock(tmp_path: Path, server: PageServer) -> Path:
    """A lock with a wheel for CUDA 13.0, which the server does not have."""
    path = tmp_path / "pylock.toml"
    path.write_text(
        f"""lock-version = "1.0"
created-by = "a test"
[[packages]]
name = "demo"
version = "1.0+cu130"
wheels = [{{name = "{WHEEL}", url = "{server.url}/demo.whl", size = 7, hashes = {{sha256 = "{"0" * 64}"}}}}]
"""
    )
    return path


@pytest.mark.parametrize("command", [("install", "--lock", "pylock.toml"), ("sync",)])
@pytest.mark.usefixtures("lock")
def test_a_lock_is_refused(command: tuple[str, ...], wheelmill: Command, python: Path, server: PageServer) -> None:
    refused = wheelmill(*command, "--python-path", python, "--driver", "570.26", exit_code=8)
    refused.check_refused("driver-too-old", "demo 1.0+cu130", "580.65.06", "570.26")
    assert server.asked == []


@pytest.mark.usefixtures("lock")
def test_who_names_a_newer_driver_gets_it_all_the_same(wheelmill: Command, python: Path, server: PageServer) -> None:
    command = ("install", "--lock", "pylock.toml", "--python-path", python)
    there = wheelmill(*command, "--driver", "580.65.06", exit_code=None, UV_CUDA_DRIVER_VERSION="470.10")
    assert "NVIDIA driver" not in there.stderr
    assert [path for path, _ in server.asked] == ["/demo.whl"]


@pytest.mark.usefixtures("lock")
def test_without_a_driver_there_is_a_warning(wheelmill: Command, python: Path, server: PageServer) -> None:
    done = wheelmill("install", "--lock", "pylock.toml", "--python-path", python, exit_code=None)
    if "no driver was found" not in done.stderr:
        pytest.skip("this machine has a driver")
    assert "warning: demo 1.0+cu130" in done.stderr
    assert server.asked != []
