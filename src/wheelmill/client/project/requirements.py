"""Folders with a ``requirements.txt``, and environments of no project.

In a user's file, wheelmill writes only between its two marks. A package in neither part is never uninstalled.

https://pip.pypa.io/en/stable/reference/requirements-file-format/
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Self

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from wheelmill.client.install.installer import installer_to
from wheelmill.client.install.wheel_cache import WheelCache
from wheelmill.client.lock.pins import pins_of, replace_dependencies
from wheelmill.client.project.change import Edit, check_depends, check_torch, links_after
from wheelmill.client.project.declared import SETTINGS, asked_with_pins, declare, given_sources
from wheelmill.client.project.tool_project import Project
from wheelmill.client.records import Links, Resolution, Source
from wheelmill.errors import UsageError
from wheelmill.installers.requirements_line import requirements_line
from wheelmill.names import TORCH, ProjectName, read_requirement
from wheelmill.system.files import read_bounded
from wheelmill.system.process import command_line

_BEGIN = "# >>> wheelmill {command}: what stands between this line and the next mark is replaced"
_END = "# <<< wheelmill {command}"
_ASKED = "# asked for: "
_SOURCE = "# source of "
_TORCH_FOR = "# torch for: "
_LINK = "# required: "
_INDEX = "--extra-index-url "
_OPTION = re.compile(r"\s*--?([a-z-]+)[ =]\s*(\S+)")
"""Option of pip, and its value."""


@dataclass(frozen=True, kw_only=True)
class RequirementsFile:
    """Lines of a file: wheelmill's, and the user's before and after them."""

    path: Path
    command: str
    """The command that wrote our lines: ``add`` or ``lock``."""
    before: tuple[str, ...] = ()
    ours: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path, command: str = "add") -> Self:
        """Read a file; a missing one is empty."""
        try:
            lines = read_bounded(path).decode().splitlines(keepends=True) if path.exists() else []
        except UnicodeDecodeError as error:
            raise UsageError("not-utf-8", f"{path} is not UTF-8: {error}") from None
        begin, end = _marks_of(command)
        bare = [line.strip() for line in lines]
        marks = [place for place, line in enumerate(bare) if line in (begin, end)]
        if not marks:
            return cls(path=path, command=command, before=tuple(lines))
        if [bare[place] for place in marks] != [begin, end]:
            raise UsageError(
                "marks-broken",
                f"{path}: expected one line {begin!r}, and one {end!r} below it",
                hint="put the one that is missing back, or remove the other",
            )
        first, last = marks
        ours = tuple(bare[first + 1 : last])
        if command == "add":
            _check_ours(path, first + 2, ours)
        return cls(path=path, command=command, before=tuple(lines[:first]), ours=ours, after=tuple(lines[last + 1 :]))

    def with_ours(self, lines: Sequence[str]) -> bytes:
        """The file's content with other lines between the marks; without any, the marks are removed too."""
        before, after = "".join(self.before), "".join(self.after)
        if _compiler_words(self.before):
            raise UsageError(
                "requirements-compiled",
                f"{self.path} is compiled from other files, and the next compilation would undo a change to it",
                hint="name the file that it is compiled from with --project, or another file with --output",
            )
        end = "\r\n" if "\r\n" in before + after else "\n"
        if lines and before and not before.endswith("\n"):
            before += end
        begin, close = _marks_of(self.command)
        block = "".join(f"{line}{end}" for line in (begin, *lines, close)) if lines else ""
        if lines and [line.strip() for line in block.splitlines()] != [begin, *map(str.strip, lines), close]:
            raise UsageError("line-break", f"{self.path}: a name or a path has a line break, which would end a comment")
        return f"{before}{block}{after}".encode()

    @property
    def asked(self) -> tuple[Requirement, ...]:
        """The requirements that the user asked wheelmill for."""
        return tuple(map(Requirement, self._lines_after(_ASKED)))

    @property
    def torch_for(self) -> frozenset[str]:
        """The projects whose wheels torch is pinned for."""
        return frozenset(self._lines_after(_TORCH_FOR))

    @property
    def links(self) -> Links:
        """The wheels that others require."""
        words = (line.split() for line in self._lines_after(_LINK))
        return frozenset((canonicalize_name(each[0]), canonicalize_name(each[-1])) for each in words if each)

    @property
    def pinned(self) -> tuple[str, ...]:
        """The requirements between the marks, as written."""
        return tuple(line for line in self.ours if line and not line.startswith(("#", "-")))

    @property
    def indexes(self) -> tuple[str, ...]:
        """The indexes that were added for torch."""
        return self._lines_after(_INDEX)

    def sources_without(self, projects: Collection[str]) -> list[str]:
        """The lines with the sources of wheels, but for those of some projects."""
        return [f"{_SOURCE}{each}" for each in self._lines_after(_SOURCE) if each.partition(":")[0] not in projects]

    def _lines_after(self, prefix: str) -> tuple[str, ...]:
        return tuple(line.removeprefix(prefix) for line in self.ours if line.startswith(prefix))

    @property
    def by_hand(self) -> tuple[tuple[int, Requirement], ...]:
        """The user's requirements, each with its line number; URLs without a name are left out."""
        marked = len(self.ours) + 2 if self.ours else 0
        lines = (*enumerate(self.before, 1), *enumerate(self.after, len(self.before) + marked + 1))
        return tuple((number, requirement) for number, line in lines if (requirement := _requirement_in(line)))

    @property
    def options(self) -> list[tuple[str, str]]:
        """The options of pip in the user's lines, and their values."""
        return [(found[1], found[2]) for line in (*self.before, *self.after) if (found := _OPTION.match(line))]

    @property
    def has_hashes(self) -> bool:
        """True if the user pinned hashes, so that pip requires one on every line."""
        return any("--hash=" in line or "--require-hashes" in line for line in (*self.before, *self.after))


