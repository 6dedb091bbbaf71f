"""Folders and links with the characters that shells, URLs and requirements read: no kind of project is harmed."""

import sys
import tomllib
from hashlib import sha256
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from packaging.requirements import Requirement

from tests.integration.conftest import Command
from tests.integration.test_hostile_pages import TARGET
from tests.page_server import Answer, PageServer, in_pieces
from tests.wheels import wheel_name, write_wheel
from wheelmill.client.install.installer import Installer, Pip, Uv
from wheelmill.client.install.wheel_cache import CachedWheel
from wheelmill.installers.uv import own_uv
from wheelmill.names import Sha256
from wheelmill.system import process
from wheelmill.system.progress import QUIET
from wheelmill.web.pages import absolute

HOSTILE = "a b#c?d%e%20${X};[y]'é\""
PROJECT = '[project]\nname = "mine"\nversion = "1"\nrequires-python = "==3.12.*"\ndependencies = []\n'
KINDS = {
    "pip": PROJECT,
    "uv": f"{PROJECT}[tool.uv]\npackage = false\n",
    "hatch": f"{PROJECT}[tool.hatch.envs.default]\n",
    "pdm": f"{PROJECT}[tool.pdm]\ndistribution = false\n",
    "poetry": f"{PROJECT}[tool.poetry]\npackage-mode = false\n",
    "poetry-1": '[tool.poetry]\nname = "mine"\nversion = "1"\n[tool.poetry.dependencies]\npython = "~3.12"\n',
}


@pytest.fixture
def source(server: PageServer, tmp_path: Path) -> Path:
    """A file of sources, whose path is hostile as is the link to the wheel."""
    wheel = write_wheel(tmp_path / wheel_name(tag="py3-none", platform="any"))
    link = f"{server.url}/{HOSTILE.replace('#', '%23').replace('?', '%3F')}/{wheel.name}"
    server.pages[urlsplit(absolute(server.url, link) or "").path] = in_pieces(wheel.read_bytes())
    hashed = sha256(wheel.read_bytes()).hexdigest()
    server.pages["/links/"] = Answer(f'<a href="{escape(link)}#sha256={hashed}">{wheel.name}</a>'.encode())
    path = tmp_path / HOSTILE / "sources.yml"
    path.parent.mkdir()
    path.write_text(f"sources:\n  mine: {{find_links: '{server.url}/links/'}}\n")
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_a_project_of_each_kind(kind: str, source: Path, wheelmill: Command, server: PageServer) -> None:
    path = source.with_name("pyproject.toml")
    path.write_text(KINDS[kind])
    wheelmill("add", "demo", "--no-sync", "--project", path, "--source", source, *TARGET)
    content = tomllib.loads(path.read_text())
    if kind == "poetry-1":
        url = content["tool"]["poetry"]["dependencies"]["demo"]["url"]
    else:
        url = Requirement(content["project"]["dependencies"][0]).url or ""
    assert urlsplit(url).path in server.pages
    assert content["tool"]["wheelmill"]["sources"] == {"demo": ["sources.yml"]}
    wheelmill("update", "--no-sync", "--project", path, *TARGET, WHEELMILL_SOURCES="")
    assert tomllib.loads(path.read_text()) == content
    wheelmill("remove", "demo", "--no-sync", "--project", path)
    assert "demo" not in path.read_text()


def test_requirements(source: Path, wheelmill: Command) -> None:
    path = source.parent.parent / "requirements.txt"
    path.write_text("")
    wheelmill("add", "demo", "--no-sync", "--project", path, "--source", source, *TARGET)
    written = path.read_text()
    assert f"# source of demo: {HOSTILE}/sources.yml\n" in written
    wheelmill("update", "--no-sync", "--project", path, *TARGET, WHEELMILL_SOURCES="")
    assert path.read_text() == written


@pytest.mark.parametrize("program", ["pip", "uv"])
def test_a_wheel_in_such_a_folder(program: str, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_wheel(source.with_name("demo-1.0-py3-none-any.whl"), files={"demo/__init__.py": b""})
    content = path.read_bytes()
    wheel = CachedWheel(path=path, sha256=Sha256(sha256(content).hexdigest()), size=len(content))
    folder = source.with_name("installed")
    python = Path(sys.executable)
    if program == "uv":
        process.run([own_uv(), "venv", "--quiet", folder, "--python", python])
        installer: Installer = Uv(python=folder / "bin" / "python", progress=QUIET, program=own_uv())
    else:
        monkeypatch.setenv("PIP_TARGET", str(folder))
        installer = Pip(python=python, progress=QUIET)
    installer.install([wheel], [], alone=True, torch_place=None)
    assert len([*folder.glob("**/demo/__init__.py")]) == 1
