"""Folders to lock, and what comes of it."""

from pathlib import Path

from pypi_simple import DistributionPackage, parse_filename

from wheelmill.config.load import load_config
from wheelmill.config.lock import lock_packages, write_lock
from wheelmill.config.model import Lock, LockedRequirement, LockedSdist
from wheelmill.names import ProjectName, Sha256, project_name, project_version
from wheelmill.system.files import sha256_of

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
    write_lock(lock_packages(load_config(folder), projects, upgrade=upgrade), folder)
    return load_config(folder).lock


def file(name: str) -> DistributionPackage:
    project, version, package_type = parse_filename(name)
    return DistributionPackage(
        filename=name,
        url=f"https://example.org/{name}",
        project=project,
        version=version,
        package_type=package_type,
        digests={"sha256": "f" * 64},
        requires_python=None,
        has_sig=None,
    )


def sdist(name: str) -> LockedSdist:
    return LockedSdist(sdist=name, sha256=Sha256("f" * 64))


def pin(wheel: Path) -> LockedRequirement:
    return LockedRequirement(requirement="==".join(wheel.name.split("-")[:2]), sha256=(sha256_of(wheel),))
