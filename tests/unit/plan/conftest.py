"""What a plan is made of, in small."""

from dataclasses import replace

from tests.unit.build.conftest import TARGET
from tests.unit.plan.examples import V1
from wheelmill.names import ProjectName, PythonVersion, project_name, project_version
from wheelmill.plan.targets import BuildTarget


def target(*, version: str = "1.0", python: str = "3.11") -> BuildTarget:
    """A target that differs from others in what a test says."""
    cell = replace(TARGET.cell, version=project_version(version), python=PythonVersion.parse(python))
    return replace(TARGET, cell=cell)


def requiring(project: str, required: ProjectName) -> BuildTarget:
    """A target of another project that needs a wheel of the first one beside it."""
    built = target()
    cell = replace(built.cell, project=project_name(project), version=V1)
    return replace(built, cell=cell, package=replace(built.package, requires=(required,)))
