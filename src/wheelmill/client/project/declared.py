"""Sources of wheels that a project's files declare, and requests for the wheels that they pin.

https://docs.astral.sh/uv/concepts/indexes/
https://python-poetry.org/docs/repositories/
https://pdm-project.org/en/stable/usage/config/#configure-the-package-indexes
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.client.environment.interpreter import find_distrust
from wheelmill.client.project.pyproject import OURS
from wheelmill.client.project.toml_tables import TomlTables, entries_of, listed
from wheelmill.client.records import Resolution, Source
from wheelmill.client.sources.sources import sources_at
from wheelmill.names import TORCH, ProjectName
from wheelmill.web.credentials import keep_credential, with_index_variables
from wheelmill.wheel.name import wheel_behind

_INDEXES: Final = {
    ("tool", "uv", "index"): "UV_INDEX",
    ("index",): "UV_INDEX",
    ("tool", "poetry", "source"): "POETRY_HTTP_BASIC",
    ("tool", "pdm", "source"): "",
}
"""Tables of indexes, the one of a ``uv.toml`` among them, and how the variables with their credentials begin."""
_OF_TORCH: Final = re.compile(r"/whl/([a-z]+/)?(cu|cpu|rocm|xpu)[0-9.]*/?$")
"""How the URL of an index of torch's own ends, which is for torch alone: it refuses to say that it lacks a package."""
_PAGES = dict.fromkeys(("f", "find-links"), "find-links")
SETTINGS: Final = dict.fromkeys(("i", "index-url", "extra-index-url"), "simple") | _PAGES
"""Settings of uv and options of pip for all packages, and the kind of source in each."""


def read_declared(folders: Iterable[Path]) -> tuple[Source, ...]:
    """Read the sources that a project, and its workspace, declare for their tool and for wheelmill."""
    return sources_in([TomlTables.read(folder / name) for folder in folders for name in ("pyproject.toml", "uv.toml")])


def sources_in(files: Sequence[TomlTables]) -> tuple[Source, ...]:
    """Read the sources that files declare together."""
    tied = _packages_of_indexes(files)
    return tuple(source for file in files for source in _sources_in(file, tied))


def _packages_of_indexes(files: Iterable[TomlTables]) -> Mapping[str, Collection[ProjectName]]:
    tied: dict[str, set[ProjectName]] = {}
    for file in files:
        groups = (
            ("tool", "poetry", "group", name, "dependencies") for name in file.table("tool", "poetry", "group") or {}
        )
        for keys in (("tool", "uv", "sources"), ("tool", "poetry", "dependencies"), *groups):
            for name, value in (file.table(*keys) or {}).items():
                for entry in entries_of(value):
                    tied.setdefault(str(entry.get("index", entry.get("source"))), set()).add(canonicalize_name(name))
    return tied


def _sources_in(file: TomlTables, tied: Mapping[str, Collection[ProjectName]]) -> Iterator[Source]:
    """Yield the sources that were named when packages were added, then the indexes and the settings of the tool."""
    for name, texts in (file.table("tool", "wheelmill", "sources") or {}).items():
        for text in listed(texts):
            yield from declare(file.path, f"tool.wheelmill.sources.{name}", text, "", [canonicalize_name(name)])
    for keys, prefix in _INDEXES.items():
        for number, index in enumerate(file.array_of_tables(*keys)):
            if "url" not in index:  # an index that Poetry knows by its name
                continue
            name = "" if find_distrust(file.path) else str(index.get("name", ""))  # others get no password
            place = with_index_variables(str(index["url"]), prefix, name)
            keep_credential(place)  # even if a remembered source has taken the place of its name
            is_page = {str(index.get("format")), str(index.get("type"))} & {"flat", "find_links"}
            kind = "find-links" if is_page else "simple"
            for packages in _ties_of(index, tied):
                yield from declare(file.path, f"{'.'.join(keys)}[{number}].url", place, kind, packages)
    for keys in (("tool", "uv"), ()):
        for word, kind in SETTINGS.items():
            for url in listed((file.table(*keys) or {}).get(word)):
                yield from declare(file.path, ".".join((*keys, word)), url, kind)


def _ties_of(
    index: Mapping[str, Any], tied: Mapping[str, Collection[ProjectName]]
) -> Iterator[Collection[ProjectName]]:
    """Yield the packages that an index has alone, and nothing for all others; wheelmill's own are for torch."""
    name = str(index.get("name", ""))
    packages = {*tied.get(name, ()), *map(ProjectName, map(str, listed(index.get("include_packages"))))}
    if packages := packages & {TORCH} if name.startswith(OURS) else packages:
        yield packages
    is_explicit = index.get("explicit") is True or index.get("priority") == "explicit"
    if not is_explicit and "*" not in listed(index.get("exclude_packages")):
        yield ()


def declare(path: Path, key: str, value: object, kind: str, packages: Collection[ProjectName] = ()) -> Iterator[Source]:
    """Yield the source at a key of a file: a URL if it has a ``kind``, else in the form of ``--source``.

    A path in that form is relative to the file. A folder of packages on this machine yields nothing: only installers
    search it.
    """
    text = str(value)
    if kind and ("://" not in text or text.startswith("file:")):
        return
    if _OF_TORCH.search(text):
        packages = packages or (TORCH,)
    place = f"{kind}:{text}" if kind else text if ":" in text else str(path.parent.absolute() / text)
    for source in sources_at(place, None, f"{path}: {key}"):
        if not packages:
            yield source
        elif any(map(source.serves, packages)):
            yield replace(source, projects=frozenset(packages), is_exclusive=True)


def torch_indexes(known: Collection[Source]) -> list[str]:
    """Return the indexes that torch comes from: those for it, else those for every package."""
    return [each.url for each in known if TORCH in each.projects] or [each.url for each in known if not each.projects]


def asked_with_pins(
    asked: Iterable[Requirement], requirements: Iterable[Requirement], tied: Collection[str], urls: Mapping[str, str]
) -> tuple[Requirement, ...]:
    """Add the wheels that a project pins to its requests: by version, of ``tied`` packages; without any, by URL.

    ``urls`` are those that do not stand in the requirements.
    """
    by_name = {canonicalize_name(each.name): each for each in asked}
    by_url = {}
    for requirement in requirements:
        name = canonicalize_name(requirement.name)
        wheel = wheel_behind(requirement.url or urls.get(requirement.name, ""))
        if wheel and name != TORCH:
            by_url[name] = Requirement(f"{name}=={wheel.version.public}")
        elif name in tied and any(
            part.operator == "==" and part.version[-2:] != ".*" for part in requirement.specifier
        ):
            by_name.setdefault(name, Requirement(str(requirement).partition(";")[0]))
    return tuple((by_name or by_url).values())


def given_sources(path: Path, resolutions: Iterable[Resolution]) -> Mapping[ProjectName, list[str]]:
    """List the options that named the sources of chosen wheels, with paths from the folder of a project's file."""
    chosen = [choice.candidate for each in resolutions for choice in each.choices.values()]
    sources: dict[ProjectName, list[str]] = {}
    for project, given in dict.fromkeys((each.project, each.source.given) for each in chosen):
        if given:
            text = given if ":" in given else Path(os.path.relpath(given, path.parent)).as_posix()
            sources.setdefault(project, []).append(text)
    return sources
