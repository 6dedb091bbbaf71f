"""Running wheelmill as a person does."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.machine_folders import BASE, alone, environment_with, wheels_of
from tests.real.stand_in_images import with_stand_ins
from tests.reference.exits import check_documented
from wheelmill.config.load import load_images
from wheelmill.installers.uv import own_uv

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "tests" / "data" / "demo"
TOOLS = ("poetry", "pdm", "hatch")
"""Commands, each with a lock of its name."""

SHORT_PAUSES = {"PYTHONPATH": str(Path(__file__).parent / "actions" / "faults")}
"""Variables of a command that waits for hosts, and between what it asks them to write, for hundredths of seconds."""

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def wheelmill() -> Command:
    """Run a wheelmill command in the checkout and return what it printed."""

    def run(
        *arguments: str | Path, exit_code: int = 0, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "wheelmill", *map(str, arguments)]
        environment = os.environ | (env or {})
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == exit_code, done.stderr
        assert "Traceback" not in done.stderr
        check_documented(arguments, done)
        return done

    return run


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    chromium = shutil.which("chromium")
    assert chromium, "apt-get install chromium"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=["--disable-gpu"], chromium_sandbox=False)
        yield launched
        launched.close()


def another_person(home: Path) -> dict[str, str]:
    """The variables of somebody with another home and another cache, who shares uv's: torch is large."""
    uv_cache = os.environ.get("UV_CACHE_DIR", str(Path("~/.cache/uv").expanduser()))
    return {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "UV_CACHE_DIR": uv_cache}


def portable_demo(folder: Path) -> Path:
    """Copy the demo packages, the first for glibc 2.28: a static CUDA runtime takes the newest glibc functions."""
    shutil.copytree(DEMO, folder)
    setup = folder / "wheelmill-demo" / "setup.py"
    setup.write_text(setup.read_text().replace('"-cudart", "static"', '"-cudart", "shared"'))
    packages = folder / "packages.yml"
    packages.write_text(packages.read_text().replace('["8.0", "9.0", "12.0+PTX"]', '["9.0"]'))
    return folder


UNITS = """
def compiled(sources):
    for source in sources:
        nvcc, objects = Path(os.environ["CUDA_HOME"], "bin", "nvcc"), source.removesuffix(".cu") + ".o"
        flags = ["-std=c++17", "-Xcompiler", "-fPIC", *gencode("9.0"), "-I", sysconfig.get_paths()["include"]]
        subprocess.run([nvcc, *flags, "-c", source, "-o", objects], check=True)
        yield objects


setup("""


def divisible_demo(folder: Path, units: int = 3) -> Path:
    """Copy the demo packages into a folder, the first of them with several units, each compiled by itself."""
    portable_demo(folder)
    setup = folder / "wheelmill-demo" / "setup.py"
    sources = ["wheelmill_demo/_kernels.cu", *(f"wheelmill_demo/_unit{number}.cu" for number in range(1, units))]
    text = setup.read_text().replace('["wheelmill_demo/_kernels.cu"]', json.dumps(sources))
    setup.write_text(text.replace("*ext.sources", "*compiled(ext.sources)").replace("\nsetup(", UNITS))
    for source in sources[1:]:
        (setup.parent / source).write_text(f"__global__ void {Path(source).stem}() {{}}\n")
    return folder


@contextmanager
def docker_alone() -> Iterator[None]:
    """Keep the other processes that run tests away from Docker."""
    with alone("docker-tests"):
        yield


@pytest.fixture(scope="session")
def docker() -> None:
    """A Docker that answers."""
    if subprocess.run(["docker", "version"], capture_output=True, check=False).returncode:
        pytest.skip("Docker does not answer: tests/real/stand_ins/docker.sh starts it")


@pytest.fixture(scope="session")
def stand_ins(request: pytest.FixtureRequest) -> None:
    """Have the stand-ins for public images, of one CUDA, and nightly of two."""
    request.getfixturevalue("docker")
    nightly = request.config.getoption("--nightly")
    releases = () if nightly else ("--cuda", "13.0")
    minors = {"MINORS": "3.9 3.10 3.11 3.12 3.13"} if nightly else {}
    with docker_alone():
        build = str(ROOT / "tests" / "real" / "stand_ins" / "build.sh")
        subprocess.run(["bash", build, *releases], env=os.environ | minors, check=True)


