"""What a wheel needs, and was built with, that no package index has: as DepURLs (PEP 725, a draft).

https://peps.python.org/pep-0725/
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wheelmill.build.provenance import Provenance
from wheelmill.smoke.verdict import Certificate
from wheelmill.wheel.torch_need import torch_requirement


@dataclass(frozen=True, kw_only=True, slots=True)
class External:
    """The keys that the table ``[external]`` has in a pyproject.toml."""

    build_requires: tuple[str, ...] = ()
    """Programs of its build: ``dep:generic/cuda-toolkit@13.0.2``."""
    host_requires: tuple[str, ...] = ()
    """Libraries of its build: ``dep:rpm/almalinux/libaio-devel``."""
    dependencies: tuple[str, ...] = ()
    """What must be present when it is imported: ``dep:generic/nvidia-driver@>=580.65.06``."""


def external_of(certificate: Certificate, requires_dist: tuple[str, ...]) -> External:
    """Gather it from what is known of a wheel.

    Args:
        certificate: what its bytes show, and how it was built.
        requires_dist: what package indexes have of what it needs.
    """
    made = certificate.provenance
    return External(
        build_requires=(
            *("dep:virtual/compiler/cxx", "dep:virtual/compiler/cuda"),
            f"dep:generic/cuda-toolkit@{made.toolkit}",
        )
        if made
        else (),
        host_requires=tuple(_libraries(made)) if made else (),
        dependencies=tuple(_needed(certificate, requires_dist)),
    )


def _libraries(made: Provenance) -> Iterator[str]:
    """System packages, as the package manager of the build place calls them: dnf in containers."""
    if wanted := made.system_packages:
        names, kind = (wanted.dnf, "rpm/almalinux") if made.images else (wanted.apt, "deb/debian")
        yield from (f"dep:{kind}/{name}" for name in names or ())


def _needed(certificate: Certificate, requires_dist: tuple[str, ...]) -> Iterator[str]:
    seen, made = certificate.evidence, certificate.provenance
    if made and made.driver:
        yield f"dep:generic/nvidia-driver@>={made.driver}"
    if seen.glibc:
        yield f"dep:generic/glibc@>={seen.glibc}"
    if seen.cuda_major and torch_requirement(requires_dist) is None:  # torch brings CUDA's libraries
        yield f"dep:generic/cuda-toolkit@>={seen.cuda_major},<{seen.cuda_major + 1}"
