"""Whether a variant wheel fits, and which of those that fit is taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from packaging.requirements import Requirement

from wheelmill.client.choose.fit import mismatches
from wheelmill.client.records import Aspect, Mismatch, TargetEnvironment
from wheelmill.client.sources.variant_wheels import VariantWheel
from wheelmill.client.variants.listed import ListedVariant, ListedVariants
from wheelmill.client.variants.order import Place
from wheelmill.config.model.compatibility import Compatibility

_UNSEEN: Final = frozenset({Aspect.CUDA, Aspect.TORCH, Aspect.ABI, Aspect.DRIVER, Aspect.GPU})
"""Reasons that installers ignore when they choose a wheel."""


@dataclass(frozen=True, kw_only=True)
class VariantVerdict:
    """The verdict on one wheel."""

    wheel: VariantWheel
    variant: ListedVariant | None
    """None for a plain wheel, and where no list that was read says it."""
    against: tuple[Mismatch, ...]
    """Every reason; none when it fits."""
    notes: tuple[str, ...]
    """What should be known of it."""

    @property
    def is_taken(self) -> bool:
        """Whether there is no reason against it that installers heed."""
        return not any(map(is_seen, self.against))


@dataclass(frozen=True, kw_only=True)
class Judge:
    """What wheels are compared with: the target, and the lists of variants."""

    requirement: Requirement
    target: TargetEnvironment
    facts: Compatibility
    lists: Mapping[str, ListedVariants | str]
    """By the URL of each list; a text says why it could not be read."""

    def verdict(self, wheel: VariantWheel) -> VariantVerdict:
        """Compare one wheel."""
        against = [*plain_mismatches(wheel, self.requirement, self.target, self.facts)]
        found = self._variant_of(wheel) if wheel.label else None
        variant = found if isinstance(found, ListedVariant) else None
        if variant:
            against += variant.against
        elif isinstance(found, str) and not any(map(is_seen, against)):  # else nobody asked for its list
            against.append(Mismatch(aspect=Aspect.VARIANT, reason=found))
        notes = variant.notes if variant else ()
        return VariantVerdict(wheel=wheel, variant=variant, against=tuple(against), notes=notes)

    def in_order(self, verdicts: Iterable[VariantVerdict]) -> list[VariantVerdict]:
        """Wheels that fit as they are taken: by version, variant, tags and build number; plain wheels last."""
        found = sorted(verdicts, key=lambda each: each.wheel.candidate.build, reverse=True)
        found.sort(key=self._place)
        found.sort(key=_version_place, reverse=True)
        return found

    def first(self, verdicts: Iterable[VariantVerdict]) -> VariantVerdict | None:
        """The one that is taken; None where there is none."""
        return next(iter(self.in_order(verdicts)), None)

    def _place(self, verdict: VariantVerdict) -> tuple[bool, tuple[Place, ...], str, int]:
        place, label = self.target.tag_places, verdict.wheel.label
        tags = min(place[tag] for tag in verdict.wheel.candidate.tags if tag in place)
        return label is None, verdict.variant.place if verdict.variant else (), label or "", tags

    def _variant_of(self, wheel: VariantWheel) -> ListedVariant | str:
        """The variant of a wheel, or why nothing is known of it."""
        if wheel.listed is None:
            return "its page has no list of the variants of its version"
        listed = self.lists.get(wheel.listed.url, "it was not read, those of newer versions were")
        if isinstance(listed, str):
            return f"the list of variants: {listed}"
        return listed.get(wheel.label or "", "the list of variants does not have it")


def plain_mismatches(
    wheel: VariantWheel, requirement: Requirement, target: TargetEnvironment, facts: Compatibility
) -> Iterator[Mismatch]:
    """Give every reason against a wheel but those of its variant, which says itself what it asks of the driver."""
    for mismatch in mismatches(wheel.candidate, requirement, target, facts):
        if mismatch.aspect is not Aspect.DRIVER or wheel.candidate.label.cuda:
            yield mismatch


def is_seen(mismatch: Mismatch) -> bool:
    """Whether installers heed a reason when they choose a wheel."""
    return mismatch.aspect not in _UNSEEN


def _version_place(verdict: VariantVerdict) -> tuple[object, ...]:
    version = verdict.wheel.candidate.version
    return not version.is_prerelease, version
