"""Releases to make an index of."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

import pytest

from tests.releases import manifests_in
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.index.render import pages_of
from wheelmill.index.tree import Site
from wheelmill.release.directory import DirectoryStore
from wheelmill.release.manifest import ListedRelease
from wheelmill.release.publish import publish

Release = Callable[..., tuple[ListedRelease, ...]]

EVERY_KIND: Final = (
    "demo-1.0+cu130torch2.11-cp311-cp311-manylinux_2_28_x86_64.whl",
    "demo-1.0+cu130torch2.10-cp311-cp311-manylinux_2_28_x86_64.whl",
    "demo-1.0+cu128torch2.10-cp311-cp311-manylinux_2_28_x86_64.whl",
    "plain_cuda-2.0+cu130-py3-none-manylinux_2_28_x86_64.whl",
    "unlabelled-3.0-py3-none-any.whl",
)
"""With torch, for a CUDA without torch, and without a label."""


@pytest.fixture
def release(tmp_path: Path) -> Release:
    """Release wheels of these names into a store, and return the manifests of all its releases."""

    def run(
        *names: str,
        store: str = "releases",
        content: bytes = b"",
        requires_python: str | None = None,
        requires: tuple[str, ...] = (),
        now: datetime = NOW,
    ) -> tuple[ListedRelease, ...]:
        releases = DirectoryStore(directory=tmp_path / store)
        wheels = [
            certified_wheel(
                tmp_path / "wheels" / name, content=content, requires_python=requires_python, requires=requires
            )
            for name in names
        ]
        publish(releases, wheels, now=now)
        return manifests_in(releases)

    return run


def rendered(site: Site) -> dict[str, bytes]:
    """Every page of a site, whole."""
    return {path: b"".join(pieces) for path, pieces in pages_of(site)}
