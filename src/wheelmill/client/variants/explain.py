"""Variant wheels of a project: their properties, every reason against them, and the one for this machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.client.choose.finder import Finder, VariantList, VariantWheel
from wheelmill.client.choose.fit import mismatches
from wheelmill.client.choose.resolve import inspect_wheels, open_finder
from wheelmill.client.records import (
    Aspect,
    Mismatch,
    Search,
    SourceKind,
    SourceOutcome,
    TargetEnvironment,
    WheelInspection,
)
from wheelmill.client.sources.pages import PageCache, Pages
from wheelmill.client.variants.machine import (
    Machine,
    Rank,
    code_note,
    machine_for,
    machine_of,
    mismatches_of_properties,
    place_of,
    ranks_of,
    runs_by_cuda,
)
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import IntegrityError, UnreadableError, WheelmillError
from wheelmill.names import ProjectName
from wheelmill.system.files import sha256_of_bytes
from wheelmill.system.process import command_line
from wheelmill.system.progress import number_of
from wheelmill.web.credentials import without_credentials
from wheelmill.web.pages import printable
from wheelmill.wheel.variant import (
    DRIVER,
    GPU,
    MAX_VARIANT_METADATA,
    NAMESPACE,
    Properties,
    VariantMetadata,
    read_variant_metadata,
)

if TYPE_CHECKING:
    from wheelmill.web.client import Web


@dataclass(frozen=True, kw_only=True)
class ListedVariant:
    """One variant of a version."""

    properties: Properties
    against: tuple[Mismatch, ...]
    """Every property that the machine lacks."""
    notes: tuple[str, ...]
    place: tuple[Rank, ...]
    """Rank among those that fit, of which the lowest is taken; empty for others."""


ListedVariants = Mapping[str, ListedVariant]
"""All variants of a version, by their labels."""


def compare_variants(metadata: VariantMetadata, target: TargetEnvironment, machine: Machine) -> ListedVariants:
    """Compare every variant of a list with a machine; notes compare it with the target's torch and GPUs."""
    own, listed = machine_for(metadata, machine), {}
    ranks = ranks_of(metadata.default_priorities, own)
    for label, properties in metadata.variants.items():
        against = tuple(mismatches_of_properties(properties, own))
        listed[label] = ListedVariant(
            properties=properties,
            against=against,
            notes=tuple(_notes(properties, target, machine)),
            place=() if against else place_of(properties, ranks),
        )
    of_gpus = [properties for properties in metadata.variants.values() if NAMESPACE in properties]
    if of_gpus and not any(runs_by_cuda(each, target, machine) for each in of_gpus):
        reason = f"is for machines without a GPU, and no variant for GPUs runs here; {machine[NAMESPACE].says}"
        against = (Mismatch(aspect=Aspect.GPU, reason=reason),)  # which installers do not see
        listed |= {label: replace(each, against=against) for label, each in listed.items() if not each.properties}
    return listed


def _notes(properties: Properties, target: TargetEnvironment, machine: Machine) -> Iterator[str]:
    features = properties.get(NAMESPACE, {})
    bounds, code = features.get(DRIVER, ()), features.get(GPU, ())
    cuda, torch = target.cuda, target.torch
    if cuda and torch and bounds and str(cuda.major) not in {bound.partition(".")[0] for bound in bounds}:
        yield f"torch {torch} here is for CUDA {cuda}, which installers do not compare with {' or '.join(bounds[:4])}"
    if code and (note := code_note(code, machine[NAMESPACE].values.get(GPU, ()), target)):
        yield note


ReadLists = Mapping[str, VariantMetadata | str]
"""Content of each list by its URL, or why it could not be read."""


def read_lists(lists: Iterable[VariantList], pages: Pages) -> ReadLists:
    """Read lists in parallel, from servers because a list may change, or offline from the cache."""
    wanted, cache, search = {each.url: each for each in lists}, pages.cache, pages.search
    if search.offline:
        return {url: _recall(url, cache) for url in wanted}
    contents: dict[str, VariantMetadata | str] = {}

    def ask(web: Web, url: str) -> bytes:
        content = web.read(url, limit=MAX_VARIANT_METADATA)
        if (promised := wanted[url].sha256) and (has := sha256_of_bytes(content)) != promised:
            raise IntegrityError("hash-differs", f"it has sha256 {has}; the page says {promised}")
        return content

    search.progress.line(f"reading {number_of(len(wanted), 'list')} of variants" if wanted else "")
    for url, content in search.budget.ask(ask, wanted):
        try:
            if isinstance(content, WheelmillError):
                raise content
            contents[url] = read_variant_metadata(content)
            cache.keep_fact(f"variants:{url}", content.decode(errors="replace"))  # unread parts may be no UTF-8
        except WheelmillError as error:
            contents[url] = str(error)
    search.progress.line("")
    return contents


