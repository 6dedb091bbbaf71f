"""Symbols that the torches of ``compatibility.yml`` export, read from their wheels on the package index.

Only the libraries are downloaded, by byte ranges, and unpacked one after the other: they are most of a wheel.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from wheelmill.config.maintenance.published import LINUX_X86_64
from wheelmill.config.model import Compatibility, TorchRelease
from wheelmill.errors import UnreadableError, UsageError
from wheelmill.installers.package_index import files_of, open_index
from wheelmill.names import TORCH, Platform, ProjectVersion, TorchVersion
from wheelmill.system.progress import number_of
from wheelmill.wheel.archive import open_archive
from wheelmill.wheel.name import WheelName
from wheelmill.wheel.shared_objects import read_members
from wheelmill.wheel.torch_symbols import Exported, TableSummary, TorchBuild, TorchSymbols

if TYPE_CHECKING:
    from wheelmill.web.client import Web
    from wheelmill.web.pages import Link

_FOLDER: Final = PurePosixPath("torch/lib")
_LIBRARIES: Final = ("libtorch*.so", "libc10*.so")
_PIECE: Final = 8 << 20
"""Bytes that are asked for at once."""
_BUDGET: Final = 4 << 30
"""Bytes of a wheel that are asked for in all."""
_SOURCE: Final = "torch's wheels for linux_x86_64 on the package index"


def stale_torches(facts: Compatibility, table: TableSummary | None) -> list[TorchVersion]:
    """Return the torches of ``compatibility.yml`` that the table lacks, or has for another patch release."""
    known = {build.torch: build.release for build in table.builds} if table else {}
    return [torch for torch, release in facts.torch.items() if known.get(torch) != release.release]


def read_symbols(
    facts: Compatibility, table: TorchSymbols | None, *, today: dt.date, tell: Callable[[str], None]
) -> TorchSymbols | None:
    """Update the table from ``compatibility.yml``; current builds are not read again.

    Args:
        facts: the torches of the new table.
        table: the current table; None if there is none.
        today: the date of a changed table.
        tell: gets a line for each wheel read, and for each torch that the index lacks.

    Returns:
        The table; None if no torch has symbols.

    Raises:
        UsageError: the index does not have torch.
        NetworkError: the index does not answer.
        UnreadableError: a wheel cannot be read.
    """
    stale = stale_torches(facts, table.summary if table else None)
    current = [b for b in table.summary.builds if b.torch in facts.torch and b.torch not in stale] if table else []
    exported = {build: table.exported_by(build) for build in current} if table else {}
    with open_index() as web:
        if stale and not (files := files_of(TORCH, web)):
            raise UsageError("torch-not-in-index", f"the package index has no project {TORCH}")
        for torch in stale:
            release = facts.torch[torch]
            if (file := _wheel_of(release, files)) is None:
                tell(f"torch {torch}: the index has no wheel of {release.release} for {LINUX_X86_64}")
                continue
            found = _exported_by(file, web)
            exported[_build_of(torch, release, file, found)] = found
            tell(f"torch {torch}: {number_of(len(found.all), 'symbol')} in {file.filename}")
    if table and exported.keys() == set(table.summary.builds):
        return table
    return TorchSymbols.of(exported, checked=today.isoformat(), source=_SOURCE) if exported else None


def _build_of(torch: TorchVersion, release: TorchRelease, file: Link, exported: Exported) -> TorchBuild:
    return TorchBuild(
        torch=torch,
        release=ProjectVersion(release.release),
        wheel=file.filename,
        cxx11_abi=release.default_cuda not in release.old_cxx_abi,
        symbols=len(exported.all),
    )


def _wheel_of(release: TorchRelease, files: Iterable[Link]) -> Link | None:
    """Return the wheel to read for a release: the symbols used by extensions are the same for every Python."""
    found = (file for file in files if file.yanked is None and _is_wheel_of(release, file.filename))
    return min(found, key=lambda file: file.filename, default=None)


def _is_wheel_of(release: TorchRelease, filename: str) -> bool:
    try:
        name = WheelName.parse(filename)
    except UnreadableError:
        return False
    return str(name.version) == release.release and LINUX_X86_64 in set(map(Platform.of_tag, name.platforms))


def _exported_by(file: Link, web: Web) -> Exported:
    from wheelmill.web.ranges import RangeFile  # asks a server

    with open_archive(RangeFile(web, file.url, piece=_PIECE, budget=_BUDGET)) as archive:
        members = [member for member in archive.infolist() if _is_library(PurePosixPath(member.filename))]
        libraries = read_members(archive, members)
    if not libraries:
        raise UnreadableError("torch-without-libraries", f"{file.filename} has no libraries of torch in {_FOLDER}")
    return Exported.of(libraries)


def _is_library(path: PurePosixPath) -> bool:
    return path.parent == _FOLDER and any(path.match(pattern) for pattern in _LIBRARIES)
