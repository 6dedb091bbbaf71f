"""``wheelmill lock``: everything that environments get, with hashes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.cli.client.change import (
    DryRunOption,
    EnvironmentChange,
    GroupOptions,
    exclusive,
    in_list,
    lock_folder,
    required_in,
    requirements_beside,
    resolve_for_all,
    targets_for,
)
from wheelmill.cli.client.downloads import wheel_cache
from wheelmill.cli.client.resolve import SearchOptions, demand_attestations, package_argument
from wheelmill.cli.shared.commands import JsonOption, print_json, say
from wheelmill.cli.shared.options import SignerOption, TargetOptions, requirements_of, with_groups
from wheelmill.errors import FindingsError, NoWheelError, UsageError
from wheelmill.names import ProjectName
from wheelmill.system.progress import number_of

if TYPE_CHECKING:
    from packaging.pylock import Pylock

    from wheelmill.cli.client.outputs import LockContent
    from wheelmill.client.lock.environments import EnvironmentLock
    from wheelmill.client.project.tool_project import Project
    from wheelmill.client.records import Resolution


class LockFormat(StrEnum):
    """The formats of a lock."""

    PYLOCK = "pylock"
    REQUIREMENTS = "requirements"

    def filename(self, part: str | None = None) -> str:
        """The default file, for a project or one of its groups and extras: ``pylock.dev.toml``."""
        stem, suffix = ("pylock", "toml") if self is LockFormat.PYLOCK else ("requirements", "txt")
        return ".".join(filter(None, (stem, part, suffix)))


@dataclass(frozen=True, kw_only=True)
class LockOptions:
    """Options for the file of a lock, and for what may stand in it."""

    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="File to write; pylock.toml or requirements.txt by default.", metavar="FILE"
        ),
    ] = None
    form: Annotated[LockFormat, typer.Option("--format", help="PEP 751, or requirements with hashes.")] = (
        LockFormat.PYLOCK
    )
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit with 9 if the lock would change.")] = False
    dry_run: DryRunOption = False
    upgrade: Annotated[bool, typer.Option("--upgrade", help="Take newer versions than the earlier lock.")] = False
    require_attestation: SignerOption = None
    as_json: JsonOption = False

    @property
    def is_only_shown(self) -> bool:
        """True if the file stays as it is."""
        return self.check or self.dry_run


@with_groups
def lock(
    requirements: Annotated[
        list[str] | None,
        package_argument("Packages; by default those that were added to the project.", "[REQUIREMENT...]"),
    ] = None,
    *,
    target: GroupOptions,
    search: SearchOptions,
    options: LockOptions,
) -> None:
    """Lock the whole content of environments in pylock.toml (PEP 751).

    --python and --platform take several values, separated by commas: one lock then serves all of them.
    """
    from wheelmill.client.project.change import Edit

    project, named = target.find_project(), requirements_of(requirements or ())
    beside = [] if named else requirements_beside((), project)
    asked = named or _added_to(project)
    written = options.output or lock_folder(project) / options.form.filename(target.part)
    known = None if options.upgrade else _earlier_lock(written, options.form, project)
    resolutions = _resolutions(asked, known, project, target, search)
    demand_attestations(resolutions, options.require_attestation)
    locks, merged = _make_locks(resolutions, beside, known, search)
    with nullcontext() if options.is_only_shown else exclusive(project.root):  # which may put an earlier file back
        edit = Edit.of(written, _content_of(written, options.form, locks, merged))
        if not options.is_only_shown:
            edit.write()
    if options.is_only_shown:
        EnvironmentChange(plan=edit.contents).print_lines()
    else:
        done = "wrote" if edit.contents else "nothing to change in"
        say(f"{done} {written}: {number_of(len(merged.packages), 'package')}")
    if options.as_json:
        content: LockContent = {
            "schema": "wheelmill.lock/1",
            "lock": str(written),
            "changed": bool(edit.contents),
            "packages": [{"name": package.name, "version": str(package.version)} for package in merged.packages],
        }
        print_json(content)
    if options.check and edit.contents:
        raise FindingsError(
            "lock-outdated", f"{written} is not what would be locked now", hint="'wheelmill lock' writes it"
        )


def _make_locks(
    resolutions: Sequence[Resolution], beside: Iterable[Requirement], known: Pylock | None, search: SearchOptions
) -> tuple[Sequence[EnvironmentLock], Pylock]:
    """Lock each environment, and merge the locks into one with the publishers of its wheels."""
    from wheelmill.client.lock.environments import lock_environments
    from wheelmill.client.lock.files import merge, publishers_named_in, read_publishers, with_publishers

    with wheel_cache(search) as cache:
        locks = lock_environments(resolutions, beside=beside, known=known, cache=cache)
        chosen = [choice.candidate for each in resolutions for choice in each.choices.values()]
        publishers = {**publishers_named_in(known.packages if known else ()), **read_publishers(chosen, cache)}
    return locks, with_publishers(merge(locks), publishers)


def _content_of(written: Path, form: LockFormat, locks: Sequence[EnvironmentLock], merged: Pylock) -> bytes:
    """Return the content of a lock; lines that a person wrote into a requirements file stay."""
    from wheelmill.client.lock.files import pylock_text, requirements_text
    from wheelmill.client.project.requirements import put_lock

    if form is LockFormat.PYLOCK:
        return pylock_text(merged)
    return put_lock(written, requirements_text(locks).decode(), [package.name for package in merged.packages])


def _added_to(project: Project) -> Sequence[Requirement]:
    """Return the requirements that wheels of a project and its chosen list were chosen for."""
    asked = in_list(project.asked, project, with_own=True)
    if not asked:
        raise UsageError(
            "nothing-to-lock",
            f"{project.path}: nothing to lock",
            hint="name packages, or add them to the project first",
        )
    return asked


def _earlier_lock(written: Path, form: LockFormat, project: Project) -> Pylock | None:
    """Read the lock whose versions are kept: the one that is overwritten, or for requirements the project's."""
    from wheelmill.client.lock.files import check_name, read_lock

    earlier = lock_folder(project) / LockFormat.PYLOCK.filename()
    if form is LockFormat.PYLOCK:
        check_name(written)
        earlier = written
    return read_lock(earlier) if earlier.exists() else None


