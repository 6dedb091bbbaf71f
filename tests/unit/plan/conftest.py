"""What a plan is made of, in small."""

from dataclasses import replace

from tests.unit.build.conftest import TARGET
from wheelmill.names import PythonVersion, project_version
from wheelmill.plan.targets import BuildTarget


def target(*, version: str = "1.0", python: str = "3.11") -> BuildTarget:
    """A target that differs from others in what a test says."""
    cell = replace(TARGET.cell, version=project_version(version), python=PythonVersion.parse(python))
    return replace(TARGET, cell=cell)
