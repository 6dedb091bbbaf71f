"""The content of any wheel, on this disk or on a server."""

from __future__ import annotations

import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final, NotRequired
from urllib.parse import unquote, urlsplit

from typing_extensions import TypedDict

from wheelmill.client.choose.fit import minimum_driver
from wheelmill.client.choose.resolve import read_facts
from wheelmill.client.choose.wheel_inspection import code_in, describe_code
from wheelmill.client.records import WheelInspection
from wheelmill.errors import NetworkError, UnreadableError, UsageError
from wheelmill.names import Architecture, Sha256, TorchNeed
from wheelmill.web.credentials import without_credentials
from wheelmill.wheel.archive import check_archive, check_list, open_archive, read_member
from wheelmill.wheel.build_facts import BUILD_FACTS, MAX_BUILD_FACTS, BuildFacts, Sbom, read_build_facts, sboms_in
from wheelmill.wheel.findings import Finding
from wheelmill.wheel.gpu_code import CARDS, code_for
from wheelmill.wheel.label import BuiltFor, needed_torch
from wheelmill.wheel.libraries import is_bundled
from wheelmill.wheel.metadata import dist_info_of, licence_files, licence_in, metadata_in, read_fields, read_metadata
from wheelmill.wheel.name import WheelFile, WheelName, name_without_label
from wheelmill.wheel.shared_objects import CodeBudget, SharedObject, open_symbols, read_members
from wheelmill.wheel.sizes import Sizes, sizes_of
from wheelmill.wheel.stable_abi import StableAbiReport
from wheelmill.wheel.torch_symbols import TorchWindow, window_of
from wheelmill.wheel.variant import MAX_VARIANT_METADATA, VARIANT_FILE, Properties, read_variant_metadata

if TYPE_CHECKING:
    from wheelmill.web.client import Web

_MOST_CODE: Final = 64 << 20
"""Bytes of packed compiled code that are read from a server."""
_MOST_READ: Final = 96 << 20
"""Bytes of a wheel that are read from a server."""
_PIECE: Final = 1 << 20
"""Bytes of a request."""


class Kernels(TypedDict):
    """Kernels of a shared object that have code for the same architectures."""

    file: str
    code: Sequence[str]
    """``sm_90``, or ``compute_120`` for portable assembly."""
    names: Sequence[str] | None
    """Their symbols; null for code whose kernels were not read."""


class OnGpu(TypedDict):
    """Way in which a wheel runs on GPUs of one compute capability."""

    runs: str
    cards: Sequence[str]


class CodeInside(TypedDict):
    """The compiled code of a wheel."""

    shared_objects: int
    sass: Sequence[str]
    """Machine code for: ``9.0``."""
    ptx: Sequence[str]
    """Portable assembly for: ``12.0``."""
    gpus: dict[str, OnGpu]
    needed: Sequence[str]
    """Libraries from outside."""
    folders_outside: Sequence[str]
    """Folders outside of the environment in which it looks for them; an empty one is the working folder."""
    glibc: str | None
    cuda_major: int | None
    cxx11_abi: bool | None
    torch_window: TorchWindow | None
    holds_cuda_runtime: bool
    compilers: Sequence[str]
    kernels: NotRequired[Sequence[Kernels]]
    """With ``--kernels``."""
    stable_abi: NotRequired[StableAbiReport | None]
    """With ``--stable``: its distance from torch's stable ABI."""


@dataclass(frozen=True, kw_only=True)
class CodeSummary:
    """Facts from the shared objects of a wheel."""

    inside: WheelInspection
    """Needs of the shared objects, and the GPUs that they were compiled for."""
    facts: CodeInside
    kernels: tuple[Kernels, ...]
    undefined: frozenset[str]
    """Symbols that other libraries must define."""


class WheelFacts(TypedDict):
    """Facts about a wheel, in the form of ``wheelmill show --json``."""

    filename: str
    sha256: str | None
    """Null for a wheel on a server, which is read in parts."""
    size: int
    """Bytes."""
    driver: str | None
    """The oldest that loads its code, by its build, else by its CUDA."""
    summary: str | None
    requires_python: str | None
    requires_dist: Sequence[str]
    licence: str | None
    licence_files: Sequence[str]
    bundled: Sequence[str]
    """Libraries of others that it bundles."""
    variants: Mapping[str, Properties]
    """The properties of a variant wheel, by its label (PEP 825)."""
    built: BuildFacts | None
    """Facts about its build by wheelmill."""
    sboms: Sequence[Sbom]
    sizes: Sizes | None
    """Size of each part; null if the wheel has more code than is read from a server."""
    files: Mapping[str, int]
    """The bytes of each member, unpacked."""


@dataclass(frozen=True, kw_only=True)
class WheelContents:
    """The content of one wheel."""

    name: WheelName
    facts: WheelFacts
    code: CodeSummary | None
    """None if it has more code than is read from a server."""

    @property
    def label(self) -> BuiltFor:
        """The facts in its name."""
        return self.name.built_for.decided(read_facts().torches_of)

    @property
    def torch(self) -> TorchNeed | None:
        """The torch that it needs, by its name, else by its METADATA."""
        return self.label.torch or needed_torch(self.facts["requires_dist"])


def contents_at(path: Path, budget: CodeBudget | None = None) -> WheelContents:
    """Read a wheel on this disk; `budget` is that of `read_members`."""
    name = name_without_label(path.name)
    _refuse(path.name, check_archive(path))
    file = WheelFile.at(path)
    with path.open("rb") as opened, open_archive(opened) as archive:
        code = read_members(archive, archive.infolist(), budget)
        return _contents(archive, path.name, name, code, sha256=file.sha256, size=file.size)


