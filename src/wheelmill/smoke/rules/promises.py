"""Rules on what a wheel says of itself: its name, its label, RECORD, and how it was built."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from wheelmill.names import TORCH, TorchVersion
from wheelmill.smoke.evidence import Contents
from wheelmill.wheel.findings import Code, Finding, some_of
from wheelmill.wheel.labelled_metadata import torch_bound
from wheelmill.wheel.metadata import faults_of
from wheelmill.wheel.name import written_parts


def metadata_agrees(contents: Contents) -> Iterator[Finding]:
    """pip refuses a wheel whose METADATA names another version than its file; uv reinstalls it on every sync."""
    name, metadata = contents.name, contents.metadata
    if canonicalize_name(metadata.name) != name.project or metadata.version != name.version:
        yield Finding(
            code=Code.METADATA_VERSION,
            detail=f"METADATA says {metadata.name} {metadata.version}, the file name {name.project} {name.version}",
        )


def dist_info_agrees(contents: Contents) -> Iterator[Finding]:
    """The ``.dist-info`` folder is named as the file is; installers find it, and what it replaces, by that name.

    https://packaging.python.org/en/latest/specifications/binary-distribution-format/#file-contents
    """
    project, version, _ = written_parts(contents.file.filename)
    if contents.dist_info != (expected := f"{project}-{version}.dist-info"):
        detail = f"the metadata is in {contents.dist_info}, by the file name it belongs in {expected}"
        yield Finding(code=Code.METADATA_VERSION, detail=detail)


def record_agrees(contents: Contents) -> Iterator[Finding]:
    """RECORD lists every file with its hash."""
    yield from contents.record_findings


def torch_is_bounded(contents: Contents) -> Iterator[Finding]:
    """An extension loads only beside the torch minor release that its label names, or beside those of its range."""
    if (torch := contents.torch) is None:
        return
    required = [
        each.specifier
        for each in contents.metadata.requires_dist or ()
        if canonicalize_name(each.name) == TORCH and each.marker is None
    ]
    if not any(bound == torch_bound(torch, bound) for bound in required):
        promise = f"the label {contents.name.label} promises" if isinstance(torch, TorchVersion) else "torch_abi says"
        detail = f"METADATA does not require torch{torch_bound(torch, SpecifierSet())}, which {promise}"
        yield Finding(code=Code.TORCH_PIN, detail=detail)


def is_compiled(contents: Contents) -> Iterator[Finding]:
    """A wheel with a CUDA label holds compiled code."""
    if contents.name.label and not contents.shared_objects:
        yield Finding(code=Code.PURE, detail=f"no shared object, although its label is {contents.name.label}")


def architectures_are_complete(contents: Contents) -> Iterator[Finding]:
    """It holds code for every GPU architecture that it was built for."""
    if contents.provenance is None:
        return
    wanted = contents.provenance.architectures
    missing = [a.sm for a in wanted if a.sm not in contents.evidence.sass]
    missing += [a.compute for a in wanted if a.ptx and a.compute not in contents.evidence.ptx]
    if missing:
        present = ", ".join((*contents.evidence.sass, *contents.evidence.ptx))
        lacks = f"no code for {', '.join(missing)}; it has {present}"
        none = "no code for any GPU: nvcc compiled nothing of it, so it is for the CPU only"
        yield Finding(code=Code.ARCHITECTURES, detail=lacks if present else none)


def requirements_are_of_an_index(contents: Contents) -> Iterator[Finding]:
    """A requirement with a URL is installed from there, past every index and its hashes; registries refuse it."""
    direct = [str(requirement) for requirement in contents.metadata.requires_dist or () if requirement.url]
    if direct:
        yield Finding(code=Code.DIRECT_URL, detail=f"METADATA requires {some_of(direct)}")


def metadata_is_valid(contents: Contents) -> Iterator[Finding]:
    """METADATA is what package registries take, and the licence files that it names are there."""
    folder = f"{contents.dist_info}/licenses/"
    licences = {m.filename.removeprefix(folder) for m in contents.members if m.filename.startswith(folder)}
    faults = list(faults_of(contents.metadata_file, licences))
    if faults:
        yield Finding(code=Code.METADATA_INVALID, detail=f"METADATA is invalid: {some_of(faults)}")


PROMISES: Final = (
    metadata_agrees,
    dist_info_agrees,
    metadata_is_valid,
    record_agrees,
    torch_is_bounded,
    requirements_are_of_an_index,
    is_compiled,
    architectures_are_complete,
)
