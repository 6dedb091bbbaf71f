"""Wheels that passed smoke, and a store to release them into."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from tests.releases import NO_CODE, NOW, store_in
from tests.wheels import write_wheel
from wheelmill.build.provenance import Provenance
from wheelmill.release.directory import DirectoryStore
from wheelmill.smoke.verdict import Certificate, CleanRoom, TestedWheel
from wheelmill.wheel.name import WheelFile

__all__ = ["NOW"]


def certified_wheel(
    path: Path,
    *,
    content: bytes = b"",
    requires_python: str | None = None,
    requires: tuple[str, ...] = (),
    provenance: Provenance | None = None,
) -> TestedWheel:
    """Write a wheel and say that it passed.

    Args:
        path: where, with a wheel's file name.
        content: of its one module; other content, other bytes.
        requires_python: what its METADATA asks for.
        requires: what its METADATA requires.
        provenance: how it was built; of other bytes, which it is given for.
    """
    project, version, *_ = path.name.split("-")
    metadata = f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n"
    if requires_python:
        metadata += f"Requires-Python: {requires_python}\n"
    metadata += "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
    file = WheelFile.at(write_wheel(path, metadata=metadata, files={f"{project}/__init__.py": content}))
    return TestedWheel(
        file=file,
        certificate=Certificate(
            sha256=file.sha256,
            evidence=replace(NO_CODE, cuda_major=13),
            clean_rooms=(CleanRoom(python="3.11.7", installed={project: version}, skipped=()),),
            provenance=replace(provenance, sha256=file.sha256) if provenance else None,
        ),
    )


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    """A store that has no releases yet."""
    return store_in(tmp_path / "releases")


def everything_in(folder: Path) -> dict[str, str]:
    """The hash of every file below a folder, hidden ones too but not the ledger, and every folder."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in folder.rglob("*")
        if path.name != "ledger.tar.gz"
    }
