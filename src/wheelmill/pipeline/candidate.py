"""The throw-away index that a wheel is installed from while it is tried."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from packaging.utils import canonicalize_name

from wheelmill.index.collect import site_of_folder
from wheelmill.index.render import pages_of
from wheelmill.index.serve import serve_folder
from wheelmill.index.write import write_site
from wheelmill.smoke.environment import CandidateIndex
from wheelmill.system.files import write_bytes
from wheelmill.web.pages import SIDECAR_SUFFIX
from wheelmill.wheel.metadata import metadata_bytes, read_metadata
from wheelmill.wheel.name import WheelFile


@contextmanager
def serve_candidate(folder: Path, wheels: Collection[WheelFile]) -> Iterator[CandidateIndex]:
    """Write wheels, sidecars and pages to an empty folder, and serve it on this machine while the context is open.

    Smoke installs from there, just as a user will install from the real index.
    """
    files = folder / "files"
    files.mkdir()
    for wheel in wheels:
        shutil.copyfile(wheel.path, files / wheel.filename)
        write_bytes(files / (wheel.filename + SIDECAR_SUFFIX), metadata_bytes(wheel.path))
    site = site_of_folder(files, "../files", warn=lambda _text: None)
    write_site(pages_of(site), folder / "site")
    tree = max(site.trees, key=lambda tree: len(tree.projects))  # those for a torch's candidate stand in no other
    with serve_folder(folder) as url:
        required = _required_of_others(wheels)
        yield CandidateIndex(folder=folder, path=f"site/{tree.folder}/", url=url, requires=required)


def _required_of_others(wheels: Collection[WheelFile]) -> tuple[str, ...]:
    """The requirements of wheels, except for each other."""
    metadata = [read_metadata(metadata_bytes(wheel.path)) for wheel in wheels]
    own = {canonicalize_name(each.name) for each in metadata}
    required = {requirement for each in metadata for requirement in each.requires_dist or ()}
    return tuple(sorted(str(each) for each in required if canonicalize_name(each.name) not in own))
