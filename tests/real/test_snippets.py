"""The lines that the finder gives for other tools, each taken by the tool itself.

Another index has each name too: nothing of it may be installed, whether it is the same package without CUDA or another
one with a higher version.
"""

import platform
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.finder_lines import finder_lines
from tests.machine_folders import BASE, locked, new_environment
from tests.real.conftest import or_nightly, tool_variables, versions_in
from tests.releases import store_in
from tests.unit.plan.examples import CONFIG, DEMO, PLAIN
from tests.unit.release.conftest import NOW, certified_wheel
from tests.wheel_site import add_wheel
from wheelmill.config.model.files import Listing
from wheelmill.config.model.package import NameElsewhere
from wheelmill.index.serve import serve_folder
from wheelmill.installers.uv import own_uv
from wheelmill.pipeline.site import Stores, build_index, catalogue_of
from wheelmill.release.ledger.ledger import LedgerSummary
from wheelmill.release.publish import publish

pytestmark = pytest.mark.real

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
TAGS = f"cp{PYTHON.replace('.', '')}-cp{PYTHON.replace('.', '')}-manylinux_2_28_{platform.machine()}"
OURS = {"demo": "1.0+cu130torch2.11", "plain": "2.0+cu130"}
PROJECT = f'[project]\nname = "mine"\nversion = "1"\nrequires-python = "=={PYTHON}.*"\n'


@dataclass(frozen=True, kw_only=True)
class World:
    """The snippets for plain, which needs demo, and an environment in which the other index is the usual one."""

    snippets: dict[str, str]
    other: str
    variables: dict[str, str]
    folder: Path

    def project(self, text: str) -> Path:
        """A project of a file."""
        folder = self.folder / "project"
        folder.mkdir()
        (folder / "pyproject.toml").write_text(text)
        return folder

    def run(self, *argv: str | Path, within: Path) -> str:
        done = subprocess.run(argv, env=self.variables, cwd=within, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(params=or_nightly(["same", "other"], "other"))
def world(request: pytest.FixtureRequest, tools: Path, tmp_path: Path) -> Iterator[World]:
    """Where the package index has the same projects, and where it has others of these names."""
    elsewhere: NameElsewhere = request.param
    host = tmp_path / "host"
    store = store_in(host / "releases")
    names = [f"{project}-{version}-{TAGS}.whl" for project, version in OURS.items()]
    requires = {"demo": ("filelock>=3",), "plain": ("demo",)}
    wheels = [certified_wheel(host / "wheels" / each, requires=requires[each.split("-")[0]]) for each in names]
    publish(store, wheels, now=NOW)
    packages = {
        DEMO: replace(CONFIG.packages[DEMO], pypi=elsewhere),
        PLAIN: replace(CONFIG.packages[PLAIN], requires=(DEMO,), pypi=elsewhere),
    }
    catalogue = catalogue_of(replace(CONFIG, packages=packages), LedgerSummary())
    stores = Stores(store=store, base_url="../releases", listing=Listing(), facts=CONFIG.compatibility)
    build_index(stores, host / "site", catalogue=catalogue)
    theirs = ("demo-1.0", "plain-2.0") if elsewhere == "same" else ("demo-9.0", "plain-9.0")
    for wheel in (*theirs, "filelock-3.20.0"):
        add_wheel(host / "pypi", f"{wheel}-py3-none-any.whl")
    with serve_folder(host) as url:
        choice = {"project": PLAIN, "python": PYTHON}
        snippets = finder_lines(store, catalogue, (DEMO, PLAIN), choice=choice, root=f"{url}site/")
        yield World(
            snippets=snippets,
            other=f"{url}pypi/simple/",
            folder=tmp_path,
            variables=tool_variables(f"{url}pypi/simple/", tools, tmp_path),
        )


def versions_of_ours(environment: Path) -> dict[str, str]:
    installed = versions_in(environment)
    assert "filelock" in installed
    return {project: installed[project] for project in OURS}


def test_poetry(world: World) -> None:
    folder = world.project(
        world.snippets["poetry"].replace("[project]\n", PROJECT)
        + f'\n\n[[tool.poetry.source]]\nname = "other"\nurl = "{world.other}"\n\n[tool.poetry]\npackage-mode = false\n'
    )
    world.run("poetry", "install", within=folder)
    assert versions_of_ours(folder / ".venv") == OURS
    world.run("poetry", "check", "--lock", within=folder)


def test_pdm(world: World) -> None:
    folder = world.project(
        world.snippets["pdm"].replace("[project]\n", PROJECT)
        + f'\n\n[[tool.pdm.source]]\nname = "pypi"\nurl = "{world.other}"\n\n[tool.pdm]\ndistribution = false\n'
    )
    world.run("pdm", "use", BASE, within=folder)
    world.run("pdm", "install", within=folder)
    assert versions_of_ours(folder / ".venv") == OURS


def test_hatch(world: World) -> None:
    """Hatch runs the commands before it installs the project, whose own requirement they fulfil."""
    requires = (
        'dependencies = ["plain"]\n\n[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
    )
    folder = world.project(f'{PROJECT}{requires}\n{world.snippets["hatch"]}\npath = ".venv"\n')
    (folder / "mine.py").write_text("")
    world.run("hatch", "env", "create", within=folder)
    assert versions_of_ours(folder / ".venv") == OURS


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    new_environment(tmp_path / "environment")
    return tmp_path / "environment"


def test_a_dockerfile(world: World, environment: Path) -> None:
    """Docker gives a shell what stands behind RUN, with its lines joined."""
    instruction, _, command = world.snippets["dockerfile"].partition(" ")
    assert instruction == "RUN"
    world.variables["PATH"] = f"{environment / 'bin'}:{world.variables['PATH']}"
    world.run("/bin/sh", "-c", command.replace("\\\n", ""), within=environment)
    assert versions_of_ours(environment) == OURS


def test_jupyter(world: World, environment: Path) -> None:
    """The magic command of IPython, which runs what stands in a cell."""
    python = environment / "bin" / "python"
    subprocess.run([own_uv(), "pip", "install", "--quiet", "--python", python, *locked("ipython")], check=True)
    cell = environment / "cell.ipy"
    cell.write_text(world.snippets["jupyter"])
    world.run(python, "-m", "IPython", "--no-banner", "--colors=NoColor", cell, within=environment)
    assert versions_of_ours(environment) == OURS


def test_pixi_is_told_of_the_index_for_each_package(world: World) -> None:
    said = tomllib.loads(world.snippets["pixi"])["pypi-dependencies"]
    assert said.keys() == OURS.keys()
    assert all(each["index"].endswith("/site/cu130/simple/") for each in said.values())
