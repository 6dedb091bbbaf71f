"""Published wheels as variant wheels, in a store of their own: these follow a draft, and plain wheels do not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from packaging.tags import Tag
from packaging.version import Version

from wheelmill.errors import IntegrityError, ReleaseError, SmokeError, UnreadableError, UsageError
from wheelmill.names import CudaVersion, ProjectName, ReleaseTag
from wheelmill.release.ledger.releases import every_manifest, published
from wheelmill.release.manifest.record import ListedWheel
from wheelmill.release.manifest.rules import faults_of_wheel
from wheelmill.release.publish import publish_each
from wheelmill.release.store import Publication, RefusedWheel, Store
from wheelmill.smoke.examine import examine_bytes
from wheelmill.smoke.verdict import Certificate, Evidence, TestedWheel
from wheelmill.system.folders import temporary_folder
from wheelmill.system.progress import Progress, Warn
from wheelmill.wheel.label import Label
from wheelmill.wheel.name import WheelFile, WheelName, split_label
from wheelmill.wheel.variant import NULL_VARIANT, Variant, make_variant, variant_name

_TOGETHER: Final = 240
"""Wheels per release, in a store without a limit: a run that is killed loses at most as many."""


@dataclass(frozen=True, kw_only=True)
class _Plain:
    """Published wheel with a label of ours, and the variants that it becomes."""

    tag: ReleaseTag
    entry: ListedWheel
    name: WheelName
    cuda: CudaVersion
    variants: tuple[Variant, ...] = ()

    @property
    def same_but_cuda(self) -> tuple[ProjectName, Version, frozenset[Tag]]:
        """Key that it shares with wheels for other CUDAs."""
        return self.name.project, variant_name(self.name, NULL_VARIANT.label).plain.version, self.name.tags


def publish_variants(
    store: Store, variants: Store, projects: Collection[ProjectName], *, progress: Progress, warn: Warn
) -> Publication:
    """Make the published wheels of projects into variant wheels, and release the missing ones in ``variants``.

    Each becomes the variant of its CUDA and GPUs. Those of the oldest CUDA also become the null variant: machines
    without another fitting variant take it, so it must run with the oldest drivers. ``warn`` gets releases that cannot
    be read, and wheels that are no variant.

    Raises:
        UsageError: the store for variant wheels has plain ones: no index could be made of it.
        ReleaseError: a store cannot be read, or the variant wheels cannot be published.
        NetworkError: what is published cannot be read now.
    """
    there = published(variants, warn).published
    if stranger := next((filename for filename in there if split_label(filename)[1] is None), None):
        message = f"variant wheels need a store of their own, and that one has {stranger}"
        raise UsageError("store-of-another", message, hint="name another one with --to")
    plain = _newest_builds(_plain_wheels(store, projects, warn))
    oldest: dict[object, CudaVersion] = {}
    for own in plain:
        oldest[own.same_but_cuda] = min(own.cuda, oldest.get(own.same_but_cuda, own.cuda))
    wanted = [
        replace(wheel, variants=_lacking(wheel, there, warn, is_null=oldest[wheel.same_but_cuda] == wheel.cuda))
        for wheel in plain
    ]
    refused: list[RefusedWheel] = []
    deliveries = _make_variants((each for each in wanted if each.variants), store, progress, refused.append)
    publication = publish_each(variants, deliveries, now=variants.clock.utc(), progress=progress, together=_TOGETHER)
    return replace(publication, refusals=(*refused, *publication.refusals))


def _plain_wheels(store: Store, projects: Collection[ProjectName], warn: Warn) -> Iterator[_Plain]:
    """Yield those for releases of torch: candidates of torch have trees of their own, and no drivers that choose."""
    for manifest in every_manifest(store, store.ledger.summary().manifests, warn):
        for entry in manifest.wheels:
            name = WheelName.parse(entry.filename)
            label = Label.parse(name.version.local or "")
            if name.project not in projects or label is None or (label.torch and label.torch.is_candidate):
                continue
            if faults := faults_of_wheel(entry, name):
                warn(f"{manifest.tag}/{entry.filename}: {'; '.join(faults)}")
            else:
                yield _Plain(tag=manifest.tag, entry=entry, name=name, cuda=label.cuda)


def _newest_builds(wheels: Iterable[_Plain]) -> list[_Plain]:
    """Return the newest build of each wheel, which installers take."""
    newest: dict[tuple[object, ...], _Plain] = {}
    for wheel in sorted(wheels, key=lambda wheel: wheel.name.build or (-1, ""), reverse=True):
        newest.setdefault((*wheel.same_but_cuda, wheel.cuda), wheel)
    return sorted(newest.values(), key=lambda wheel: wheel.entry.filename)


def _lacking(wheel: _Plain, there: Collection[str], warn: Warn, *, is_null: bool) -> tuple[Variant, ...]:
    """Return the variants of a wheel that are not published."""
    evidence = wheel.entry.certificate.evidence
    own = Variant.of(wheel.cuda, evidence.sass, evidence.ptx)
    if own is None:
        warn(f"{wheel.entry.filename} gets no variant of its own: no label can say which GPUs its code is for")
    wanted = (own, NULL_VARIANT if is_null else None)
    return tuple(each for each in wanted if each and variant_name(wheel.name, each.label).filename not in there)


def _make_variants(
    wanted: Iterable[_Plain], store: Store, progress: Progress, refuse: Callable[[RefusedWheel], None]
) -> Iterator[list[TestedWheel]]:
    """Make variant wheels, those of one plain wheel at a time: no more than that is on disk."""
    for wheel in wanted:
        progress.step(f"{wheel.entry.filename} as {', '.join(variant.label for variant in wheel.variants)}")
        with temporary_folder() as folder:
            try:
                file = store.fetch(wheel.tag, wheel.entry.filename, wheel.entry.sha256, folder)
                evidence = _evidence_of(file)
                made = [make_variant(file, variant, folder) for variant in wheel.variants]
            except (IntegrityError, ReleaseError, SmokeError, UnreadableError) as error:
                reason = f"becomes no variant: {error}"
                refuse(RefusedWheel(filename=wheel.entry.filename, code=error.code, reason=reason))
                continue
            # The plain wheel is the one that was tested.
            tested = partial(Certificate, evidence=evidence, clean_rooms=(), provenance=None)
            yield [TestedWheel(file=each, certificate=tested(sha256=each.sha256)) for each in made]


def _evidence_of(file: WheelFile) -> Evidence:
    """Examine the bytes of a published wheel again; raise SmokeError if it would not be released today."""
    _, verdict = examine_bytes(file, None)
    if verdict.evidence is None or not verdict.ok:
        raise SmokeError("smoke-refused", str(verdict))
    return verdict.evidence
