"""pip and uv read a built index, from hosts that serve HTML only and from those that give JSON to who asks for it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from tests.integration.conftest import Command
from tests.releases import store_in
from tests.torch_index import write_index_of_torch_wheels
from tests.unit.release.conftest import NOW, certified_wheel
from tests.wheels import write_wheel
from wheelmill.index.serve import serve_folder
from wheelmill.installers.uv import own_uv
from wheelmill.release.publish import publish

OLD = "demo-1.0+cu130-py3-none-any.whl"
NEW = "demo-2.0+cu130-py3-none-any.whl"
YANKED = "demo-3.0+cu130-py3-none-any.whl"
OLD_TIME = NOW - timedelta(days=4)
DAY_AFTER_OLD = f"{OLD_TIME + timedelta(days=1):%Y-%m-%d}"


@pytest.fixture(scope="module")
def folder(python: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of three versions, the newest yanked, and the site that the command makes of it."""
    folder = tmp_path_factory.mktemp("clients")
    for days, name in enumerate((OLD, NEW, YANKED)):
        wheel = certified_wheel(folder / "wheels" / name)
        publish(store_in(folder / "releases"), [wheel], now=OLD_TIME + timedelta(days=2 * days))
    (folder / "config").mkdir()
    (folder / "config" / "yanked.yml").write_text('versions: {"demo==3.0": "crashes on sm_120"}\n')
    build(python, folder, "site")
    return folder


def build(python: Command, folder: Path, output: str, *options: str | Path, exit_code: int = 0) -> str:
    store = ("--store", f"dir:{folder / 'releases'}", "--config", folder / "config")
    place = ("--output", folder / output, "--base-url", "../releases")
    return python("-m", "wheelmill", "index", "build", *store, *place, *options, exit_code=exit_code).stderr


negotiating = partial(serve_folder, negotiate=True)


