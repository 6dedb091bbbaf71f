"""Projects of every kind get a wheel, and uv has nothing left to do."""

import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.unit.client.targets import LINUX, candidate, resolution
from tests.wheel_site import add_wheel, write_site
from wheelmill.client.installer import find_uv
from wheelmill.client.project_change import add_wheels, remove_packages
from wheelmill.client.records import Resolution, Source, SourceKind
from wheelmill.client.uv_project import UvProject
from wheelmill.errors import InstallError, IntegrityError
from wheelmill.files import sha256_of
from wheelmill.index.serve import serving
from wheelmill.names import Platform, PythonVersion, project_name
from wheelmill.package_index import configured_index
from wheelmill.progress import Progress

pytestmark = pytest.mark.real

PYTHON = PythonVersion(*sys.version_info[:2])
MACHINE = f"linux_{platform.machine()}"
TAG = f"{PYTHON.interpreter}-{PYTHON.abi}-{MACHINE}"
WHEEL = f"demo_gpu-1.0+cu130torch2.11-{TAG}.whl"

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


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The only index there is; nothing is cached from other tests."""
    folder = tmp_path / "site"
    write_site(folder, TAG)
    with serving(folder) as url:
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"{url}simple/")
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
        monkeypatch.setenv("UV_FIND_LINKS", "")
        monkeypatch.setenv("UV_HTTP_RETRIES", "0")
        monkeypatch.setenv("SITE", url)
        configured_index.cache_clear()
        yield folder


@pytest.fixture(params=["index", "page"])
def resolved(site: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Resolution:
    import os

    url = os.environ["SITE"]
    kind, place = (SourceKind.SIMPLE, "simple/") if request.param == "index" else (SourceKind.FIND_LINKS, "files/")
    source = Source(name="demo", kind=kind, url=url + place)
    chosen = candidate(WHEEL, source=Source(name="x", kind=kind, url=f"{url}files/"), sha256=sha256_of(site / "files" / WHEEL))
    from dataclasses import replace

    environment = replace(LINUX, python=PYTHON, python_release=None, platform=Platform(MACHINE), interpreter=Path(sys.executable))
    return resolution(replace(chosen, source=source), environment=environment)


def uv_project(folder: Path) -> UvProject:
    uv = find_uv()
    assert uv
    return UvProject(directory=folder, uv=uv, python=str(PYTHON), progress=Progress())


def add(folder: Path, resolved: Resolution) -> None:
    chosen = [choice.candidate for choice in resolved.choices.values()]
    add_wheels(
        folder / "pyproject.toml",
        [Requirement("demo-gpu")],
        [resolved],
        lambda: uv_project(folder).sync(chosen),
    )


def uv_sync(folder: Path) -> str:
    done = subprocess.run(["uv", "sync"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize("kind", PROJECTS)
def test_uv_has_nothing_left_to_do(kind: str, tmp_path: Path, resolved: Resolution) -> None:
    folder = tmp_path / kind
    folder.mkdir()
    if text := PROJECTS[kind]:
        (folder / "pyproject.toml").write_text(text)
    add(folder, resolved)
    print((folder / "pyproject.toml").read_text())
    assert "demo-gpu" in (folder / "pyproject.toml").read_text()
    for _ in range(2):
        talk = uv_sync(folder)
        print(talk)
        assert "Checked" in talk
        assert " + " not in talk
    found = subprocess.run(
        [folder / ".venv" / "bin" / "python", "-c", "import demo_gpu, torch"], check=False
    )
    assert found.returncode == 0
