"""pip and uv install wheels by the names of their aliases, and what they tell of two CUDA majors at once."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from pathlib import Path

import pytest

from tests.real.conftest import sampled
from tests.releases import store_in
from tests.torch_index import write_index_of_torch_wheels
from tests.unit.release.conftest import NOW, certified_wheel
from tests.wheels import write_wheel
from wheelmill.index.collect import site_of_folder
from wheelmill.index.render import pages_of
from wheelmill.index.serve import serve_folder
from wheelmill.index.write import write_site
from wheelmill.release.publish import publish

pytestmark = pytest.mark.real

PYTHON = f"cp{sys.version_info.major}{sys.version_info.minor}"
PACKAGES = """\
packages:
  demo:
    versions: ["1.0"]
    extra_deps: [torch]
    aliases: {suffix: true, extras: demo-gpu}
"""
TREE = "site/cu130/torch2.11/simple/"
"""Of one CUDA and torch."""
WIDE = "site/simple/"
"""Of all."""


@dataclass(frozen=True)
class Place:
    """An environment, and a served folder with our site, an index of torch and the usual package index."""

    folder: Path
    url: str

    @property
    def python(self) -> str:
        return str(self.folder / ".venv" / "bin" / "python")

    @property
    def installed(self) -> dict[str, str]:
        listed = self.run("uv", "pip", "list", "--format", "json", "--python", self.python).stdout
        return {each["name"]: each["version"] for each in json.loads(listed)}

    def run(self, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a program without this machine's settings."""
        own = {name: text for name, text in os.environ.items() if not name.startswith(("PIP_", "UV_", "VIRTUAL_ENV"))}
        settings = {"PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1", "UV_NO_CACHE": "1", "PIP_NO_CACHE_DIR": "1"}
        argv = [sys.executable, "-m", module, *arguments]
        return subprocess.run(argv, env=own | settings, cwd=self.folder, capture_output=True, text=True, check=False)

    def has(self, *requirements: str, index: str) -> None:
        done = self.run("uv", "pip", "install", "--python", self.python, "--index-url", self.url + index, *requirements)
        assert done.returncode == 0, done.stderr


Install = Callable[..., subprocess.CompletedProcess[str]]


def with_pip(place: Place, *requirements: str) -> subprocess.CompletedProcess[str]:
    return place.run("pip", "--python", place.python, "install", *requirements)


