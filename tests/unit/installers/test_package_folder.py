"""Folders of packages, also for a Python and a system that are not the running ones."""

import hashlib
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.build.conftest import package_index_of
from tests.wheels import write_wheel
from wheelmill.errors import ProcessError
from wheelmill.installers.environments import PackageFolder
from wheelmill.names import Platform, PythonVersion

MACHINE = platform.machine()
RUNNING = PythonVersion(*sys.version_info[:2])
OTHER = PythonVersion(3, 12) if PythonVersion(3, 12) != RUNNING else PythonVersion(3, 13)
ANY = "py3-none-any.whl"


@pytest.fixture
def wheels(tmp_path: Path) -> Iterator[Path]:
    """The folder whose wheels are all that can be installed."""
    with package_index_of(tmp_path / "wheels") as wheels:
        yield wheels


@pytest.fixture
def here(tmp_path: Path) -> PackageFolder:
    """A folder for the running interpreter."""
    return PackageFolder(directory=tmp_path / "packages", python=RUNNING, interpreter=Path(sys.executable))


@pytest.fixture
def elsewhere(tmp_path: Path) -> PackageFolder:
    """A folder for another Python on a manylinux_2_28."""
    return PackageFolder(directory=tmp_path / "packages", python=OTHER, platform=Platform("linux", MACHINE))


def write_lock(path: Path, *wheels: Path) -> Path:
    """Pin these wheels with their hashes."""
    lines = (
        f"{'=='.join(wheel.name.split('-')[:2])} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"
        for wheel in wheels
    )
    path.write_text("".join(lines))
    return path


def test_wheels_are_chosen_for_a_python_that_is_not_running(elsewhere: PackageFolder, wheels: Path) -> None:
    for python in (RUNNING, OTHER):
        tag = f"{python.interpreter}-{python.abi}-manylinux_2_28_{MACHINE}"
        write_wheel(wheels / f"demo-1.0-{tag}.whl", files={"demo.py": str(python).encode()})
    elsewhere.install(["demo"])
    assert (elsewhere.directory / "demo.py").read_text() == str(OTHER)


def test_what_another_python_depends_on_comes_with_it(elsewhere: PackageFolder, wheels: Path) -> None:
    needs = (
        f'Requires-Dist: other; python_version == "{OTHER}"\nRequires-Dist: running; python_version == "{RUNNING}"\n'
    )
    metadata = f"Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n{needs}"
    write_wheel(wheels / f"demo-1.0-{ANY}", metadata=metadata)
    for name in ("other", "running"):
        write_wheel(wheels / f"{name}-1.0-{ANY}")
    elsewhere.install(["demo"])
    assert elsewhere.distributions() == {"demo": "1.0", "other": "1.0"}


@pytest.mark.parametrize(
    ("policy", "fits"),
    [("manylinux_2_17", True), ("manylinux_2_34", False), ("manylinux_2_29", False), ("musllinux_1_2", False)],
)
def test_an_unloadable_wheel_is_refused(policy: str, *, fits: bool, elsewhere: PackageFolder, wheels: Path) -> None:
    write_wheel(wheels / f"demo-1.0-py3-none-{policy}_{MACHINE}.whl")
    with nullcontext() if fits else pytest.raises(ProcessError):
        elsewhere.install(["demo"])
    assert elsewhere.distributions() == ({"demo": "1.0"} if fits else {})


def test_a_source_distribution_is_refused(here: PackageFolder, wheels: Path) -> None:
    (wheels / "demo-1.0.tar.gz").touch()
    with pytest.raises(ProcessError) as refusal:
        here.install(["demo"])
    assert "demo" in refusal.value.tail


def test_nothing_is_asked_for_nothing(here: PackageFolder, wheels: Path) -> None:
    here.install([])
    assert list(wheels.glob("*.whl")) == []
    assert here.distributions() == {}
    assert not here.directory.exists()


def test_more_is_installed_beside_what_is_there(here: PackageFolder, wheels: Path) -> None:
    for name in ("Torch_Like", "ninja"):
        write_wheel(wheels / f"{name}-1.0-{ANY}")
        here.install([name])
    assert here.distributions() == {"ninja": "1.0", "torch-like": "1.0"}


