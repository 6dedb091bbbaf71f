"""A bill of materials for a wheel: what it was made from, with what, and what is in it, as CycloneDX 1.6 JSON.

https://cyclonedx.org/docs/1.6/json/ - components of scope ``excluded`` took part in the build and are not in the wheel.
"""

from __future__ import annotations

import hashlib
import json
import uuid
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from wheelmill.build.provenance import Provenance
from wheelmill.names import Sha256
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.wheel.name import WheelName

Component = dict[str, Any]


def sbom_of(wheel: TestedWheel) -> bytes:
    """Write a wheel's bill of materials; the same wheel gives the same bytes.

    A wheel that was not built here has nothing but its name, its hash and the libraries in it.
    """
    name = WheelName.parse(wheel.file.filename)
    provenance = wheel.certificate.provenance
    itself = {
        **_distribution(name.project, str(name.version), file_name=wheel.file.filename),
        "bom-ref": wheel.file.filename,
        "hashes": _hashes(wheel.file.sha256),
        **({"pedigree": {"ancestors": [_source_of(provenance)]}} if provenance else {}),
    }
    contained = [*_bundled(wheel), *(_linked(provenance) if provenance else ())]
    used = list(_used(provenance)) if provenance else []
    for number, component in enumerate((*contained, *used), start=1):
        component["bom-ref"] = f"{number}: {component['name']}"
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, wheel.file.sha256)}",
        "version": 1,
        "metadata": {"component": itself},
        "components": [*contained, *used],
        "dependencies": [{"ref": itself["bom-ref"], "dependsOn": [component["bom-ref"] for component in contained]}],
    }
    return json.dumps(content, indent=2).encode() + b"\n"


def _source_of(provenance: Provenance) -> Component:
    """The source that was compiled, with the patches that it got."""
    cell = provenance.cell
    patches = [{"name": "wheelmill:patch:sha256", "value": sha256} for sha256 in provenance.patches]
    return {
        **_distribution(cell.project, cell.version),
        "hashes": _hashes(provenance.source_sha256),
        **({"properties": patches} if patches else {}),
    }


def _bundled(wheel: TestedWheel) -> Iterator[Component]:
    """The libraries that auditwheel copied in: they lie in a folder whose name ends in ``.libs``."""
    with zipfile.ZipFile(wheel.file.path) as archive:
        for member in archive.namelist():
            path = PurePosixPath(member)
            if path.parts[0].endswith(".libs") and not member.endswith("/"):
                sha256 = Sha256(hashlib.sha256(archive.read(member)).hexdigest())
                yield {"type": "file", "name": member, "scope": "required", "hashes": _hashes(sha256)}


def _linked(provenance: Provenance) -> Iterator[Component]:
    """What the linker put in, as far as packages.yml says it."""
    if provenance.expectations.cudart == "static":
        yield {"type": "library", "name": "cudart_static", "version": provenance.toolkit, "scope": "required"}


def _used(provenance: Provenance) -> Iterator[Component]:
    """What the build took place with."""
    yield {"type": "application", "name": "cuda-toolkit", "version": provenance.toolkit, "scope": "excluded"}
    for pinned in provenance.build_environment:
        project, _, version = pinned.partition("==")
        yield {**_distribution(project, version), "scope": "excluded"}
    for image in provenance.images:
        reference, _, digest = image.partition("@sha256:")
        yield {"type": "container", "name": reference, "scope": "excluded", "hashes": _hashes(Sha256(digest))}


def _distribution(project: str, version: str, **qualifiers: str) -> Component:
    """A Python distribution, with its package URL: https://github.com/package-url/purl-spec."""
    purl = f"pkg:pypi/{quote(project)}@{quote(version, safe='')}{_query(qualifiers)}"
    return {"type": "library", "name": project, "version": version, "purl": purl}


def _query(qualifiers: Mapping[str, str]) -> str:
    words = "&".join(f"{key}={quote(value, safe='')}" for key, value in qualifiers.items())
    return f"?{words}" if words else ""


def _hashes(sha256: Sha256) -> list[dict[str, str]]:
    return [{"alg": "SHA-256", "content": sha256}]
