"""Targets taken the whole way."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from wheelmill.build.builder import Builder, build_wheel
from wheelmill.build.records import provenance_path
from wheelmill.config.records import Config
from wheelmill.errors import BuildError, CompileError, RefusedError, ReleaseError, SmokeError, WheelmillError
from wheelmill.names import ReleaseTag, Sha256
from wheelmill.pipeline.catalogue import catalogue_of
from wheelmill.pipeline.neighbours import Neighbour, neighbours_on_disk, released_neighbours, required_beside
from wheelmill.pipeline.publishing import build_index
from wheelmill.pipeline.trial import smoke
from wheelmill.plan.failures import inputs_of
from wheelmill.plan.records import BuildTarget, KnownFailure
from wheelmill.progress import Progress
from wheelmill.release.publish import publish
from wheelmill.release.rebuild import numbered
from wheelmill.release.store import Store
from wheelmill.smoke.records import TestedWheel, Verdict, certificate_path, certify
from wheelmill.smoke.room import Rooms
from wheelmill.time_limit import TimeIsOver, time_limit


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A wheel that there is not, or that was not released."""

    id: str
    """Of its target, or its file name."""
    error: WheelmillError


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a run did."""

    verdicts: tuple[Verdict, ...]
    releases: tuple[ReleaseTag, ...]
    failures: tuple[Failure, ...]
    """Builds that failed and wheels that were refused, in the order of the plan; then those that were not released."""
    left: tuple[BuildTarget, ...]
    """Targets for which the time was not enough."""


def run(
    targets: Iterable[BuildTarget],
    builder: Builder,
    rooms: Rooms,
    *,
    policy: str,
    store: Store,
    config: Config,
    output: Path,
    progress: Progress,
    seconds: float | None = None,
    publishes: bool = True,
) -> Report:
    """Take targets the whole way; what fails does not hold up the others.

    Args:
        targets: what to build.
        builder: where it is compiled.
        rooms: where it is tried.
        policy: ``auto``, or a platform policy without its machine.
        store: where releases are kept.
        config: what the site says of packages, and which published wheels are yanked or removed.
        output: gets ``built``, ``wheels`` with those of them that passed, and ``site``.
        progress: told of every stage.
        seconds: time for builds and smoke; None sets no limit.
        publishes: whether the wheels are released and the site is made.

    Raises:
        ReleaseError: the wheels cannot be published.
        SiteError: what is published cannot be listed.
    """
    manifests = store.manifests()
    work = _Work(
        builder=builder,
        rooms=rooms,
        policy=policy,
        store=store,
        config=config,
        output=output,
        progress=progress,
        published={entry.filename: entry.sha256 for manifest in manifests for entry in manifest.wheels},
        available=released_neighbours(manifests, store),
    )
    left = list(targets)
    try:
        with time_limit(seconds):
            while left:
                work.take(left[0])
                del left[0]
    except TimeIsOver:
        progress.step(f"the time is over; left for another run: {', '.join(target.cell.id for target in left)}")
    releases = work.publish() if publishes else ()
    return Report(verdicts=tuple(work.verdicts), releases=releases, failures=tuple(work.failures), left=tuple(left))


@dataclass(frozen=True, kw_only=True)
class _Work:
    """Targets on their way to releases, and what came of those before."""

    builder: Builder
    rooms: Rooms
    policy: str
    store: Store
    config: Config
    output: Path
    progress: Progress
    published: Mapping[str, Sha256]
    available: list[Neighbour]
    verdicts: list[Verdict] = field(default_factory=list)
    tested: list[TestedWheel] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    def take(self, target: BuildTarget) -> None:
        """Build and try a target's wheel."""
        try:
            self._build_and_try(target)
        except (BuildError, SmokeError) as error:
            self.progress.step(error.explained)
            self.failures.append(Failure(id=target.cell.id, error=error))
            if _would_fail_again(error):
                self.store.failures.remember(inputs_of(target), _known_failure(target, error))

    def _build_and_try(self, target: BuildTarget) -> None:
        _check_required(target, self.available)
        built = build_wheel(
            target, self.builder, policy=self.policy, output=self.output / "built", progress=self.progress
        )
        rebuilt = numbered(built, self.published)
        if rebuilt is None:
            self.progress.step(f"{built.file.filename} is published already, byte for byte")
            return
        if reason := self.store.reason_to_refuse(rebuilt.file):
            raise BuildError(f"{rebuilt.file.filename} {reason}")
        verdict = smoke(rebuilt.file, self.rooms, available=self.available, progress=self.progress)
        self.verdicts.append(verdict)
        tested = _delivered(certify(verdict), self.output / "wheels")
        self.tested.append(tested)
        self.available.extend(neighbours_on_disk([tested.file]))

    def publish(self) -> tuple[ReleaseTag, ...]:
        """Release what was tested, and make the site of all releases."""
        publication = publish(self.store, self.tested, now=datetime.now(UTC), progress=self.progress)
        for manifest in publication.releases:
            self.progress.step(f"released as {manifest.tag}: {', '.join(entry.filename for entry in manifest.wheels)}")
        for refusal in publication.refusals:
            error = ReleaseError(f"{refusal.filename} {refusal.reason}")
            self.failures.append(Failure(id=refusal.filename, error=error))
        site = self.output / "site"
        build_index(
            self.store,
            self.config.listing,
            base_url=self.store.url_from(site),
            output=site,
            catalogue=catalogue_of(self.config, self.store.failures.read()),
        )
        return tuple(manifest.tag for manifest in publication.releases)


def _delivered(wheel: TestedWheel, folder: Path) -> TestedWheel:
    """Move a wheel and what is kept beside it, the wheel last."""
    folder.mkdir(parents=True, exist_ok=True)
    path = wheel.file.path
    for each in (provenance_path(path), certificate_path(path), path):
        shutil.move(each, folder / each.name)
    return replace(wheel, file=replace(wheel.file, path=folder / path.name))


def _check_required(target: BuildTarget, available: Sequence[Neighbour]) -> None:
    """Look for what the wheel will need beside it before hours are spent on building it."""
    cell = target.cell
    try:
        for python in target.pythons:
            required_beside(cell, python, target.package.expectations.requires, available)
    except LookupError as error:
        torch = f" --torch {cell.torch}" if cell.torch else ""
        raise BuildError(
            f"{cell.id} requires {error}, of which there is no wheel for the same Python, CUDA and torch",
            hint=f"wheelmill run {error} {cell.project} --python {cell.python} --cuda {cell.cuda}{torch}",
        ) from None


def _would_fail_again(error: BuildError | SmokeError) -> bool:
    """Whether the fault is in the inputs, not in the network or in what this machine lacks."""
    return isinstance(error, CompileError | RefusedError)


def _known_failure(target: BuildTarget, error: WheelmillError) -> KnownFailure:
    first_line = str(error).splitlines()[0]
    return KnownFailure(id=target.cell.id, failed_at=datetime.now(UTC).replace(microsecond=0), reason=first_line)