SCRIPTS = {
    "demo.py": b"def main(): print('main')",
    "demo-1.0.data/scripts/plain": b"#!python\nprint('plain')\n",
    "demo-1.0.data/scripts/own": b"#!/usr/bin/env python\nprint('own')\n",
    "demo-1.0.data/scripts/shell": b"#!/bin/sh\necho shell\n",
    "demo-1.0.data/scripts/binary": b"\x7fELF\0python",
    "demo-1.0.dist-info/entry_points.txt": b"[console_scripts]\nmain = demo:main\n",
}


@pytest.mark.parametrize("folder", ["python", "a folder with spaces"])
def test_scripts_start_the_first_python_on_path(folder: str, wheels: Path, tmp_path: Path) -> None:
    interpreter = tmp_path / folder / "bin" / "python"
    interpreter.parent.mkdir(parents=True)
    interpreter.symlink_to(sys.executable)
    (tmp_path / folder / "pyvenv.cfg").write_text(f"home = {Path(sys.base_prefix, 'bin')}\n")
    packages = PackageFolder(directory=tmp_path / "packages", python=RUNNING, interpreter=interpreter)
    write_wheel(wheels / f"demo-1.0-{ANY}", files=SCRIPTS)
    packages.install(["demo"])
    scripts = {path.name: path.read_bytes() for path in packages.scripts.iterdir()}
    assert all(scripts[name].startswith(b"#!/usr/bin/env python3\n") for name in ("main", "plain", "own"))
    assert scripts["shell"] == SCRIPTS["demo-1.0.data/scripts/shell"]
    assert scripts["binary"] == SCRIPTS["demo-1.0.data/scripts/binary"]
    interpreter.unlink()
    for name in ("main", "shell") if folder == "python" else ("plain", "own"):
        path = {"PATH": f"{Path(sys.prefix, 'bin')}:/usr/bin:/bin", "PYTHONPATH": str(packages.directory)}
        done = subprocess.run([packages.scripts / name], env=path, capture_output=True, text=True, check=True)
        assert done.stdout == f"{name}\n"


def test_exactly_what_is_locked_is_installed(elsewhere: PackageFolder, wheels: Path, tmp_path: Path) -> None:
    needs = "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nRequires-Dist: unlocked\n"
    locked = write_wheel(wheels / f"demo-1.0-{ANY}", metadata=needs)
    for name in (f"demo-2.0-{ANY}", f"unlocked-1.0-{ANY}"):
        write_wheel(wheels / name)
    elsewhere.install_locked(write_lock(tmp_path / "lock", locked))
    assert elsewhere.distributions() == {"demo": "1.0"}


@pytest.mark.parametrize(("hashed", "fault"), [(True, "hash mismatch"), (False, "")])
def test_a_wheel_with_other_bytes_than_the_locked_ones_or_without_a_hash_is_refused(
    elsewhere: PackageFolder, wheels: Path, tmp_path: Path, *, hashed: bool, fault: str
) -> None:
    lock = write_lock(tmp_path / "lock", write_wheel(wheels / f"demo-1.0-{ANY}"))
    if hashed:
        write_wheel(wheels / f"demo-1.0-{ANY}", files={"demo.py": b"evil"})
    else:
        lock.write_text("demo==1.0\n")
    with pytest.raises(ProcessError) as refusal:
        elsewhere.install_locked(lock)
    assert fault in refusal.value.tail.lower()
    assert elsewhere.distributions() == {}


def test_what_is_there_with_unknown_bytes_is_replaced(elsewhere: PackageFolder, wheels: Path, tmp_path: Path) -> None:
    write_wheel(wheels / f"demo-1.0-{ANY}", files={"demo.py": b"unknown"})
    elsewhere.install(["demo"])
    good = write_wheel(wheels / f"demo-1.0-{ANY}", files={"demo.py": b"locked"})
    elsewhere.install_locked(write_lock(tmp_path / "lock", good))
    assert (elsewhere.directory / "demo.py").read_text() == "locked"


def test_a_sealed_folder_has_what_it_has(elsewhere: PackageFolder, wheels: Path, tmp_path: Path) -> None:
    sealed = elsewhere.install_locked(write_lock(tmp_path / "lock", write_wheel(wheels / f"demo-1.0-{ANY}")))
    assert sealed == replace(elsewhere, sealed=True)
    for name in (f"demo-2.0-{ANY}", f"more-1.0-{ANY}"):
        write_wheel(wheels / name)
    sealed.install(["demo>=1"])
    for requirement in ("demo>=2", "more"):
        with pytest.raises(ProcessError):
            sealed.install([requirement])
    assert sealed.distributions() == {"demo": "1.0"}
