"""Every variant wheel of a project, with what it asks for and every reason against it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.client.choose.inspection import look_into_all
from wheelmill.client.choose.resolve import Finder, Search, open_finder
from wheelmill.client.records import Inside, TargetEnvironment
from wheelmill.client.source_records import SourceKind, SourceOutcome
from wheelmill.client.sources.variant_wheels import VariantList, VariantWheel, variant_wheels
from wheelmill.client.variants.listed import compare_variants
from wheelmill.client.variants.lists import ReadLists, read_lists
from wheelmill.client.variants.machine import Machine, machine_of
from wheelmill.client.variants.verdict import Judge, VariantVerdict, is_seen, plain_mismatches
from wheelmill.system.process import command_line
from wheelmill.web.credentials import without_credentials
from wheelmill.web.pages import shown

_MOST_LISTS: Final = 20
"""So many lists are read, of the newest versions."""
_MOST_LOOKS: Final = 5
"""So many wheels are looked into at most."""


@dataclass(frozen=True, kw_only=True)
class VariantExplanation:
    """What was considered for one requirement."""

    environment: TargetEnvironment
    machine: Machine
    verdicts: tuple[VariantVerdict, ...]
    """Of every wheel, plain ones too: those that fit first, in the order in which they are taken."""
    taken: VariantVerdict | None
    """What uv takes, which compares no torch; None where that is nothing."""
    command: str | None
    """What has uv install the wheel that this machine gets; None where uv would not, or that is a plain wheel."""
    warnings: tuple[str, ...]
    sources: tuple[SourceOutcome, ...]
    """What became of each source that was looked in."""

    @property
    def best(self) -> VariantVerdict | None:
        """The wheel that this machine gets; None where none fits."""
        return next((verdict for verdict in self.verdicts if not verdict.against), None)

    @property
    def is_as_uv(self) -> bool:
        """Whether uv takes what this machine gets."""
        return _is_same(self.best, self.taken)


def explain_variants(requirement: Requirement, environment: TargetEnvironment, search: Search) -> VariantExplanation:
    """Compare every variant wheel of a project, and the plain ones beside them, with a target.

    Args:
        requirement: the project, and the versions that are wanted.
        environment: the target. What it leaves open stays open: a variant need not say which torch it is for.
        search: the sources to look in, and how.

    Raises:
        UsageError: a source is not one, or a variable of a provider has no version.
        ConfigurationError: a file of sources is wrong.
    """
    project = canonicalize_name(requirement.name)
    target = search.target(environment)
    with open_finder([project], target, search) as found:
        wheels = [
            *variant_wheels(project, found.places(project), found.pages),
            *(VariantWheel(candidate=each, label=None) for each in found.all_candidates(project)),
        ]
        against = ((each, plain_mismatches(each, requirement, target, found.facts)) for each in wheels)
        possible = (wheel for wheel, reasons in against if not any(map(is_seen, reasons)))
        machine = machine_of(target, found.facts)
        lists = read_lists(_newest_lists(possible), found.pages.cache, offline=search.offline, progress=search.progress)
        judge = Judge(
            requirement=requirement,
            target=target,
            facts=found.facts,
            lists={
                url: each if isinstance(each, str) else compare_variants(each, target, machine)
                for url, each in lists.items()
            },
        )
        verdicts = [judge.verdict(wheel) for wheel in wheels]
        taken = [each for each in verdicts if each.is_taken]
        if search.look:
            verdicts = _with_looks(judge, verdicts, found, search)
        best = judge.first(each for each in verdicts if not each.against)
        outcomes = tuple(found.outcomes(project))
        return VariantExplanation(
            environment=target,
            machine=machine,
            verdicts=(*judge.in_order(each for each in verdicts if not each.against), *_nearest(verdicts)),
            taken=judge.first(taken),
            command=_command(best, judge.first(each for each in taken if _is_of_version(each, best)), target),
            warnings=(*found.warnings(outcomes), *_unknown_drafts(lists)),
            sources=outcomes,
        )


def _is_same(one: VariantVerdict | None, other: VariantVerdict | None) -> bool:
    """Whether these are one wheel, looked into or not."""
    return (one and one.wheel.candidate.url) == (other and other.wheel.candidate.url)


def _is_of_version(verdict: VariantVerdict, best: VariantVerdict | None) -> bool:
    return best is not None and verdict.wheel.candidate.version == best.wheel.candidate.version


def _command(best: VariantVerdict | None, taken: VariantVerdict | None, target: TargetEnvironment) -> str | None:
    """What has uv install the best wheel, if that is what it takes of this version from a simple index."""
    if best is None or best.wheel.label is None or not _is_same(best, taken):
        return None
    candidate = best.wheel.candidate
    if candidate.source.kind is not SourceKind.SIMPLE:
        return None
    return command_line(
        [
            *("uv", "pip", "install", "--preview-features", "wheel-variants"),
            *(("--python", str(target.interpreter)) if target.interpreter else ()),
            *("--index", without_credentials(candidate.source.url)),
            f"{candidate.project}=={candidate.version}",
        ]
    )


def _unknown_drafts(lists: ReadLists) -> Iterator[str]:
    for url, each in lists.items():
        if not isinstance(each, str) and not each.is_known:
            yield f"{url} follows a draft that is not known here, and is read as those that are: {shown(each.schema)}"


def _newest_lists(wheels: Iterator[VariantWheel]) -> list[VariantList]:
    """The lists of the newest versions."""
    listed = {each.listed.url: each for each in wheels if each.listed}
    newest = sorted(listed.values(), key=lambda each: each.candidate.version, reverse=True)
    return [each.listed for each in newest[:_MOST_LISTS] if each.listed]


def _with_looks(
    judge: Judge, verdicts: Sequence[VariantVerdict], found: Finder, search: Search
) -> list[VariantVerdict]:
    """Look into the wheel that would be taken, and into the next where that shows that it does not fit."""
    judged = list(verdicts)
    cache, offline, progress = found.pages.cache, search.offline, search.progress
    seen: set[str] = set()
    for _ in range(_MOST_LOOKS):
        best = judge.first(each for each in judged if not each.against)
        if best is None or (url := best.wheel.candidate.url) in seen:
            break
        seen.add(url)
        look = look_into_all([best.wheel.candidate], cache, offline=offline, progress=progress)[url]
        judged = [_with_look(judge, each, look) if each is best else each for each in judged]
    return judged


def _with_look(judge: Judge, verdict: VariantVerdict, look: Inside | str) -> VariantVerdict:
    """A verdict on a wheel that was looked into, or why it was not."""
    candidate = verdict.wheel.candidate
    if not isinstance(look, Inside):
        return replace(verdict, notes=(*verdict.notes, look))
    return judge.verdict(replace(verdict.wheel, candidate=replace(candidate, inside=look)))


def _nearest(verdicts: Sequence[VariantVerdict]) -> list[VariantVerdict]:
    """Those that do not fit: the newest versions first, and of these those with the fewest reasons against them."""
    others = [verdict for verdict in verdicts if verdict.against]
    others.sort(key=lambda verdict: (len(verdict.against), verdict.wheel.candidate.filename))
    others.sort(key=lambda verdict: verdict.wheel.candidate.version, reverse=True)
    return others
