"""What the pages on installing a wheel say of other tools than pip and uv, done by these tools as the pages say it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.finder_lines import finder_lines
from tests.install_pages import (
    APEX,
    HOST,
    PYTHON,
    RIGHT,
    Host,
    Section,
    follow,
    host_of_the_pages,
    installed_in,
    make_environment,
    sections,
)
from wheelmill.names import ProjectName

pytestmark = pytest.mark.real

SECTIONS = sections()
INSTALLED = {
    "pip-and-uv.md#apex-with-pip": APEX,
    "pip-and-uv.md#another-cuda": {"flash-attn": "2.8.3+cu128torch2.11", "torch": "2.11.0+cu128"},
    "pip-and-uv.md#a-requirements-file": RIGHT,
    "offline.md#a-folder-of-wheels": RIGHT,
    "offline.md#with-hashes": RIGHT,
    "offline.md#with-pylocktoml": RIGHT,
    "many-machines.md#several-pythons-and-platforms": RIGHT,
    "private-indexes.md#netrc-for-pip-and-uv": RIGHT,
}
"""What is in ``.venv`` at the end of a section that takes some seconds."""
POETRY = '\n[[tool.poetry.source]]\nname = "usual"\nurl = "{usual}"\n'
PDM = '\n[[tool.pdm.source]]\nname = "pypi"\nurl = "{usual}"\n'
USUAL = {
    "projects.md#poetry": POETRY,
    "projects.md#pdm": PDM,
    "private-indexes.md#poetry": POETRY,
    "private-indexes.md#pdm": PDM,
}
"""The usual package index is another one here, which only the project can tell these tools."""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with host_of_the_pages(tmp_path_factory.mktemp("host")) as served:
        yield served


def script_of(section: Section, host: Host) -> str:
    project = section.file("pyproject.toml") if section.name in USUAL else ""
    usual = USUAL.get(section.name, "").format(usual=host.usual)
    return host.filled(section.script().replace(project, project + usual) if project else section.script())


@pytest.mark.parametrize("name", ["projects.md#hatch", "projects.md#pip-tools", *USUAL])
def test_a_project_of_a_tool(name: str, host: Host, tools: Path, tmp_path: Path) -> None:
    variables = host.variables(tmp_path / "home", programs=(tools / "bin",), wheels=tools / "wheels")
    follow(script_of(SECTIONS[name], host), tmp_path, variables)
    assert installed_in(tmp_path / ".venv") == RIGHT


@pytest.mark.parametrize("name", INSTALLED)
def test_a_section_installs_what_it_says(name: str, host: Host, tmp_path: Path) -> None:
    follow(host.filled(SECTIONS[name].script()), tmp_path, host.variables(tmp_path / "home"))
    assert installed_in(tmp_path / ".venv") == INSTALLED[name]


def test_an_old_pip_says_what_the_page_says_of_it(host: Host, tmp_path: Path) -> None:
    told = re.search(r"`(inconsistent Name: [^`]+)`", SECTIONS["pip-and-uv.md#pip"].text)
    make_environment(tmp_path / ".venv", "pip==23.1.2", "setuptools")
    install = "--no-deps --extra-index-url https://HOST/cu130/torch2.11/simple/ --only-binary flash-attn flash-attn"
    script = host.filled(f".venv/bin/pip install {install} 2>&1 || true")
    assert told
    assert told[1] in follow(script, tmp_path, host.variables(tmp_path / "home"))


@pytest.mark.parametrize("project", ["flash-attn", "apex"])
def test_the_finder_gives_the_lines_of_the_pages(project: str, host: Host) -> None:
    """A table of a project may have more keys in a page, and a list more entries, than in the finder's lines."""
    names = [ProjectName(name) for name in ("flash-attn", "apex")]
    lines = finder_lines(host.store, host.catalogue, names, chosen=project, python=PYTHON, root=HOST)
    pages = "\n".join(block.text for section in SECTIONS.values() for block in section.blocks)
    tools = lines.keys() if project == "flash-attn" else {"pip", "uv", "pyproject"}
    shown = {
        line for tool in tools for line in lines[tool].splitlines() if not line.startswith(("dependencies = ", "["))
    }
    assert sorted(line for line in shown if line not in pages) == []
