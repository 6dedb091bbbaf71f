"""Installers against a served index of ours: the right wheel, and torch, a stand-in beside, stays what it was."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.hosts import HOSTS
from tests.machine_folders import environment_with
from tests.real.conftest import TOOLS, or_nightly, sampled
from tests.releases import manifests_in, store_in
from tests.s3_server import BUCKET, S3, serving
from tests.torch_index import write_index_of_torch_wheels
from tests.unit.release.conftest import NOW, certified_wheel
from tests.wheels import write_wheel
from wheelmill.index.collect import site_of_releases
from wheelmill.index.render import pages_of
from wheelmill.index.serve import serve_folder
from wheelmill.index.write import write_site
from wheelmill.release.publish import publish
from wheelmill.release.s3.bucket import Bucket
from wheelmill.release.s3.store import S3Store
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.progress import SYSTEM_CLOCK

pytestmark = pytest.mark.real

PYTHON = f"cp{sys.version_info.major}{sys.version_info.minor}"
COMBINATIONS = [(cuda, torch) for cuda in ("cu128", "cu130") for torch in ("2.8", "2.11")]
TWO = sampled(("cuda", "torch"), [("cu128", "2.8"), ("cu130", "2.11")], ("cu130", "2.11"))
"""For clients that take seconds to start."""
CLIENTS = {**{name: name for name in (*TOOLS, "gpkg")}, "pip-compile": "pip-tools"}
"""The lock with each command."""
Run = Callable[..., str]


@dataclass(frozen=True)
class Index:
    """A served index of ours, and one of torch beside it."""

    url: str
    """Of the folder with both."""

    def tree(self, cuda: str, torch: str) -> str:
        return f"{self.url}site/{cuda}/torch{torch}/simple/"

    @property
    def torch(self) -> str:
        return f"{self.url}torch/simple/"


@dataclass(frozen=True)
class Environment:
    """A project folder with a virtual environment."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / ".venv" / "bin" / "python"

    @property
    def installed(self) -> dict[str, str]:
        listed = run("uv", "pip", "list", "--format", "json", "--python", self.python)
        return {it["name"]: it["version"] for it in json.loads(listed) if it["name"] in ("demo", "torch")}

    @property
    def times(self) -> dict[str, int]:
        """When everything in it was installed."""
        records = self.folder.glob(".venv/lib/python*/site-packages/*.dist-info/RECORD")
        return {record.parent.name: record.stat().st_mtime_ns for record in records}


def run(command: str | Path, *arguments: str | Path, cwd: Path | None = None, fails: bool = False) -> str:
    """Run a client without this machine's own settings; returns its stdout, and stderr too where it fails."""
    foreign = ("PIP_", "UV_", "PDM_", "POETRY_", "VIRTUAL_ENV", "PYTHONPATH")
    settings = {name: text for name, text in os.environ.items() if not name.startswith(foreign)}
    own = {"PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1", "POETRY_VIRTUALENVS_IN_PROJECT": "1", "NO_COLOR": "1"}
    argv = [sys.executable, "-m", "uv"] if command == "uv" else [str(command)]
    done = subprocess.run(
        [*argv, *map(str, arguments)], cwd=cwd, env=settings | own, capture_output=True, text=True, check=False
    )
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr if fails else done.stdout


