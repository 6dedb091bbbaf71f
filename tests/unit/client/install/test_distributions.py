"""What an interpreter says that is installed for it."""

import json
import sys
from pathlib import Path

import pytest

from wheelmill.client.environment.trial import find_compiled_projects
from wheelmill.client.install.distributions import installed_in, versions_in
from wheelmill.names import project_name

FLASH = project_name("flash-attn")
RENAMED = "flash_attn-2.8.3%2Bcu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl"


@pytest.fixture
def interpreter(tmp_path: Path) -> Path:
    """A Python that has the distributions of ``tmp_path/site`` beside its own."""
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nshift\nPYTHONPATH="{tmp_path}/site" exec "{sys.executable}" "$@"\n')
    program.chmod(0o755)
    return program


def put(site: Path, metadata: str, origin: str | None = None) -> None:
    folder = site / "flash_attn-2.8.3.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\n{metadata}")
    if origin is not None:
        (folder / "direct_url.json").write_text(origin)


@pytest.mark.parametrize(
    ("origin", "version"),
    [
        (json.dumps({"url": f"https://host.test/{RENAMED}#sha256=00"}), "2.8.3+cu12torch2.8cxx11abitrue"),
        (json.dumps({"url": f"file:///cache/{RENAMED.replace('2.8.3', '2.9.0')}"}), "2.8.3"),
        (json.dumps({"url": "file:///home/me/flash-attention"}), "2.8.3"),
        (json.dumps([]), "2.8.3"),
        ("no JSON", "2.8.3"),
        (None, "2.8.3"),
    ],
)
def test_a_wheel_that_was_renamed_says_in_its_url_what_it_was_built_for(
    interpreter: Path, tmp_path: Path, origin: str | None, version: str
) -> None:
    put(tmp_path / "site", "Name: flash_attn\nVersion: 2.8.3\n", origin)
    installed = installed_in(interpreter)
    assert installed[FLASH].version == version
    assert (FLASH in find_compiled_projects(installed)) is ("+" in version)


@pytest.mark.parametrize(
    ("metadata", "version"),
    [
        ("Name: flash_attn\nVersion: 2.8.3+CU128Torch2.8\n", "2.8.3+cu128torch2.8"),
        ("Name: flash_attn\nVersion: newest\n", "newest"),
        ("Name: flash_attn\n", None),
    ],
)
def test_what_is_half_installed_does_no_harm(
    interpreter: Path, tmp_path: Path, metadata: str, version: str | None
) -> None:
    put(tmp_path / "site", metadata)
    assert versions_in(interpreter).get(FLASH) == version


def test_an_alias_is_not_compiled(interpreter: Path, tmp_path: Path) -> None:
    metadata = "Name: flash_attn\nVersion: 2.8.3+cu130torch2.11\nRequires-Dist: demo==2.8.3+cu130torch2.11\n"
    put(tmp_path / "site", metadata)
    assert FLASH not in find_compiled_projects(installed_in(interpreter))
