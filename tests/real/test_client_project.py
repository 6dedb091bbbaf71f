"""Projects of every kind get wheels from a server of this machine, and uv has nothing left to do."""

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.wheel_site import write_site
from wheelmill.index.serve import serving
from wheelmill.names import PythonVersion

pytestmark = pytest.mark.real

PYTHON = PythonVersion(*sys.version_info[:2])
TAG = f"{PYTHON.interpreter}-{PYTHON.abi}-linux_{platform.machine()}"
BASE = Path(sys.base_prefix) / "bin" / f"python{PYTHON}"

PROJECTS = {
    "empty": None,
    "fresh": '[project]\nname = "fresh"\nversion = "0.1.0"\nrequires-python = ">=3.11"\ndependencies = []\n',
    "commented": """\
# first line
[project]
name = "old"   # its name
version = "2"
requires-python = ">=3.11"
dependencies = [
    "rich-text",  # tables
    # the framework:
    "torch>=2.0",
    "Demo.GPU>=0.9",
]

[tool.ruff]
line-length = 100 # wide
""",
    "poetry": """\
[tool.poetry]
name = "poems"
version = "3.0"
description = "old style"
authors = ["A <a@example.org>"]
package-mode = false

[tool.poetry.dependencies]
python = "^3.11"
rich-text = "^1.0"
""",
}

Wheelmill = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    write_site(tmp_path / "site", TAG)
    return tmp_path / "site"


@pytest.fixture
def variables(site: Path, tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment in which this site is the only index and no cache has anything."""
    with serving(site) as url:
        yield {
            **{name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP_", "VIRTUAL_"))},
            "PATH": f"{BASE.parent}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "UV_DEFAULT_INDEX": f"{url}simple/",
            "UV_CACHE_DIR": str(tmp_path / "uv-cache"),
            "UV_HTTP_RETRIES": "0",
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "SITE": url,
        }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def wheelmill(variables: dict[str, str], project: Path) -> Wheelmill:
    """Run wheelmill in the project, for torch 2.11 and CUDA 13.0 where none is installed."""

    def run(*arguments: str, exit_code: int = 0, source: str = "simple/") -> subprocess.CompletedProcess[str]:
        chosen = {**variables, "WHEELMILL_SOURCES": variables["SITE"] + source}
        argv = [sys.executable, "-m", "wheelmill", *arguments]
        done = subprocess.run(argv, cwd=project, env=chosen, capture_output=True, text=True, check=False)
        assert done.returncode == exit_code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    return run


TARGET = ("--python", str(PYTHON), "--torch", "2.11", "--cuda", "13.0")


def uv_sync(project: Path, variables: dict[str, str]) -> str:
    done = subprocess.run(["uv", "sync"], cwd=project, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize("source", ["simple/", "wheels.html"])
@pytest.mark.parametrize("kind", PROJECTS)
def test_uv_has_nothing_left_to_do(
    kind: str, source: str, project: Path, wheelmill: Wheelmill, variables: dict[str, str]
) -> None:
    if text := PROJECTS[kind]:
        (project / "pyproject.toml").write_text(text)
    wheelmill("add", "demo-gpu", *TARGET, source=source)
    before = (project / "pyproject.toml").read_text()
    for _ in range(2):
        talk = uv_sync(project, variables)
        assert "Checked" in talk
        assert " + " not in talk
    subprocess.run([project / ".venv" / "bin" / "python", "-c", "import demo_gpu, torch"], check=True)
    wheelmill("add", "demo-gpu", *TARGET, source=source)
    assert (project / "pyproject.toml").read_text() == before
