"""Projects of every kind get wheels from a server of this machine, and uv has nothing left to do."""

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

from tests.machine_folders import BASE, new_environment
from tests.real.conftest import or_nightly, sampled, versions_in
from tests.reference.exits import check_documented
from tests.wheel_site import add_wheel, write_site
from tests.wheels import write_wheel
from wheelmill.index.serve import serve_folder
from wheelmill.names import PythonVersion

pytestmark = pytest.mark.real

PYTHON = PythonVersion(*sys.version_info[:2])
TAG = f"{PYTHON.interpreter}-{PYTHON.abi}-linux_{platform.machine()}"

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
}

SOURCES = ("simple/", "wheels.html")

Wheelmill = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    write_site(tmp_path / "site", TAG)
    return tmp_path / "site"


@pytest.fixture
def variables(site: Path, tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment in which this site is the only index and no cache has anything."""
    with serve_folder(site) as url:
        yield {
            **{name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP_", "VIRTUAL_"))},
            "PATH": f"{BASE.parent}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "UV_DEFAULT_INDEX": f"{url}simple/",
            "UV_CACHE_DIR": str(tmp_path / "uv-cache"),
            "UV_HTTP_RETRIES": "0",
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "SITE": url,
        }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def wheelmill(variables: dict[str, str], project: Path) -> Wheelmill:
    """Run wheelmill in the project, for torch 2.11 and CUDA 13.0 where none is installed."""

    def run(*arguments: str, exit_code: int = 0, source: str = "simple/") -> subprocess.CompletedProcess[str]:
        chosen = {**variables, "WHEELMILL_SOURCES": variables["SITE"] + source}
        argv = [sys.executable, "-m", "wheelmill", *arguments]
        done = subprocess.run(argv, cwd=project, env=chosen, capture_output=True, text=True, check=False)
        assert done.returncode == exit_code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        check_documented(arguments, done)
        return done

    return run


TARGET = ("--python", str(PYTHON), "--torch", "2.11", "--cuda", "13.0")


def uv_sync(project: Path, variables: dict[str, str]) -> str:
    done = subprocess.run(["uv", "sync"], cwd=project, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


@sampled(("kind", "source"), product(PROJECTS, SOURCES), ("empty", "wheels.html"), ("commented", "simple/"))
def test_uv_has_nothing_left_to_do(
    kind: str, source: str, project: Path, wheelmill: Wheelmill, variables: dict[str, str]
) -> None:
    if text := PROJECTS[kind]:
        (project / "pyproject.toml").write_text(text)
    wheelmill("add", "demo-gpu", *TARGET, source=source)
    before = (project / "pyproject.toml").read_text()
    for _ in range(2):
        talk = uv_sync(project, variables)
        assert "Checked" in talk
        assert " + " not in talk
    subprocess.run([project / ".venv" / "bin" / "python", "-c", "import demo_gpu, torch"], check=True)
    wheelmill("add", "demo-gpu", *TARGET, source=source)
    assert (project / "pyproject.toml").read_text() == before


def files_of(project: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in project.iterdir() if path.is_file()}


def test_a_failure_changes_no_file(project: Path, wheelmill: Wheelmill, site: Path, variables: dict[str, str]) -> None:
    (project / "pyproject.toml").write_text(PROJECTS["fresh"] or "")
    uv_sync(project, variables)
    before = files_of(project)
    (site / "simple" / "filelock" / "index.html").write_text("<!DOCTYPE html>")
    done = wheelmill("add", "demo-gpu", *TARGET, exit_code=2)
    assert "filelock" in done.stderr
    assert files_of(project) == before


def test_nothing_is_written_where_a_package_has_no_wheel(project: Path, wheelmill: Wheelmill) -> None:
    """gpkg 0.4.3 writes the others and exits with 0."""
    done = wheelmill("add", "demo-gpu", "nobody-built-this", *TARGET, exit_code=8)
    assert "nobody-built-this" in done.stderr
    assert files_of(project) == {}


def test_a_removed_package_is_gone(project: Path, wheelmill: Wheelmill) -> None:
    (project / "pyproject.toml").write_text(PROJECTS["fresh"] or "")
    wheelmill("add", "demo-gpu", *TARGET)
    removed = json.loads(wheelmill("remove", "Demo_GPU", "--json").stdout)
    assert removed["removed"] == ["demo-gpu"]
    assert "demo" not in (project / "pyproject.toml").read_text()
    python = project / ".venv" / "bin" / "python"
    assert subprocess.run([python, "-c", "import demo_gpu"], check=False, capture_output=True).returncode == 1
    wheelmill("remove", "demo-gpu", exit_code=2)


def test_an_update_takes_what_fits_and_is_newer(project: Path, wheelmill: Wheelmill, site: Path) -> None:
    wheelmill("add", "demo-gpu<1.5", *TARGET)
    for version in ("1.4", "2.0"):
        add_wheel(site, f"demo_gpu-{version}+cu130torch2.11-{TAG}.whl", requires=("torch==2.11.*",))
    wheelmill("update", "--refresh")
    assert '"demo-gpu==1.4+cu130torch2.11 ; ' in (project / "pyproject.toml").read_text()


def flip_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("source", SOURCES)
def test_a_wheel_with_a_flipped_byte_is_not_added(source: str, project: Path, wheelmill: Wheelmill, site: Path) -> None:
    flip_a_byte(site / "files" / f"demo_gpu-1.1+cu130torch2.11-{TAG}.whl")
    wheelmill("add", "demo-gpu", *TARGET, source=source, exit_code=9)
    assert files_of(project) == {}


@pytest.fixture
def environment(project: Path) -> Path:
    """An empty virtual environment with pip."""
    new_environment(project / ".venv")
    return project / ".venv"


@pytest.fixture(params=or_nightly(["uv", "pip"], "pip"))
def installer(request: pytest.FixtureRequest, variables: dict[str, str], tmp_path: Path) -> str:
    """With pip, this Python has no uv either."""
    if request.param == "pip":
        hidden = tmp_path / "hidden"
        (hidden / "uv").mkdir(parents=True)
        (hidden / "uv" / "__init__.py").write_text("raise ImportError('hidden by the test')\n")
        variables["PYTHONPATH"] = str(hidden)
        variables["PATH"] = f"{BASE.parent}{os.pathsep}/usr/bin{os.pathsep}/bin"
        variables["PIP_INDEX_URL"] = variables["SITE"] + "simple/"
        del variables["UV_DEFAULT_INDEX"]
    return str(request.param)


def test_wheels_are_installed_with_their_torch(installer: str, environment: Path, wheelmill: Wheelmill) -> None:
    wheelmill("install", "demo-gpu", "--torch", "2.11", "--cuda", "13.0")
    found = versions_in(environment)
    assert found["demo-gpu"] == "1.1+cu130torch2.11", installer
    assert found["torch"] == "2.11.0"


def test_a_lock_is_reproduced_offline(environment: Path, project: Path, wheelmill: Wheelmill, site: Path) -> None:
    (project / "pyproject.toml").write_text(PROJECTS["fresh"] or "")
    wheelmill("lock", "demo-gpu", *TARGET)
    first = (project / "pylock.toml").read_bytes()
    add_wheel(site, f"demo_gpu-1.2+cu130torch2.11-{TAG}.whl", requires=("torch==2.11.*",))
    add_wheel(site, "filelock-3.21.0-py3-none-any.whl")
    wheelmill("lock", "demo-gpu", *TARGET, "--refresh")
    assert (project / "pylock.toml").read_bytes() == first
    wheelmill("install", "--lock", "pylock.toml")
    installed = versions_in(environment)
    assert (installed["demo-gpu"], installed["torch"], installed["filelock"]) == (
        "1.1+cu130torch2.11",
        "2.11.0",
        "3.20.0",
    )
    for path in site.rglob("*.*"):
        path.unlink()
    for command in (("install", "--lock", "pylock.toml"), ("sync",)):
        new_environment(project / ".venv")
        wheelmill(*command, "--offline")
        assert versions_in(environment) == installed
    wheelmill("lock", "demo-gpu", *TARGET, "--upgrade", "--refresh", exit_code=8)
    assert (project / "pylock.toml").read_bytes() == first


def test_offline_a_project_is_made_of_what_caches_have(project: Path, wheelmill: Wheelmill, site: Path) -> None:
    wheelmill("add", "demo-gpu", *TARGET)
    wheelmill("lock", *TARGET)
    before = files_of(project)
    for path in site.rglob("*.*"):
        path.unlink()
    for path in project.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    wheelmill("add", "demo-gpu", *TARGET, "--offline")
    wheelmill("lock", *TARGET, "--offline")
    assert files_of(project) == before
    subprocess.run([project / ".venv" / "bin" / "python", "-c", "import demo_gpu, torch"], check=True)


def test_a_flipped_byte_is_refused_before_anything_is_installed(
    installer: str, environment: Path, project: Path, wheelmill: Wheelmill, tmp_path: Path
) -> None:
    wheelmill("install", "demo-gpu", "--torch", "2.11", "--cuda", "13.0")
    new_environment(project / ".venv")
    before = versions_in(environment)
    (cached,) = (tmp_path / "cache").rglob("demo_gpu-*.whl")
    flip_a_byte(cached)
    done = wheelmill("install", "demo-gpu", "--torch", "2.11", "--cuda", "13.0", exit_code=9)
    assert "changed on disk" in done.stderr, installer
    assert versions_in(environment) == before


def test_a_lock_that_is_not_for_this_python_installs_nothing(environment: Path, wheelmill: Wheelmill) -> None:
    """gpkg 0.4.3 installs a lock that was made for Windows."""
    wheelmill("lock", "demo-gpu", *TARGET)
    before = versions_in(environment)
    wheelmill("install", "--lock", "pylock.toml", "--platform", "win_amd64", exit_code=8)
    assert versions_in(environment) == before


def test_pip_takes_hashes(environment: Path, project: Path, wheelmill: Wheelmill, variables: dict[str, str]) -> None:
    (project / "locked.txt").touch()
    (project / "requirements.txt").symlink_to("locked.txt")
    wheelmill("lock", "demo-gpu", *TARGET, "--format", "requirements")
    assert (project / "requirements.txt").is_symlink()
    options = ("--require-hashes", "--index-url", variables["UV_DEFAULT_INDEX"], "-r", "requirements.txt")
    argv: list[str | Path] = [environment / "bin" / "python", "-m", "pip", "install", *options]
    subprocess.run(argv, cwd=project, check=True)
    assert versions_in(environment)["demo-gpu"] == "1.1+cu130torch2.11"


def test_what_is_installed_is_listed_and_tried(environment: Path, wheelmill: Wheelmill) -> None:
    """gpkg 0.4.3 exits with 1 where there is no GPU, and takes a module's name for granted."""
    wheelmill("install", "demo-gpu", "--torch", "2.11", "--cuda", "13.0")
    (listed,) = json.loads(wheelmill("list", "--json").stdout)["packages"]
    assert listed == {
        "project": "demo-gpu",
        "version": "1.1+cu130torch2.11",
        "cuda": "13.0",
        "torch": "2.11",
        "torch_abi": None,
    }
    (tried,) = json.loads(wheelmill("test", "--json").stdout)["packages"]
    assert (tried["imports"], tried["failure"]) == (["demo_gpu"], None)
    assert tried["kernel"] != "ran"
    assert versions_in(environment)["demo-gpu"]


def test_a_failing_import_has_its_reason(environment: Path, wheelmill: Wheelmill, site: Path) -> None:
    code = "raise ImportError('demo_gpu.so: undefined symbol: _ZN3c10')"
    add_wheel(site, f"demo_gpu-1.3+cu130torch2.11-{TAG}.whl", code=code)
    wheelmill("install", "demo-gpu", "--torch", "2.11", "--cuda", "13.0")
    done = wheelmill("test", "demo-gpu", "--json", exit_code=9)
    assert json.loads(done.stdout)["packages"][0]["failure"]["code"] == "undefined-symbol"
    assert environment.exists()


def test_the_doctor_finds_a_url_that_is_gone(project: Path, wheelmill: Wheelmill, site: Path) -> None:
    wheelmill("add", "demo-gpu", *TARGET, source="wheels.html")
    wheelmill("doctor")
    (site / "files" / f"demo_gpu-1.1+cu130torch2.11-{TAG}.whl").unlink()
    (fault,) = json.loads(wheelmill("doctor", "--json", exit_code=9).stdout)["faults"]
    assert (fault["code"], fault["subject"]) == ("url", "demo-gpu")
    assert (project / "uv.lock").exists()


def run(project: Path, variables: dict[str, str], *command: str | Path) -> None:
    subprocess.run(command, cwd=project, env=variables, check=True, capture_output=True)


OWN_BACKEND = """
import shutil

def build_wheel(folder, *_):
    return shutil.copy("../fresh-0.1.0-py3-none-any.whl", folder).rpartition("/")[2]

build_editable = build_wheel
"""


def test_a_lock_of_uv_is_read(project: Path, wheelmill: Wheelmill, variables: dict[str, str], tmp_path: Path) -> None:
    """A wheel with a URL, one with a path, those of an index, and the project itself."""
    local = write_wheel(tmp_path / "local-1.0-py3-none-any.whl", files={"local.py": b""})
    write_wheel(tmp_path / "fresh-0.1.0-py3-none-any.whl", files={"fresh.py": b""})
    (project / "own.py").write_text(OWN_BACKEND)
    (project / "pyproject.toml").write_text(
        str(PROJECTS["fresh"]).replace("[]", '["local"]')
        + f'[tool.uv.sources]\nlocal = {{ path = "../{local.name}" }}\n'
        + '[build-system]\nrequires = []\nbuild-backend = "own"\nbackend-path = ["."]\n'
    )
    wheelmill("add", "demo-gpu", *TARGET, source="wheels.html")
    run(project, variables, "uv", "export", "--format", "pylock.toml", "-o", "pylock.toml")
    locked = (project / "pylock.toml").read_text()
    assert (locked.count("archive = {"), locked.count("directory = {"), "wheels = [" in locked) == (2, 1, True)
    wheelmill("doctor")
    assert "fresh (directory)" in wheelmill("sync", "--check").stderr
    run(project, variables, "uv", "pip", "uninstall", "local", "demo-gpu")
    codes = [each["code"] for each in json.loads(wheelmill("doctor", "--json", exit_code=9).stdout)["faults"]]
    assert codes == ["lock", "lock"]
    wheelmill("sync")
    wheelmill("doctor")
    assert {"fresh", "local", "demo-gpu"} <= versions_in(project / ".venv").keys()


def test_the_doctor_does_not_bring_back_what_was_removed(project: Path, wheelmill: Wheelmill) -> None:
    (project / "pyproject.toml").write_text(PROJECTS["fresh"] or "")
    wheelmill("add", "demo-gpu", *TARGET)
    wheelmill("lock")
    wheelmill("doctor")
    wheelmill("remove", "demo-gpu")
    done = wheelmill("doctor", "--fix", "--yes", "--json", exit_code=9)
    (fault,) = json.loads(done.stdout)["faults"]
    assert (fault["code"], fault["subject"]) == ("lock", "pylock.toml")
    assert "demo-gpu" not in versions_in(project / ".venv")
    (project / "pylock.toml").unlink()
    wheelmill("doctor")


def test_the_command_that_the_doctor_gives_first_works(project: Path, wheelmill: Wheelmill) -> None:
    (project / "pyproject.toml").write_text(PROJECTS["fresh"] or "")
    wheelmill("add", "demo-gpu", *TARGET)
    (module,) = (project / ".venv").glob("lib/python*/site-packages/demo_gpu/__init__.py")
    module.unlink()
    assert json.loads(wheelmill("doctor", "--fix", "--yes", "--json").stdout)["faults"] == []
    assert module.exists()
