"""Rules over a wheel's bytes. Each compares what the wheel promises with what it holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from packaging.utils import canonicalize_name

from wheelmill.smoke.evidence import Contents, cuda_major_of
from wheelmill.wheel.findings import Code, Finding, some_of, with_reasons
from wheelmill.wheel.glibc import promised_glibc, symbols_newer_than
from wheelmill.wheel.name import WheelFile


def findings_of(contents: Contents, *, max_size: int | None = None) -> tuple[Finding, ...]:
    """Apply every rule.

    Args:
        contents: the opened wheel, with its evidence.
        max_size: bytes that a wheel must stay under where it will be released; None sets no limit.
    """
    own = (finding for rule in RULES for finding in rule(contents))
    found = (*own, *fits_a_release(contents.file, max_size))
    return tuple(with_reasons(found, contents.expectations.allow))


def metadata_agrees(contents: Contents) -> Iterator[Finding]:
    """pip refuses a wheel whose METADATA names another version than its file; uv reinstalls it on every sync."""
    name, metadata = contents.name, contents.metadata
    if canonicalize_name(metadata.name) != name.project or metadata.version != name.version:
        yield Finding(
            code=Code.METADATA_VERSION,
            detail=f"METADATA says {metadata.name} {metadata.version}, the file name {name.project} {name.version}",
        )


def record_agrees(contents: Contents) -> Iterator[Finding]:
    """RECORD lists every file with its hash."""
    yield from contents.record_findings


def torch_is_pinned(contents: Contents) -> Iterator[Finding]:
    """An extension loads only beside the torch minor release that its label names."""
    label = contents.name.label
    if label is None or label.torch is None:
        return
    pin = f"torch=={label.torch}.*"
    if pin not in {str(requirement) for requirement in contents.metadata.requires_dist or ()}:
        yield Finding(code=Code.TORCH_PIN, detail=f"METADATA does not require {pin}, which the label {label} promises")


def is_compiled(contents: Contents) -> Iterator[Finding]:
    """A wheel with a CUDA label holds compiled code."""
    if contents.name.label and not contents.shared_objects:
        yield Finding(code=Code.PURE, detail=f"no shared object, although its label is {contents.name.label}")


def cuda_major_agrees(contents: Contents) -> Iterator[Finding]:
    """Two CUDA majors cannot serve one process."""
    label = contents.name.label
    if label is None:
        return
    foreign = [name for name in contents.evidence.needed if cuda_major_of(name) not in (None, label.cuda.major)]
    if foreign:
        yield Finding(code=Code.CUDA_MAJOR, detail=f"linked to {', '.join(foreign)}, labelled {label.cuda.tag}")


def cudart_is_as_said(contents: Contents) -> Iterator[Finding]:
    """A shared CUDA runtime must come from torch or a toolkit; a static one needs neither."""
    said = contents.expectations.cudart
    found = "shared" if any(name.startswith("libcudart.so") for name in contents.evidence.needed) else "static"
    if said not in (None, found):
        yield Finding(code=Code.CUDART, detail=f"its CUDA runtime is {found}; packages.yml says {said}")


def glibc_is_old_enough(contents: Contents) -> Iterator[Finding]:
    """A manylinux tag promises a glibc that the symbols must be content with (PEP 600)."""
    for platform in contents.name.platforms:
        floor = promised_glibc(platform)
        newer = symbols_newer_than(floor, contents.shared_objects) if floor else ()
        if newer:
            yield Finding(code=Code.GLIBC, detail=f"{platform} promises glibc {floor}; it needs {some_of(newer)}")


def architectures_are_complete(contents: Contents) -> Iterator[Finding]:
    """It holds code for every GPU architecture that it was built for."""
    if contents.provenance is None:
        return
    wanted = contents.provenance.architectures
    missing = [a.sm for a in wanted if a.sm not in contents.evidence.sass]
    missing += [a.compute for a in wanted if a.ptx and a.compute not in contents.evidence.ptx]
    if missing:
        present = (*contents.evidence.sass, *contents.evidence.ptx)
        yield Finding(
            code=Code.ARCHITECTURES,
            detail=f"no code for {', '.join(missing)}; it has {', '.join(present) or 'none'}",
        )


def fits_a_release(file: WheelFile, max_size: int | None) -> Iterator[Finding]:
    """A release takes no larger asset."""
    if max_size is not None and file.size >= max_size:
        yield Finding(
            code=Code.SIZE,
            detail=f"{file.size} bytes; release assets stay under {max_size}: build fewer architectures",
        )


RULES: Final = (
    metadata_agrees,
    record_agrees,
    torch_is_pinned,
    is_compiled,
    cuda_major_agrees,
    cudart_is_as_said,
    glibc_is_old_enough,
    architectures_are_complete,
)