@pytest.fixture(scope="module", autouse=True)
def own_caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let clients remember nothing of earlier runs, whose wheels have the same names and other bytes."""
    folder = tmp_path_factory.mktemp("caches")
    with pytest.MonkeyPatch.context() as patch:
        for kind in ("CACHE", "DATA", "STATE"):
            patch.setenv(f"XDG_{kind}_HOME", str(folder / kind.lower()))
        yield


def tell_version(said: str) -> None:
    """Show which client it was, with ``pytest -rA``."""
    sys.stdout.write(f"{said.strip()}\n")


def wheels_in(folder: Path) -> list[TestedWheel]:
    return [
        certified_wheel(
            folder / "wheels" / f"demo-1.0.0+{cuda}torch{torch}-{PYTHON}-{PYTHON}-linux_x86_64.whl",
            content=f"{cuda} {torch}".encode(),
            requires=(f"torch=={torch}.*",),
        )
        for cuda, torch in COMBINATIONS
    ]


@contextmanager
def bucket(served: Path) -> Iterator[str]:
    """Serve the same from a bucket: releases, the site that the commands make of them, and torch's index."""
    with serving(S3()) as s3, pytest.MonkeyPatch.context() as patch:
        for name, value in s3.environment.items():
            patch.setenv(name, value)
        publish(S3Store(bucket=Bucket.parse(f"{BUCKET}/releases", SYSTEM_CLOCK)), wheels_in(served), now=NOW)
        (config := served / "config").mkdir(exist_ok=True)
        index = (sys.executable, "-m", "wheelmill", "index")
        where = ("--store", f"s3:{BUCKET}/releases", "--output", served / "s3", "--config", config)
        run(*index, "build", *where)
        run(*index, "upload", served / "s3", f"s3:{BUCKET}/site")
        run(*index, "upload", served / "torch", f"s3:{BUCKET}/torch")
        yield f"{s3.origin}/{BUCKET}/"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheels of demo for two CUDA and two torch releases, each pinned to its torch."""
    folder = tmp_path_factory.mktemp("served")
    store = store_in(folder / "releases")
    publish(store, wheels_in(folder), now=NOW)
    write_site(pages_of(site_of_releases(manifests_in(store), "../releases")), folder / "site")
    for cuda, torch in COMBINATIONS:
        write_wheel(folder / "torch" / "wheels" / f"torch-{torch}.0+{cuda}-py3-none-any.whl")
    write_index_of_torch_wheels(folder / "torch" / "wheels", "wheels", folder / "torch")
    return folder


@pytest.fixture(scope="module", params=or_nightly(["GitHub Pages", "nginx", "Caddy", "S3"], "GitHub Pages", "nginx"))
def index(request: pytest.FixtureRequest, served: Path) -> Iterator[Index]:
    """On a host that gives HTML to all, and on those that give JSON to these clients."""
    with {**HOSTS, "S3": bucket}.get(request.param, serve_folder)(served) as url:
        yield Index(url)


@pytest.fixture(scope="module")
def html_index(served: Path) -> Iterator[Index]:
    """On a host that gives HTML to all, and lists folders."""
    with serve_folder(served) as url:
        yield Index(url)


def client(name: str) -> Path:
    """Where the command of a client is; each has a virtual environment of its own."""
    path = environment_with(CLIENTS[name]) / "bin" / name
    tell_version(run(path, "--version"))
    return path


@pytest.fixture
def environment(tmp_path: Path, index: Index) -> Iterator[Callable[[str], Environment]]:
    """Make an environment with a torch in it, which has to be there untouched at the end of the test."""
    made = Environment(tmp_path)
    before: dict[str, int] = {}

    def make(torch: str) -> Environment:
        run("uv", "venv", "--quiet", "--python", sys.executable, tmp_path / ".venv")
        run("uv", "pip", "install", "--quiet", "--python", made.python, "--index-url", index.torch, f"torch=={torch}")
        before.update(made.times)
        return made

    yield make
    assert before.items() <= made.times.items()


def right(cuda: str, torch: str) -> dict[str, str]:
    """What has to be installed."""
    return {"demo": f"1.0.0+{cuda}torch{torch}", "torch": f"{torch}.0+{cuda}"}


def with_pip(made: Environment, tree: str, *, fails: bool = False) -> str:
    pip = (sys.executable, "-m", "pip", "--python", made.python)
    tell_version(run(*pip, "--version"))
    return run(*pip, "install", "--no-cache-dir", "--index-url", tree, "--only-binary", "demo", "demo", fails=fails)


def with_uv(made: Environment, tree: str, *, fails: bool = False) -> str:
    tell_version(run("uv", "--version"))
    options = ("--python", made.python, "--index-url", tree, "--only-binary", "demo")
    return run("uv", "pip", "install", *options, "demo", fails=fails)


@pytest.mark.parametrize("install", [with_pip, with_uv])
@sampled(("cuda", "torch"), COMBINATIONS, ("cu128", "2.8"), ("cu130", "2.11"))
def test_the_tree_of_the_installed_torch_gives_its_wheel(
    cuda: str, torch: str, install: Callable[..., str], index: Index, environment: Callable[[str], Environment]
) -> None:
    made = environment(f"{torch}.0+{cuda}")
    install(made, index.tree(cuda, torch))
    assert made.installed == right(cuda, torch)


@pytest.mark.parametrize("install", [with_pip, with_uv])
@sampled(("tree", "installed"), [("2.11", "2.8"), ("2.8", "2.11")], ("2.11", "2.8"))
def test_the_tree_of_another_torch_is_refused(
    tree: str, installed: str, install: Callable[..., str], index: Index, environment: Callable[[str], Environment]
) -> None:
    made = environment(f"{installed}.0+cu130")
    assert f"torch=={tree}" in install(made, index.tree("cu130", tree), fails=True)
    assert made.installed == {"torch": f"{installed}.0+cu130"}


def test_uv_finds_upload_times(index: Index, environment: Callable[[str], Environment]) -> None:
    made = environment("2.8.0+cu128")
    options = ("--python", made.python, "--index-url", index.tree("cu128", "2.8"), "--no-deps", "demo")
    run("uv", "pip", "install", *options, "--exclude-newer", "2026-11-20T00:00:00Z", fails=True)
    run("uv", "pip", "install", *options, "--exclude-newer", "2026-11-22T00:00:00Z")
    assert made.installed == right("cu128", "2.8")


def write_project(folder: Path, content: str) -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    project = f'[project]\nname = "user"\nversion = "0"\nrequires-python = "=={version}.*"\n'
    (folder / "pyproject.toml").write_text(project + content)


@TWO
def test_uv_locks_and_syncs_once(cuda: str, torch: str, index: Index, tmp_path: Path) -> None:
    write_project(
        tmp_path,
        f"""dependencies = ["demo", "torch=={torch}.*"]
