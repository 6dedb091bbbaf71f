"""Contradictions between the files of a configuration folder, each with its file, line and key.

A file can be right by itself and still promise what another one cannot hold: a CUDA without an image, a torch whose
symbols were never read, facts for the client that were made from an older file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from packaging.version import Version

from wheelmill.config.fields import KeyPath
from wheelmill.config.load import COMPATIBILITY, generated_files
from wheelmill.config.maintenance.torch_symbols import stale_torches
from wheelmill.config.model import Config
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.config.yaml import faults_at
from wheelmill.wheel.torch_symbols import TABLE, TableSummary


def contradictions(config: Config, folder: Path) -> tuple[str, ...]:
    """Name every contradiction between the files of a folder.

    Args:
        config: what the files say; each has no fault of its own.
        folder: their folder. A file that it lacks ships with wheelmill and is not looked at.

    Raises:
        UnreadableError: the table of torch's symbols cannot be read.
    """
    if not (folder / COMPATIBILITY).exists():
        return ()
    facts = config.compatibility
    found = [*_of_cuda(config), *_of_pythons(facts), *_of_symbols(facts, folder / TABLE)]
    return (*faults_at(folder / COMPATIBILITY, found), *_of_generated_files(folder))


def _of_cuda(config: Config) -> Iterator[tuple[KeyPath, str]]:
    """CUDA releases that no image has, or whose driver is that of an older one."""
    before = ""
    for cuda, release in sorted(config.compatibility.cuda.items()):
        place = ("cuda", "releases", str(cuda))
        if cuda not in config.images.cuda:
            yield place, f"images.yml has no image for CUDA {cuda}: 'wheelmill config images --refresh --write' pins it"
        if release.driver and before and Version(release.driver) <= Version(before):
            yield (*place, "driver"), f"expected a newer one than {before}, the driver of the CUDA before it"
        before = release.driver or before


def _of_pythons(facts: Compatibility) -> Iterator[tuple[KeyPath, str]]:
    """Pythons for which the installed cibuildwheel has no interpreter on a platform, by its own table."""
    try:
        resources = files("cibuildwheel")
    except ModuleNotFoundError:  # it is part of the factory extra, and so is every build
        return
    table = tomllib.loads(resources.joinpath("resources", "build-platforms.toml").read_text("utf-8"))
    known = {entry["identifier"] for system in table.values() for entry in system["python_configurations"]}
    for place, python in enumerate(facts.pythons):
        absent = [str(each) for each in facts.platforms if f"{python.abi}-many{each}" not in known]
        if absent:
            yield ("pythons", place), f"cibuildwheel has no Python {python} for {', '.join(absent)}"


def _of_symbols(facts: Compatibility, path: Path) -> Iterator[tuple[KeyPath, str]]:
    """Torches that the table of symbols lacks, or has of another patch release."""
    for torch in stale_torches(facts, TableSummary.read(path)) if path.exists() else ():
        release = facts.torch[torch].release
        message = f"{TABLE} has no symbols of torch {release}: 'wheelmill config symbols --write' reads them"
        yield ("torch", "releases", str(torch)), message


def _of_generated_files(folder: Path) -> Iterator[str]:
    """Files made from others that were not made again since."""
    for name, content in generated_files(folder).items():
        if (path := folder / name).exists() and path.read_bytes() != content:
            yield f"{path}:1: is older than the files it is made from: 'wheelmill config schema --write' makes it again"
