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
    try:
        printed = process.run(
            [interpreter.absolute(), "-I", "-c", _DISTRIBUTIONS], env=process.environment_for_foreign_code()
        )
    except ProcessError as error:
        raise UsageError(f"{interpreter} does not say what is installed:\n{error.tail}") from None
    # The first that is found of a name is the one that Python imports.
    return {canonicalize_name(name): version for name, version in reversed(json.loads(printed.splitlines()[-1]))}
