"""Development packages of the operating system that a build needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Final

from wheelmill.config.annotations import Entry, Items
from wheelmill.config.fields import text_that

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]*[A-Za-z0-9+]")
"""Of a package, without a version. apt-get removes what has a hyphen at its end.
https://www.debian.org/doc/debian-policy/ch-controlfields.html#source
https://docs.fedoraproject.org/en-US/packaging-guidelines/Naming/
"""

SystemPackageNames = Annotated[
    tuple[Annotated[str, text_that(_NAME.fullmatch, "the name of a package such as 'sparsehash-devel'")], ...],
    Items(at_least=1),
]


@dataclass(frozen=True, kw_only=True)
class SystemPackages(Entry):
    """The same packages by the names that they have for each package manager."""

    dnf: SystemPackageNames | None = None
    """For AlmaLinux, which the images of Docker builds are made of, with EPEL; and for Fedora."""
    apt: SystemPackageNames | None = None
    """For Debian and Ubuntu."""