def source_of(path: Path) -> Path:
    """The ``.in`` file beside a requirements file that pip-compile or uv compiled it from; else the file itself."""
    words = _compiler_words(RequirementsFile.read(path, "").before)
    sources = {path.with_name(Path(word).name) for word in words if word.endswith(".in")}
    sources = {each for each in sources if each.is_file()}
    return sources.pop() if len(sources) == 1 else path


def _compiler_words(lines: Iterable[str]) -> list[str]:
    """The words above a compiled file's requirements; empty if a person wrote the file."""
    header = "".join(takewhile(lambda line: line.startswith("#"), lines))
    return header.split() if "autogenerated by" in header else []


def block(
    asked: Iterable[Requirement], torch_for: Iterable[str], links: Links, indexes: Iterable[str], pins: Iterable[str]
) -> Iterator[str]:
    """Yield the lines between the marks."""
    yield from (f"{_ASKED}{each}" for each in asked)
    yield from (f"{_TORCH_FOR}{each}" for each in sorted(torch_for))
    yield from (f"{_LINK}{parent} requires {project}" for parent, project in sorted(links))
    yield from (requirements_line("", f"{_INDEX}{each}") for each in indexes)
    yield from pins


def _marks_of(command: str) -> tuple[str, str]:
    return _BEGIN.format(command=command), _END.format(command=command)


def _check_ours(path: Path, first: int, lines: Iterable[str]) -> None:
    faults = []
    for number, line in enumerate(lines, first):
        text = line.removeprefix(_ASKED)
        if text and not text.startswith(("#", "-")):
            try:
                read_requirement(text)
            except ValueError as error:
                faults.append(f"{path}:{number}: {error}")
    if faults:
        raise UsageError("block-changed", "\n".join(faults), hint="lines of your own belong above or below the marks")


def _requirement_in(line: str) -> Requirement | None:
    text = line.partition(" #")[0].partition(" --")[0].strip().removesuffix("\\").strip()
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def put_lock(path: Path, locked: str, names: Collection[str]) -> bytes:
    """Return a requirements file's content with a lock of projects between its marks; the file need not exist."""
    file = RequirementsFile.read(path, "lock")
    for number, requirement in file.by_hand:
        if not file.has_hashes or canonicalize_name(requirement.name) in names:
            what = (
                "is in the lock as well"
                if file.has_hashes
                else "has no hash, and pip wants one on every line of a lock"
            )
            raise UsageError(
                "line-not-plain",
                f"{path}:{number}: {requirement} {what}",
                hint="write the lock to another file: --output",
            )
    return file.with_ours(locked.splitlines())


