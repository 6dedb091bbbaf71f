"""An entry of ``packages.yml`` for a project that nobody has written one for: made by looking at its source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wheelmill.config.annotations import Unquoted
from wheelmill.config.model.packages import Packages
from wheelmill.config.read import validate
from wheelmill.config.survey.entry import Guess, guess_entry
from wheelmill.config.survey.facts import Facts
from wheelmill.config.survey.origin import Origin, fetch_origin, released
from wheelmill.config.survey.refusals import check_needs_build
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName, project_name, project_version
from wheelmill.system.folders import temporary_folder
from wheelmill.wheel.metadata import reservation


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What was found out about a project."""

    name: ProjectName
    guesses: tuple[Guess, ...]

    @property
    def entry(self) -> dict[str, object]:
        """Its entry, as `amend` takes it."""
        return {guess.key: _as_written(guess.value) for guess in self.guesses if guess.key}


def survey_project(text: str, *, version: str | None = None, subdirectory: str | None = None) -> Survey:
    """Look at the source of a project; nothing of it is run.

    Args:
        text: a project of the package index, or the address of a git repository with ``@REF`` behind it.
        version: the version that is wanted; None takes the newest, or what the source of a repository says.
        subdirectory: the folder of a repository that is built; None for all of it.

    Raises:
        UsageError: there is no such source, it needs no build, its name belongs to others, or it cannot be read.
        NetworkError: the package index does not answer.
        UnreadableError: the source cannot be unpacked.
    """
    with temporary_folder() as place:
        origin = fetch_origin(text, version, subdirectory, place)
        facts = Facts.of(origin.folder, subdirectory or "")
        name = _checked_name(origin, facts)
        check_needs_build(name, facts)
        guesses = (*_beginning(name, origin, facts), *guess_entry(facts))
    found = Survey(name=name, guesses=guesses)
    _, faults = validate({"packages": {name: found.entry}}, Packages, Path())
    if faults:
        lines = (f"{'.'.join(map(str, key_path[2:]))}: {message}" for key_path, message in faults)
        raise UsageError("entry-impossible", f"no entry can be made of the source of {name}:\n" + "\n".join(lines))
    return found


def _checked_name(origin: Origin, facts: Facts) -> ProjectName:
    try:
        name = project_name((facts.declared.name if origin.source else None) or origin.name)
    except ValueError as error:
        raise UsageError("project-name-invalid", f"the source does not give a valid project name: {error}") from None
    if reason := reservation(name):
        raise UsageError("source-unavailable", reason)
    return name


def _beginning(name: ProjectName, origin: Origin, facts: Facts) -> Iterator[Guess]:
    """The keys that say which source it is."""
    for note in origin.notes:
        yield Guess(key="", value=None, says=note)
    version = origin.version or facts.declared.version
    if version is None:
        raise UsageError(
            "version-unknown", f"nothing in the source says the version of {name}", hint="give it: --version 1.2.3"
        )
    try:
        yield Guess(key="versions", value=[project_version(version)], says="the newest, or what was named")
    except ValueError as error:
        raise UsageError("version-invalid", str(error)) from None
    if origin.source:
        yield Guess(key="source", value=origin.source, says="the repository that was named")
        others = released(name)
        same = f"the package index has {name}: write same where that is this project"
        says = same if others else f"the package index has no {name}"
        yield Guess(key="pypi", value="other" if others else "absent", says=says)


def _as_written(value: object) -> object:
    if isinstance(value, dict):
        return {key: _as_written(each) for key, each in value.items()}
    return Unquoted(str(value).lower()) if isinstance(value, bool) else value