@pytest.fixture(params=[serve_folder, negotiating], ids=["HTML", "JSON"])
def index(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    with request.param(folder) as url:
        yield f"{url}site/cu130/simple/"


def run(*argv: str | Path) -> subprocess.CompletedProcess[str]:
    """Run an installer without this machine's own settings."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    env = ours | {"PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1"}
    return subprocess.run([str(each) for each in argv], env=env, capture_output=True, text=True, check=False)


def pip(index: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    into = (sys.executable, "-m", "pip", "download", "--no-cache-dir", "--index-url", index, "--dest", folder)
    return run(*into, *arguments)


def uv(index: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    into = (own_uv(), "pip", "install", "--no-cache", "--python", sys.executable, "--index-url", index)
    return run(*into, "--target", folder, *arguments)


Installer = Callable[..., subprocess.CompletedProcess[str]]


def taken(done: subprocess.CompletedProcess[str], folder: Path) -> str:
    """The version of the wheel that an installer put into a folder."""
    assert done.returncode == 0, done.stderr
    (version,) = {path.name.split("-")[1] for path in folder.iterdir() if path.suffix in (".whl", ".dist-info")}
    return version.removesuffix(".dist")


@pytest.mark.parametrize("installer", [pip, uv])
def test_the_newest_wheel_that_is_not_yanked_is_taken(installer: Installer, index: str, tmp_path: Path) -> None:
    assert taken(installer(index, tmp_path, "demo"), tmp_path) == "2.0+cu130"


def test_pip_takes_a_yanked_wheel_for_an_exact_pin_and_shows_the_reason(index: str, tmp_path: Path) -> None:
    done = pip(index, tmp_path, "demo==3.0+cu130")
    assert taken(done, tmp_path) == "3.0+cu130"
    assert "crashes on sm_120" in done.stderr


def test_uv_knows_when_a_wheel_was_uploaded(index: str, tmp_path: Path) -> None:
    assert taken(uv(index, tmp_path, "--exclude-newer", DAY_AFTER_OLD, "demo"), tmp_path) == "1.0+cu130"


def test_pip_knows_it_from_json(folder: Path, tmp_path: Path) -> None:
    with negotiating(folder) as url:
        done = pip(f"{url}site/cu130/simple/", tmp_path, "--uploaded-prior-to", DAY_AFTER_OLD, "demo")
    assert taken(done, tmp_path) == "1.0+cu130"


def test_two_builds_are_the_same_byte_for_byte(python: Command, folder: Path) -> None:
    said = build(python, folder, "again")
    assert " pages, " in said
    assert "GB per million installs" in said
    different = subprocess.run(["diff", "-r", folder / "site", folder / "again"], capture_output=True, check=False)
    assert (different.returncode, different.stdout) == (0, b"")


def contents_of(site: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}


def test_what_vanished_is_refused_and_the_site_stays(python: Command, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "releases", tmp_path / "releases")
    shutil.copytree(folder / "config", tmp_path / "config")
    build(python, tmp_path, "site", "--previous", folder / "site")
    (tag,) = (path.parent.name for path in (tmp_path / "releases").glob(f"*/{OLD}"))
    shutil.rmtree(tmp_path / "releases" / tag)
    before = contents_of(tmp_path / "site")
    said = build(python, tmp_path, "site", "--previous", folder / "site", exit_code=7)
    assert f"warning: {tag} " in said
    assert f"error: {OLD} " in said
    assert contents_of(tmp_path / "site") == before
    (tmp_path / "config" / "removed.yml").write_text(f'wheels: {{{OLD}: "its licence forbids it"}}\n')
    build(python, tmp_path, "site", "--previous", folder / "site")
    assert OLD not in (tmp_path / "site" / "wheels.json").read_text()


def test_a_lost_sidecar_is_refused(python: Command, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "releases", tmp_path / "releases")
    (tmp_path / "config").mkdir()
    (sidecar,) = (tmp_path / "releases").glob(f"*/{OLD}.metadata")
    sidecar.unlink()
    said = build(python, tmp_path, "site", exit_code=7)
    assert said.splitlines()[0].startswith(f"error: {sidecar.parent.name}/{OLD}: ")
    assert not (tmp_path / "site").exists()


STABLE = "many-1.0+cu130-py3-none-any.whl"
ORDINARY = "many-1.0+cu130torch2.15-py3-none-any.whl"


@pytest.fixture(scope="module")
def for_many(python: Command, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a site with a wheel for any torch from 2.10, another one for torch 2.15, and an index of torch."""
    folder = tmp_path_factory.mktemp("many")
    wheels = [
        certified_wheel(folder / "wheels" / STABLE, requires=("torch>=2.10",)),
        certified_wheel(folder / "wheels" / ORDINARY, requires=("torch==2.15.*",)),
    ]
    publish(store_in(folder / "releases"), wheels, now=NOW)
    (folder / "config").mkdir()
    build(python, folder, "site")
    for release in ("2.14.1", "2.15.0"):
        write_wheel(folder / "torch" / f"torch-{release}-py3-none-any.whl")
    write_index_of_torch_wheels(folder / "torch", "../torch", folder / "usual")
    with serve_folder(folder) as url:
        yield url


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_a_wheel_for_many_torches_keeps_the_installed_torch(installer: str, for_many: str, tmp_path: Path) -> None:
    """Neither is torch 2.15 taken, nor the wheel that would need it."""
    usual = ("--index-url", f"{for_many}usual/simple/")
    assert run(own_uv(), "venv", "--python", sys.executable, tmp_path / "env").returncode == 0
    python = tmp_path / "env" / "bin" / "python"
    into: tuple[str | Path, ...] = (own_uv(), "pip", "install", "--no-cache", "--python", python)
    assert run(*into, *usual, "torch==2.14.1").returncode == 0
    if installer == "pip":
        into = (sys.executable, "-m", "pip", "--python", python, "install", "--no-cache-dir")
    ours = ("--extra-index-url", f"{for_many}site/cu130/torch2.14/simple/", "--only-binary", "many")
    done = run(*into, *usual, *ours, "many")
    assert done.returncode == 0, done.stderr
    installed = sorted(path.name for path in tmp_path.glob("env/lib/*/site-packages/*.dist-info"))
    assert installed == ["many-1.0+cu130.dist-info", "torch-2.14.1.dist-info"]
