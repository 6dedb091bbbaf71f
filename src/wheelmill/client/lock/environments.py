"""The full content of an environment: chosen wheels, and everything that they and the project require."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from packaging.pylock import Package, PackageWheel, Pylock
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.client.install.wheel_cache import WantedWheel, WheelCache
from wheelmill.client.lock.closure import closure_of, requirements_of_choice
from wheelmill.client.records import Candidate, Choice, Resolution
from wheelmill.client.source_records import SourceKind
from wheelmill.errors import IntegrityError
from wheelmill.names import ProjectName
from wheelmill.system.progress import Progress
from wheelmill.wheel.metadata import requires_dist_of
from wheelmill.wheel.name import WheelName


@dataclass(frozen=True, kw_only=True)
class EnvironmentLock:
    """The full content of one environment."""

    resolution: Resolution
    others: Sequence[Package]
    """What the chosen wheels require beside each other, with hashes."""

    @property
    def packages(self) -> list[Package]:
        """The chosen wheels, and all others."""
        chosen = [package_of(choice.candidate) for choice in self.resolution.choices.values()]
        return [*chosen, *self.others]


def package_of(candidate: Candidate) -> Package:
    """A chosen wheel as an entry of a lock.

    Raises:
        IntegrityError: its source gives no hash, without which nothing can be locked.
    """
    if candidate.sha256 is None:
        raise IntegrityError(
            "hash-absent",
            f"{candidate.url}: its source gives no sha256, so it cannot be locked",
            hint="name a source that gives one with --source",
        )
    named = WheelName.parse(candidate.filename)
    simple = candidate.source.kind is SourceKind.SIMPLE
    return Package(
        name=named.project,
        version=named.version,
        index=candidate.source.url if simple else None,
        wheels=[
            PackageWheel(
                name=candidate.filename, url=candidate.url, size=candidate.size, hashes={"sha256": candidate.sha256}
            )
        ],
    )


def lock_environments(
    resolutions: Sequence[Resolution],
    *,
    beside: Iterable[Requirement],
    known: Pylock | None,
    cache: WheelCache,
    progress: Progress,
) -> list[EnvironmentLock]:
    """Find everything that environments get.

    Args:
        resolutions: the choices for each environment.
        beside: what else is wanted in each, such as the other dependencies of a project.
        known: the lock as it was, whose versions are kept where they fit.
        cache: gets the wheels whose hash, size or requirements their source does not tell.
        progress: shows downloads, and the lines that uv prints.

    Raises:
        InstallError: the requirements do not fit together, or the package index does not answer.
        IntegrityError: a wheel has other bytes than was promised.
    """
    locks = []
    for resolution in resolutions:
        whole = _complete(resolution, cache, progress)
        chosen = [choice.candidate.project for choice in whole.choices.values()]
        others = closure_of(
            _requirements(whole, beside),
            without=chosen,
            environment=whole.environment,
            torch_place=resolution.torch_place,
            known=known,
            offline=cache.offline,
            progress=progress,
        )
        locks.append(EnvironmentLock(resolution=whole, others=others))
    return locks


def _requirements(resolution: Resolution, beside: Iterable[Requirement]) -> list[str]:
    found = [str(each) for each in beside]
    if torch := resolution.torch:
        found.append(f"torch{torch.pin}")
    for choice in resolution.choices.values():
        found += requirements_of_choice(choice, resolution.environment)
    chosen = {choice.candidate.project for choice in resolution.choices.values()}
    return [text for text in found if canonicalize_name(Requirement(text).name) not in chosen]


def _complete(resolution: Resolution, cache: WheelCache, progress: Progress) -> Resolution:
    """Read in the wheels themselves what their sources do not tell."""
    choices: dict[ProjectName, Choice] = {}
    for project, choice in resolution.choices.items():
        candidate = choice.candidate
        if None not in (candidate.sha256, candidate.size, choice.requires_dist):
            choices[project] = choice
            continue
        wheel = cache.fetch(WantedWheel.of(candidate), progress)
        choices[project] = replace(
            choice,
            candidate=replace(candidate, sha256=wheel.sha256, size=wheel.size),
            requires_dist=requires_dist_of(wheel.path),
        )
    return replace(resolution, choices=choices)
