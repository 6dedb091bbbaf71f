"""Contradictions between the files of a configuration folder, each with its file, line and key.

A file can be right by itself and still promise what another one cannot hold: a CUDA without an image, a torch whose
symbols were never read, facts for the client that were made from an older file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from packaging.version import Version

from wheelmill.config.fields import KeyPath
from wheelmill.config.load import COMPATIBILITY, SOURCES, generated_files
from wheelmill.config.maintenance.published import stale_torches
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.config.model.config import Config
from wheelmill.config.model.container_builder import installed_builder
from wheelmill.config.model.package_parts import DEFAULT_ARCHITECTURES
from wheelmill.config.model.sources import Sources
from wheelmill.config.yaml import faults_at, read_file
from wheelmill.errors import ConfigurationError
from wheelmill.wheel.torch_symbols import TABLE, TableSummary


def contradictions(config: Config, folder: Path) -> tuple[str, ...]:
    """Name every contradiction between the files of a folder; a file that it lacks ships with wheelmill."""
    own_facts: tuple[str, ...] = ()
    if (path := folder / COMPATIBILITY).exists():
        facts = config.compatibility
        faults = [*_of_cuda(config), *_of_pythons(facts), *_of_symbols(facts, folder / TABLE)]
        own_facts = (*faults_at(path, faults), *_of_generated_files(folder))
    return (*own_facts, *_of_sources(folder / SOURCES))


def _of_cuda(config: Config) -> Iterator[tuple[KeyPath, str]]:
    """CUDA releases without an image, with an older driver or GCC than the one before, or without known GPUs."""
    driver, gcc = "", 0
    for cuda, release in sorted(config.compatibility.cuda.items()):
        place = ("cuda", "releases", str(cuda))
        if cuda not in config.images.cuda:
            yield place, f"images.yml has no image for CUDA {cuda}: 'wheelmill config images --refresh --write' pins it"
        if release.driver and driver and Version(release.driver) <= Version(driver):
            yield (*place, "driver"), f"expected a newer one than {driver}, the driver of the CUDA before it"
        if release.host_gcc < gcc:
            yield (*place, "host_gcc"), f"expected at least {gcc}, the GCC of the CUDA before it"
        for rule in DEFAULT_ARCHITECTURES:
            if release.architectures.isdisjoint(gpu.capability for gpu in rule.list):
                default = ", ".join(gpu.capability for gpu in rule.list)
                yield (*place, "architectures"), f"expected one of {default}, for which packages are compiled"
        driver, gcc = release.driver or driver, release.host_gcc


def _of_pythons(facts: Compatibility) -> Iterator[tuple[KeyPath, str]]:
    """Pythons for which the installed cibuildwheel has no interpreter on a platform, by its own table."""
    builder = installed_builder()
    for place, python in enumerate(facts.pythons if builder else ()):
        if builder and (absent := [str(each) for each in facts.platforms if not builder.has(python, each)]):
            yield ("pythons", place), f"{builder.name} has no Python {python} for {', '.join(absent)}"


def _of_symbols(facts: Compatibility, path: Path) -> Iterator[tuple[KeyPath, str]]:
    """Torches that the table of symbols lacks, or has of another patch release."""
    for torch in stale_torches(facts, TableSummary.read(path)) if path.exists() else ():
        release = facts.torch[torch].release
        message = f"{TABLE} has no symbols of torch {release}: 'wheelmill config symbols --write' reads them"
        yield ("torch", "releases", str(torch)), message


def _of_generated_files(folder: Path) -> Iterator[str]:
    for name, content in generated_files(folder).items():
        if (path := folder / name).exists() and path.read_bytes() != content:
            yield f"{path}:1: is older than the files it is made from: 'wheelmill config schema --write' makes it again"


def _of_sources(path: Path) -> tuple[str, ...]:
    """Faults of ``sources.yml``, which the client alone reads."""
    if path.exists():
        try:
            read_file(path, Sources)
        except ConfigurationError as error:
            return error.faults
    return ()