@dataclass(frozen=True, kw_only=True)
class RequirementsProject(Project):
    """Requirements file and an environment, without which only the file is changed; see `Project`."""

    @property
    def kind(self) -> str:
        """Its kind, in words."""
        if self.path.parent != self.prefix:
            return "requirements file"
        return "conda environment" if (self.prefix / "conda-meta").is_dir() else "virtual environment"

    @property
    def asked(self) -> tuple[Requirement, ...]:
        """The requirements that the user asked wheelmill for, and the wheels that the user's lines pin."""
        file = RequirementsFile.read(self.path)
        tied = {name for option, names in file.options if option == "only-binary" for name in names.split(",")}
        return asked_with_pins(file.asked, (each for _, each in file.by_hand), tied, {})

    @property
    def links(self) -> Links:
        """The wheels that others require."""
        return RequirementsFile.read(self.path).links

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """The requirements in the file that name a project."""
        file = RequirementsFile.read(self.path)
        return (*(each for _, each in file.by_hand), *map(Requirement, file.pinned))

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of wheels and of torch between the marks, and those that the user's options name for all."""
        file = RequirementsFile.read(self.path)
        given = [line.removeprefix(_SOURCE).partition(": ") for line in file.sources_without(())]
        places = [
            *((f"{_SOURCE}{name}", text, "", [canonicalize_name(name)]) for name, _, text in given),
            *((_INDEX.strip(), url, "simple", [TORCH]) for url in file.indexes),
            *((option, value, SETTINGS[option], ()) for option, value in file.options if option in SETTINGS),
        ]
        return tuple(source for place in places for source in declare(self.path, *place))

    def check_install(self) -> None:
        """Accept every project: without an environment, only the file is changed."""

    def add(self, asked: Sequence[Requirement], resolutions: Sequence[Resolution]) -> Edit:
        """Write wheels between the marks; see `Project`."""
        file = RequirementsFile.read(self.path)
        self._check(file, asked, resolutions)
        new = {canonicalize_name(each.name): each for each in asked}
        kept = {canonicalize_name(each.name): each for each in file.asked}
        pins = pins_of(resolutions, named_indexes=False)
        links = links_after(file.links, resolutions)
        gone = {project for _, project in file.links - links} - {project for _, project in links} - {*kept}
        lines = [text for text in file.pinned if canonicalize_name(Requirement(text).name) not in {*pins, *gone}]
        for name, of_project in pins.items():
            had = [text for text in file.pinned if canonicalize_name(Requirement(text).name) == name]
            lines += replace_dependencies(had, of_project)
        indexes = {pin.index.url for pin in pins.get(TORCH, ()) if pin.index} if TORCH in pins else set(file.indexes)
        chosen = [choice for each in resolutions for choice in each.choices.values()]
        torch_for = file.torch_for | {each.candidate.project for each in chosen if each.needs_torch}
        named = given_sources(self.path, resolutions)
        given = [f"{_SOURCE}{project}: {text}" for project, texts in named.items() for text in texts]
        given += file.sources_without(named)
        ours = block((kept | new).values(), torch_for, links, sorted(indexes), [*sorted(given), *sorted(lines)])
        notes = self._compilation_notes
        if not (self.environment or self.python):
            notes.append(f"nothing was installed: there is no environment beside {self.path.name}, and none is active")
        return Edit.of(self.path, file.with_ours(list(ours)), notes)

    def remove(self, projects: Sequence[ProjectName]) -> Edit:
        """Remove wheels from between the marks, and torch with the last wheel that needs it; see `Project`."""
        file = RequirementsFile.read(self.path)
        check_depends(self.path, map(Requirement, file.pinned), projects)
        asks_torch = any(canonicalize_name(each.name) == TORCH for each in file.asked) and TORCH not in projects
        torch_for = file.torch_for - set(projects)
        gone = {*projects, *([] if torch_for or asks_torch else [TORCH])}
        pins = [text for text in file.pinned if canonicalize_name(Requirement(text).name) not in gone]
        asked = [each for each in file.asked if canonicalize_name(each.name) not in gone]
        pins = [*file.sources_without(gone), *pins]
        links = frozenset(link for link in file.links if not {*link} & gone)
        ours = block(asked, torch_for, links, file.indexes if torch_for or asks_torch else (), pins)
        return Edit.of(self.path, file.with_ours(list(ours)), self._compilation_notes)

    @property
    def _compilation_notes(self) -> list[str]:
        compiled = self.path.with_suffix(".txt")
        is_source = self.path != compiled and compiled.is_file() and source_of(compiled) == self.path
        return [f"{compiled.name} is compiled from {self.path.name}: compile it again"] if is_source else []

    def install(self, resolutions: Sequence[Resolution], cache: WheelCache) -> None:
        """Install the file's requirements; see `Project`."""
        if self.environment or self.python:
            installer_to(resolutions[0].environment, cache).install_file(self.path)

    def _check(self, file: RequirementsFile, asked: Sequence[Requirement], resolutions: Sequence[Resolution]) -> None:
        """Refuse lines that pip would refuse on reading the file."""
        chosen = {each.candidate.project: each.candidate for one in resolutions for each in one.choices.values()}
        if file.has_hashes:
            lock = ["wheelmill", "lock", *map(str, asked), "--format", "requirements", "--output", str(self.path)]
            command = command_line(lock)
            raise UsageError(
                "hashes-needed",
                f"{self.path} has hashes, so pip wants one on every line",
                hint=f"write lines with hashes for these packages in place of the last lock's: {command}",
            )
        check_torch(self.path, [each for _, each in file.by_hand], resolutions)
        for number, requirement in file.by_hand:
            candidate = chosen.get(canonicalize_name(requirement.name))
            if candidate and (
                requirement.url or not requirement.specifier.contains(candidate.version, prereleases=True)
            ):
                raise UsageError(
                    "wheel-not-allowed",
                    f"{self.path}:{number}: {requirement} does not allow {candidate.filename}, which was chosen",
                    hint="remove that line, or ask for what it says",
                )