def contents_behind(url: str, web: Web, budget: CodeBudget | None = None) -> WheelContents:
    """Read a wheel on a server, by ranges of its bytes."""
    from wheelmill.web.ranges import RangeFile  # asks a server

    address = url.partition("#")[0]
    shown = without_credentials(address)
    try:
        filename = unquote(urlsplit(address).path).rpartition("/")[2]
        name = name_without_label(filename)
    except ValueError:
        reason = f"expected the URL of a wheel, which ends in its file name, not {shown}"
        raise UsageError("wheel-url-invalid", reason) from None
    try:
        file = RangeFile(web, address, piece=_PIECE, budget=_MOST_READ)
        with open_archive(file) as archive:
            _refuse(filename, check_list(archive, file.size))
            code = code_in(archive, most=_MOST_CODE, budget=budget)
            return _contents(archive, filename, name, code, sha256=None, size=file.size)
    except NetworkError as error:
        is_gone = error.status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)
        hint = "check the address" if is_gone else "download it, and show the file"
        raise NetworkError("wheel-unreachable", f"{shown}: {error}", hint=hint, status=error.status) from None


def _refuse(filename: str, findings: Iterable[Finding]) -> None:
    if details := "; ".join(finding.detail for finding in findings):
        raise UnreadableError("wheel-unreadable", f"{filename}: {details}")


def _contents(
    archive: zipfile.ZipFile,
    filename: str,
    name: WheelName,
    code: tuple[SharedObject, ...] | None,
    *,
    sha256: Sha256 | None,
    size: int,
) -> WheelContents:
    dist_info, content = dist_info_of(archive), metadata_in(archive)
    metadata, fields = read_metadata(content), read_fields(content)
    members = {each.filename: each.file_size for each in archive.infolist() if not each.is_dir()}
    cuda = name.built_for.cuda
    built: BuildFacts | None = None
    variants: Mapping[str, Properties] = {}
    with suppress(UnreadableError):
        built = read_build_facts(read_member(archive, f"{dist_info}/{BUILD_FACTS}", MAX_BUILD_FACTS))
    with suppress(UnreadableError):
        content = read_member(archive, f"{dist_info}/{VARIANT_FILE}", MAX_VARIANT_METADATA)
        variants = read_variant_metadata(content).variants
    facts: WheelFacts = {
        "filename": filename,
        "sha256": sha256,
        "size": size,
        "driver": built.driver if built and built.driver else minimum_driver(cuda, read_facts()) if cuda else None,
        "summary": fields.get("summary"),
        "requires_python": str(metadata.requires_python) if metadata.requires_python is not None else None,
        "requires_dist": tuple(map(str, metadata.requires_dist or ())),
        "licence": licence_in(fields),
        "licence_files": licence_files(members, dist_info),
        "bundled": tuple(sorted(filter(is_bundled, members))),
        "variants": dict(variants),
        "built": built,
        "sboms": tuple(sboms_in(archive, dist_info)),
        "sizes": sizes_of(archive.infolist(), code) if code is not None else None,
        "files": members,
    }
    return WheelContents(name=name, facts=facts, code=_code(code) if code is not None else None)


def _code(shared_objects: tuple[SharedObject, ...]) -> CodeSummary:
    own = {each.name.rpartition("/")[2] for each in shared_objects} | {each.soname for each in shared_objects}
    needed = {library for each in shared_objects for library in each.needed}
    inside = describe_code(shared_objects, window_of(shared_objects))
    sass, ptx = (tuple(map(Architecture.parse, each)) for each in (inside.sass, inside.ptx))
    runs = {gpu: found for gpu in CARDS if (found := code_for(gpu, sass, ptx))}
    facts: CodeInside = {
        "shared_objects": len(shared_objects),
        "sass": inside.sass,
        "ptx": inside.ptx,
        "gpus": {gpu.capability: {"runs": found, "cards": CARDS[gpu]} for gpu, found in runs.items()},
        "needed": sorted(needed - own),
        "folders_outside": sorted({folder for each in shared_objects for folder in each.folders_outside}),
        "glibc": inside.glibc,
        "cuda_major": inside.cuda_major,
        "cxx11_abi": inside.cxx11_abi,
        "torch_window": inside.torch_window,
        "holds_cuda_runtime": any(each.holds_cuda_runtime for each in shared_objects),
        "compilers": sorted({text for each in shared_objects for text in each.compilers}),
    }
    kernels = tuple(group for each in shared_objects for group in _kernels(each))
    return CodeSummary(inside=inside, facts=facts, kernels=kernels, undefined=open_symbols(shared_objects))


def _kernels(so: SharedObject) -> Iterator[Kernels]:
    """Yield the kernels of a shared object in groups, those for the most first, and then the code that was not read."""
    gpu_code = so.device_code
    groups: defaultdict[frozenset[str], list[str]] = defaultdict(list)
    for name, codes in sorted(gpu_code.kernels.items()):
        groups[codes].append(name)
    in_order = sorted(groups.items(), key=lambda group: (-len(group[0]), -len(group[1])))
    for codes, names in (*in_order, *([(gpu_code.unread, None)] if gpu_code.unread else [])):
        yield {
            "file": so.name,
            "code": [code for code in (*gpu_code.sass, *gpu_code.ptx) if code in codes],
            "names": names,
        }
