"""Stages of targets on one machine: build, smoke, release, index.

A target is not built again if its wheel is released, or passed on this machine before. Smoke installs a wheel from a
temporary index. A wheel that is much larger than its published predecessor is reported.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.build.builder import Builder, BuildTask, build_wheel
from wheelmill.build.provenance import Provenance, identity_of, inputs_of, provenance_path
from wheelmill.config.model.config import Config
from wheelmill.config.model.package_parts import RequiresDist, projects_of
from wheelmill.config.pyproject import Pyproject
from wheelmill.errors import (
    BuildError,
    CompileError,
    IntegrityError,
    NetworkError,
    ReleaseError,
    SmokeError,
    TimeIsOver,
    UsageError,
    WheelmillError,
)
from wheelmill.index.collect import site_of_folder
from wheelmill.index.render import pages_of
from wheelmill.index.serve import serve_folder
from wheelmill.index.tree import WHEELS_JSON
from wheelmill.index.write import write_site
from wheelmill.names import TORCH, ReleaseTag, Sha256
from wheelmill.pipeline.site import Stores, build_index, catalogue_of
from wheelmill.plan.targets import BuildTarget, Cell, KnownFailure, Plan
from wheelmill.release.ledger.records import LedgerState, ReleasedWheel
from wheelmill.release.ledger.releases import published
from wheelmill.release.publish import assign_build_number, publish
from wheelmill.release.store import Store
from wheelmill.smoke.environment import CandidateIndex, SmokeEnvironments
from wheelmill.smoke.examine import AvailableWheel, check_required, examine_wheel, wheels_on_disk
from wheelmill.smoke.verdict import TestedWheel, Verdict, certificate_path, certify, tested_wheel_at, verdict_of
from wheelmill.system.files import write_bytes
from wheelmill.system.progress import Progress, time_limit
from wheelmill.web.pages import SIDECAR_SUFFIX
from wheelmill.wheel.findings import Code, Finding, with_reasons
from wheelmill.wheel.metadata import metadata_bytes, read_metadata
from wheelmill.wheel.name import WheelFile


def released_wheels(state: LedgerState, store: Store) -> list[AvailableWheel]:
    """List the released wheels of a store that a factory built."""
    return [
        AvailableWheel(
            cell=wheel.cell,
            pythons=wheel.pythons,
            requires=wheel.requires,
            fetch=partial(store.fetch, tag, wheel.filename, wheel.sha256),
        )
        for wheel, tag in state.wheels
        if wheel.cell
    ]


def kept_wheels(published: Container[str], folders: Iterable[Path]) -> dict[Sha256, TestedWheel]:
    """Find wheels in ``folders`` that passed in earlier runs and are not published, by the identity of their inputs."""
    paths = (path for folder in folders for path in folder.glob("*.whl") if path.name not in published)
    kept: dict[Sha256, TestedWheel] = {}
    for path in paths:
        with suppress(IntegrityError):  # a certificate of another version of wheelmill
            tested = tested_wheel_at(path)
            if tested and tested.certificate.provenance and tested.certificate.provenance.inputs:
                kept[tested.certificate.provenance.inputs] = tested
    return kept


def move_wheel(wheel: TestedWheel, folder: Path) -> TestedWheel:
    """Move a wheel and the records beside it; the wheel last, so that it never lies in the folder without them."""
    folder.mkdir(parents=True, exist_ok=True)
    path = wheel.file.path
    for file in (provenance_path(path), certificate_path(path), path):
        shutil.move(file, folder / file.name)
    return replace(wheel, file=replace(wheel.file, path=folder / path.name))


@contextmanager
def serve_candidate(folder: Path, wheels: Collection[WheelFile]) -> Iterator[CandidateIndex]:
    """Write wheels, sidecars and pages to an empty folder, and serve it like a real index while the context is open."""
    files = folder / "files"
    files.mkdir()
    sidecars = {wheel.filename + SIDECAR_SUFFIX: metadata_bytes(wheel.path) for wheel in wheels}
    for wheel in wheels:
        shutil.copyfile(wheel.path, files / wheel.filename)
    for name, content in sidecars.items():
        write_bytes(files / name, content)
    site = site_of_folder(files, "../files", warn=lambda _text: None)
    write_site(pages_of(site), folder / "site")
    tree = max(site.trees, key=lambda tree: len(tree.projects))  # wheels for a candidate of torch are in one tree only
    metadata = [read_metadata(content) for content in sidecars.values()]
    own = {canonicalize_name(each.name) for each in metadata}
    required = {requirement for each in metadata for requirement in each.requires_dist or ()}
    others = tuple(sorted(str(each) for each in required if canonicalize_name(each.name) not in own))
    with serve_folder(folder) as url:
        yield CandidateIndex(folder=folder, path=f"site/{tree.folder}/", url=url, requires=others)


def check_testable(environments: SmokeEnvironments, task: BuildTask) -> None:
    """Check, before hours are spent on a build, that this machine can test its wheel; see `SmokeEnvironments.check`.

    Of the wheel's requirements those count that pyproject.toml and packages.yml name: a build may add others.
    """
    target, package = task.target, task.target.package
    changes = package.requires_dist or RequiresDist()
    declared: tuple[str, ...] = ()
    with suppress(UsageError):  # for the build backend to judge
        declared = Pyproject.read(task.source / target.subdirectory).dependencies
    ours = {TORCH, package.name, *package.requires}
    required = (*changes.kept_of(declared), *changes.replace, *changes.add)
    known = [text for text in required if ours.isdisjoint(projects_of([text]))]
    environments.check(target, known, task.progress)


_MUCH: Final = 1.2
"""Factor by which a wheel must exceed its predecessor to be reported."""


def growth_of(file: WheelFile, cell: Cell, state: LedgerState) -> Finding | None:
    """Report a wheel much larger than its newest published predecessor for the same CUDA and platform; None if not."""

    def comes_before(other: Cell) -> bool:
        same = (other.project, other.cuda, other.platform) == (cell.project, cell.cuda, cell.platform)
        return same and Version(other.version) <= Version(cell.version)

    def nearness(published: tuple[Cell, ReleasedWheel]) -> tuple[Version, bool, bool, int]:
        other, wheel = published
        return Version(other.version), other.torch == cell.torch, other.python == cell.python, wheel.size

    before = ((wheel.cell, wheel) for wheel, _ in state.wheels if wheel.cell and comes_before(wheel.cell))
    _, latest = max(before, key=nearness, default=(None, None))
    if latest is None or file.size < _MUCH * latest.size:
        return None
    more = round(100 * (file.size / latest.size - 1))
    predecessor = f"the published {latest.filename}, which has {latest.size}"
    return Finding(code=Code.GROWN, detail=f"{file.size} bytes, {more} % more than {predecessor}")


_LOG: Final = 4000
"""Characters that are kept from the end of a failed build's log."""


