"""Writing the label into METADATA: the version, and what the wheel requires of torch."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable
from operator import and_

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import Specifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.names import TORCH, TorchNeed, TorchVersion


def add_label(
    content: bytes,
    *,
    version: Version,
    torch: TorchNeed | None,
    torch_release: str | None = None,
    drop: Collection[str] = (),
    add: Iterable[str] = (),
) -> bytes:
    """Write a labelled version, what the wheel needs of torch, and other changes of its requirements into METADATA.

    A requirement on torch that upstream wrote becomes the narrower pin: an extension loads only beside the torch minor
    release it was compiled against. One that links to torch's stable ABI alone keeps upstream's own bounds.

    Args:
        content: the bytes of the METADATA file.
        version: the upstream version with the wheel's label.
        torch: what the wheel links to; None where that is nothing of torch.
        torch_release: the full version of the torch that it was compiled against.
        drop: projects that are no longer required, by their normalized names.
        add: requirements that are added.
    """
    lines = content.splitlines(keepends=True)
    end = next((number for number, line in enumerate(lines) if not line.strip(b"\r\n")), len(lines))
    newline = b"\r\n" if lines[0].endswith(b"\r\n") else b"\n"
    fields = _fields(lines[:end])
    is_for_candidate = isinstance(torch, TorchVersion) and torch.is_candidate
    on_torch = {field: bound for field in fields if (bound := _plain_torch(field)) is not None} if torch else {}
    written = []
    for field in fields:
        if field.partition(b":")[0].lower() == b"version":
            written.append(b"Version: " + str(version).encode() + newline)
            if torch:  # here, because a last field may lack its newline, or stand behind a line that ends the fields
                upstream = functools.reduce(and_, on_torch.values(), SpecifierSet())
                bound = torch_bound(torch, SpecifierSet(f"=={torch_release}") if is_for_candidate else upstream)
                written.append(f"Requires-Dist: torch{bound}".encode() + newline)
            written += [f"Requires-Dist: {requirement}".encode() + newline for requirement in add]
        elif field not in on_torch and _required_project(field) not in drop:
            written.append(field)
    return b"".join([*written, *lines[end:]])


def torch_bound(torch: TorchNeed, upstream: SpecifierSet) -> SpecifierSet:
    """What a wheel requires of torch.

    Args:
        torch: what it links to.
        upstream: what its project requires; of this a wheel for many torches keeps all but pins, and gets the bounds
            that are missing. A bound of ours stays as it is, and so does a pin on one of the two versions that a
            release candidate may have.
    """
    if isinstance(torch, TorchVersion) and torch.is_candidate:
        pins = [SpecifierSet(f"=={release}") for release in torch.releases]
        return upstream if upstream in pins else pins[0]
    if isinstance(torch, TorchVersion):
        return SpecifierSet(torch.pin)
    bounds = [clause for clause in upstream if clause.operator not in ("==", "===")]
    oldest, below = Version(str(torch.oldest)), Version(str(torch.below)) if torch.below else None
    if not any(clause.operator in (">=", ">", "~=") and Version(clause.version) >= oldest for clause in bounds):
        bounds.append(Specifier(f">={oldest}"))
    if below and not any(clause.operator == "<" and Version(clause.version) <= below for clause in bounds):
        bounds.append(Specifier(f"<{below}"))
    return SpecifierSet(bounds)


def _fields(lines: list[bytes]) -> list[bytes]:
    """Join lines that are indented to the field that they continue."""
    fields: list[list[bytes]] = []
    for line in lines:
        if line[:1] in (b" ", b"\t") and fields:
            fields[-1].append(line)
        else:
            fields.append([line])
    return [b"".join(field) for field in fields]


def _plain_torch(field: bytes) -> SpecifierSet | None:
    """What a field requires of torch on every machine; None for any other field."""
    parsed = _requirement_in(field)
    is_plain = parsed and canonicalize_name(parsed.name) == TORCH and parsed.marker is None and not parsed.extras
    return parsed.specifier if parsed and is_plain else None


def _required_project(field: bytes) -> str | None:
    """The normalized name of the project that a field requires; None for any other field."""
    parsed = _requirement_in(field)
    return canonicalize_name(parsed.name) if parsed else None


def _requirement_in(field: bytes) -> Requirement | None:
    name, _, value = field.partition(b":")
    try:
        return Requirement(value.decode().strip()) if name.lower() == b"requires-dist" else None
    except (InvalidRequirement, UnicodeDecodeError):
        return None
