"""Targets taken the whole way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from wheelmill.build.builder import Builder, build_wheel
from wheelmill.config.records import Listing
from wheelmill.errors import BuildError, CompileError, RefusedError, ReleaseError, SmokeError, WheelmillError
from wheelmill.names import ReleaseTag
from wheelmill.pipeline.neighbours import Neighbour, neighbours_on_disk, released_neighbours, required_beside
from wheelmill.pipeline.publishing import build_index
from wheelmill.pipeline.trial import smoke
from wheelmill.plan.failures import inputs_of
from wheelmill.plan.records import BuildTarget, KnownFailure
from wheelmill.progress import Progress
from wheelmill.release.publish import publish
from wheelmill.release.rebuild import numbered
from wheelmill.release.store import Store
from wheelmill.smoke.records import TestedWheel, Verdict, certify
from wheelmill.smoke.room import Rooms


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a run did."""

    verdicts: tuple[Verdict, ...]
    releases: tuple[ReleaseTag, ...]
    failures: tuple[WheelmillError, ...]
    """Builds that failed and wheels that were refused, in the order of the plan; then those that were not released."""


def run(
    targets: Iterable[BuildTarget],
    builder: Builder,
    rooms: Rooms,
    *,
    policy: str,
    store: Store,
    listing: Listing,
    output: Path,
    progress: Progress,
) -> Report:
    """Take targets the whole way; what fails does not hold up the others.

    Args:
        targets: what to build.
        builder: where it is compiled.
        rooms: where it is tried.
        policy: ``auto``, or a platform policy without its machine.
        store: where releases are kept.
        listing: which published wheels are yanked or removed.
        output: gets ``wheels`` and ``site``.
        progress: told of every stage.

    Raises:
        ReleaseError: the wheels cannot be published.
        SiteError: what is published cannot be listed.
    """
    manifests = store.manifests()
    published = {entry.filename: entry.sha256 for manifest in manifests for entry in manifest.wheels}
    available = released_neighbours(manifests, store)
    verdicts: list[Verdict] = []
    tested: list[TestedWheel] = []
    failures: list[WheelmillError] = []
    for target in targets:
        try:
            _check_required(target, available)
            built = build_wheel(target, builder, policy=policy, output=output / "wheels", progress=progress)
            rebuilt = numbered(built, published)
            if rebuilt is None:
                progress.step(f"{built.file.filename} is published already, byte for byte")
                continue
            verdicts.append(verdict := smoke(rebuilt.file, rooms, available=available, progress=progress))
            tested.append(certify(verdict))
            available += neighbours_on_disk([rebuilt.file])
        except (BuildError, SmokeError) as error:
            progress.step(error.explained)
            failures.append(error)
            if _would_fail_again(error):
                store.failures.remember(inputs_of(target), _known_failure(target, error))
    publication = publish(store, tested, now=datetime.now(UTC), progress=progress)
    for manifest in publication.releases:
        progress.step(f"released as {manifest.tag}: {', '.join(entry.filename for entry in manifest.wheels)}")
    failures += [ReleaseError(f"{refusal.filename} {refusal.reason}") for refusal in publication.refusals]
    site = output / "site"
    build_index(store, listing, base_url=store.url_from(site), output=site)
    return Report(
        verdicts=tuple(verdicts),
        releases=tuple(manifest.tag for manifest in publication.releases),
        failures=tuple(failures),
    )


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