def with_uv(place: Place, *requirements: str) -> subprocess.CompletedProcess[str]:
    return place.run("uv", "pip", "install", "--python", place.python, *requirements)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Wheels of demo for two CUDA and two torch releases; those for CUDA 12 came later. 1.1 is yanked for CUDA 13."""
    folder = tmp_path_factory.mktemp("served")
    store = store_in(folder / "releases")
    days = [
        [("1.0", "cu130", "2.10"), ("1.0", "cu130", "2.11")],
        [("1.0", "cu128", "2.10"), ("1.0", "cu128", "2.11")],
        [("1.1", "cu130", "2.11"), ("1.1", "cu128", "2.10")],
    ]
    for day, cells in enumerate(days):
        wheels = [
            certified_wheel(
                folder / "wheels" / f"demo-{version}+{cuda}torch{torch}-{PYTHON}-{PYTHON}-linux_x86_64.whl",
                content=f"{version} {cuda} {torch}".encode(),
                requires=(f"torch=={torch}.*", "einops>=0.8"),
            )
            for version, cuda, torch in cells
        ]
        publish(store, wheels, now=NOW + timedelta(days=day))
    for torch in ("2.10.0+cu130", "2.11.0+cu130"):
        write_wheel(folder / "torch" / "wheels" / f"torch-{torch}-py3-none-any.whl")
    write_index_of_torch_wheels(folder / "torch" / "wheels", "wheels", folder / "torch")
    for name in ("einops-0.8.1", "demo_cu13-99.0"):
        write_wheel(folder / "usual" / "wheels" / f"{name}-py3-none-any.whl")
    write_site(pages_of(site_of_folder(folder / "usual" / "wheels", "wheels", warn=print)), folder / "usual")
    (folder / "config").mkdir()
    (folder / "config" / "packages.yml").write_text(PACKAGES)
    yanked = f'wheels: {{"demo-1.1+cu130torch2.11-{PYTHON}-{PYTHON}-linux_x86_64.whl": "it crashes"}}\n'
    (folder / "config" / "yanked.yml").write_text(yanked)
    build = ("index", "build", "--store", f"dir:{folder / 'releases'}", "--output", str(folder / "site"))
    options = ("--base-url", "../releases", "--config", str(folder / "config"))
    subprocess.run([sys.executable, "-m", "wheelmill", *build, *options], check=True)
    with serve_folder(folder) as url:
        yield url


@pytest.fixture
def place(served: str, tmp_path: Path) -> Place:
    """With torch, and what demo requires beside it."""
    made = Place(tmp_path, served)
    made.run("uv", "venv", "--python", sys.executable)
    made.has("torch==2.11.0+cu130", index="torch/simple/")
    made.has("einops", index="usual/simple/")
    return made


EXTRAS = ("demo-gpu[cuda12,cuda13]==1.0",)
BOTH = pytest.mark.parametrize("install", [with_pip, with_uv])
ALIASES = {
    "demo-cu13": {"demo-cu13": "1.0+cu130torch2.11"},
    "demo-gpu[cuda13]": {"demo-cu13": "1.0+cu130torch2.11", "demo-gpu": "1.0+extras.13.12"},
}
RIGHT = {"demo": "1.0+cu130torch2.11", "torch": "2.11.0+cu130", "einops": "0.8.1"}


@BOTH
@sampled(("tree", "asked"), product((TREE, WIDE), ALIASES), (WIDE, "demo-gpu[cuda13]"))
def test_the_name_brings_the_wheel(tree: str, asked: str, install: Install, place: Place) -> None:
    done = install(place, "--index-url", place.url + tree, asked)
    assert done.returncode == 0, done.stderr
    assert place.installed == RIGHT | ALIASES[asked]


@BOTH
def test_a_pin_of_what_was_listed_before_another_cuda_came_is_kept(install: Install, place: Place) -> None:
    done = install(place, "--index-url", place.url + TREE, "demo-gpu[cuda13]==1.0+extras.13")
    assert done.returncode == 0, done.stderr
    assert place.installed == RIGHT | {"demo-cu13": "1.0+cu130torch2.11", "demo-gpu": "1.0+extras.13"}


@BOTH
@sampled("asked", ["demo-cu12", "demo-gpu[cuda12]", "demo-gpu[cuda12]==1.0"], "demo-gpu[cuda12]")
def test_the_tree_of_another_cuda_does_not_have_it(asked: str, install: Install, place: Place) -> None:
    done = install(place, "--index-url", place.url + TREE, asked)
    assert done.returncode != 0
    assert "demo-cu12" in done.stdout + done.stderr


@BOTH
def test_an_extra_that_never_was_brings_nothing(install: Install, place: Place) -> None:
    done = install(place, "--index-url", place.url + WIDE, "demo-gpu[cuda11]")
    assert done.returncode == 0
    assert "cuda11" in done.stderr
    assert "demo" not in place.installed


@BOTH
@sampled("asked", [("demo-cu12", "demo-cu13"), EXTRAS], EXTRAS)
def test_two_cudas_in_one_command_are_refused(asked: tuple[str, ...], install: Install, place: Place) -> None:
    before = place.installed
    options = ("--index-url", place.url + WIDE, "--extra-index-url", f"{place.url}torch/simple/")
    done = install(place, *options, *asked)
    assert done.returncode != 0
    assert "conflicting dependencies" in done.stderr or "are incompatible" in done.stderr
    assert place.installed == before


@BOTH
def test_two_cudas_one_after_the_other_are_told_by_checks_alone(install: Install, place: Place) -> None:
    """pip says it and goes on, uv goes on; both of their checks, and doctor, tell."""
    place.has("demo-cu13", index=WIDE)
    done = install(place, "--index-url", place.url + WIDE, "demo-cu12")
    assert done.returncode == 0
    told = "demo-cu13 1.0+cu130torch2.11 requires demo==1.0+cu130torch2.11, but you have demo 1.0+cu128torch2.11"
    assert (told in done.stderr) == (install is with_pip)
    assert place.installed["demo"] == "1.0+cu128torch2.11"
    pip = place.run("pip", "--python", place.python, "check")
    uv = place.run("uv", "pip", "check", "--python", place.python)
    assert (pip.returncode, uv.returncode) == (1, 1)
    assert "demo-cu13" in pip.stdout
    assert "demo-cu13" in uv.stderr
    told = place.run("wheelmill", "doctor", "--python-path", place.python, "--offline", "--json").stdout
    faults = {(fault["code"], fault["subject"]): fault for fault in json.loads(told)["faults"]}
    fault = faults["alias", "demo-cu13 1.0+cu130torch2.11"]
    assert all(label in fault["detail"] for label in ("demo 1.0+cu130torch2.11", "demo 1.0+cu128torch2.11"))
    (line,) = fault["mended_by"]
    assert line.endswith(" demo-cu13")


def test_an_alias_whose_wheel_is_gone_is_told(place: Place) -> None:
    with_uv(place, "--index-url", place.url + TREE, "demo-cu13")
    place.run("uv", "pip", "uninstall", "--python", place.python, "demo")
    told = place.run("wheelmill", "doctor", "--python-path", place.python, "--offline").stderr
    assert "demo-cu13 1.0+cu130torch2.11: alias: " in told


@BOTH
@sampled("index", [TREE, "usual/simple/"], "usual/simple/")
def test_a_pin_of_the_label_is_ours_whatever_else_is_asked(index: str, install: Install, place: Place) -> None:
    other = TREE if index != TREE else "usual/simple/"
    options = ("--index-url", place.url + index, "--extra-index-url", place.url + other)
    more = ("--index-strategy", "unsafe-best-match") if install is with_uv else ()
    done = install(place, *options, *more, "demo-cu13==1.0+cu130torch2.11")
    assert done.returncode == 0, done.stderr
    assert place.installed == RIGHT | {"demo-cu13": "1.0+cu130torch2.11"}


def test_two_indexes_would_give_the_project_of_somebody_else(place: Place) -> None:
    options = ("--index-url", place.url + TREE, "--extra-index-url", f"{place.url}usual/simple/")
    with_pip(place, *options, "demo-cu13")
    assert place.installed["demo-cu13"] == "99.0"


@sampled("asked", ALIASES, "demo-gpu[cuda13]")
def test_uv_locks_and_syncs_once(asked: str, place: Place) -> None:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    ours = "".join(f'{name} = {{ index = "ours" }}\n' for name in ("demo", "demo-cu13", "demo-gpu"))
    (place.folder / "pyproject.toml").write_text(f"""\