def _recall(url: str, cache: PageCache) -> VariantMetadata | str:
    if kept := cache.fact(f"variants:{url}"):
        with suppress(UnreadableError):  # an older version of wheelmill could read it
            return read_variant_metadata(kept.encode())
    return "it was not read: --offline was given"


_UNSEEN: Final = frozenset({Aspect.CUDA, Aspect.TORCH, Aspect.ABI, Aspect.DRIVER, Aspect.GPU})
"""Reasons that installers ignore when they choose a wheel."""


@dataclass(frozen=True, kw_only=True)
class VariantVerdict:
    """The verdict on one wheel."""

    wheel: VariantWheel
    variant: ListedVariant | None
    """None for a plain wheel, and if no list that was read has it."""
    against: tuple[Mismatch, ...]
    """Every reason; empty if it fits."""
    notes: tuple[str, ...]

    @property
    def is_taken(self) -> bool:
        """True if installers check none of the reasons against it."""
        return not any(map(is_seen, self.against))


@dataclass(frozen=True, kw_only=True)
class Judge:
    """The target and the lists of variants, for comparing wheels with them."""

    requirement: Requirement
    target: TargetEnvironment
    facts: Compatibility
    lists: Mapping[str, ListedVariants | str] = field(default_factory=dict)
    """By the URL of each list; a text is the reason why it could not be read."""

    def verdict(self, wheel: VariantWheel) -> VariantVerdict:
        """Compare one wheel."""
        against = self.plain_mismatches(wheel)
        listed = self._variant_of(wheel) if wheel.label else None
        variant = listed if isinstance(listed, ListedVariant) else None
        if variant:
            against += variant.against
        elif isinstance(listed, str) and not any(map(is_seen, against)):  # else its list was not requested
            against.append(Mismatch(aspect=Aspect.VARIANT, reason=listed))
        notes = variant.notes if variant else ()
        return VariantVerdict(wheel=wheel, variant=variant, against=tuple(against), notes=notes)

    def plain_mismatches(self, wheel: VariantWheel) -> list[Mismatch]:
        """List every reason against a wheel but those of its variant, whose properties name the driver it needs."""
        against = mismatches(wheel.candidate, self.requirement, self.target, self.facts)
        return [each for each in against if each.aspect is not Aspect.DRIVER or wheel.candidate.label.cuda]

    def in_order(self, verdicts: Iterable[VariantVerdict]) -> list[VariantVerdict]:
        """Sort fitting wheels as they are taken: by version, variant, tags and build number; plain wheels last."""
        ordered = sorted(verdicts, key=lambda each: each.wheel.candidate.build, reverse=True)
        ordered.sort(key=self._place)
        ordered.sort(
            key=lambda each: (not each.wheel.candidate.version.is_prerelease, each.wheel.candidate.version),
            reverse=True,
        )
        return ordered

    def first(self, verdicts: Iterable[VariantVerdict]) -> VariantVerdict | None:
        """Return the wheel that is taken; None if there is none."""
        return next(iter(self.in_order(verdicts)), None)

    def _place(self, verdict: VariantVerdict) -> tuple[bool, tuple[Rank, ...], str, int]:
        place, label = self.target.tag_places, verdict.wheel.label
        tags = min(place[tag] for tag in verdict.wheel.candidate.tags if tag in place)
        return label is None, verdict.variant.place if verdict.variant else (), label or "", tags

    def _variant_of(self, wheel: VariantWheel) -> ListedVariant | str:
        if wheel.listed is None:
            return "its page has no list of the variants of its version"
        listed = self.lists.get(wheel.listed.url, "it was not read, those of newer versions were")
        if isinstance(listed, str):
            return f"the list of variants: {listed}"
        return listed.get(wheel.label or "", "the list of variants does not have it")


def is_seen(mismatch: Mismatch) -> bool:
    """True if installers check this reason when they choose a wheel."""
    return mismatch.aspect not in _UNSEEN


_MOST_LISTS: Final = 20
"""Lists that are read, of the newest versions."""
_MOST_INSPECTIONS: Final = 5
"""Wheels that are inspected."""


@dataclass(frozen=True, kw_only=True)
class VariantExplanation:
    """The wheels that were considered for one requirement."""

    environment: TargetEnvironment
    machine: Machine
    verdicts: tuple[VariantVerdict, ...]
    """Verdicts on all wheels, plain ones too: those that fit first, in the order in which they are taken."""
    taken: VariantVerdict | None
    """Wheel that uv takes, without a comparison of torch; None if it takes none."""
    command: str | None
    """Command with which uv installs the wheel for this machine; None if uv would not, or if that is a plain wheel."""
    warnings: tuple[str, ...]
    sources: tuple[SourceOutcome, ...]

    @property
    def best(self) -> VariantVerdict | None:
        """The wheel for this machine; None if none fits."""
        return next((verdict for verdict in self.verdicts if not verdict.against), None)

    @property
    def is_as_uv(self) -> bool:
        """True if uv takes the wheel for this machine."""
        return _is_same(self.best, self.taken)


