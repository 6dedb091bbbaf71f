"""Every command that the site gives for a package whose name is another's installs ours, whatever the other's version.

pip takes the highest version of all indexes, and 99 is higher than 0.1.
"""

import json
import os
import platform
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import tomlkit

from tests.releases import manifests_in, store_in
from tests.unit.index.site.test_packages import catalogue, commands
from tests.unit.release.conftest import NOW, certified_wheel
from tests.wheels import write_wheel
from wheelmill.index.collect import site_of_folder, site_of_releases
from wheelmill.index.render import pages_of
from wheelmill.index.serve import serve_folder
from wheelmill.index.site.finder import finder_data
from wheelmill.index.site.wheels import wheel_groups
from wheelmill.index.tree import Catalogue, Site
from wheelmill.index.write import write_site
from wheelmill.names import project_name
from wheelmill.release.publish import publish
from wheelmill.system import own_installation

pytestmark = pytest.mark.real

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
ABI = f"cp{sys.version_info.major}{sys.version_info.minor}"
TAGS = f"{ABI}-{ABI}-linux_{platform.machine()}"
OURS = "0.1+cu130torch2.11"
APEX, UNDER = (f"{name}-{OURS}-{TAGS}.whl" for name in ("apex", "demo_under"))
MACHINE = {"platform": f"linux_{platform.machine()}", "gpu": "", "python": PYTHON}
CHOICE = {"project": "apex", "cuda": "13.0", "torch": "2.11", **MACHINE}
NAMES = {"apex", "demo-under", "einops"}
UV = str(Path(sys.executable).with_name("uv"))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Site]]:
    """The URL of a site of ours, with a package index beside it that has other projects of the same names."""
    folder = tmp_path_factory.mktemp("names")
    store = store_in(folder / "releases")
    apex = certified_wheel(folder / "wheels" / APEX, requires=("einops>=0.8", "demo-under"))
    publish(store, [apex, certified_wheel(folder / "wheels" / UNDER)], now=NOW)
    site = site_of_releases(manifests_in(store), "../releases")
    write_site(pages_of(site), folder / "site")
    for name in ("apex-99.0", "demo_under-99.0", "einops-0.8.1"):
        write_wheel(folder / "usual" / "wheels" / f"{name}-py3-none-any.whl")
    usual = site_of_folder(folder / "usual" / "wheels", "wheels", warn=lambda _text: None)
    write_site(pages_of(usual), folder / "usual")
    with serve_folder(folder) as url:
        yield url, site


@pytest.fixture
def known() -> Catalogue:
    """Our packages, with the names of others."""
    named = catalogue(apex="other")
    apex, under = project_name("apex"), project_name("demo-under")
    packages = {apex: named.packages[apex], under: replace(named.packages[apex], name=under, pypi="absent")}
    return replace(named, packages=packages)


def run(argv: list[str], url: str, folder: Path) -> str:
    """Run an installer that has no settings but the package index."""
    own = {name: text for name, text in os.environ.items() if not name.startswith(("PIP_", "UV_", "VIRTUAL_ENV"))}
    usual = f"{url}usual/simple/"
    settings = {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": usual, "UV_DEFAULT_INDEX": usual, "UV_NO_CACHE": "1"}
    settings |= {"PIP_NO_CACHE_DIR": "1", "VIRTUAL_ENV": str(folder / ".venv")}
    done = subprocess.run(argv, env=own | settings, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def installed(lines: list[str], installer: str, url: str, folder: Path) -> dict[str, str]:
    """What is in a new environment after commands were typed there."""
    run([UV, "venv", "--quiet", "--python", sys.executable], url, folder)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / ".venv" / "bin" / "python")]
    for line in lines:
        program, *arguments = shlex.split(line.replace("ADDRESS", f"{url}site/cu130/torch2.11/simple/"))
        run([*(pip if installer == "pip" else [UV, "pip"]), *arguments], url, folder)
        assert program == "pip"
    return contents(url, folder)


def contents(url: str, folder: Path) -> dict[str, str]:
    listed = json.loads(run([UV, "pip", "list", "--format", "json"], url, folder))
    return {each["name"]: each["version"] for each in listed if each["name"] in NAMES}


def shown_by_the_finder(site: Site, known: Catalogue, url: str) -> dict[str, str]:
    """What the finder's script gives for a choice."""
    groups = {project: wheel_groups(files) for project, files in site.projects.items()}
    scripts = "".join(
        (own_installation.INDEX / "static" / f"{name}.js").read_text() for name in ("match", "projects", "install")
    )
    program = f"""{scripts}
const wheels = new Wheels(JSON.parse(require('fs').readFileSync(0)));
const [row] = wheels.fitting({json.dumps(CHOICE)});
const given = commands(row, {json.dumps(CHOICE)}, wheels, '{url}site/' + treeOf(row, '2.11'));
console.log(JSON.stringify({{ ...given, notes: notesOnNames(row, {json.dumps(CHOICE)}, wheels)[0] }}));"""
    data = json.dumps(finder_data(groups, site.torches, known))
    done = subprocess.run(["node", "--eval", program], input=data, stdout=subprocess.PIPE, text=True, check=True)
    given: dict[str, str] = json.loads(done.stdout)
    return given


RIGHT = {"apex": OURS, "demo-under": OURS, "einops": "0.8.1"}


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_a_packages_page_installs_it(installer: str, index: tuple[str, Site], known: Catalogue, tmp_path: Path) -> None:
    url, site = index
    lines = [*commands(site, known, "demo-under"), *commands(site, known, "apex")]
    if installer == "uv":
        lines = [line.replace("--index-url", "--default-index") for line in lines]
    assert installed(lines, installer, url, tmp_path) == RIGHT


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_the_finder_installs_ours(installer: str, index: tuple[str, Site], known: Catalogue, tmp_path: Path) -> None:
    url, site = index
    given = shown_by_the_finder(site, known, url)
    assert given["notes"] == "PyPI has another project named apex: these commands ask this index alone."
    lines = [line.removeprefix("uv ") for line in given[installer].splitlines()]
    assert installed(lines, installer, url, tmp_path) == RIGHT


def test_the_lines_of_pyproject_lock_ours(index: tuple[str, Site], known: Catalogue, tmp_path: Path) -> None:
    url, site = index
    project = tomllib.loads(shown_by_the_finder(site, known, url)["pyproject"])
    project["project"] |= {"name": "user", "version": "1", "requires-python": f"=={PYTHON}.*"}
    (tmp_path / "pyproject.toml").write_text(tomlkit.dumps(project))
    run([UV, "sync", "--python", sys.executable], url, tmp_path)
    assert contents(url, tmp_path) == RIGHT


def test_two_indexes_would_give_the_other_one(index: tuple[str, Site], tmp_path: Path) -> None:
    line = "pip install --extra-index-url ADDRESS apex"
    assert installed([line], "pip", index[0], tmp_path)["apex"] == "99.0"
