"""What people need to know to install a package from here: its requirements, and whose its name is elsewhere.

pip takes the highest version that any of its indexes has, uv the first index that has the name. So only a package that
the package index has from the same home may be looked for in both; any other is asked of this index alone.
"""

from __future__ import annotations

import shlex
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cache

from packaging.utils import canonicalize_name

from wheelmill.config.model import NameElsewhere
from wheelmill.index.site.wheels import WheelGroup
from wheelmill.index.tree import Catalogue
from wheelmill.names import TORCH, ProjectName, read_requirement


def dependencies_of(requires_dist: tuple[str, ...], here: Container[ProjectName]) -> tuple[str, ...]:
    """What wheels require of the package index: neither torch, which is chosen before a wheel is, nor projects here.

    Args:
        requires_dist: the requirements of wheels of one project.
        here: the projects of this index.
    """
    required = _requirements_of(requires_dist)
    return tuple(text for name, text in required if name not in here)


@cache  # an index has thousands of wheels that require the same
def _requirements_of(requires_dist: tuple[str, ...]) -> tuple[tuple[ProjectName, str], ...]:
    """What stands in METADATA beside torch, without what is for an extra: each with its project."""
    found = []
    for text in requires_dist:
        try:
            required = read_requirement(text)
        except ValueError:  # as a wheel that was not built here may have
            continue
        name = canonicalize_name(required.name)
        if name != TORCH and "extra" not in str(required.marker or ""):
            found.append((name, str(required)))
    return tuple(found)


def names_elsewhere(catalogue: Catalogue | None) -> Mapping[ProjectName, NameElsewhere]:
    """What the package index has under the names of packages, as far as their entries say."""
    packages = catalogue.packages if catalogue else {}
    return {name: package.elsewhere for name, package in packages.items() if package.elsewhere}


def are_shared(projects: Iterable[ProjectName], elsewhere: Mapping[ProjectName, NameElsewhere]) -> bool:
    """Whether the package index has all of these, each from the same home."""
    return all(elsewhere.get(project) == "same" for project in projects)


def install_command(requirement: str, pin: str, *, is_shared: bool, dependencies: Iterable[str] = ()) -> str:
    """What pip installs a project with; ``ADDRESS`` stands for the index that has the wheels.

    Args:
        requirement: what to install: ``flash-attn``, or a pin of a version or of a label.
        pin: a pin of a label, which nobody else's versions have: for what must not be taken from elsewhere.
        is_shared: whether the package index has the project, too, and all that it needs of this one.
        dependencies: what the wheels require of the package index.
    """
    if is_shared:
        project = requirement.partition("==")[0]
        return f"pip install --extra-index-url ADDRESS --only-binary {project} {shlex.quote(requirement)}"
    first = [f"pip install {shlex.join(texts)}"] if (texts := list(dependencies)) else []
    return "\n".join([*first, f"pip install --index-url ADDRESS --no-deps {shlex.quote(pin)}"])


def required_here(
    groups: Mapping[ProjectName, Sequence[WheelGroup]], catalogue: Catalogue | None
) -> Mapping[ProjectName, tuple[ProjectName, ...]]:
    """The projects of this index that each of them needs beside it, and what those need in their turn.

    Args:
        groups: the wheels of every project.
        catalogue: the configured packages, which say so before there is a wheel.
    """
    packages = catalogue.packages if catalogue else {}
    direct: dict[ProjectName, dict[ProjectName, None]] = {
        name: dict.fromkeys(package.requires) for name, package in packages.items()
    }
    for project, of_project in groups.items():
        named = (name for group in of_project for name, _ in _requirements_of(group.requires_dist))
        direct.setdefault(project, {}).update((name, None) for name in named if name in groups and name != project)
    return {name: found for name in direct if (found := _beneath(name, direct))}


def _beneath(name: ProjectName, direct: Mapping[ProjectName, Iterable[ProjectName]]) -> tuple[ProjectName, ...]:
    """What a project requires, at whatever distance, also in a circle."""
    found = [name]
    for each in found:  # which grows
        found += [required for required in direct.get(each, ()) if required not in found]
    return tuple(found[1:])
