"""A bill of materials for a wheel: what it was made from, with what, and what is in it, as CycloneDX 1.6 JSON.

https://cyclonedx.org/docs/1.6/json/ - components of scope ``excluded`` took part in the build and are not in the wheel.
"""

from __future__ import annotations

import uuid
import warnings
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import PurePosixPath

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentScope, ComponentType, Pedigree
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from wheelmill.build.provenance import Provenance
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.files import sha256_of_bytes
from wheelmill.wheel.archive import SOURCE_DATE_EPOCH
from wheelmill.wheel.name import WheelName


def sbom_of(wheel: TestedWheel) -> bytes:
    """Write a wheel's bill of materials; the same wheel gives the same bytes.

    A wheel that was not built here has nothing but its name, its hash and the libraries in it.
    """
    name = WheelName.parse(wheel.file.filename)
    provenance = wheel.certificate.provenance
    itself = _distribution(name.project, str(name.version), {"file_name": wheel.file.filename}, wheel.file.sha256)
    itself.bom_ref.value = wheel.file.filename
    itself.pedigree = Pedigree(ancestors=[_source_of(provenance)]) if provenance else None
    contained = [*_bundled_libraries(wheel), *(_linked_libraries(provenance) if provenance else ())]
    used = list(_build_inputs(provenance)) if provenance else []
    for number, component in enumerate((*contained, *used), start=1):
        component.bom_ref.value = f"{number}: {component.name}"  # the library's own are random
    bill = Bom(
        serial_number=uuid.uuid5(uuid.NAMESPACE_OID, wheel.file.sha256),
        metadata=BomMetaData(component=itself, timestamp=datetime.fromtimestamp(SOURCE_DATE_EPOCH, UTC)),
        components=[*contained, *used],
    )
    bill.register_dependency(itself, contained)
    with warnings.catch_warnings(
        action="ignore", category=UserWarning
    ):  # says that what has nothing in it lacks dependencies
        return JsonV1Dot6(bill).output_as_string(indent=2).encode() + b"\n"


def _source_of(provenance: Provenance) -> Component:
    """The source that was compiled, with the patches that it got."""
    source = _distribution(provenance.cell.project, provenance.cell.version, sha256=provenance.source_sha256)
    source.properties = [Property(name="wheelmill:patch:sha256", value=sha256) for sha256 in provenance.patches]
    return source


def _bundled_libraries(wheel: TestedWheel) -> Iterator[Component]:
    """The libraries that auditwheel copied in: they lie in a folder whose name ends in ``.libs``."""
    with zipfile.ZipFile(wheel.file.path) as archive:
        for member in archive.namelist():
            path = PurePosixPath(member)
            if path.parts[0].endswith(".libs") and not member.endswith("/"):
                hashes = _hashes(sha256_of_bytes(archive.read(member)))
                yield Component(type=ComponentType.FILE, name=member, scope=ComponentScope.REQUIRED, hashes=hashes)


def _linked_libraries(provenance: Provenance) -> Iterator[Component]:
    """What the linker put in, as far as packages.yml says it."""
    if provenance.expectations.cudart == "static":
        yield Component(name="cudart_static", version=provenance.toolkit, scope=ComponentScope.REQUIRED)


def _build_inputs(provenance: Provenance) -> Iterator[Component]:
    """What the build took place with."""
    excluded = ComponentScope.EXCLUDED
    yield Component(type=ComponentType.APPLICATION, name="cuda-toolkit", version=provenance.toolkit, scope=excluded)
    for pinned in provenance.build_environment:
        project, _, version = pinned.partition("==")
        component = _distribution(project, version)
        component.scope = excluded
        yield component
    for image in provenance.images:
        reference, _, digest = image.partition("@sha256:")
        yield Component(type=ComponentType.CONTAINER, name=reference, scope=excluded, hashes=_hashes(digest))


def _distribution(
    project: str, version: str, qualifiers: dict[str, str] | None = None, sha256: str | None = None
) -> Component:
    """A Python distribution, with its package URL: https://github.com/package-url/purl-spec."""
    purl = PackageURL("pypi", None, project, version, qualifiers)
    return Component(name=project, version=version, purl=purl, hashes=_hashes(sha256) if sha256 else ())


def _hashes(sha256: str) -> list[HashType]:
    return [HashType(alg=HashAlgorithm.SHA_256, content=sha256)]