[tool.uv]
environments = ["sys_platform == 'linux' and platform_machine == 'x86_64'"]
[tool.uv.sources]
demo = {{ index = "ours" }}
torch = {{ index = "side" }}
[[tool.uv.index]]
name = "ours"
url = "{index.tree(cuda, torch)}"
explicit = true
[[tool.uv.index]]
name = "side"
url = "{index.url}torch/{cuda}/simple/"
explicit = true
""",
    )
    made = Environment(tmp_path)
    run("uv", "lock", "--python", sys.executable, cwd=tmp_path)
    locked = (tmp_path / "uv.lock").read_bytes()
    assert b"sha256:" in locked
    run("uv", "sync", "--python", sys.executable, cwd=tmp_path)
    assert made.installed == right(cuda, torch)
    before = made.times
    run("uv", "lock", "--check", cwd=tmp_path)
    run("uv", "sync", "--check", cwd=tmp_path)
    run("uv", "sync", cwd=tmp_path)
    assert (tmp_path / "uv.lock").read_bytes() == locked
    assert made.times == before


@TWO
def test_poetry_installs(cuda: str, torch: str, index: Index, environment: Callable[[str], Environment]) -> None:
    made = environment(f"{torch}.0+{cuda}")
    sources = (("ours", index.tree(cuda, torch)), ("side", f"{index.url}torch/{cuda}/simple/"))
    write_project(
        made.folder,
        f"""dependencies = ["demo", "torch=={torch}.*"]
[tool.poetry]
package-mode = false
[tool.poetry.dependencies]
demo = {{ source = "ours" }}
torch = {{ source = "side" }}
"""
        + "".join(
            f'[[tool.poetry.source]]\nname = "{name}"\nurl = "{url}"\npriority = "explicit"\n' for name, url in sources
        ),
    )
    poetry = client("poetry")
    run(poetry, "lock", "--no-interaction", cwd=made.folder)
    run(poetry, "install", "--no-interaction", cwd=made.folder)
    assert made.installed == right(cuda, torch)


@TWO
def test_pdm_locks_and_installs(cuda: str, torch: str, index: Index, environment: Callable[[str], Environment]) -> None:
    made = environment(f"{torch}.0+{cuda}")
    write_project(
        made.folder,
        f"""dependencies = ["demo", "torch=={torch}.*"]
[[tool.pdm.source]]
name = "pypi"
url = "{index.url}torch/{cuda}/simple/"
[[tool.pdm.source]]
name = "ours"
url = "{index.tree(cuda, torch)}"
include_packages = ["demo"]
""",
    )
    pdm = client("pdm")
    run(pdm, "use", "--first", ".venv/bin/python", cwd=made.folder)
    run(pdm, "lock", cwd=made.folder)
    run(pdm, "sync", "--no-self", cwd=made.folder)
    assert made.installed == right(cuda, torch)


@TWO
def test_pip_tools_pins_hashes(cuda: str, torch: str, index: Index, environment: Callable[[str], Environment]) -> None:
    made = environment(f"{torch}.0+{cuda}")
    wanted, pinned = made.folder / "requirements.in", made.folder / "requirements.txt"
    wanted.write_text(f"demo\ntorch=={torch}.0+{cuda}\n")
    indexes = ("--index-url", index.tree(cuda, torch), "--extra-index-url", index.torch)
    run(client("pip-compile"), *indexes, "--generate-hashes", "--output-file", pinned, wanted, cwd=made.folder)
    assert f"demo==1.0.0+{cuda}torch{torch}" in pinned.read_text()
    run(sys.executable, "-m", "pip", "--python", made.python, "install", "--require-hashes", "-r", pinned)
    assert made.installed == right(cuda, torch)


@TWO
def test_gpkg_reads_releases_but_no_page_with_hashes(cuda: str, torch: str, html_index: Index, tmp_path: Path) -> None:
    """gpkg 0.4.3 takes no link that ends with a hash, and so nothing from an index that gives hashes."""
    name = "demo-{version}+cu{cuda}torch{torch}-{pytag}-{platform}.whl"
    options = ("--torch", torch, "--cuda", cuda.removeprefix("cu"), "--platform", "linux_x86_64", "--no-cache")
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    registry = tmp_path / "registry.toml"
    for page, found in (
        (f"{html_index.tree(cuda, torch)}demo/", False),
        (f"{html_index.url}releases/v2026-11-21/", True),
    ):
        source = f'package = "demo"\ntype = "find-links"\nurl_template = "{page}"\nwheel_name = "{name}"\n'
        registry.write_text(f"[[sources]]\n{source}")
        said = run(
            client("gpkg"), "--registry", registry, *options, "--python", python, "demo", cwd=tmp_path, fails=not found
        )
        assert (f"demo-1.0.0+{cuda}torch{torch}-{PYTHON}-{PYTHON}-linux_x86_64.whl" in said) == found