@dataclass(frozen=True, kw_only=True)
class Factory:
    """Builder, environments, store and folder of a run."""

    builder: Builder
    environments: SmokeEnvironments
    policy: str
    """``auto``, or a platform policy without its machine."""
    store: Store
    config: Config
    """Facts about packages, and which published wheels are yanked or removed."""
    output: Path
    """Folder of ``built``, ``wheels`` (those that passed) and ``site``."""
    progress: Progress


@dataclass(frozen=True, kw_only=True)
class RunFailure:
    """Wheel that was not built, or was built and not released."""

    id: str
    """The ID of its target, or its file name."""
    error: WheelmillError


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """Outcome of a run."""

    verdicts: tuple[Verdict, ...]
    releases: tuple[ReleaseTag, ...]
    built: tuple[Provenance, ...]
    """Wheels that this run compiled, refused ones included."""
    failures: tuple[RunFailure, ...]
    """Builds that failed, now or before, and wheels that were refused; then those that were not released."""
    left: tuple[BuildTarget, ...]
    """Targets for which there was no time."""


def run(
    plan: Plan, factory: Factory, *, seconds: float | None = None, publishes: bool = True, force: bool = False
) -> RunOutcome:
    """Build, test, release and list the targets of a plan; what fails does not hold up the others.

    Cells that ``plan`` skips because they failed before count as failures. ``seconds`` limits builds and smoke; None
    sets no limit. If ``publishes`` is false, nothing is released and no site is made. ``force`` builds wheels again
    that passed in an earlier run and were not released.

    Raises:
        UsageError: this machine lacks what a stage needs.
        ReleaseError: the wheels cannot be published.
        SiteError: what is published cannot be listed.
    """
    if publishes:
        factory.store.check_can_publish()
    state = published(factory.store, factory.progress.step)
    hashes = {filename: sha256 for filename, (sha256, _) in state.published.items()}
    work = _Run(
        factory=factory,
        state=state,
        published=hashes,
        available=released_wheels(state, factory.store),
        kept={} if force else kept_wheels(hashes, (factory.output / "wheels", factory.output / "built")),
        failures=[
            RunFailure(id=skip.cell.id, error=BuildError("not-buildable", f"{skip.cell.id} {skip.reason}"))
            for skip in plan.skips
            if skip.failure
        ],
    )
    if publishes and (site := factory.output / "site").exists() and not (site / WHEELS_JSON).exists():
        work.write_index()  # refuses to replace other people's files, before hours are spent on builds
    left = list(plan.targets)
    try:
        with time_limit(seconds):
            while left:
                work.take(left[0])
                del left[0]
    except TimeIsOver:
        names = ", ".join(target.cell.id for target in left)
        factory.progress.step(f"out of time; left for another run: {names}")
    except BaseException:  # also an interrupt, so that wheels that passed are not lost
        if publishes and work.tested:
            work.publish()
        raise
    releases = work.publish() if publishes else ()
    return RunOutcome(
        verdicts=tuple(work.verdicts),
        releases=releases,
        built=tuple(work.built),
        failures=tuple(work.failures),
        left=tuple(left),
    )


