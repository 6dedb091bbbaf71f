"""Whether a variant wheel fits, and which of those that fit is taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from packaging.requirements import Requirement

from wheelmill.client.choose.fit import mismatches
from wheelmill.client.records import Aspect, Mismatch, TargetEnvironment
from wheelmill.client.sources.variant_wheels import VariantWheel
from wheelmill.client.variants.lists import ReadLists
from wheelmill.client.variants.machine import Machine, machine_for, mismatches_of_properties
from wheelmill.client.variants.nvidia import code_note
from wheelmill.client.variants.order import Place, place_of
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.wheel.cuda_variant import DRIVER, GPU, NAMESPACE
from wheelmill.wheel.variant_metadata import Properties, VariantMetadata

_UNSEEN: Final = frozenset({Aspect.CUDA, Aspect.TORCH, Aspect.ABI, Aspect.DRIVER, Aspect.GPU})
"""What installers do not look at before they take a wheel."""


@dataclass(frozen=True, kw_only=True)
class VariantVerdict:
    """What is said of one wheel."""

    wheel: VariantWheel
    properties: Properties | None
    """What its variant asks for; None for a plain wheel, and where no list that was read says it."""
    against: tuple[Mismatch, ...]
    """Every reason; none when it fits."""
    notes: tuple[str, ...]
    """What should be known of it."""

    @property
    def is_taken(self) -> bool:
        """Whether nothing speaks against it that installers look at."""
        return not any(map(is_seen, self.against))


@dataclass(frozen=True, kw_only=True)
class Judge:
    """What wheels are compared with."""

    requirement: Requirement
    target: TargetEnvironment
    machine: Machine
    facts: Compatibility
    lists: ReadLists

    def verdict(self, wheel: VariantWheel) -> VariantVerdict:
        """Compare one wheel."""
        against = [*plain_mismatches(wheel, self.requirement, self.target, self.facts)]
        metadata = self._list_of(wheel)
        properties = metadata.variants.get(wheel.label) if wheel.label and metadata else None
        if metadata and properties is not None:
            against += mismatches_of_properties(properties, machine_for(metadata, self.machine))
        elif wheel.label:
            against.append(Mismatch(aspect=Aspect.VARIANT, reason=self._why_unsaid(wheel)))
        notes = tuple(self._notes(properties or {}))
        return VariantVerdict(wheel=wheel, properties=properties, against=tuple(against), notes=notes)

    def in_order(self, verdicts: Iterable[VariantVerdict]) -> list[VariantVerdict]:
        """Those that are taken first at the front: by version, variant, tags and build number; plain wheels last."""
        found = sorted(verdicts, key=lambda each: each.wheel.candidate.build, reverse=True)
        found.sort(key=self._place)
        found.sort(key=lambda each: _is_better(each.wheel), reverse=True)
        return found

    def _place(self, verdict: VariantVerdict) -> tuple[bool, tuple[Place, ...], str, int]:
        metadata, place = self._list_of(verdict.wheel), self.target.tag_places
        order: tuple[Place, ...] = ()
        if metadata and verdict.properties is not None:
            order = place_of(verdict.properties, metadata.default_priorities, machine_for(metadata, self.machine))
        label = verdict.wheel.label
        best = min(place[tag] for tag in verdict.wheel.candidate.tags if tag in place)
        return label is None, order, label or "", best

    def _list_of(self, wheel: VariantWheel) -> VariantMetadata | None:
        found = self.lists.get(wheel.listed.url) if wheel.listed else None
        return None if isinstance(found, str) else found

    def _why_unsaid(self, wheel: VariantWheel) -> str:
        if wheel.listed is None:
            return "its page has no list of the variants of its version"
        found = self.lists.get(wheel.listed.url, "was not read: a newer version has what fits, or nothing else does")
        return f"the list of variants {found}" if isinstance(found, str) else "the list of variants does not have it"

    def _notes(self, properties: Properties) -> Iterator[str]:
        features = properties.get(NAMESPACE, {})
        cuda, torch = self.target.cuda, self.target.torch
        bounds = features.get(DRIVER, ())
        if cuda and torch and bounds and str(cuda.major) not in {bound.partition(".")[0] for bound in bounds}:
            yield f"torch {torch} here is for CUDA {cuda}, which installers do not compare with {' or '.join(bounds)}"
        taken = self.machine[NAMESPACE].values.get(GPU, ())
        if GPU in features and (note := code_note(features[GPU], taken, self.target)):
            yield note


def is_seen(mismatch: Mismatch) -> bool:
    """Whether installers look at that before they take a wheel."""
    return mismatch.aspect not in _UNSEEN


def plain_mismatches(
    wheel: VariantWheel, requirement: Requirement, target: TargetEnvironment, facts: Compatibility
) -> Iterator[Mismatch]:
    """Give every reason against a wheel but those of its variant, which says what it asks of the driver."""
    for mismatch in mismatches(wheel.candidate, requirement, target, facts):
        if mismatch.aspect is not Aspect.DRIVER or wheel.candidate.label.cuda:
            yield mismatch


def _is_better(wheel: VariantWheel) -> tuple[object, ...]:
    version = wheel.candidate.version
    return not version.is_prerelease, version
