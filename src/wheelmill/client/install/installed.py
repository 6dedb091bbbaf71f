"""What is installed for an interpreter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from packaging.utils import canonicalize_name

from wheelmill import process
from wheelmill.errors import ProcessError, UsageError
from wheelmill.names import ProjectName

_DISTRIBUTIONS: Final = """
import importlib.metadata, json
print(json.dumps([(d.metadata["Name"], d.version) for d in importlib.metadata.distributions() if d.metadata["Name"]]))
"""


def installed_in(interpreter: Path) -> dict[ProjectName, str]:
    """The version of everything that an interpreter can import, by project.

    Raises:
        UsageError: the interpreter does not run.
    """
    # The first that is found of a name is the one that Python imports.
    return dict(reversed(distributions_of(interpreter)))


def distributions_of(interpreter: Path) -> list[tuple[ProjectName, str]]:
    """Name and version of every distribution, those too that another one of the same name hides.

    Raises:
        UsageError: the interpreter does not run.
    """
    try:
        printed = process.run(
            [interpreter.absolute(), "-I", "-c", _DISTRIBUTIONS], env=process.environment_for_foreign_code()
        )
    except ProcessError as error:
        raise UsageError(f"{interpreter} does not say what is installed:\n{error.tail}") from None
    return [(canonicalize_name(name), version) for name, version in json.loads(printed.splitlines()[-1])]


_MODULES: Final = """
import importlib.metadata, json, sys
own = importlib.metadata.distribution(sys.argv[1]).metadata["Name"]
found = importlib.metadata.packages_distributions().items()
print(json.dumps(sorted(name for name, owners in found if own in owners and name.isidentifier())))
"""


def modules_of(interpreter: Path, project: ProjectName) -> tuple[str, ...]:
    """The top-level modules that an installed project brings.

    Raises:
        UsageError: it is not installed.
    """
    try:
        printed = process.run(
            [interpreter.absolute(), "-I", "-c", _MODULES, project], env=process.environment_for_foreign_code()
        )
    except ProcessError:
        raise UsageError(f"{project} is not installed for {interpreter}") from None
    return tuple(json.loads(printed.splitlines()[-1]))
