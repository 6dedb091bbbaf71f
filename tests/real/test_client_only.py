"""`pip install wheelmill` without the factory: every command of the client runs, and building says what is missing."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.machine_folders import constraints
from tests.page_server import Answer, PageServer, in_pieces, links_page, page_server
from tests.real.conftest import ROOT, sampled
from tests.wheel_site import add_wheel
from tests.wheels import write_wheel
from wheelmill.cli import COMMANDS

pytestmark = pytest.mark.real

TARGET = ("--python", "3.12", "--torch", "2.8", "--cuda", "12.8", "--platform", "linux_x86_64", "--gpu", "9.0")
HINT = "hint: 'wheelmill explain' shows every candidate; 'wheelmill add --build' compiles one if it knows how"
EXTRA = "hint: pip install 'wheelmill[factory]'"

WITHOUT_A_WHEEL = [
    *("resolve nothing", "resolve nothing --json", "available nothing", "explain nothing", "add nothing"),
    *("add nothing --build", "add flash-attn", "install nothing", "lock nothing"),
]
"""What has no wheel anywhere; flash-attn could be built."""
WITH_NOTHING_TO_DO = {
    "environment": 0,
    "show nothing": 2,
    "search": 0,
    "search nothing": 0,
    "update": 2,
    "remove nothing": 2,
    "lock": 2,
    "sync": 2,
    "install --lock pylock.toml": 2,
    "list": 0,
    "test": 0,
    "doctor --offline": 0,
    "cache info": 0,
    "cache clean": 0,
}
"""Every other command in an empty folder, and how it ends."""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("client")
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder], check=True)
    install: list[str | Path] = [*uv, "pip", "install", "--quiet", "--python", folder]
    subprocess.run(
        [*install, "--reinstall-package", "wheelmill", ROOT], check=True, env={**os.environ, **constraints()}
    )
    return folder


@pytest.fixture(scope="module")
def server() -> Iterator[PageServer]:
    with page_server() as served:
        yield served


@pytest.fixture
def run(environment: Path, server: PageServer, tmp_path: Path) -> Run:
    """Run a command line in a folder of its own, where nothing but the server can be reached."""
    server.pages["/wheels/"] = Answer(links_page("flash_attn-2.8.3+cu118torch2.1-cp39-cp39-win_amd64.whl"))
    unreachable = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
    own = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_CONFIG_HOME": str(tmp_path / "config"), "WHEELMILL_SITE": ""}
    sources = {"WHEELMILL_SOURCES": f"find-links:{server.url}/wheels/", "NO_PROXY": "127.0.0.1"}

    subprocess.run([sys.executable, "-m", "uv", "venv", "--quiet", tmp_path / ".venv"], check=True)

    def run_command(*words: str | Path, exit_code: int = 0) -> subprocess.CompletedProcess[str]:
        argv = [environment / "bin" / "wheelmill", *words]
        env = os.environ | unreachable | own | sources
        done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False, env=env)
        assert done.returncode == exit_code, done.stderr
        assert "Traceback" not in done.stderr
        assert EXTRA in done.stderr or "jinja2" not in done.stderr
        return done

    return run_command


def test_the_configuration_ships_with_it(run: Run) -> None:
    done = run("plan", "flash-attn", "--cuda", "13.0", "--torch", "2.11", "--python", "3.12")
    assert "wheels to build: 1," in done.stdout


def test_a_command_of_the_factory_asks_for_it_by_name(run: Run) -> None:
    assert run("run", "flash-attn", "--cuda", "13.0", exit_code=2).stderr.splitlines()[-1] == EXTRA


@sampled("offline", [(), ("--offline",)], ("--offline",))
def test_what_has_no_wheel_ends_with_the_hint(run: Run, offline: tuple[str, ...]) -> None:
    for line in WITHOUT_A_WHEEL:
        done = run(*line.split(), *TARGET, *offline, exit_code=8)
        assert done.stderr.splitlines()[-1] == HINT, line


def test_building_asks_for_the_factory_after_the_answer(run: Run) -> None:
    said = run("add", "flash-attn", "--build", *TARGET, exit_code=2).stderr
    assert said.splitlines()[-1] == EXTRA
    assert said.index("flash-attn: 1 wheel, none for") < said.index(EXTRA)


def test_every_other_command_runs_in_an_empty_folder(run: Run) -> None:
    for line, exit_code in WITH_NOTHING_TO_DO.items():
        run(*line.split(), exit_code=exit_code)


def test_no_command_of_the_client_is_forgotten() -> None:
    commands = {name for name, (module, *_) in COMMANDS.items() if module.startswith("client.")}
    assert commands == {line.split()[0] for line in (*WITHOUT_A_WHEEL, *WITH_NOTHING_TO_DO)}


def test_a_wheel_is_chosen_installed_and_tried(run: Run, server: PageServer, tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / "site" / "demo-0.1-py3-none-any.whl")
    server.pages |= {
        "/wheels/": Answer(links_page(wheel.name, sha256=None)),
        f"/wheels/{wheel.name}": in_pieces(wheel.read_bytes()),
    }
    subprocess.run([sys.executable, "-m", "uv", "venv", "--quiet", "--clear", "--seed", tmp_path / ".venv"], check=True)
    assert run("show", wheel).stdout.startswith("demo 0.1")
    assert wheel.name in run("resolve", "demo", *TARGET, "--no-look").stdout
    run("install", "demo")
    assert "demo  0.1" in run("list", "demo").stdout
    run("test", "demo")
    assert "uv" in run("lock", "demo", exit_code=2).stderr


def test_a_source_may_have_what_its_wheel_requires(run: Run, server: PageServer, tmp_path: Path) -> None:
    """Then the package index is asked for it, too; which one that is, no library of the factory has to know."""
    site = tmp_path / "site"
    chosen = add_wheel(site, "demo-1.0+cu128torch2.8-cp312-cp312-linux_x86_64.whl", requires=("rich-text",))
    required = add_wheel(site, "rich_text-1.0-py3-none-any.whl")
    server.pages["/wheels/"] = Answer(links_page(chosen.name, required.name, sha256=None))
    server.pages |= {f"/wheels/{quote(wheel.name)}": in_pieces(wheel.read_bytes()) for wheel in (chosen, required)}
    assert required.name in run("resolve", "demo", *TARGET).stdout


def test_a_machine_without_a_network_is_no_machine_without_wheels(run: Run) -> None:
    said = run("resolve", "nothing", *TARGET, "--source", "https://host.invalid/simple/", exit_code=10).stderr
    assert "https://host.invalid/simple/nothing/" in said
