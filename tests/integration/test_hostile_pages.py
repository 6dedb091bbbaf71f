"""A source that means harm: each command warns of what is wrong there, and goes on with the others."""

import json
import os
import sys
from collections.abc import Iterable
from hashlib import sha256
from html import escape
from pathlib import Path
from shutil import rmtree
from urllib.parse import urlsplit

import pytest

from tests.hostile_pages import ANSWERS, COSTLY, NAMES
from tests.integration.conftest import Command
from tests.page_server import Answer, PageServer, in_pieces, links_page
from tests.releases import store_in
from tests.unit.release.conftest import NOW, certified_wheel
from tests.wheels import wheel_name, write_wheel
from wheelmill.installers.uv import own_uv
from wheelmill.release.publish import publish
from wheelmill.system import process
from wheelmill.web.pages import absolute

TARGET = ("--python", "3.12", "--torch", "2.8", "--cuda", "cu128", "--platform", "linux_x86_64", "--libc", "2.34")
WHEEL = wheel_name("1.0.0")


@pytest.fixture
def sources(server: PageServer) -> dict[str, str]:
    """The URLs of one honest source and of others, by their names."""
    server.pages["/honest/"] = Answer(links_page(WHEEL, *NAMES))
    server.pages |= {f"/{name}/": answer for name, answer in ANSWERS.items()}
    return {name: f"{server.url}/{name}/" for name in [*ANSWERS, "honest"]}


def without_costly(sources: dict[str, str]) -> dict[str, str]:
    return {name: url for name, url in sources.items() if name not in COSTLY}


def as_sources(urls: Iterable[str]) -> str:
    return " ".join(f"find-links:{url}" for url in urls)


@pytest.mark.parametrize(
    "command",
    [
        ("resolve", "demo", "--no-look", "--json"),
        ("available", "demo", "--json"),
        ("explain", "demo", "--fitting", "--no-look", "--json"),
        ("add", "demo", "--no-look", "--no-sync", "--json"),
    ],
    ids=lambda command: command[0],
)
def test_each_page_that_is_wrong_is_named_and_the_honest_wheel_is_found(
    command: tuple[str, ...], wheelmill: Command, sources: dict[str, str], pytestconfig: pytest.Config
) -> None:
    whole = command[0] == "resolve" or pytestconfig.getoption("--nightly")
    asked = sources if whole else without_costly(sources)
    done = wheelmill(*command, *TARGET, WHEELMILL_SOURCES=as_sources(asked.values()))
    warned = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    for name in asked.keys() - {"honest"}:
        assert any(asked[name] in line for line in warned), name
    assert all(line.isprintable() for line in warned)
    content = json.loads(done.stdout)
    match command[0]:
        case "resolve":
            assert content["resolved"]["demo"]["filename"] == WHEEL
        case "add":
            assert content["environments"][0]["resolved"]["demo"]["filename"] == WHEEL
        case "explain":
            assert [each["filename"] for each in content["candidates"]] == [WHEEL]
        case _:
            honest = {"cuda": "12.8", "torch": "2.8", "torch_abi": None, "pythons": ["cp312"]}
            assert any(honest.items() <= each.items() for each in content["projects"]["demo"])


def test_nothing_wrong_is_taken_where_nothing_else_is(wheelmill: Command, sources: dict[str, str]) -> None:
    del sources["honest"]
    asked = as_sources(without_costly(sources).values())
    done = wheelmill("resolve", "demo", *TARGET, "--json", exit_code=10, WHEELMILL_SOURCES=asked)
    assert json.loads(done.stdout)["resolved"] == {}


def test_a_hostile_manifest_is_named_and_the_other_releases_are_listed(python: Command, tmp_path: Path) -> None:
    store = store_in(tmp_path / "releases")
    publish(store, [certified_wheel(tmp_path / "demo-1.0-py3-none-any.whl")], now=NOW)
    for number, content in enumerate((b"[" * 100_000, b"\xff", b'{"wheels": [{"size": 1e999}]}')):
        folder = store.directory / f"v2026-11-2{number + 2}"
        folder.mkdir()
        (folder / "manifest.json").write_bytes(content)
    build = ("index", "build", "--store", f"dir:{store.directory}", "--output", tmp_path / "site")
    said = python("-m", "wheelmill", *build, exit_code=0).stderr
    assert [f"v2026-11-2{number}/manifest.json: " in said for number in (1, 2, 3, 4)] == [0, 1, 1, 1]
    assert (tmp_path / "site" / "simple" / "demo" / "index.html").exists()
    said = python("-m", "wheelmill", "plan", "flash-attn", "--store", f"dir:{store.directory}", exit_code=0).stderr


HOSTILE_FOLDERS = [
    *("${SECRET}", f"a --hash=sha256:{'1' * 64}", "a %23", "a ; python_version<'3' %23", "a\\", "%zz'\"`{}", "é"),
]


@pytest.mark.parametrize("command", ["add --no-sync --project", "lock --format requirements --output"])
def test_a_link_is_one_url_to_pip_and_uv(command: str, wheelmill: Command, server: PageServer, tmp_path: Path) -> None:
    links, paths, projects = "", set(), []
    for number, folder in enumerate(HOSTILE_FOLDERS):
        project = f"demo{number}"
        wheel = write_wheel(tmp_path / wheel_name(project=project, label="cu128", tag="py3-none", platform="any"))
        content = wheel.read_bytes()
        link = f"{server.url}/{folder}/{wheel.name}"
        links += f'<a href="{escape(link)}#sha256={sha256(content).hexdigest()}">{wheel.name}</a>'
        path = urlsplit(absolute(server.url, link) or "").path
        server.pages[path] = in_pieces(content)
        paths.add(path)
        projects.append(project)
    server.pages["/hostile/"] = Answer(links.encode())
    requirements = tmp_path / "requirements.txt"
    requirements.touch()
    word, *options = command.split()
    wheelmill(word, *projects, *options, requirements, *TARGET, WHEELMILL_SOURCES=f"find-links:{server.url}/hostile/")
    for installer in ([sys.executable, "-m", "pip", "install"], [own_uv(), "pip", "install"]):
        server.asked.clear()
        goal = tmp_path / "installed"
        own: list[str | Path] = ["--no-deps", "--no-index", "--no-cache-dir", "--target", goal, "-r", requirements]
        process.run([*installer, *own], env={**os.environ, "SECRET": "s3cret"})
        assert {asked for asked, _ in server.asked} == paths
        rmtree(tmp_path / "installed")
