"""Commands that are killed at any moment: the next one of the kind is right, no process and no file is left."""

import ctypes
import ensurepip
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.commands import Start
from tests.integration.conftest import only_site
from tests.integration.test_known_failures import PROJECT
from tests.unit.build.conftest import package_index_of, write_toolkit
from tests.unit.release.conftest import certified_wheel
from tests.wheel_site import write_site
from tests.wheels import write_wheel
from wheelmill.config.load import load_config
from wheelmill.index.serve import serve_folder
from wheelmill.names import CudaVersion, PythonVersion
from wheelmill.smoke.verdict import certificate_path
from wheelmill.system import own_installation
from wheelmill.system.guard import children_of
from wheelmill.system.records import write_record

SEED = 19
MANY = int(os.environ.get("WHEELMILL_KILLS", "3"))
"""Moments at which each command is killed with ``--nightly``; without it two commands are, at one moment."""
PYTHON = PythonVersion(*sys.version_info[:2])
MACHINE = os.uname().machine
NOT_OURS = ("uv-cache", ".venv", "compiled", "undone")
"""Folders that belong to uv, as ``uv-*.lock`` does, and those of what is meant to stay: compiled objects, and files as
a killed command left them."""


@dataclass(kw_only=True)
class Scenario:
    """A command, and the folder that it works on."""

    argv: tuple[str, ...]
    folder: Path
    """How it looks before; commands run in copies of it."""
    environment: Mapping[str, str] = field(default_factory=dict)
    check: Callable[[Path], None] = lambda _folder: None
    """Looks at what a killed command left."""
    sacred: tuple[str, ...] = ()
    """Files of a person, of which a killed command leaves the old or the new ones, whole."""

    start: Start
    """How it is run to its end."""

    def environment_in(self, folder: Path) -> dict[str, str]:
        """The variables in a copy, with temporary files and a cache of its own."""
        for name in ("tmp", "cache"):
            (folder / name).mkdir(exist_ok=True)
        own = {"TMPDIR": str(folder / "tmp"), "XDG_CACHE_HOME": str(folder / "cache"), "CCACHE_DISABLE": "1"}
        own["XDG_STATE_HOME"] = str(folder / "state")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP_", "VIRTUAL_"))}
        return {**clean, **own, **self.environment}

    def run_for(self, folder: Path, seconds: float | None) -> None:
        """Start a new interpreter and kill it after some seconds, or let it end if None."""
        argv, env, pipe = [sys.executable, "-m", "wheelmill", *self.argv], self.environment_in(folder), subprocess.PIPE
        with subprocess.Popen(argv, cwd=folder, env=env, stdout=pipe, stderr=subprocess.STDOUT, text=True) as command:
            try:
                said, _ = command.communicate(timeout=seconds)
                assert command.returncode == 0, said
            except subprocess.TimeoutExpired:
                command.send_signal(signal.SIGKILL)

    def finish(self, folder: Path) -> None:
        """Run it to its end."""
        done = self.start(["-m", "wheelmill", *self.argv], cwd=folder, env=self.environment_in(folder))
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(autouse=True)
def _parent_of_orphans() -> Iterator[None]:
    """Processes whose parents were killed become children of this one, so that none is overlooked."""
    libc = ctypes.CDLL(None)
    libc.prctl(36, 1)
    yield
    libc.prctl(36, 0)


@pytest.fixture
def moments(request: pytest.FixtureRequest) -> int:
    return MANY if request.config.getoption("--nightly") else 1


def is_alone(others: set[int]) -> bool:
    """Whether no process but ``others`` is left of a command, some time after it ended or was killed."""
    given_up = time.monotonic() + 60
    while (left := {*children_of(os.getpid())} - others) and time.monotonic() < given_up:
        os.waitpid(-1, os.WNOHANG)
        time.sleep(0.02)
    return not left


