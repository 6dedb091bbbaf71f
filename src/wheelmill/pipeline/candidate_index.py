"""The throw-away index that smoke installs a wheel from, so that what is tried is what a user will do."""

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
from wheelmill.release.manifest import SIDECAR_SUFFIX
from wheelmill.smoke.environment import CandidateIndex
from wheelmill.system.files import write_bytes
from wheelmill.wheel.metadata import metadata_bytes, read_metadata
from wheelmill.wheel.name import WheelFile


@contextmanager
def serve_candidate(folder: Path, wheels: Collection[WheelFile]) -> Iterator[CandidateIndex]:
    """Write wheels, sidecars and pages to a folder and serve them on this machine; see `ServeIndex`."""
    files = folder / "files"
    files.mkdir()
    for wheel in wheels:
        shutil.copyfile(wheel.path, files / wheel.filename)
        write_bytes(files / (wheel.filename + SIDECAR_SUFFIX), metadata_bytes(wheel.path))
    site = site_of_folder(files, "../files", warn=lambda _text: None)
    write_site(pages_of(site), folder / "site")
    with serve_folder(folder) as url:
        yield CandidateIndex(folder=folder, path="site/simple/", url=url, requires=_required_of_others(wheels))


def _required_of_others(wheels: Collection[WheelFile]) -> tuple[str, ...]:
    """What wheels say they need, but for each other."""
    metadata = [read_metadata(metadata_bytes(wheel.path)) for wheel in wheels]
    own = {canonicalize_name(each.name) for each in metadata}
    required = {requirement for each in metadata for requirement in each.requires_dist or ()}
    return tuple(sorted(str(each) for each in required if canonicalize_name(each.name) not in own))
