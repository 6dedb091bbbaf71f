"""What docs/compared.md has for each word of gpkg is run: here, or by the test that is named."""

import ast
from pathlib import Path

import pytest

from tests.commands import ROOT
from tests.integration.conftest import Command
from tests.page_server import Answer, PageServer, links_page
from tests.unit.test_from_gpkg import GPKG, rows
from tests.wheels import wheel_name, write_wheel

TARGET = "--python 3.12 --platform linux_x86_64 --libc 2.34 --torch 2.8 --cuda 12.8"
OLD_ABI, NEW_ABI = (wheel_name(label=f"cu12torch2.7cxx11abi{abi}") for abi in ("FALSE", "TRUE"))
WHEELS = [
    *(wheel_name(), wheel_name(label="cu128torch2.9"), wheel_name(label="cu126torch2.8"), OLD_ABI, NEW_ABI),
    *(wheel_name(tag="cp313-cp313"), wheel_name(platform="manylinux_2_28_aarch64"), wheel_name(platform="win_amd64")),
]
OTHER = wheel_name("0.9")

RUN = {
    "gpkg PKG...": ("resolve demo", wheel_name()),
    "--list": ("search", "any package"),
    "--available": ("available demo", "cp312 cp313"),
    "--explain": ("explain demo", "9 wheels: 3 fitting, 3 refused for torch"),
    "--all": ("explain demo --fitting", "+ demo-1.0.0+cu126"),
    "--torch": ("resolve demo --torch 2.9", wheel_name(label="cu128torch2.9")),
    "--cuda": ("resolve demo --cuda 126", wheel_name(label="cu126torch2.8")),
    "--python": ("resolve demo --python 3.13", wheel_name(tag="cp313-cp313")),
    "--platform": ("resolve demo --platform linux_aarch64", wheel_name(platform="manylinux_2_28_aarch64")),
    "--cxx11-abi": ("resolve demo --torch 2.7 --cxx11-abi false", OLD_ABI),
    "--project": ("resolve demo --project mine", 'name = "mine"'),
    "-o": ("resolve demo -o new.toml --output new.toml", ""),
    "--output": ("resolve demo --output new.toml", ""),
    "--registry": ("resolve demo --source {other}", OTHER),
    "--extra-registry": ("resolve demo==0.9 --extra-source {other}", OTHER),
    "--json": ("resolve demo --json", '"schema": "wheelmill.resolve/1"'),
    "--no-cache": ("resolve demo --no-cache", wheel_name()),
    "--lock": ("lock demo", ""),
    "--lockfile": ("lock demo --output pylock.own.toml", ""),
    "--cache-info": ("cache info", ": 0 files"),
    "--cache-clean": ("cache clean", "deleted 0 files"),
    "--older-than": ("cache clean --older-than 7d", "deleted 0 files"),
    "-V": ("--version", "0."),
    "--version": ("--version", "0."),
}
"""A command line, and what it prints."""

WRITTEN = {"-o": "new.toml", "--output": "new.toml", "--lock": "pylock.toml", "--lockfile": "pylock.own.toml"}

RUN_BY = {
    "gpkg add PKG...": "real/test_client_project.py",
    "gpkg install": "real/test_client_project.py",
    "gpkg test": "real/test_client_project.py",
    "--doctor": "real/test_client_project.py",
    "--update": "real/test_client_project.py",
    "--sync": "real/test_client_project.py",
    "--build-missing": "integration/test_gpkg_defects.py",
}


@pytest.mark.parametrize("word", RUN)
def test_a_word_of_gpkg_does_the_same_here(word: str, wheelmill: Command, server: PageServer, tmp_path: Path) -> None:
    pure = write_wheel(tmp_path / "site" / "demo-0.1-py3-none-any.whl")  # the only one for a torch without CUDA
    server.pages |= {
        "/wheels/": Answer(links_page(*WHEELS, pure.name, sha256=None)),
        f"/wheels/{pure.name}": Answer(pure.read_bytes()),
        "/other/": Answer(links_page(OTHER)),
    }
    text, printed = RUN[word]
    command, *words = text.format(other=f"{server.url}/other/").split()
    target = TARGET.split() if command in ("resolve", "explain", "available") else []
    look = ["--no-look"] if command in ("resolve", "lock", "explain") else []
    variables = {"UV_TORCH_BACKEND": "cpu"} if command == "lock" else {}
    done = wheelmill(command, *target, *words, *look, **variables)
    assert printed.replace("+", "%2B") in done.stdout or printed in done.stdout
    if word in WRITTEN:
        assert (tmp_path / WRITTEN[word]).exists()
    assert (tmp_path / "cache").exists() is (command not in ("cache", "--version") and "--no-cache" not in words)


def test_every_word_is_run() -> None:
    assert {*RUN, *RUN_BY} == GPKG


@pytest.mark.parametrize(("theirs", "ours"), rows())
def test_what_the_table_says_is_what_is_run(theirs: str, ours: str) -> None:
    if theirs in RUN:
        run = set(RUN[theirs][0].split())
    else:
        tree = ast.parse((ROOT / "tests" / RUN_BY[theirs]).read_text())
        run = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert set(ours.split()) <= run
