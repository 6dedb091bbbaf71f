"""Bill of materials of a wheel, as CycloneDX 1.6 JSON: its sources, its build tools and its contents.

It lies in the wheel's ``.dist-info/sboms`` (PEP 770). Components of scope ``excluded`` took part in the build and are
not in the wheel.

https://cyclonedx.org/docs/1.6/json/
"""

from __future__ import annotations

import base64
import uuid
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import PurePosixPath
from typing import Final

from cyclonedx.model import AttachedText, Encoding, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import (
    Component,
    ComponentScope,
    ComponentType,
    Diff,
    Patch,
    PatchClassification,
    Pedigree,
)
from cyclonedx.model.license import DisjunctiveLicense, LicenseExpression
from cyclonedx.model.tool import ToolRepository
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from wheelmill.names import Sha256
from wheelmill.wheel.archive import SOURCE_DATE_EPOCH
from wheelmill.wheel.build_facts import BuildFacts

_application: Final = partial(Component, type=ComponentType.APPLICATION)
_tool: Final = partial(_application, scope=ComponentScope.EXCLUDED)
_address: Final = partial(PackageURL, "pypi", None)
"""Package URL of a Python distribution: https://github.com/package-url/purl-spec."""
_CUDA_LICENCE: Final = XsUri("https://docs.nvidia.com/cuda/eula/")


@dataclass(frozen=True, kw_only=True)
class Bill:
    """Facts for the bill of one wheel."""

    project: str
    version: str
    """With its label."""
    contents: Sha256
    """Hash of what distinguishes this bill from those of other wheels."""
    licence: str | None
    """As METADATA says it."""
    facts: BuildFacts | None
    """Facts about its build; None for a wheel that was not built here."""
    patches: tuple[bytes, ...] = ()
    """Their texts, in the order of the facts."""
    bundled: Mapping[str, Sha256]
    """Hashes of libraries with their own files in the wheel, by path."""
    holds_cuda_runtime: bool


def bill_bytes(bill: Bill) -> bytes:
    """Write a bill of materials; the same wheel gives the same bytes."""
    facts = bill.facts
    itself = Component(
        name=bill.project,
        version=bill.version,
        bom_ref="the wheel",
        licenses=_licences((facts.licence if facts else None) or bill.licence),
        purl=_address(bill.project, bill.version) if facts is None or facts.on_package_index else None,
        pedigree=_pedigree(facts, bill.patches) if facts else None,
    )
    contained = list(_contained_components(bill))
    used = list(_build_components(facts)) if facts else []
    for number, component in enumerate((*contained, *used), start=1):
        component.bom_ref.value = f"{number}: {component.name}"  # the library's own are random
    own = _application(name="wheelmill", version=facts.wheelmill if facts else None, bom_ref="wheelmill")
    written = Bom(
        serial_number=uuid.uuid5(uuid.NAMESPACE_OID, bill.contents),
        metadata=BomMetaData(
            component=itself,
            timestamp=datetime.fromtimestamp(SOURCE_DATE_EPOCH, UTC),
            tools=ToolRepository(components=[own] if facts else []),
        ),
        components=[*contained, *used],
    )
    written.register_dependency(itself, contained)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # components without contents lack dependencies
        return JsonV1Dot6(written).output_as_string(indent=2).encode() + b"\n"


def _licences(licence: str | None) -> list[LicenseExpression | DisjunctiveLicense]:
    if licence is None:
        return []
    try:
        return [LicenseExpression(canonicalize_license_expression(licence))]
    except InvalidLicenseExpression:
        return [DisjunctiveLicense(name=licence)]


def _pedigree(facts: BuildFacts, patches: tuple[bytes, ...]) -> Pedigree:
    texts = (
        AttachedText(content=base64.b64encode(patch).decode(), content_type="text/x-diff", encoding=Encoding.BASE_64)
        for patch in patches
    )
    diffs = (Patch(type=PatchClassification.UNOFFICIAL, diff=Diff(text=text)) for text in texts)
    return Pedigree(ancestors=[_source_of(facts)], patches=diffs)


def _source_of(facts: BuildFacts) -> Component:
    """Source before patches; a local folder has no address."""
    source = facts.source
    purl = None
    if source.kind == "sdist":
        purl = _address(facts.project, facts.version, {"file_name": source.sdist or ""})
    elif source.repository:
        qualifiers = {"vcs_url": f"git+{source.repository}@{source.commit}"}
        purl = PackageURL("generic", None, facts.project, facts.version, qualifiers, source.subdirectory)
    return Component(
        name=facts.project, version=facts.version, bom_ref="the source", purl=purl, hashes=_hashes(source.sha256)
    )


def _contained_components(bill: Bill) -> Iterator[Component]:
    for member, sha256 in sorted(bill.bundled.items()):
        yield Component(
            type=ComponentType.FILE,
            name=member,
            description=PurePosixPath(member).name,
            scope=ComponentScope.REQUIRED,
            hashes=_hashes(sha256),
        )
    if bill.holds_cuda_runtime:  # nvcc links it statically by default
        yield Component(
            name="cuda-runtime-static",
            description="libcudart_static.a of the CUDA toolkit",
            version=bill.facts.toolkit if bill.facts else None,
            scope=ComponentScope.REQUIRED,
            licenses=[DisjunctiveLicense(name="NVIDIA CUDA Toolkit EULA", url=_CUDA_LICENCE)],
        )


def _build_components(facts: BuildFacts) -> Iterator[Component]:
    yield _tool(name="cpython", version=facts.python)
    yield _tool(name="cuda-toolkit", version=facts.toolkit)
    yield from map(_compiler, facts.compilers)
    for pinned in facts.build_requirements:
        project, _, version = pinned.partition("==")
        yield Component(name=project, version=version, purl=_address(project, version), scope=ComponentScope.EXCLUDED)
    yield from (_tool(name=name) for name in facts.system_packages)
    for image in facts.images:
        reference, _, digest = image.partition("@sha256:")
        yield Component(
            type=ComponentType.CONTAINER, name=reference, scope=ComponentScope.EXCLUDED, hashes=_hashes(digest)
        )


def _compiler(text: str) -> Component:
    """Component for ``GCC: (Debian 12.2.0-14) 12.2.0``, perhaps with a date behind it; any other text is a name."""
    name, _, rest = text.partition(": (")
    _, _, version = rest.partition(") ")
    return _tool(name=name, version=version.split()[0], description=text) if version.strip() else _tool(name=text)


def _hashes(sha256: str) -> list[HashType]:
    return [HashType(alg=HashAlgorithm.SHA_256, content=sha256)]
