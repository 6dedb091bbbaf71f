"""What the manifest of a release tells of a wheel: what was seen in it before it was published.

It tells of large wheels, too, whose code is not read in passing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urljoin

from packaging.requirements import Requirement
from packaging.version import Version

from wheelmill.client.choose.inside import Inside
from wheelmill.client.records import Candidate, SourceKind
from wheelmill.errors import WheelmillError
from wheelmill.names import Architecture
from wheelmill.wheel.label import Label

if TYPE_CHECKING:
    from wheelmill.release.manifest import ManifestEntry
    from wheelmill.web.client import Web


def told_by_release(candidate: Candidate, web: Web) -> Inside | None:
    """Read what the manifest beside a wheel says of exactly these bytes; None where there is no such manifest.

    Only wheels of an index that are labelled as wheelmill labels them are asked about.
    """
    labelled = Label.parse(candidate.version.local or "") is not None
    if not (labelled and candidate.sha256 and candidate.source.kind is SourceKind.SIMPLE):
        return None
    from wheelmill.release.manifest import MANIFEST, Manifest  # noqa: PLC0415 - the same
    from wheelmill.system.record_files import record_from  # noqa: PLC0415 - not for what the cache has

    url = urljoin(candidate.url, MANIFEST)
    try:
        answer = web.get(url)
        manifest = record_from(answer.content, Manifest, source=url) if answer.ok else None
    except WheelmillError:
        return None
    entry = next((each for each in manifest.wheels if each.sha256 == candidate.sha256), None) if manifest else None
    if entry is None:
        return None
    try:
        return _inside_of(entry)
    except ValueError:
        return None


def _inside_of(entry: ManifestEntry) -> Inside:
    """What an entry says, in the client's words.

    Raises:
        ValueError: it says what no wheel could have.
    """
    evidence = entry.certificate.evidence
    return Inside(
        requires_dist=tuple(str(Requirement(text)) for text in entry.requires_dist),
        requires_python=entry.requires_python,
        glibc=str(Version(evidence.glibc)) if evidence.glibc else None,
        cuda_major=evidence.cuda_major,
        sass=tuple(Architecture.of_code(each).capability for each in evidence.sass),
        ptx=tuple(Architecture.of_code(each).capability for each in evidence.ptx),
        code_read=True,
    )
