"""Programs of the system that tests need. A machine that lacks one skips them, and says how to install it."""

import shutil

import pytest


def install_line(package: str) -> str:
    """The command that installs a package, as Debian and Fedora both name it."""
    return f"sudo {'dnf' if shutil.which('dnf') else 'apt-get'} install {package}"


def needs(program: str) -> pytest.MarkDecorator:
    """Skip a test where there is no such program, which is in the package of its name."""
    return pytest.mark.skipif(
        shutil.which(program) is None, reason=f"{program} is not installed: {install_line(program)}"
    )
