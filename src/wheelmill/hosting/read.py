"""Reading the settings of a repository and of its GitHub Pages, within the permissions of a token.

An answer that needs a missing permission is `Unseen`.

https://docs.github.com/en/rest/authentication/permissions-required-for-fine-grained-personal-access-tokens
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from itertools import chain
from pathlib import PurePosixPath
from typing import Any, Final, Self, TypeVar

from msgspec import ValidationError, convert

from wheelmill.errors import NetworkError, RejectedError, UsageError
from wheelmill.hosting.settings import CALLED, CALLER, Unseen
from wheelmill.release.github.api import Calls, Pace, Repository
from wheelmill.system.progress import QUIET, Clock

ADMINISTRATION: Final = "Administration: read"
"""The permission that most settings need."""
_MOST: Final = 5_000
"""Entries of one list that are read; GitHub takes 500 variables and 100 environments."""
_SHOWN_CHARACTERS: Final = 60

Value = TypeVar("Value")


@dataclass(frozen=True)
class JsonObject:
    """JSON object in an answer of GitHub. A value of another type is a NetworkError that names its key."""

    what: str
    """The place of the object, for errors."""
    values: Mapping[str, object]

    @classmethod
    def of(cls, what: str, content: object) -> Self:
        """Check that a value is an object."""
        if not isinstance(content, dict):
            raise _unreadable(what, content, "an object")
        return cls(what, content)

    def optional(self, key: str, kind: type[Value]) -> Value | None:
        """Return a value; None if it is absent or null."""
        value = self.values.get(key)
        try:
            return None if value is None else convert(value, kind)
        except ValidationError as error:
            raise NetworkError("answer-unreadable", f"reading {self.what}: {key}: {error}") from None

    def value(self, key: str, kind: type[Value]) -> Value:
        """Return a value that must be there."""
        if (value := self.optional(key, kind)) is None:
            raise _unreadable(f"{self.what}: {key}", value, kind.__name__)
        return value

    def word(self, key: str, *words: str, absent: str | None = None) -> str:
        """Return one of the words that GitHub documents; `absent` if there is none."""
        if (word := self.optional(key, str) or absent) not in words:
            raise _unreadable(f"{self.what}: {key}", word, " or ".join(words))
        return word

    def part(self, key: str) -> JsonObject:
        """Return an object within this one."""
        return JsonObject.of(f"{self.what}: {key}", self.values.get(key))

    def parts(self, key: str) -> list[JsonObject]:
        """Return a list of objects within this one."""
        return [JsonObject.of(f"{self.what}: {key}", each) for each in self.value(key, list)]


def _unreadable(what: str, value: object, expected: str) -> NetworkError:
    return NetworkError(
        "answer-unreadable", f"reading {what}: expected {expected}, not {repr(value)[:_SHOWN_CHARACTERS]}"
    )


class Answers:
    """Answers of GitHub; methods raise NetworkError if it fails or is unreadable, and RejectedError if it refuses."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def one(self, path: str, *, absent: Mapping[str, object] | None = None) -> JsonObject:
        """Read an object below the repository; `absent` stands for a 404, None if that may be a missing permission."""
        what = path or "the repository"
        try:
            return JsonObject.of(what, self._calls.answer(f"reading {what}", path))
        except RejectedError as error:
            if absent is None or error.status != HTTPStatus.NOT_FOUND:
                raise
            return JsonObject(what, absent)

    def all(self, path: str, *, within: str | None = None) -> list[JsonObject]:
        """Read a list of objects page after page; `within` is its key if the answer is an object."""
        objects: list[JsonObject] = []
        for answer in self._calls.pages(f"reading {path}", f"{path}?per_page=100"):
            entries = answer if within is None else answer.get(within) if isinstance(answer, dict) else None
            if not isinstance(entries, list):
                raise NetworkError("answer-invalid", f"reading {path}: expected a list of {within or 'objects'}")
            if not entries:
                break
            objects += (JsonObject.of(path, entry) for entry in entries)
            if len(objects) > _MOST:
                raise NetworkError("answer-too-long", f"reading {path}: there are more than {_MOST}")
        return objects


