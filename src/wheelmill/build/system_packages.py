"""Development packages of the operating system: whether this machine has those that a build needs."""

from __future__ import annotations

import shutil

from wheelmill.config.model import Package
from wheelmill.errors import BuildError, ProcessError
from wheelmill.system import process
from wheelmill.system.progress import Progress


def check_system_packages(package: Package, progress: Progress) -> None:
    """Refuse a build that would miss a development package of this operating system, before anything is compiled.

    Without apt and dnf, or if the package names none for them, the build goes on with a notice: the headers may be
    there all the same.

    Args:
        package: what it needs.
        progress: is told what could not be checked.

    Raises:
        BuildError: something is not installed; with the line that installs it.
    """
    wanted = package.system_packages
    if wanted is None:
        return
    place = package.place_of("system_packages")
    for program, names, is_installed in (("apt-get", wanted.apt, _apt_has), ("dnf", wanted.dnf, _dnf_has)):
        if names and shutil.which(program):
            if missing := " ".join(name for name in names if not is_installed(name)):
                raise BuildError(
                    "system-packages-absent",
                    f"{place}: not installed here: {missing}",
                    hint=f"sudo {program} install {missing}",
                )
            return
    named = " ".join((wanted.apt or ()) + (wanted.dnf or ()))
    progress.step(f"{place}: none is named for this system, and none was looked for; elsewhere they are {named}")


def _apt_has(name: str) -> bool:
    try:
        states = process.run(["dpkg-query", "--show", "--showformat=${db:Status-Status}\\n", name])
    except ProcessError:
        return False
    return "installed" in states.splitlines()  # a line for each architecture; removed ones may have left settings


def _dnf_has(name: str) -> bool:
    try:
        process.run(["rpm", "--query", "--whatprovides", name])
    except ProcessError:
        return False
    return True