@dataclass(frozen=True, kw_only=True)
class _Run:
    """State of a run: the results of its targets so far."""

    factory: Factory
    state: LedgerState
    published: Mapping[str, Sha256]
    """The hashes of published wheels, by file name."""
    available: list[AvailableWheel]
    kept: Mapping[Sha256, TestedWheel]
    """Wheels that passed in an earlier run and were not released, by the identity of their inputs."""
    verdicts: list[Verdict] = field(default_factory=list)
    tested: list[TestedWheel] = field(default_factory=list)
    built: list[Provenance] = field(default_factory=list)
    failures: list[RunFailure] = field(default_factory=list)

    def take(self, target: BuildTarget) -> None:
        """Build and test a target's wheel, and record a failure."""
        try:
            check_required(target, self.available)
            if tested := self._passed_before(target) or self._build_anew(target):
                self.tested.append(tested)
                self.available.extend(wheels_on_disk([tested.file]))
        except (BuildError, SmokeError) as error:
            self.factory.progress.step(error.explained)
            self.failures.append(RunFailure(id=target.cell.id, error=error))
            if isinstance(error, CompileError):
                self._remember(target, error)

    def _remember(self, target: BuildTarget, error: CompileError) -> None:
        """Record a failure in the ledger, since the same build would only fail again."""
        factory = self.factory
        inputs = identity_of(inputs_of(target, factory.builder.place(target), factory.policy))
        failure = KnownFailure(
            id=target.cell.id,
            target=identity_of(inputs_of(target)),
            failed_at=factory.store.clock.utc().replace(microsecond=0),
            reason=error.line,
            log=str(error)[-_LOG:],
        )
        with suppress(ReleaseError, NetworkError):  # build jobs may not write there; the job of the summary does
            factory.store.ledger.change(
                f"{target.cell.id} does not compile",
                lambda state: replace(state, failures={**state.failures, inputs: failure}),
            )

    def _passed_before(self, target: BuildTarget) -> TestedWheel | None:
        """Return the unreleased wheel of the same inputs that passed in an earlier run; None if there is none."""
        factory = self.factory
        tested = self.kept.get(identity_of(inputs_of(target, factory.builder.place(target), factory.policy)))
        if tested is None or factory.store.reason_to_refuse(tested.file):
            return None
        factory.progress.step(f"{tested.file.filename} passed in an earlier run")
        self.verdicts.append(verdict_of(tested))
        return move_wheel(tested, factory.output / "wheels")

    def _build_anew(self, target: BuildTarget) -> TestedWheel | None:
        """Build and examine a target's wheel; None if it is published already, byte for byte."""
        factory, progress = self.factory, self.factory.progress
        built = build_wheel(
            target,
            factory.builder,
            policy=factory.policy,
            output=factory.output / "built",
            progress=progress,
            check=partial(check_testable, factory.environments),
        )
        self.built.append(built.provenance)
        rebuilt = assign_build_number(built, self.published)
        if rebuilt is None:
            progress.step(f"{built.file.filename} is published already, byte for byte")
            return None
        if reason := factory.store.reason_to_refuse(rebuilt.file):
            raise BuildError("rebuilt-differs", f"{rebuilt.file.filename} {reason}")
        verdict = examine_wheel(
            rebuilt.file,
            factory.environments,
            serve_candidate,
            available=self.available,
            max_size=factory.store.quotas.asset,
            progress=progress,
        )
        if growth := growth_of(rebuilt.file, target.cell, self.state):
            grown = with_reasons([growth], target.package.allow)
            verdict = replace(verdict, findings=(*verdict.findings, *grown))
        self.verdicts.append(verdict)
        if verdict.ok and verdict.findings:
            progress.step(str(verdict))
        return move_wheel(certify(verdict), factory.output / "wheels")

    def publish(self) -> tuple[ReleaseTag, ...]:
        """Release the wheels that passed, and make the site of all releases."""
        store, progress = self.factory.store, self.factory.progress
        publication = publish(store, self.tested, now=store.clock.utc(), progress=progress)
        for manifest in publication.releases:
            progress.step(f"released as {manifest.tag}: {', '.join(entry.filename for entry in manifest.wheels)}")
        for refusal in publication.refusals:
            progress.step(str(refusal))
            self.failures.append(RunFailure(id=refusal.filename, error=ReleaseError("gate-refused", str(refusal))))
        self.write_index()
        return tuple(manifest.tag for manifest in publication.releases)

    def write_index(self) -> None:
        """Make the site of all releases."""
        store, config, site = self.factory.store, self.factory.config, self.factory.output / "site"
        stores = Stores(store=store, base_url=store.url_from(site), listing=config.listing, facts=config.compatibility)
        catalogue = catalogue_of(config, store.ledger.summary())
        build_index(stores, site, catalogue=catalogue, warn=self.factory.progress.step)