def _possible_wheels(
    project: ProjectName, finder: Finder, judge: Judge
) -> tuple[list[VariantWheel], list[VariantWheel]]:
    """List the wheels of a project, and those of them that an installer would consider."""
    wheels = [
        *finder.variant_wheels(project),
        *(VariantWheel(candidate=each, label=None) for each in finder.all_candidates(project)),
    ]
    return wheels, [wheel for wheel in wheels if not any(map(is_seen, judge.plain_mismatches(wheel)))]


def explain_variants(requirement: Requirement, environment: TargetEnvironment, search: Search) -> VariantExplanation:
    """Compare the variant and plain wheels of a project with a target, whose open facts stay open."""
    project = canonicalize_name(requirement.name)
    target = search.target(environment)
    with open_finder([project], target, search) as finder:
        judge = Judge(requirement=requirement, target=target, facts=finder.facts)
        wheels, possible = _possible_wheels(project, finder, judge)
        if not possible and finder.ask_again(project):
            wheels, possible = _possible_wheels(project, finder, judge)
        machine = machine_of(target, finder.facts)
        newest = sorted(possible, key=lambda each: each.candidate.version, reverse=True)
        listed = {each.listed.url: each.listed for each in newest if each.listed}
        lists = read_lists([*listed.values()][:_MOST_LISTS], finder.pages)
        compared = {
            url: content if isinstance(content, str) else compare_variants(content, target, machine)
            for url, content in lists.items()
        }
        drafts = (
            f"{url} follows an unknown draft, and is read as a known one: {printable(content.schema)}"
            for url, content in lists.items()
            if not isinstance(content, str) and not content.is_known
        )
        judge = replace(judge, lists=compared)
        verdicts = [judge.verdict(wheel) for wheel in wheels]
        taken = [each for each in verdicts if each.is_taken]
        if search.inspect:
            verdicts = _with_inspections(judge, verdicts, finder.pages)
        best = judge.first(each for each in verdicts if not each.against)
        return VariantExplanation(
            environment=target,
            machine=machine,
            verdicts=(*judge.in_order(each for each in verdicts if not each.against), *_nearest(verdicts)),
            taken=judge.first(taken),
            command=_command(best, taken, judge),
            warnings=(*finder.warnings(project), *drafts),
            sources=tuple(finder.outcomes(project).values()),
        )


def _is_same(one: VariantVerdict | None, other: VariantVerdict | None) -> bool:
    """True if these are one wheel, inspected or not."""
    return (one and one.wheel.candidate.url) == (other and other.wheel.candidate.url)


def _command(best: VariantVerdict | None, taken: Sequence[VariantVerdict], judge: Judge) -> str | None:
    """Write the command with which uv installs the best wheel, if uv takes it of this version from a simple index."""
    if best is None or best.wheel.label is None:
        return None
    candidate, interpreter = best.wheel.candidate, judge.target.interpreter
    of_version = judge.first(each for each in taken if each.wheel.candidate.version == candidate.version)
    if candidate.source.kind is not SourceKind.SIMPLE or not _is_same(best, of_version):
        return None
    return command_line(
        [
            *("uv", "pip", "install", "--preview-features", "wheel-variants"),
            *(("--python", str(interpreter)) if interpreter else ()),
            *("--index", without_credentials(candidate.source.url)),
            f"{candidate.project}=={candidate.version}",
        ]
    )


def _with_inspections(judge: Judge, verdicts: Sequence[VariantVerdict], pages: Pages) -> list[VariantVerdict]:
    """Inspect the wheel that would be taken, and the next one if it does not fit."""
    judged = list(verdicts)
    seen: set[str] = set()
    for _ in range(_MOST_INSPECTIONS):
        best = judge.first(each for each in judged if not each.against)
        if best is None or (url := best.wheel.candidate.url) in seen:
            break
        seen.add(url)
        inside = inspect_wheels([best.wheel.candidate], pages)[url]
        judged = [_with_inspection(judge, each, inside) if each is best else each for each in judged]
    return judged


def _with_inspection(judge: Judge, verdict: VariantVerdict, inside: WheelInspection | str) -> VariantVerdict:
    """Judge an inspected wheel again, or note why it was not inspected."""
    if isinstance(inside, str):
        return replace(verdict, notes=(*verdict.notes, inside))
    return judge.verdict(replace(verdict.wheel, candidate=replace(verdict.wheel.candidate, inside=inside)))


def _nearest(verdicts: Sequence[VariantVerdict]) -> list[VariantVerdict]:
    """Sort wheels that do not fit: the newest versions first, then the fewest reasons against them."""
    others = [verdict for verdict in verdicts if verdict.against]
    others.sort(key=lambda verdict: (len(verdict.against), verdict.wheel.candidate.filename))
    others.sort(key=lambda verdict: verdict.wheel.candidate.version, reverse=True)
    return others
