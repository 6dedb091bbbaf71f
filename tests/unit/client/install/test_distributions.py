"""What an interpreter says that is installed for it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from wheelmill.client.install import distributions
from wheelmill.client.install.distributions import (
    ChangeKind,
    Distribution,
    InstalledPackage,
    InstallPlace,
    compare_packages,
    installed_in,
    packages_in,
    read_distributions,
    unrequired,
)
from wheelmill.client.install.import_test import find_compiled_projects
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
def test_half_an_install_does_no_harm(interpreter: Path, tmp_path: Path, metadata: str, version: str | None) -> None:
    put(tmp_path / "site", metadata)
    found = installed_in(interpreter).get(FLASH)
    assert (found.version if found else None) == version


def test_an_alias_is_not_compiled(interpreter: Path, tmp_path: Path) -> None:
    metadata = "Name: flash_attn\nVersion: 2.8.3+cu130torch2.11\nRequires-Dist: demo==2.8.3+cu130torch2.11\n"
    put(tmp_path / "site", metadata)
    assert FLASH not in find_compiled_projects(installed_in(interpreter))


TORCH = project_name("torch")


@pytest.mark.parametrize(
    ("before", "after", "kind", "sign", "versions"),
    [
        (None, "2.9.0", ChangeKind.INSTALLED, "+", "2.9.0"),
        ("2.8.0", None, ChangeKind.REMOVED, "-", "2.8.0"),
        ("2.8.0", "2.10.0", ChangeKind.UPGRADED, "~", "2.8.0 -> 2.10.0"),
        ("2.10.0", "2.9.0", ChangeKind.DOWNGRADED, "~", "2.10.0 -> 2.9.0"),
        ("2.8.0+cu126", "2.8.0+cu128", ChangeKind.UPGRADED, "~", "2.8.0+cu126 -> 2.8.0+cu128"),
        ("of old", "2.9.0", ChangeKind.REPLACED, "~", "of old -> 2.9.0"),
    ],
)
def test_a_change_in_words(before: str | None, after: str | None, kind: ChangeKind, sign: str, versions: str) -> None:
    old, new = (({TORCH: InstalledPackage(version=each, size=8)} if each else {}) for each in (before, after))
    (change,) = compare_packages(old, new)
    assert (change.change, change.sign, change.versions, change.size) == (kind, sign, versions, 8)


def test_another_build_of_a_version_is_a_change() -> None:
    one, other, unknown = (InstalledPackage(version="1.0", size=8, identity=number) for number in (1, 2, None))
    (change,) = compare_packages({TORCH: one}, {TORCH: other})
    assert (change.change, change.versions) == (ChangeKind.REPLACED, "1.0")
    assert not list(compare_packages({TORCH: one}, {TORCH: unknown}))
    assert not list(compare_packages({TORCH: one}, {TORCH: one}))


def test_packages_have_the_size_that_their_record_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, record in {"torch": "torch/a.py,,100\ntorch/b.so,,23\ntorch/RECORD,,\n", "broken": 'a,"'}.items():
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (folder / "RECORD").write_text(record)
    monkeypatch.setattr(distributions, "distributions_of", lambda _: read_distributions([tmp_path]))
    found = packages_in(Path(sys.executable))
    assert {project: package.size for project, package in found.items()} == {"torch": 123, "broken": None}


@pytest.mark.parametrize(
    ("removed", "named", "gone"),
    [
        ("abc", "a", "ab"),  # torch, which stays, requires c
        ("abcd", "a", "ab"),  # and c requires d
        ("abc", "ac", "abc"),
        ("abcdt", "at", "abcdt"),
        ("ax", "a", "ax"),  # x is not installed
    ],
)
def test_what_others_require_stays_unless_it_was_named(removed: str, named: str, gone: str) -> None:
    requires = {"a": ("b>=1", "c"), "b": (), "c": ("d ; python_version > '3'",), "d": (), "t": ("C<2", "not valid!")}
    installed = {
        project_name(name): Distribution(project=project_name(name), version="1", requires_dist=each)
        for name, each in requires.items()
    }
    names, asked = list(map(project_name, removed)), list(map(project_name, named))
    assert unrequired(names, asked, installed) == list(gone)


def test_an_environment_is_one_tree_whether_it_is_there_or_not(tmp_path: Path) -> None:
    assert InstallPlace.of_environment(tmp_path / ".venv").trees == (tmp_path / ".venv",)


def test_the_interpreter_of_an_environment() -> None:
    place = InstallPlace.of_interpreter(Path(sys.executable))
    assert place.trees == (place.base,) == (Path(sys.prefix),)


def test_an_interpreter_that_is_in_no_environment() -> None:
    """As conda's and the system's: only the folders of packages and scripts, not all that is there."""
    place = InstallPlace.of_interpreter(Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}")
    assert place.base not in place.trees
    names = {tree.name for tree in place.trees}
    assert names >= {"bin", "share", "etc", "include"}
    assert names & {"site-packages", "dist-packages"}  # Debian's


def test_a_user_who_may_not_write_there_has_packages_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(_interpreter: Path, code: str) -> object:
        code = f"import os\nos.access = lambda *_: False\n{code}"
        python = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}"
        return json.loads(subprocess.run([python, "-I", "-c", code], capture_output=True, check=True).stdout)

    monkeypatch.setattr(distributions, "ask", ask)
    assert InstallPlace.of_interpreter(Path(sys.executable)).base.is_relative_to(Path.home())


def test_a_conda_prefix_is_asked_for_its_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()
    folders = [str(tmp_path / "lib" / "site-packages"), str(tmp_path / "bin")]
    monkeypatch.setattr(distributions, "ask", lambda *_: [str(tmp_path), False, folders])
    place = InstallPlace.of_environment(tmp_path)
    assert place.base == tmp_path
    assert place.trees == tuple(map(Path, folders))
