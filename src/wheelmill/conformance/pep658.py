"""PEP 658 and 714: METADATA beside a wheel.

https://peps.python.org/pep-0658/
https://peps.python.org/pep-0714/
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

from packaging.utils import canonicalize_name

from wheelmill.conformance.examined import Examined
from wheelmill.conformance.file_names import name_and_version
from wheelmill.conformance.finding import Finding, Rule, fails, installs
from wheelmill.conformance.hashes import is_hash
from wheelmill.conformance.pages import FileLink, ProjectDetail
from wheelmill.wheel.metadata import read_metadata

VALUE: Final = Rule(
    number="658.1",
    says="The value of data-core-metadata is true, or <hash name>=<hash>.",
    section="Specification",
    pip=fails("the hash does not match"),
    uv=fails("refuses a page in JSON"),
)
SIDECAR: Final = Rule(
    number="658.2",
    says="The METADATA that a page announces lies at the file's URL + .metadata.",
    section="Specification",
    pip=fails("HTTP error 404 for .metadata"),
    uv=fails("failed to fetch .metadata"),
)
SIDECAR_HASH: Final = Rule(
    number="658.3",
    says="The METADATA that is served has the hash that the page gives.",
    section="Specification",
    pip=fails("the hashes do not match"),
    uv=fails("hash mismatch for package metadata"),
)
SAME: Final = Rule(
    number="658.4",
    says="The METADATA that is served is the one inside the wheel.",
    section="Rationale",
    pip=fails("inconsistent version, where it is that; else resolves by the sidecar"),
    uv=installs("resolves by the sidecar, whatever the wheel says"),
)
NAME: Final = Rule(
    number="658.5",
    says="METADATA has the name and the version of the file's name.",
    section="Specification",
    pip=fails("inconsistent version"),
    uv=fails("refuses it; where only the local label is missing, uv sync installs it on every run"),
)
TWINS: Final = Rule(
    number="714.1",
    says="data-core-metadata and data-dist-info-metadata have the same value.",
    section="Servers",
    pip=installs("reads data-core-metadata"),
    uv=installs("reads data-core-metadata"),
)
LEGACY: Final = Rule(
    number="714.2",
    says="Where there is data-dist-info-metadata, there is data-core-metadata.",
    section="Servers",
    pip=installs("reads neither, and downloads the wheel to resolve"),
    uv=installs("reads the older attribute"),
)

RULES: Final = (VALUE, SIDECAR, SIDECAR_HASH, SAME, NAME, TWINS, LEGACY)


def of_detail(page: ProjectDetail) -> Iterator[Finding]:
    """What a project's page breaks."""
    for file in page.files:
        yield from _of_link(file)


def of_file(file: Examined) -> Iterator[Finding]:
    """What a file and its sidecar break."""
    link, sidecar = file.link, file.sidecar
    url = f"{link.url}.metadata"
    if sidecar is not None:
        name, _, digest = (link.core_metadata or "").partition("=")
        if not sidecar.ok:
            yield SIDECAR.broken(url, f"the METADATA of {link.filename} {sidecar.told}")
            return
        if is_hash(name, digest):
            found = hashlib.new(name, sidecar.content, usedforsecurity=False).hexdigest()
            if found != digest.lower():
                yield SIDECAR_HASH.broken(url, f"METADATA has {name} {found}; {link.page} says {digest}")
                return
        if file.metadata is not None and file.metadata != sidecar.content:
            yield SAME.broken(url, f"differs from METADATA in {link.filename}")
            return
    content = file.metadata if file.metadata is not None else sidecar.content if sidecar else None
    if content is not None and (difference := _difference(link.filename, content)):
        yield NAME.broken(url if sidecar else link.url, difference)


def _of_link(file: FileLink) -> Iterator[Finding]:
    value, legacy = file.core_metadata, file.legacy_metadata
    name, _, digest = (value or "true").partition("=")
    if (name, digest) != ("true", "") and not is_hash(name, digest):
        yield VALUE.broken(file.page, f"{file.filename} has data-core-metadata={value!r}")
    if legacy is not None and value is None:
        yield LEGACY.broken(file.page, f"{file.filename} has data-dist-info-metadata only")
    elif legacy is not None and legacy != value:
        message = f"{file.filename} has data-core-metadata={value!r} and data-dist-info-metadata={legacy!r}"
        yield TWINS.broken(file.page, message)


def _difference(filename: str, content: bytes) -> str:
    """What METADATA says against the file's name; empty when they agree."""
    named = name_and_version(filename)
    try:
        metadata = read_metadata(content)
        found = (canonicalize_name(metadata.name), metadata.version)
    except ValueError as error:
        return f"{filename}: {error}"
    if named is None or found == named:
        return ""
    return f"METADATA of {filename} is of {found[0]} {found[1]}"