def files_in(folder: Path) -> dict[str, int]:
    """The size of every file, by its path without the date of a release."""
    return {
        re.sub(r"v\d{4}-\d\d-\d\d", "v", path.relative_to(folder).as_posix()): path.lstat().st_size
        for path in folder.rglob("*")
        if path.is_file() and not set(NOT_OURS) & set(path.parts) and not path.name.startswith("uv-")
    }


def content_of(path: Path) -> bytes | None:
    """The content of a file; None when it is not there."""
    return path.read_bytes() if path.exists() else None


def kill_and_repeat(scenario: Scenario, place: Path, moments: int) -> None:
    """Kill a command at random moments between its start and its end; then run it to its end."""
    others = {*children_of(os.getpid())}
    whole = place / "whole"
    shutil.copytree(scenario.folder, whole)
    began = time.monotonic()
    scenario.run_for(whole, None)
    seconds = time.monotonic() - began
    expected = files_in(whole)
    chosen = random.Random(SEED)  # noqa: S311 - repeatable
    most = total = 0
    for number in range(moments):
        folder = place / str(number)
        shutil.copytree(scenario.folder, folder)
        moment = chosen.uniform(0, seconds)
        scenario.run_for(folder, moment)
        assert is_alone(others), f"killed after {moment:.3f} s"
        scenario.check(folder)
        for name in scenario.sacred:
            assert content_of(folder / name) in {content_of(scenario.folder / name), content_of(whole / name)}
        left = sum(size for path, size in files_in(folder).items() if path not in expected)
        most, total = max(most, left), total + left
        scenario.finish(folder)
        assert is_alone(others)
        assert files_in(folder).keys() == expected.keys(), f"killed after {moment:.3f} s"
        for name in scenario.sacred:
            assert content_of(folder / name) == content_of(whole / name)
        shutil.rmtree(folder)
    row = (" ".join(scenario.argv[:2]), f"{seconds:.1f}", moments, f"{most:,}", f"{total // moments:,}", 0)
    print(f"| {' | '.join(map(str, row))} |")  # noqa: T201 - a row for people to read


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A folder with a tested wheel that is released, and one that is not."""
    folder = tmp_path / "before"
    for name in ("one-1.0-py3-none-any.whl", "two-1.0-py3-none-any.whl"):
        wheel = certified_wheel(folder / "wheels" / name, content=os.urandom(1 << 20))
        write_record(certificate_path(wheel.file.path), wheel.certificate)
    return folder


def test_release(store: Path, tmp_path: Path, moments: int, start: Start) -> None:
    def check(folder: Path) -> None:
        for release in folder.glob("releases/v*"):
            names = {path.name for path in release.iterdir()}
            assert names >= {
                entry["filename"] for entry in json.loads((release / "manifest.json").read_bytes())["wheels"]
            }

    argv = ("release", "wheels", "--store", "dir:releases")
    kill_and_repeat(Scenario(argv=argv, folder=store, check=check, start=start), tmp_path, moments)


@pytest.mark.nightly
def test_index_build(store: Path, tmp_path: Path, moments: int, start: Start) -> None:
    release = ("release", "wheels", "--store", "dir:releases")
    build = ("index", "build", "--store", "dir:releases", "--output", "site")
    Scenario(argv=release, folder=store, start=start).finish(store)
    scenario = Scenario(argv=build, folder=store, start=start)
    scenario.finish(store)
    (store / "site" / "CNAME").write_text("example.org")

    def check(folder: Path) -> None:
        assert (folder / "site" / "CNAME").read_text() == "example.org"
        assert (folder / "site" / "simple" / "two" / "index.html").exists()

    scenario.check = check
    kill_and_repeat(scenario, tmp_path, moments)


@pytest.fixture
def package_site(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The variables with which a site of this test is the only index of wheels."""
    tag = f"{PYTHON.interpreter}-{PYTHON.abi}-linux_{MACHINE}"
    write_site(tmp_path / "packages", tag)
    with serve_folder(tmp_path / "packages") as url:
        yield only_site(url, tmp_path / "uv-cache")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A person's project."""
    folder = tmp_path / "before"
    folder.mkdir()
    text = '[project]\nname = "fresh"\nversion = "0.1.0"\nrequires-python = ">=3.11"\ndependencies = []  # none yet\n'
    (folder / "pyproject.toml").write_text(text)
    return folder


