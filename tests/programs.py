"""Programs of the system that tests need. A machine that lacks one skips them, and says how to install it."""

import os
import re
import shutil

import pytest

_SEARCHED = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin"))
"""Where servers are, too, which an ordinary user's PATH may lack."""
_MISSING = re.compile(r"(\S+) is not installed: ")


def install_line(package: str) -> str:
    """The command that installs a package, as Debian and Fedora both name it."""
    return f"sudo {'dnf' if shutil.which('dnf') else 'apt-get'} install {package}"


def find_program(program: str, package: str | None = None) -> str:
    """The path of a program; skips the test where there is none."""
    path = shutil.which(program, path=_SEARCHED)
    if path is None:
        pytest.skip(_reason(program, package))
    return path


def needs(program: str, package: str | None = None) -> pytest.MarkDecorator:
    """Skip a test where there is no such program, which is in the package of its name, if none is given."""
    missing = shutil.which(program, path=_SEARCHED) is None
    return pytest.mark.skipif(missing, reason=_reason(program, package))


def is_of_a_missing_program(reason: str) -> bool:
    """Whether a test was skipped for a program that this machine lacks indeed."""
    match = _MISSING.match(reason)
    return match is not None and shutil.which(match[1], path=_SEARCHED) is None


def _reason(program: str, package: str | None) -> str:
    return f"{program} is not installed: {install_line(package or program)}"
