"""Facts about wheels with their titles: from their bytes, about their builds, and about their tests.

Every fact is from a certificate; unknown ones are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from typing import Final, Self

from wheelmill.index.rows import escape, href, in_utc
from wheelmill.index.tree import IndexFile
from wheelmill.names import Architecture, ReleaseTag
from wheelmill.release.manifest import MANIFEST, SBOM_SUFFIX, External, ListedCertificate, ListedProvenance
from wheelmill.smoke.verdict import THIS_MACHINE, ListedEvidence, ListedRoom
from wheelmill.system.progress import duration, number_of, size
from wheelmill.wheel.findings import ListedFinding
from wheelmill.wheel.gpu_code import CARDS, running_code
from wheelmill.wheel.sizes import Sizes
from wheelmill.wheel.torch_symbols import TorchWindow


@dataclass(frozen=True, kw_only=True)
class Tried:
    """Counts of an index's wheels by passed check, for sentences about all wheels."""

    wheels: int
    examined: int
    """Wheels with a certificate."""
    built: int
    """Wheels whose build is known."""
    imported: int
    """Wheels that were installed and imported wherever they were tried."""
    ran: int
    """Wheels whose kernels ran on a GPU."""
    allowed: int
    """Wheels with a fault that is allowed."""

    @classmethod
    def of(cls, files: Sequence[IndexFile]) -> Self:
        """Count the wheels by their certificates."""
        certificates = [file.certificate for file in files if file.certificate]
        alike = Counter((each.clean_rooms, each.findings) for each in certificates).items()
        return cls(
            wheels=len(files),
            examined=len(certificates),
            built=sum([each.provenance is not None for each in certificates]),
            imported=sum(count for (rooms, _), count in alike if rooms and all(room.imported for room in rooms)),
            ran=sum(count for (rooms, _), count in alike if any(room.gpus for room in rooms)),
            allowed=sum(count for (_, findings), count in alike if any(finding.reason for finding in findings)),
        )

    @property
    def all(self) -> bool:
        """True if every wheel was installed and imported."""
        return 0 < self.imported == self.wheels


Facts = Iterable[tuple[str, str]]
"""Titles, and what is so, as HTML."""

_DATE: Final = len("2026-11-21")
_RUNS: Final = {
    "machine code": "runs its machine code for {}",
    "PTX": "the driver compiles its PTX for {} at first use",
}


def rows_of(facts: Facts) -> str:
    """Render facts as rows of a table, a line each; HTML makes the end tags of rows and cells optional."""
    return "\n".join([f"<tr><th>{title}<td>{text}" for title, text in facts])


def table_of(rows: Iterable[str]) -> str:
    """Render a table of such rows, some of which may be empty."""
    lines = "\n".join(filter(None, rows))
    return f'<table class="known">\n{lines}\n</table>'