def _setting(what: str, needs: str) -> Callable[[Callable[[Any], Value]], cached_property[Value | Unseen]]:
    """Make a method a property that is read once; it is `Unseen` if GitHub refuses."""

    def decorate(read: Callable[[Any], Value]) -> cached_property[Value | Unseen]:
        def read_visible(settings: Settings) -> Value | Unseen:
            try:
                return read(settings)
            except RejectedError:
                return Unseen(what, needs)

        return cached_property(read_visible)

    return decorate


class Settings(Answers):
    """Settings that several rules need, read when a rule first asks for them."""

    def __init__(self, calls: Calls, description: JsonObject, server_url: str) -> None:
        super().__init__(calls)
        self.description = description
        """Facts that are visible to all readers of the repository."""
        self.full_name = description.value("full_name", str)
        """``OWNER/REPO`` as it is now: GitHub also answers for the names that a repository had before."""
        self.url = f"{server_url.rstrip('/')}/{self.full_name}/settings"
        """The page on which a person changes them."""
        Repository.parse(self.full_name, {})  # the name goes into commands that people type

    @property
    def branch(self) -> str:
        """The default branch."""
        return self.description.value("default_branch", str)

    @property
    def has_pages(self) -> bool:
        """True if Pages is on."""
        return self.description.value("has_pages", bool)

    @property
    def is_of_organization(self) -> bool:
        """True if the owner is no person."""
        return self.description.part("owner").value("type", str) == "Organization"

    @property
    def is_package(self) -> bool:
        """True for a package's own repository, which has one workflow and calls a factory's."""
        return not isinstance(self.workflows, Unseen) and CALLER in self.workflows and CALLED not in self.workflows

    @_setting("the state of the workflows", "Actions: read")
    def workflows(self) -> Mapping[str, str]:
        """State of each workflow, by the name of its file."""
        states = ("active", "deleted", "disabled_fork", "disabled_inactivity", "disabled_manually")
        listed = self.all("/actions/workflows", within="workflows")
        paths = ((each.value("path", str), each.word("state", *states)) for each in listed)
        return {PurePosixPath(path).name: state for path, state in paths if path.startswith(".github/")}

    @_setting("what the token of a job may do", ADMINISTRATION)
    def token(self) -> JsonObject:
        """Default permissions of a job's token."""
        return self.one("/actions/permissions/workflow")

    @property
    def administers(self) -> bool:
        """True if the token sees what an administrator sees, so that a 404 means that there is none."""
        return not isinstance(self.token, Unseen)

    @_setting("the environments", "Actions: read")
    def environments(self) -> Mapping[str, JsonObject]:
        """Deployment environments by name."""
        return {each.value("name", str): each for each in self.all("/environments", within="environments")}

    @_setting("the variables", "Variables: read")
    def variables(self) -> Mapping[str, str]:
        """Variables of the repository; those of an organization where the repository has no other value."""
        places = [*(["/actions/organization-variables"] if self.is_of_organization else []), "/actions/variables"]
        listed = chain.from_iterable(self.all(path, within="variables") for path in places)
        return {each.value("name", str): each.value("value", str) for each in listed}

    def variable(self, name: str, absent: str = "") -> str:
        """Return a variable; `absent` if there is none, or if the token may not see it."""
        return absent if isinstance(self.variables, Unseen) else self.variables.get(name, absent)

    @_setting("the machines of the owner", ADMINISTRATION)
    def runners(self) -> list[JsonObject]:
        """Self-hosted runners."""
        return self.all("/actions/runners", within="runners")


def read_settings(repository: Repository, calls: Calls) -> Settings:
    """Read the description of a repository; its settings are read when they are needed."""
    try:
        return Settings(calls, Answers(calls).one(""), repository.server_url)
    except RejectedError as error:
        if error.status == HTTPStatus.UNAUTHORIZED:
            hint = "gh auth token prints one"
            raise UsageError("token-invalid", "GITHUB_TOKEN is not valid, or has expired", hint=hint) from None
        message = f"there is no repository {repository.full_name} that GITHUB_TOKEN may see"
        raise UsageError("repository-not-visible", message, hint=str(error)) from None


def find_site(repository: Repository, clock: Clock) -> str | None:
    """Ask GitHub for the address of a repository's site; None if Pages is off.

    https://docs.github.com/en/rest/pages/pages#get-a-github-pages-site
    """
    with Calls(repository, Pace(clock), QUIET) as calls:
        site = Answers(calls).one("/pages", absent={"public": False})
    site.value("public", bool)  # every answer about a site has it
    return site.optional("html_url", str)
