"""``wheelmill list``: what is installed."""

from __future__ import annotations

from wheelmill.cli.client.test import ProjectsArgument, select_packages
from wheelmill.cli.shared.options import with_groups
from wheelmill.cli.shared.output import JsonOption, print_json
from wheelmill.cli.shared.target import TargetOptions
from wheelmill.client.environment.installation import interpreter_of
from wheelmill.client.install.distributions import versions_in
from wheelmill.wheel.built_for import BuiltFor


@with_groups
def list(  # noqa: A001 - the command's name
    projects: ProjectsArgument = None, *, target: TargetOptions, as_json: JsonOption = False
) -> None:
    """List installed wheels that name a CUDA or a torch, and what they were built for."""
    rows = []
    for name, version in select_packages(projects, versions_in(interpreter_of(target.detect()))).items():
        label = BuiltFor.of_installed(version)
        cuda = label.cuda or label.cuda_major
        rows.append((name, version, str(cuda) if cuda else None, str(label.torch) if label.torch else None))
    if as_json:
        keys = ("project", "version", "cuda", "torch")
        print_json("wheelmill.list/1", packages=[dict(zip(keys, row, strict=True)) for row in rows])
        return
    for row in rows:
        print("  ".join(value or "-" for value in row))  # noqa: T201 - the result