def _resolutions(
    asked: Sequence[Requirement], known: Pylock | None, project: Project, target: TargetOptions, search: SearchOptions
) -> tuple[Resolution, ...]:
    """Choose the versions that an earlier lock has, or others where they do not fit any longer."""
    kept = {package.name: package.version for package in known.packages} if known else {}
    names, targets = {canonicalize_name(each.name) for each in asked}, targets_for(project, target)
    required = [Requirement(name) for name in sorted(required_in(project) - names) if name in kept]
    try:
        pinned = _pin_to_lock([*asked, *required], kept, project.requirements)
        return resolve_for_all(pinned, targets, search, project)
    except NoWheelError:
        if not kept:
            raise
        return resolve_for_all(asked, targets, search, project)


def _pin_to_lock(
    asked: Sequence[Requirement], versions: Mapping[ProjectName, Version | None], declared: Sequence[Requirement]
) -> list[Requirement]:
    """Narrow requirements to the versions that were locked before, if what the project declares still admits them."""
    from wheelmill.client.project.change import range_of

    kept = []
    for requirement in asked:
        locked = versions.get(name := canonicalize_name(requirement.name))
        pinned = Requirement(str(requirement))
        ranges = [range_of(each) for each in (requirement, *declared) if canonicalize_name(each.name) == name]
        if locked and all(each.contains(str(locked), prereleases=True) for each in ranges):
            pinned.specifier &= SpecifierSet(f"=={locked}")
        kept.append(pinned)
    return kept
