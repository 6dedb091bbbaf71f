"""Only a project's own environment is emptied, and what changes is named first."""

import json
import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.commands import Done
from tests.integration.conftest import Command, only_site
from tests.wheel_site import write_site
from wheelmill.index.serve import serve_folder
from wheelmill.installers.uv import own_uv
from wheelmill.names import PythonVersion
from wheelmill.system import process

PYTHON = PythonVersion(*sys.version_info[:2])
TAG = f"{PYTHON.interpreter}-{PYTHON.abi}-linux_{platform.machine()}"
LOCK = 'lock-version = "1.0"\ncreated-by = "a test"\npackages = []\n'
UV = '[project]\nname = "mine"\nversion = "1"\nrequires-python = ">=3.11"\n\n[tool.uv]\n'
ASKED = f'{UV}\n[tool.wheelmill]\npackages = ["demo-gpu"]\n'
TARGET = ("--torch", "2.11", "--cuda", "13.0")

Run = Callable[..., Done]


def make_environment(folder: Path) -> Path:
    """An environment with one distribution, which no lock has."""
    process.run([own_uv(), "venv", "--quiet", "--python", sys.executable, folder])
    known = next(folder.glob("lib/python*/site-packages")) / "loose-1.0.dist-info"
    known.mkdir()
    (known / "METADATA").write_text("Metadata-Version: 2.1\nName: loose\nVersion: 1.0\n")
    (known / "RECORD").write_text("loose-1.0.dist-info/METADATA,,\nloose-1.0.dist-info/RECORD,,\n")
    return folder


def has_loose(environment: Path) -> bool:
    return bool([*environment.glob("lib/python*/site-packages/loose-1.0.dist-info/METADATA")])


@pytest.fixture
def active(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_environment(tmp_path_factory.mktemp("away") / "active")


@pytest.fixture
def run(wheelmill: Command, active: Path, tmp_path: Path) -> Iterator[Run]:
    """Run a command in a folder with an empty lock and an index of its own, while an environment is active."""
    write_site(tmp_path / "site", TAG)
    (tmp_path / "pylock.toml").write_text(LOCK)
    with serve_folder(tmp_path / "site") as url:
        variables = {**only_site(url, tmp_path / "uv-cache"), "VIRTUAL_ENV": active}

        def run(*arguments: str | Path, exit_code: int = 0, **more: str | Path) -> Done:
            return wheelmill(*arguments, exit_code=exit_code, **{**variables, **more})

        yield run


@pytest.mark.parametrize("files", [{}, {"requirements.txt": ""}, {"setup.py": ""}, {"pyproject.toml": UV}])
def test_a_merely_active_one_must_be_named(files: dict[str, str], run: Run, active: Path, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for option in ("--check", "--dry-run", "--json"):
        done = run("sync", "--lock", "pylock.toml", option, UV_PYTHON=active / "bin" / "python", exit_code=2)
        done.check_refused("environment-not-own", active, tmp_path, f"--python-path {active}/bin/python")
    assert has_loose(active)
    run("sync", "--lock", "pylock.toml", "--python-path", active)
    assert not has_loose(active)


def test_an_environment_that_is_named_as_the_project_is_emptied(run: Run, active: Path) -> None:
    run("sync", "--lock", "pylock.toml", "--project", active)
    assert not has_loose(active)


@pytest.mark.parametrize(
    ("folder", "files"),
    [(".venv", {}), ("venv", {"requirements.txt": ""}), (".venv", {"pyproject.toml": UV}), (".venv", {"setup.py": ""})],
)
def test_the_projects_is_emptied(folder: str, files: dict[str, str], run: Run, active: Path, tmp_path: Path) -> None:
    own = make_environment(tmp_path / folder)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = run("sync", "--lock", "pylock.toml")
    assert done.stderr.startswith(f"environment: {own}, Python {platform.python_version()}\n")
    assert (has_loose(own), has_loose(active)) == (False, True)


def test_that_of_a_named_project_is_emptied(run: Run, active: Path, tmp_path: Path) -> None:
    own = make_environment(tmp_path / "project" / ".venv")
    (own.parent / "pyproject.toml").write_text(UV)
    run("sync", "--lock", "pylock.toml", "--project", own.parent)
    assert (has_loose(own), has_loose(active)) == (False, True)


@pytest.mark.parametrize(("origin", "stays"), [("dir_info", True), ("archive_info", False)])
def test_a_project_installed_from_its_folder_stays(origin: str, run: Run, tmp_path: Path, *, stays: bool) -> None:
    own = make_environment(tmp_path / ".venv")
    (metadata,) = own.glob("lib/python*/site-packages/loose-1.0.dist-info/METADATA")
    metadata.with_name("direct_url.json").write_text(json.dumps({"url": tmp_path.as_uri(), origin: {}}))
    run("sync", "--check", "--lock", "pylock.toml", exit_code=0 if stays else 9)
    run("sync", "--lock", "pylock.toml")
    assert has_loose(own) is stays


def test_a_project_whose_tool_makes_its_environment_gets_nothing_into_another_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(UV)
    run("install", "demo-gpu", *TARGET, exit_code=2).check_refused("environment-not-own", tmp_path)
    assert f"environment: {tmp_path}/.venv, Python" in run("add", "demo-gpu", *TARGET).stderr
    assert f"environment: {tmp_path}/.venv, Python" in run("install", "demo-gpu==1.0").stderr


def test_an_active_environment_gets_packages_where_no_project_has_one(run: Run, active: Path) -> None:
    assert f"environment: {active}, Python" in run("install", "demo-gpu", *TARGET).stderr
    assert f"environment: {active}, Python" in run("add", "demo-gpu").stderr
    assert f"environment: {active}, Python" in run("update", "demo-gpu").stderr
    assert f"environment: {active}, Python" in run("remove", "demo-gpu").stderr
    assert has_loose(active)


def test_nothing_to_test_is_a_failure_where_the_project_asks_for_wheels(run: Run, tmp_path: Path) -> None:
    make_environment(tmp_path / ".venv")
    (tmp_path / "pyproject.toml").write_text(UV)
    assert run("test").returncode == 0
    (tmp_path / "pyproject.toml").write_text(ASKED)
    run("test", exit_code=9).check_refused("nothing-tested", "demo-gpu", tmp_path / "pyproject.toml")
    run("test", "--python-path", ".venv", exit_code=9).check_refused("nothing-tested", "demo-gpu")
    make_environment(tmp_path / "other")
    assert run("test", "--python-path", "other").returncode == 0
    run("install", "demo-gpu", *TARGET)
    assert "demo-gpu" in run("test").stderr
    assert run("show", "demo_gpu").stdout == run("list").stdout != ""
    run("show", "einops", exit_code=2).check_refused("not-installed", "einops")


def test_what_a_requirements_file_asks_for_counts_too(run: Run, tmp_path: Path) -> None:
    make_environment(tmp_path / ".venv")
    (tmp_path / "requirements.txt").write_text("torch\n")
    assert run("test").returncode == 0
    run("add", "demo-gpu", *TARGET, "--no-sync")
    run("test", exit_code=9).check_refused("nothing-tested", "demo-gpu")
