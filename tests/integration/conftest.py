"""Running commands as a person does."""

import functools
import io
import os
import platform
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.commands import ROOT, Done, Start, anew_at_first, forks
from tests.page_server import PageServer
from tests.reference.exits import check_documented
from tests.tls_hosts import Certificates, Hosts, make_certificates, tls_hosts
from tests.wheels import write_wheel
from wheelmill.index.serve import serve_folder
from wheelmill.installers.uv import own_uv
from wheelmill.names import PythonVersion
from wheelmill.system import process
from wheelmill.system.files import sha256_of

Command = Callable[..., Done]
PYTHON = PythonVersion(*sys.version_info[:2])
TAG = f"{PYTHON.interpreter}-{PYTHON.abi}-linux_{platform.machine()}"
"""Of wheels for the Python and the machine of the tests."""

OF_THIS_MACHINE = {
    *("GITHUB_TOKEN", "GITHUB_API_URL", "UV_TORCH_BACKEND", "UV_CUDA_DRIVER_VERSION", "VIRTUAL_ENV", "CONDA_PREFIX"),
    *("WHEELMILL_SOURCES", "UV_OFFLINE", "GITHUB_REF_TYPE"),
    *("NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION", "NV_VARIANT_PROVIDER_FORCE_SM_ARCH"),
}
"""Variables that would decide what a test finds."""


@pytest.fixture(scope="session")
def start(pytestconfig: pytest.Config) -> Iterator[Start]:
    """How Python is started."""
    with forks() as fork:
        yield as_documented(anew_at_first(fork) if pytestconfig.getoption("--real") else without_pips_files(fork))


def without_pips_files(start: Start) -> Start:
    """Let no configuration file of this machine's pip say where packages are; pip is not even asked for them."""

    def run(words: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Done:
        return start(words, cwd=cwd, env={"PIP_CONFIG_FILE": os.devnull, **env})

    return run


def as_documented(start: Start) -> Start:
    """Hold every command to docs/reference: its exit code, and what it prints as JSON."""

    def run(words: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Done:
        done = start(words, cwd=cwd, env=env)
        if [*words[:2]] == ["-m", "wheelmill"]:
            check_documented(words[2:], done)
        return done

    return run


@pytest.fixture(scope="session")
def python(start: Start) -> Command:
    """Run Python with arguments, in the checkout unless told where, and return what was printed."""

    def run(*arguments: str | Path, exit_code: int, cwd: Path = ROOT) -> Done:
        done = start([*map(str, arguments)], cwd=cwd, env=os.environ)
        assert done.returncode == exit_code, done.stderr
        assert "Traceback" not in done.stderr
        return done

    return run


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder and says nothing."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a package index, which this machine is set to; each folder in it is a project."""
    folder = tmp_path / "index"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{server.server_port}/")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        yield folder
        server.shutdown()


def publish(index: Path, name: str, files: Mapping[str, str] | None = None) -> None:
    """Add a wheel, or a source distribution with some files, to the index."""
    path = index / name.split("-", maxsplit=1)[0] / name
    path.parent.mkdir(exist_ok=True)
    if files is None:
        write_wheel(path)
    else:
        with tarfile.open(path, "w:gz") as tar:
            for file, text in files.items():
                member = tarfile.TarInfo(f"{name.removesuffix('.tar.gz')}/{file}")
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text.encode()))
    there = sorted(each for each in path.parent.iterdir() if each.name != "index.html")
    links = (f'<a href="{each.name}#sha256={sha256_of(each)}">{each.name}</a>' for each in there)
    (path.parent / "index.html").write_text("<!DOCTYPE html>" + "\n".join(links))


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """For names that no DNS knows."""
    names = ("index.example", "files.example", "api.example", "in-dex.example", "xn--ndex-kza.example")
    return make_certificates(tmp_path_factory.mktemp("tls"), names)


@pytest.fixture
def hosts(certificates: Certificates) -> Iterator[Hosts]:
    """An index and other servers, over https and http, under the names of the certificates."""
    with tls_hosts(certificates) as found:
        yield found


@pytest.fixture
def wheelmill(tmp_path: Path, server: PageServer, start: Start) -> Command:
    """Run a client's command in an empty folder, with an empty cache and the server's ``/wheels/`` as the source."""
    clean = {name: value for name, value in os.environ.items() if name not in OF_THIS_MACHINE}
    own = {
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "NETRC": str(tmp_path / "netrc"),
        "WHEELMILL_SOURCES": f"find-links:{server.url}/wheels/",
    }

    def run(*arguments: str | Path, exit_code: int = 0, **variables: str | Path) -> Done:
        env = clean | own | {name: str(value) for name, value in variables.items()}
        done = start(["-m", "wheelmill", *map(str, arguments)], cwd=tmp_path, env=env)
        assert exit_code in (None, done.returncode), done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    return run


def only_site(url: str, cache: Path) -> dict[str, str]:
    """The variables with which the site of an index is the only place of wheels; `cache` is uv's."""
    simple = f"{url}simple/"
    named = {"UV_DEFAULT_INDEX": simple, "WHEELMILL_SOURCES": simple}
    return {**named, "UV_CACHE_DIR": str(cache), "NO_PROXY": "127.0.0.1"}


@contextmanager
def served_alone(wheelmill: Command, site: Path, cache: Path, *own: str, **more: str | Path) -> Iterator[Command]:
    """Run commands, with these arguments and variables, while a site is the only index; `cache` is uv's."""
    with serve_folder(site) as url:
        variables = only_site(url, cache) | more

        def run(*arguments: str | Path, exit_code: int = 0, **others: str | Path) -> Done:
            return wheelmill(*arguments, *own, exit_code=exit_code, **{**variables, **others})

        yield run


def new_project(folder: Path, text: str) -> Path:
    """Make a project with an empty environment."""
    folder.mkdir()
    (folder / "pyproject.toml").write_text(text)
    process.run([own_uv(), "venv", "--quiet", "--python", sys.executable, folder / ".venv"])
    return folder
