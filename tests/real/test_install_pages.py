"""What the pages on installing a wheel say of other tools than pip and uv, done by these tools as the pages say it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.finder_lines import finder_lines
from tests.install_host import (
    APEX,
    HOST,
    PYTHON,
    RIGHT,
    Host,
    follow,
    host_of_the_pages,
    installed_in,
    make_environment,
)
from tests.install_pages import Section, project_script, sections
from tests.real.conftest import sampled
from wheelmill.names import ProjectName

pytestmark = pytest.mark.real

SECTIONS = sections()
INSTALLED = {
    "pip-and-uv.md#another-cuda": {"flash-attn": "2.8.3+cu128torch2.11", "torch": "2.11.0+cu128"},
    "pip-and-uv.md#a-requirements-file": RIGHT,
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
    if section.name == "projects.md#pip-tools":
        return host.filled(section.script())
    return host.filled(project_script(section, USUAL.get(section.name, "").format(usual=host.usual)))


@sampled("name", ["projects.md#hatch", "projects.md#pip-tools", *USUAL], "projects.md#pip-tools", "projects.md#poetry")
def test_a_project_of_a_tool(name: str, host: Host, tools: Path, tmp_path: Path) -> None:
    variables = host.variables(tmp_path / "home", programs=(tools / "bin",), wheels=tools / "wheels")
    follow(script_of(SECTIONS[name], host), tmp_path, variables)
    assert installed_in(tmp_path / ".venv") == RIGHT


@sampled("name", INSTALLED, "many-machines.md#several-pythons-and-platforms", "private-indexes.md#netrc-for-pip-and-uv")
def test_a_section_installs_what_it_says(name: str, host: Host, tmp_path: Path) -> None:
    follow(host.filled(SECTIONS[name].script()), tmp_path, host.variables(tmp_path / "home"))
    assert installed_in(tmp_path / ".venv") == INSTALLED[name]


@pytest.mark.nightly
def test_pip_installs_apex_into_an_environment_with_torch(host: Host, tmp_path: Path) -> None:
    environment = SECTIONS["pip-and-uv.md#pip"].script().splitlines()[:4]
    script = "\n".join((*environment, SECTIONS["pip-and-uv.md#apex-with-pip"].script()))
    follow(host.filled(script), tmp_path, host.variables(tmp_path / "home"))
    assert installed_in(tmp_path / ".venv") == APEX


OFFLINE = {
    "offline.md#a-folder-of-wheels": ("wheels",),
    "offline.md#with-hashes": ("wheels", "requirements.txt"),
    "offline.md#with-pylocktoml": ("pylock.toml", "wheels.tar.gz"),
}
"""What is carried over."""


@sampled("name", OFFLINE, "offline.md#with-hashes")
def test_what_was_carried_over_is_enough(name: str, host: Host, tmp_path: Path) -> None:
    """The last block is typed on the other machine, which has another home and an index that does not answer."""
    section, nobody = SECTIONS[name], "http://127.0.0.1:9/simple/"
    requirements = SECTIONS["projects.md#pip-tools"].script(slice(1))
    (here := tmp_path / "here").mkdir()
    (there := tmp_path / "there").mkdir()
    follow(host.filled(f"{requirements}\n{section.script(slice(-1))}"), here, host.variables(tmp_path / "home"))
    for each in OFFLINE[name]:
        (here / each).rename(there / each)
    alone = {"PIP_INDEX_URL": nobody, "UV_DEFAULT_INDEX": nobody, "WHEELMILL_SOURCES": nobody}
    last = host.filled(section.script(slice(-1, None)))
    follow(last, there, host.variables(tmp_path / "another-home") | alone)
    assert installed_in(there / ".venv") == RIGHT


@sampled("release", ["22.3.1", "23.0.1", "23.1.2", "26.3"], "23.0.1")
def test_an_old_pip_and_a_new_one(release: str, host: Host, tmp_path: Path) -> None:
    """Those up to 23.1, of which Debian 12 has one, compare names as they are written, and METADATA says flash_attn."""
    make_environment(tmp_path / ".venv", f"pip=={release}", "setuptools")
    script = SECTIONS["pip-and-uv.md#pip"].script().replace("python3.12 -m venv .venv", "")
    follow(host.filled(script), tmp_path, host.variables(tmp_path / "home"))
    assert installed_in(tmp_path / ".venv") == RIGHT


@pytest.mark.parametrize("project", ["flash-attn", "apex"])
def test_the_finder_gives_the_lines_of_the_pages(project: str, host: Host) -> None:
    """A table of a project may have more keys in a page, and a list more entries, than in the finder's lines.

    Projects with apex have apex for flash-attn.
    """
    names = [ProjectName(name) for name in ("flash-attn", "apex")]
    lines = finder_lines(host.store, host.catalogue, names, choice={"project": project, "python": PYTHON}, root=HOST)
    pages = "\n".join(block.text for section in SECTIONS.values() for block in section.blocks)
    pages += pages.replace("flash-attn", project)
    tools = lines.keys() if project == "flash-attn" else {"pip", "uv", "pyproject"}
    shown = {x for tool in tools for x in lines[tool].splitlines() if not x.startswith(("dependencies = ", "["))}
    assert sorted(line for line in shown if line not in pages) == []
