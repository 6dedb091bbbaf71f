"""Builder in containers: a release of cibuildwheel."""

from __future__ import annotations

from dataclasses import dataclass

from wheelmill.names import Platform, PythonVersion


@dataclass(frozen=True, kw_only=True)
class ContainerBuilder:
    """Release of cibuildwheel."""

    name: str
    """``cibuildwheel 4.3.3``."""
    identifiers: frozenset[str]
    """Its builds: ``cp313-manylinux_x86_64``."""
    images: frozenset[str] = frozenset()
    """Its images: ``quay.io/pypa/manylinux_2_28_x86_64:2026.10.21-1@sha256:...``."""

    def has(self, python: PythonVersion, platform: Platform) -> bool:
        """True if it builds for a Python on a platform."""
        return identifier_of(python, platform) in self.identifiers

    def pythons(self, platform: Platform) -> frozenset[PythonVersion]:
        """Return the CPythons that it builds for on a platform."""
        words = (identifier.partition("-") for identifier in self.identifiers)
        return frozenset(
            PythonVersion.parse(abi) for abi, _, place in words if abi.startswith("cp") and place == f"many{platform}"
        )


def identifier_of(python: PythonVersion, platform: Platform) -> str:
    """Return cibuildwheel's name of a build: ``cp313t-manylinux_x86_64``."""
    return f"{python.abi}-many{platform}"