TARGET = ("demo-gpu", "--python", str(PYTHON), "--torch", "2.11", "--cuda", "13.0")


@pytest.mark.parametrize("command", ["add", pytest.param("lock", marks=pytest.mark.nightly)])
def test_the_client(
    command: str, package_site: dict[str, str], project: Path, tmp_path: Path, *, moments: int, start: Start
) -> None:
    scenario = Scenario(
        argv=(command, *TARGET),
        folder=project,
        environment=package_site,
        start=start,
        sacred=("pyproject.toml", "uv.lock", "pylock.toml"),
    )
    kill_and_repeat(scenario, tmp_path, moments)


PACKAGES = """
packages:
  demo:
    versions: ["1.0"]
    build_args: "--no-build-isolation"
    architectures: ["9.0"]
    source: demo
    test_import: demo._C
    description: "One function"
    allow: {architectures: "it is for no GPU"}
"""

BACKEND = """
import pathlib, subprocess, sysconfig, zipfile

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    include = sysconfig.get_path("include")
    subprocess.run(["gcc", "-shared", "-fPIC", f"-I{include}", "-o", "_C.so", "demo.c"], check=True)
    tag = "PYTHON-PYTHON-linux_MACHINE"
    name = f"demo-1.0-{tag}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory, name), "w") as wheel:
        wheel.write("_C.so", "demo/_C.so")
        wheel.writestr("demo/__init__.py", "")
        about = {"METADATA": "Metadata-Version: 2.1\\nName: demo\\nVersion: 1.0\\n",
                 "WHEEL": f"Wheel-Version: 1.0\\nRoot-Is-Purelib: false\\nTag: {tag}\\n",
                 "RECORD": "demo/_C.so,,\\ndemo/__init__.py,,\\n"}
        for file, text in about.items():
            wheel.writestr(f"demo-1.0.dist-info/{file}", text)
    return name
""".replace("PYTHON", PYTHON.abi).replace("MACHINE", MACHINE)

SOURCE = """
#include <Python.h>
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_C", 0, -1, 0};
PyMODINIT_FUNC PyInit__C(void) { return getenv("NO_MODULE") ? NULL : PyModule_Create(&module); }
"""


@pytest.mark.nightly
def test_run(tmp_path: Path, moments: int, start: Start) -> None:
    folder = tmp_path / "before"
    source = folder / "config" / "demo"
    source.mkdir(parents=True)
    (source.parent / "packages.yml").write_text(PACKAGES)
    for name, text in {"pyproject.toml": PROJECT, "backend.py": BACKEND, "demo.c": SOURCE}.items():
        (source / name).write_text(text)
    release = load_config(own_installation.CONFIG).compatibility.cuda[CudaVersion(13, 0)].toolkit
    toolkit = write_toolkit(tmp_path / "cuda", release)
    with package_index_of(tmp_path / "wheels") as wheels:
        for name in ("setuptools", "wheel"):
            write_wheel(wheels / f"{name}-99.0-py3-none-any.whl")
        bundled = sysconfig.get_config_var("WHEEL_PKG_DIR") or Path(ensurepip.__file__).parent / "_bundled"  # Debian's
        for pip in Path(bundled).glob("pip-*.whl"):
            shutil.copy(pip, wheels)
        environment = {name: value for name, value in os.environ.items() if name.startswith("UV_")}
        environment["CUDA_HOME"] = str(toolkit)
        argv = ("run", "demo", "--python", str(PYTHON), "--cuda", "13.0", "--config", "config")
        scenario = Scenario(argv=argv, folder=folder, environment=environment, start=start)
        kill_and_repeat(scenario, tmp_path, moments)