[project]
name = "user"
version = "0"
requires-python = "=={python}.*"
dependencies = ["{asked}", "demo", "demo-cu13", "torch==2.11.*"]
[tool.uv]
environments = ["sys_platform == 'linux' and platform_machine == 'x86_64'"]
[tool.uv.sources]
torch = {{ index = "torch" }}
{ours}[[tool.uv.index]]
name = "ours"
url = "{place.url}{TREE}"
explicit = true
[[tool.uv.index]]
name = "torch"
url = "{place.url}torch/simple/"
explicit = true
""")
    for words in (("lock",), ("sync",), ("lock", "--check"), ("sync", "--check")):
        done = place.run("uv", *words, "--python", sys.executable, "--default-index", f"{place.url}usual/simple/")
        assert done.returncode == 0, done.stderr
    assert RIGHT.items() < place.installed.items()


def test_the_site_keeps_every_rule(place: Place) -> None:
    done = place.run("wheelmill", "index", "check", f"{place.url}{WIDE}", "--all-files")
    assert (done.returncode, done.stdout) == (0, "")
    assert "findings: 0" in done.stderr


def test_our_client_says_what_to_name_in_the_place_of_an_alias(place: Place) -> None:
    (place.folder / "pyproject.toml").write_text('[project]\nname = "own"\nversion = "1"\n')
    source = ("--python-path", place.python, "--source", f"simple:{place.url}{WIDE}", "--no-cache")
    for command in ("install", "add"):
        done = place.run("wheelmill", command, "demo-cu13", *source)
        assert done.returncode == 8, done.stderr
        assert "demo_cu13-1.0+cu130torch2.11-py3-none-any.whl" in done.stderr
        assert "'demo==1.0+cu130torch2.11'" in done.stderr
    done = place.run("wheelmill", "add", "demo-gpu[cuda13]", *source)
    assert done.returncode == 8, done.stderr
    assert "demo-gpu: " in done.stderr
    assert "demo" not in place.installed
    assert place.run("wheelmill", "install", "demo==1.0+cu130torch2.11", *source).returncode == 0
    assert place.installed["demo"] == "1.0+cu130torch2.11"