@contextmanager
def docker_on(disk: Path, *images: str) -> Iterator[str]:
    """Start another daemon, which keeps everything on a disk and has copies of some images; gives its address."""
    folder = Path(tempfile.mkdtemp(dir=disk.parent))  # short, as sockets must be
    folder.chmod(0o755)
    address = f"unix://{folder}/socket"
    apart = ("--bridge=none", "--iptables=false", "--exec-root", folder / "run", "--pidfile", folder / "pid")
    # In a network of its own: without a bridge, it would remove that of the other daemon.
    daemon = ("unshare", "--net", "dockerd", "--data-root", disk, "--host", address, *apart)
    with docker_alone(), subprocess.Popen(daemon, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            client = ("docker", "--host", address)
            while subprocess.run([*client, "version"], capture_output=True, check=False).returncode:
                assert running.poll() is None
                time.sleep(0.2)
            with subprocess.Popen(["docker", "save", *images], stdout=subprocess.PIPE) as saving:
                subprocess.run([*client, "load"], stdin=saving.stdout, capture_output=True, check=True)
            yield address
        finally:
            running.terminate()
            running.wait()
            shutil.rmtree(folder)


@pytest.fixture
def nothing_is_left() -> Iterator[None]:
    """What a test starts in Docker is gone afterwards, and so are the volumes."""
    with docker_alone():
        before = {*containers(), *abandoned_volumes()}
        yield
        assert {*containers(), *abandoned_volumes()} - before == set()


def containers() -> list[str]:
    return _listed("ps", "--all", "--filter", "label=wheelmill")


def abandoned_volumes() -> list[str]:
    return _listed("volume", "ls", "--filter", "dangling=true")


def _listed(*arguments: str) -> list[str]:
    argv = ["docker", *arguments, "--quiet"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()


@pytest.fixture(scope="session")
def docker_config(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Make a configuration of some packages whose images are the shipped ones, but for the digests of the stand-ins."""
    request.getfixturevalue("stand_ins")

    def make(packages: Path) -> Path:
        folder = tmp_path_factory.mktemp("config") / packages.name
        shutil.copytree(packages, folder)
        shipped = ROOT / "config"
        (folder / "images.yml").write_text(with_stand_ins((shipped / "images.yml").read_text(), load_images(shipped)))
        return folder

    return make


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the commands of tools, and the wheels of what builds projects and of pip-tools."""
    folder = tmp_path_factory.mktemp("tools")
    (folder / "bin").mkdir()
    for command in TOOLS:
        (folder / "bin" / command).symlink_to(environment_with(command) / "bin" / command)
    (folder / "wheels").symlink_to(wheels_of("pip-tools"))
    return folder


def tool_variables(index: str, tools: Path, caches: Path) -> dict[str, str]:
    """The environment of a person with tools (commands and build wheels), one package index and empty caches."""
    foreign = ("UV_", "PIP_", "VIRTUAL_", "CONDA_", "POETRY_", "PDM_", "HATCH_")
    path = (tools / "bin", own_uv().parent, BASE.parent, "/usr/bin", "/bin")
    folders = {"POETRY_CACHE_DIR": "poetry-cache", "PDM_CACHE_DIR": "pdm-cache", "HATCH_DATA_DIR": "hatch-data"}
    folders |= {"XDG_CACHE_HOME": "cache", "XDG_STATE_HOME": "state"}
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(foreign)},
        **{name: str(caches / folder) for name, folder in folders.items()},
        "PATH": os.pathsep.join(map(str, path)),
        "PIP_INDEX_URL": index,
        "PIP_FIND_LINKS": str(tools / "wheels"),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "POETRY_VIRTUALENVS_IN_PROJECT": "true",
        "PDM_CHECK_UPDATE": "0",
    }


def versions_in(environment: Path) -> dict[str, str]:
    """The projects that are installed in an environment."""
    code = "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
    argv: list[str | Path] = [environment / "bin" / "python", "-c", code]
    versions: dict[str, str] = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
    return versions


def sampled(names: str | tuple[str, ...], values: Iterable[Any], *here: object) -> pytest.MarkDecorator:
    """Parametrize a test with some values each time, and with the others nightly."""
    if isinstance(names, str):
        return pytest.mark.parametrize(names, or_nightly(values, *here))
    rows = [row if row in here else pytest.param(*row, marks=pytest.mark.nightly) for row in values]
    return pytest.mark.parametrize(names, rows)


def or_nightly(values: Iterable[Any], *here: object) -> list[Any]:
    """Parameters of a fixture, of which all but some are for the night."""
    return [value if value in here else pytest.param(value, marks=pytest.mark.nightly) for value in values]
