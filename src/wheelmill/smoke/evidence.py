"""Evidence from the bytes of an untrusted wheel."""

from __future__ import annotations

import functools
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from packaging.metadata import Metadata

from wheelmill.build.provenance import Provenance
from wheelmill.config.model import Expectations
from wheelmill.errors import UnreadableError
from wheelmill.names import PythonVersion, StableTorch, TorchNeed
from wheelmill.smoke.verdict import Evidence
from wheelmill.wheel.archive import check_archive, open_archive
from wheelmill.wheel.findings import Code, Finding
from wheelmill.wheel.gpu_code import KernelReader
from wheelmill.wheel.libraries import cuda_major_of
from wheelmill.wheel.metadata import dist_info_of, entry_points_of, metadata_in, read_metadata
from wheelmill.wheel.name import WheelFile, WheelName
from wheelmill.wheel.platforms import newest
from wheelmill.wheel.record import InstalledFile, check_record, installed_files
from wheelmill.wheel.shared_objects import CodeBudget, SharedObject, by_names, open_symbols, shared_objects_of
from wheelmill.wheel.sizes import Sizes, sizes_of
from wheelmill.wheel.torch_symbols import window_of

_MAX_CODE: Final = 1 << 29
"""Bytes of instructions that are disassembled, which take a minute."""


def pythons_to_test(pythons: tuple[PythonVersion, ...], torch: TorchNeed | None) -> tuple[PythonVersion, ...]:
    """Choose the Pythons that a wheel is tested on: all, or for a wheel for many torches the oldest and the newest."""
    return tuple({min(pythons): None, max(pythons): None}) if isinstance(torch, StableTorch) else pythons


@dataclass(frozen=True, kw_only=True)
class Contents:
    """Contents of a readable wheel."""

    file: WheelFile
    name: WheelName
    metadata: Metadata
    dist_info: str
    metadata_file: bytes
    entry_points: Mapping[str, Sequence[str]]
    """The names of its entry points, by their groups."""
    members: tuple[zipfile.ZipInfo, ...]
    record_findings: tuple[Finding, ...]
    """Disagreements between RECORD and the files."""
    shared_objects: tuple[SharedObject, ...]
    evidence: Evidence
    provenance: Provenance | None

    @functools.cached_property
    def installed(self) -> tuple[InstalledFile, ...]:
        """Its files, at the paths where installers put them."""
        return tuple(installed_files(member.filename for member in self.members))

    @functools.cached_property
    def sizes(self) -> Sizes:
        """The parts that make it large."""
        return sizes_of(self.members, self.shared_objects)

    @property
    def torch(self) -> TorchNeed | None:
        """The torch, or range of torches, that it was built for; None if neither label nor provenance names one."""
        built_for = self.provenance.cell.torch if self.provenance else None
        if isinstance(built_for, StableTorch):
            return built_for
        return self.name.label.torch if self.name.label else None

    @property
    def expectations(self) -> Expectations:
        """Expectations of packages.yml; of a wheel not built here, only that its packages can be imported."""
        if self.provenance:
            return self.provenance.expectations
        paths = (member.filename.split("/") for member in self.members)
        imports = tuple(sorted(package for package, *rest in paths if rest == ["__init__.py"]))
        return Expectations(imports=imports, allow={Code.TOP_LEVEL: "no entry of packages.yml can name its modules"})

    @property
    def pythons(self) -> tuple[PythonVersion | None, ...]:
        """The Pythons to test it on, or None for any."""
        if self.provenance:
            return pythons_to_test(self.provenance.pythons, self.torch)
        abis = {tag.abi for tag in self.name.tags if tag.interpreter.startswith("cp") and tag.abi.startswith("cp")}
        try:
            return tuple(sorted(map(PythonVersion.parse, abis))) or (None,)
        except ValueError:  # cp27mu: pip will refuse it on every current Python
            return (None,)


def open_wheel(file: WheelFile, provenance: Provenance | None) -> Contents | tuple[Finding, ...]:
    """Read a wheel, or return the findings why it cannot be read; `file` need not be a wheel."""
    try:
        name = WheelName.parse(file.filename)
    except ValueError as error:
        return (Finding(code=Code.FILENAME, detail=str(error)),)
    if findings := check_archive(file.path):
        return findings
    try:
        with file.path.open("rb") as opened, open_archive(opened) as archive:
            metadata_file = metadata_in(archive)
            metadata = read_metadata(metadata_file)
            metadata_in(archive, "WHEEL")
            members = tuple(member for member in archive.infolist() if not member.is_dir())
            dist_info = dist_info_of(archive)
            entry_points = entry_points_of(archive, dist_info)
            record_findings = tuple(check_record(archive, dist_info))
    except UnreadableError as error:
        return (Finding(code=Code.METADATA, detail=str(error)),)
    try:
        shared_objects = shared_objects_of(file.path, CodeBudget(code=_MAX_CODE, kernels=KernelReader()))
    except ValueError as error:
        return (*record_findings, Finding(code=Code.ARCHIVE, detail=str(error)))
    return Contents(
        file=file,
        name=name,
        metadata=metadata,
        dist_info=dist_info,
        metadata_file=metadata_file,
        entry_points=entry_points,
        members=members,
        record_findings=record_findings,
        shared_objects=shared_objects,
        evidence=_evidence_of(name, shared_objects),
        provenance=provenance,
    )


def _evidence_of(name: WheelName, shared_objects: tuple[SharedObject, ...]) -> Evidence:
    own = by_names(shared_objects).keys()
    needed = sorted({name for shared_object in shared_objects for name in shared_object.needed} - own)
    glibc, glibcxx = newest(shared_objects, "GLIBC"), newest(shared_objects, "GLIBCXX")
    return Evidence(
        policy=".".join(name.platforms),
        needed=tuple(needed),
        glibc=str(glibc) if glibc else None,
        glibcxx=str(glibcxx) if glibcxx else None,
        cuda_major=cuda_major_of(needed),
        sass=_in_order({code for so in shared_objects for code in so.device_code.sass}),
        ptx=_in_order({code for so in shared_objects for code in so.device_code.ptx}),
        undefined_symbols=len(open_symbols(shared_objects)),
        torch_window=window_of(shared_objects),
    )


def _in_order(codes: set[str]) -> tuple[str, ...]:
    """Sort ``sm_90`` before ``sm_100``."""
    return tuple(sorted(codes, key=lambda code: (len(code.rstrip("af")), code)))
