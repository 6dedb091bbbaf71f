"""What the pages on installing a wheel say of pip and uv, done as they say it."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pip
import pytest

from tests.install_host import APEX, RIGHT, Host, follow, host_of_the_pages, installed_in, make_environment
from tests.install_pages import Section, project_script, sections

SECTIONS = sections()
INSTALLED = {
    "pip-and-uv.md#uv": RIGHT,
    "many-machines.md#two-cuda-releases": RIGHT,
    "projects.md#machines-without-a-gpu": RIGHT,
}
"""What is in ``.venv`` at the end of a section."""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with host_of_the_pages(tmp_path_factory.mktemp("host")) as served:
        yield served


def done(section: Section, host: Host, folder: Path) -> str:
    return follow(host.filled(section.script()), folder, host.variables(folder / "home"))


@pytest.mark.parametrize("name", INSTALLED)
def test_a_section_installs_what_it_says(name: str, host: Host, tmp_path: Path) -> None:
    done(SECTIONS[name], host, tmp_path)
    assert installed_in(tmp_path / ".venv") == INSTALLED[name]


@pytest.mark.parametrize("name", ["projects.md#uv", "private-indexes.md#uv-by-variables"])
def test_a_project_of_uv_installs_it(name: str, host: Host, tmp_path: Path) -> None:
    follow(host.filled(project_script(SECTIONS[name])), tmp_path, host.variables(tmp_path / "home"))
    assert installed_in(tmp_path / ".venv") == RIGHT


def test_a_project_of_uv_installs_apex(host: Host, tmp_path: Path) -> None:
    script = project_script(SECTIONS["projects.md#uv"]).replace("flash-attn==2.8.3", "apex==0.1+cu130torch2.11")
    script, _, _ = script.replace("flash-attn", "apex").partition("uv run")
    follow(host.filled(script), tmp_path, host.variables(tmp_path / "home"))
    assert installed_in(tmp_path / ".venv") == APEX


PIP = SECTIONS["pip-and-uv.md#pip"]


@pytest.mark.real
def test_pip_installs_it_into_a_new_environment(host: Host, tmp_path: Path) -> None:
    done(PIP, host, tmp_path)
    assert installed_in(tmp_path / ".venv") == RIGHT


def test_pip_installs_it_into_an_environment_that_has_a_pip(host: Host, tmp_path: Path) -> None:
    """Python takes many times as long to unpack its own."""
    make_environment(tmp_path / ".venv")
    (packages,) = tmp_path.glob(".venv/lib/python*/site-packages")
    (packages / "pip").symlink_to(Path(pip.__file__).parent)
    program = tmp_path / ".venv" / "bin" / "pip"
    program.write_text('#!/bin/sh\nexec "${0%/*}/python" -m pip "$@"\n')
    program.chmod(0o755)
    first, *script = PIP.script().splitlines(keepends=True)
    assert script.pop(0) == "python3.12 -m venv .venv\n"
    follow(host.filled(first + "".join(script)), tmp_path, host.variables(tmp_path / "home"))
    assert installed_in(tmp_path / ".venv") == RIGHT


def test_torch_says_which_address_it_is(host: Host, tmp_path: Path) -> None:
    section = SECTIONS["README.md#which-address"]
    torch = "uv venv\nuv pip install torch==2.11.*\n. .venv/bin/activate\n"
    assert follow(torch + section.script(), tmp_path, host.variables(tmp_path / "home")).split() == ["2.11.0", "13.0"]


def test_apex_is_installed_into_an_environment_with_torch(host: Host, tmp_path: Path) -> None:
    environment = SECTIONS["pip-and-uv.md#uv"].script().splitlines()[:3]
    script = "\n".join((*environment, SECTIONS["pip-and-uv.md#apex-with-uv"].script()))
    follow(host.filled(script), tmp_path, host.variables(tmp_path / "home"))
    assert installed_in(tmp_path / ".venv") == APEX


def test_a_wheel_is_chosen_for_a_machine_that_is_not_there(host: Host, tmp_path: Path) -> None:
    said = done(SECTIONS["many-machines.md#chosen-on-a-laptop-for-a-cluster"], host, tmp_path)
    chosen = said + "".join(path.read_text() for path in tmp_path.glob("pylock.toml"))
    assert RIGHT["flash-attn"] in unquote(chosen)


def test_a_script_brings_what_it_imports(host: Host, tmp_path: Path) -> None:
    assert done(SECTIONS["pip-and-uv.md#one-script"], host, tmp_path).split() == list(RIGHT.values())