@lru_cache(maxsize=4096)
def requirement_facts(requires_python: str | None, requires_dist: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return the requirements in METADATA."""
    python = (("Requires Python", _code([requires_python])),) if requires_python else ()
    return (*python, ("Requires", _code(requires_dist) or "nothing"))


@lru_cache(maxsize=1024)
def evidence_rows(evidence: ListedEvidence | None) -> str:
    """Render the facts from a wheel's bytes as rows."""
    return rows_of(evidence_facts(evidence))


def evidence_facts(evidence: ListedEvidence | None) -> tuple[tuple[str, str], ...]:
    """Return the facts from a wheel's bytes."""
    if evidence is None:
        return (("Evidence", "none: it is listed as it was found"),)
    asked = (("glibc", evidence.glibc), ("GLIBCXX of libstdc++", evidence.glibcxx))
    libraries = [f"{name} {newest}" for name, newest in asked if newest]
    return (
        ("Has machine code for", _capabilities(evidence.sass)),
        ("Has portable assembly (PTX) for", _capabilities(evidence.ptx)),
        ("Runs on", _gpus(evidence.sass, evidence.ptx)),
        ("Promises to run on", _code([evidence.policy])),
        *([("Symbols ask for", escape(", ".join(libraries)))] if libraries else []),
        *([("Names libraries of", f"CUDA {evidence.cuda_major}")] if evidence.cuda_major else []),
        ("Expects", _code(evidence.needed) or "no libraries"),
        *([("Could load in", _window(evidence.torch_window))] if evidence.torch_window else []),
    )


@cache
def _capabilities(codes: tuple[str, ...]) -> str:
    return ", ".join(each.capability for each in sorted(map(Architecture.of_code, codes))) or "no GPU"


@cache
def _gpus(sass: tuple[str, ...], ptx: tuple[str, ...]) -> str:
    """List the GPUs that run it, and how; GPUs have their compute capability, since card names do not show it."""
    codes = [[Architecture.of_code(code) for code in each] for each in (sass, ptx)]
    lines = [
        f"<li><b>{gpu}</b> {', '.join(cards)}: {_RUNS[found[0]].format(found[1].capability)}</li>"
        for gpu, cards in CARDS.items()
        if (found := running_code(gpu, *codes))
    ]
    return f'<ul class="plain">{"".join(lines)}</ul>' if lines else "no GPU that is known here"


def _window(window: TorchWindow) -> str:
    """Render the torches that have its symbols: necessary for it to load, but not sufficient."""
    lacking = [
        f"<li>torch {fit.torch} lacks {_code(fit.lacks[:1])}{' and others' if len(fit.lacks) > 1 else ''}</li>"
        for fit in window.torches
        if fit.lacks
    ]
    cuda = " built with CUDA" if window.cuda else ""
    found = [fit.torch for fit in window.torches if not fit.lacks]
    torches = f"torch {', '.join(found)}{cuda}" if found else "no torch that is known here"
    why = f", by the {number_of(window.symbols, 'symbol')} of torch that it needs" if found and window.symbols else ""
    more = f'<ul class="plain">{"".join(lacking)}</ul>' if lacking else ""
    return f"{torches}{why}{more}"


def build_key(made: ListedProvenance | None) -> tuple[object, ...]:
    """Return the input of `build_facts`: equal for wheels that were built alike."""
    if made is None:
        return ()
    source = (made.source, made.source_sha256, made.patches)
    return (made.toolkit, made.torch_release, made.images, made.cxx_standard, made.driver, *source)


def build_facts(made: ListedProvenance | None) -> Iterator[tuple[str, str]]:
    """Yield the sources and tools of a wheel's build."""
    if made is None:
        return
    torch = f", torch {escape(made.torch_release)}" if made.torch_release else ""
    standard = f", C++{made.cxx_standard}" if made.cxx_standard else ""
    yield "Built with", f"CUDA toolkit {escape(made.toolkit)}{torch}{standard}"
    if made.driver:
        yield "Needs NVIDIA driver", f"{escape(made.driver)} or newer, on Linux"
    if made.images:
        yield "Built in", _code(made.images)
    if (source := made.source) and source.commit:
        yield "Commit", f"{_code([source.commit])} of {_code([source.repository or 'a repository on disk'])}"
    yield "Source, sha256", _hash(made.source_sha256)
    if made.patches:
        yield "Patches, sha256", " ".join(map(_hash, made.patches))


@lru_cache(maxsize=1024)
def external_facts(external: External | None) -> tuple[tuple[str, str], ...]:
    """Return the requirements of a wheel that package indexes do not have."""
    if external is None or not external.dependencies:
        return ()
    return (("Needs from the system", _code(external.dependencies)),)


def wheel_rows(file: IndexFile) -> str:
    """Render a wheel's own facts, without a template, since every wheel has them."""
    url = escape(href(file.url))
    bill = f'<br><a href="{url}{SBOM_SUFFIX}">Bill of materials</a> (SBOM, CycloneDX)' if file.release else ""
    tried = _certificate_rows(file.certificate) if file.certificate else ""
    return (
        f'<tr><th>File<td><a href="{url}" data-file>{escape(file.filename)}</a>, {size(file.size)}{bill}\n'
        f"<tr><th>sha256<td>{_hash(file.sha256)}{tried}"
    )


def _certificate_rows(certificate: ListedCertificate) -> str:
    """Render a certificate's facts about one wheel alone, each row in a line of its own."""
    made = certificate.provenance
    seconds = f"\n<tr><th>Compiled in<td>{duration(made.seconds)}" if made else ""
    sizes = _size_row(certificate.sizes) if certificate.sizes else ""
    return f"{seconds}{sizes}{_tried_rows(certificate.clean_rooms)}{_finding_rows(certificate.findings)}"


@lru_cache(maxsize=4096)
def _size_row(sizes: Sizes) -> str:
    return f"\n<tr><th>Unpacked<td>{escape(str(sizes))}"


@lru_cache(maxsize=4096)
def _finding_rows(findings: tuple[ListedFinding, ...]) -> str:
    rows = []
    for finding in findings:
        why = f"allowed, because: {finding.reason}" if finding.reason else "a warning"
        text = f"<code>{escape(finding.code)}</code> {escape(finding.detail)} ({escape(why)})"
        rows.append(f"\n<tr><th>Found<td>{text}")
    return "".join(rows)


@lru_cache(maxsize=4096)
def _tried_rows(rooms: tuple[ListedRoom, ...]) -> str:
    return f"\n<tr><th>Tried<td>{'<br>'.join(dict.fromkeys(map(_room, rooms)))}" if rooms else ""


def _room(room: ListedRoom) -> str:
    """Describe a test: ``installed and imported on Python 3.12.1, in almalinux:8``, with GPUs and what was left out."""
    image = room.place.partition("@")[0]
    where = f"Python {room.python}{'' if room.place == THIS_MACHINE else f', in {image}'}"
    done = f"{'installed and imported' if room.imported else 'installed'} on {where}"
    kernels = f"; kernels ran on {', '.join(room.gpus)}" if room.gpus else ""
    left_out = f"; not tried: {'; '.join(room.skipped).replace(room.place, image)}" if room.skipped else ""
    return escape(f"{done}{kernels}{left_out}")


def release_rows(file: IndexFile) -> str:
    """Render the publication of a wheel and the attestation of its builder."""
    return _release_rows(file.folder, file.uploaded_at, file.release, file.attestation)


@lru_cache(maxsize=4096)
def _release_rows(folder: str, published: datetime | None, tag: ReleaseTag | None, attestation: str | None) -> str:
    day = in_utc(published)[:_DATE] if published else ""
    facts = []
    if tag:
        manifest = escape(href(f"{folder}{MANIFEST}"))
        facts.append(("Published", f'{day}, in <a href="{manifest}">release {escape(tag)}</a>'))
    if attestation:
        verify = "<code>gh attestation verify WHEEL --repo OWNER/REPO</code> checks it"
        facts.append(("Provenance", f'<a href="{escape(attestation)}">who built it</a>; {verify}'))
    return rows_of(facts)


def _code(texts: Iterable[str]) -> str:
    return ", ".join([f"<code>{escape(text)}</code>" for text in texts])


def _hash(sha256: str) -> str:
    return f'<code class="hash" data-copy>{sha256}</code>'
