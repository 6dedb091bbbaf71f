"""Folders to lock, and what comes of it."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from wheelmill.config.load import load_config
from wheelmill.config.lock import lock_packages, write_lock
from wheelmill.config.model.files import Lock, LockedRequirement, LockedSdist
from wheelmill.names import ProjectName, Sha256, project_name, project_version
from wheelmill.system.files import sha256_of
from wheelmill.web.pages import Link

DEMO, OTHER = project_name("demo"), project_name("other")
V10, V20, V210 = project_version("1.0"), project_version("2.0"), project_version("2.10")

PACKAGES = """
packages:
  other: {versions: ["2.10"], build_args: "--no-build-isolation"}
  demo: {versions: ["1.0", "2.0"], build_args: "--no-build-isolation"}
"""
LOCKED = LockedSdist(sdist="demo-1.0.tar.gz", sha256=Sha256("1" * 64))


def write_packages(folder: Path, text: str) -> None:
    (folder / "packages.yml").write_text(text)


def relocked(folder: Path, *projects: ProjectName, upgrade: bool = False) -> Lock:
    """Lock as the command does: what is in the file now is what the next one finds."""
    write_lock(lock_packages(load_config(folder), projects, upgrade=upgrade).whole(), folder / "packages.lock")
    return load_config(folder).lock


def file(name: str) -> Link:
    return Link(filename=name, url=f"https://example.org/{name}", sha256="f" * 64)


def sdist(name: str) -> LockedSdist:
    return LockedSdist(sdist=name, sha256=Sha256("f" * 64))


def archive_of(files: Mapping[str, str]) -> bytes:
    """A source distribution of demo 1.0."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"demo-1.0/{name}")
            member.size = len(content.encode())
            tar.addfile(member, io.BytesIO(content.encode()))
    return archive.getvalue()


def pin(wheel: Path) -> LockedRequirement:
    return LockedRequirement(requirement="==".join(wheel.name.split("-")[:2]), sha256=(sha256_of(wheel),))
