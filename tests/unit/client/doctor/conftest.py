"""Environments that are examined without an interpreter."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.client.targets import LINUX
from wheelmill.client.choose.resolve import read_facts
from wheelmill.client.doctor.examination import defects_of_environment
from wheelmill.client.doctor.inventory import (
    OWN,
    STARTED_IN,
    USER_SITE,
    Examined,
    ImportPath,
    Reader,
    SearchFolder,
    broken_folders,
)
from wheelmill.client.doctor.rules import Defect
from wheelmill.client.install.distributions import read_distributions
from wheelmill.client.records import TargetEnvironment
from wheelmill.system.progress import QUIET

TARGET = replace(LINUX, torch_release="2.11.0+cu130", cxx11_abi=True, interpreter=Path("/env/bin/python"))
Examine = Callable[..., Examined]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "env" / "lib" / "python3.12" / "site-packages"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def examined(site: Path, tmp_path: Path) -> Examine:
    """Read the environment as it is now."""
    (tmp_path / "here").mkdir()

    def read(environment: TargetEnvironment = TARGET, *before: SearchFolder, all_hashes: bool = False) -> Examined:
        reader = Reader(prefix=site.parents[2], all_hashes=all_hashes, reads_code=True)
        folders = (SearchFolder(path=tmp_path / "here", origin=STARTED_IN), *before)
        return Examined(
            environment=environment,
            facts=read_facts(),
            path=ImportPath(folders=(*folders, SearchFolder(path=site, origin=OWN)), prefix=site.parents[2]),
            installed=reader.read_all(read_distributions([site]), QUIET),
            of_user=read_distributions(each.path for each in before if each.origin == USER_SITE),
            broken=tuple(broken_folders([site])),
            libraries=frozenset(("libc.so.6",)),
            counts=reader.counts,
        )

    return read


def named(examined: Examined) -> list[Defect]:
    return list(defects_of_environment(examined))
