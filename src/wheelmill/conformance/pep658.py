"""PEP 658 and 714: METADATA beside a wheel.

https://peps.python.org/pep-0658/
https://peps.python.org/pep-0714/
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

from packaging.utils import canonicalize_name

from wheelmill.conformance.served import ExaminedFile, ProjectDetail
from wheelmill.conformance.values import is_hash, name_and_version
from wheelmill.conformance.violation import Violation, fails, installs, rule
from wheelmill.web.pages import SIDECAR_SUFFIX, Form

VALUE: Final = rule(
    "658.1",
    "The value of data-core-metadata is true, or <hash name>=<hash>.",
    fails("the hash does not match"),
    fails("refuses a page in JSON"),
)
SIDECAR: Final = rule(
    "658.2",
    "The METADATA that a page announces lies at the file's URL + .metadata.",
    fails("HTTP error 404 for .metadata"),
    fails("failed to fetch .metadata"),
)
SIDECAR_HASH: Final = rule(
    "658.3",
    "The METADATA that is served has the hash that the page gives.",
    fails("the hashes do not match"),
    fails("hash mismatch for package metadata"),
)
SAME_METADATA: Final = rule(
    "658.4",
    "The METADATA that is served is the one inside the wheel.",
    fails("inconsistent version, where it is that; else resolves by the sidecar"),
    installs("resolves by the sidecar, whatever the wheel says"),
    section="Rationale",
)
NAME: Final = rule(
    "658.5",
    "METADATA has the name and the version of the file's name.",
    fails("inconsistent version"),
    fails("refuses it; where only the local label is missing, uv sync installs it on every run"),
)
TWINS: Final = rule(
    "714.1",
    "data-core-metadata and data-dist-info-metadata have the same value.",
    installs("reads data-core-metadata"),
    section="Servers",
)
LEGACY: Final = rule(
    "714.2",
    "Where there is data-dist-info-metadata, there is data-core-metadata.",
    installs("reads neither, and downloads the wheel to resolve"),
    installs("reads the older attribute"),
    section="Servers",
)


def check_announced_metadata(detail: ProjectDetail) -> Iterator[Violation]:
    """What a project's page breaks."""
    url = detail.document.url
    for link in detail.page.links:
        value, legacy = link.core_metadata, link.legacy_metadata
        name, _, digest = (value or "true").partition("=")
        if (name, digest) != ("true", "") and not is_hash(name, digest):
            yield VALUE.violation(url, f"{link.filename} has data-core-metadata={value!r}")
        if detail.page.form is Form.JSON or legacy is None:
            continue
        if value is None:
            yield LEGACY.violation(url, f"{link.filename} has data-dist-info-metadata only")
        elif legacy != value:
            message = f"{link.filename} has data-core-metadata={value!r} and data-dist-info-metadata={legacy!r}"
            yield TWINS.violation(url, message)


def check_sidecar(file: ExaminedFile) -> Iterator[Violation]:
    """What a file and its sidecar break."""
    link, sidecar = file.link, file.sidecar
    url = file.url + SIDECAR_SUFFIX
    if sidecar is not None:
        name, _, digest = (link.core_metadata or "").partition("=")
        if not sidecar.ok:
            yield SIDECAR.violation(url, f"the METADATA of {link.filename} {sidecar.failure}")
            return
        if is_hash(name, digest):
            found = hashlib.new(name, sidecar.content, usedforsecurity=False).hexdigest()
            if found != digest.lower():
                yield SIDECAR_HASH.violation(url, f"METADATA has {name} {found}; {file.page} says {digest}")
                return
        if file.metadata is not None and file.metadata != sidecar.content:
            yield SAME_METADATA.violation(url, f"differs from METADATA in {link.filename}")
            return
    if file.resolved and (named := name_and_version(link.filename)):
        project, version = canonicalize_name(file.resolved.name), file.resolved.version
        if (project, version) != named:
            yield NAME.violation(file.said_at, f"METADATA of {link.filename} is of {project} {version}")
