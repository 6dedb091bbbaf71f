"""The files of a package that is built in its own repository: written from what its source says, which is not run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wheelmill.config.model import Compatibility, without_torch
from wheelmill.config.model.package import has_torch
from wheelmill.config.pyproject import Pyproject
from wheelmill.config.survey.setup_script import SetupScript
from wheelmill.config.survey.source_tree import SourceTree
from wheelmill.errors import UsageError
from wheelmill.names import ProjectName, ProjectVersion, project_name, project_version

WORKFLOW: Final = Path(".github", "workflows", "wheels.yml")
TORCHES: Final = 3
"""How many of the newest torches are built for until somebody says otherwise."""

_CUDA: Final = ">=12"
_PYTHON: Final = ">=3.10"

_ENTRY: Final = """\
# What wheelmill builds of this repository. 'wheelmill config check' names every fault, 'wheelmill plan' every wheel.
"""

_CALLED: Final = "OWNER/REPO/.github/workflows/package.yml@REF"
_WORKFLOW_TEXT: Final = f"""\
# Builds the wheels that wheelmill.yml asks for, releases those of a tag and deploys their index to Pages.
name: wheels

on:
  push:
    tags: ["v*"]
  workflow_dispatch: # of a tag, when there is a new torch: what is released already is not built again
    inputs:
      continues:
        description: The number of a run whose work is taken up
        type: string

permissions: {{}}

jobs:
  wheels:
    permissions: # for the jobs of the workflow to share out; those that build get no more than reading
      actions: write # to start the next run and to delete caches
      attestations: write # to keep the attestations
      contents: write # to publish the releases
      id-token: write # to sign as this workflow, and to deploy
      pages: write # to deploy the index
    uses: {_CALLED}
    with:
      config: wheelmill.yml
      continues: ${{{{ inputs.continues }}}}
"""


@dataclass(frozen=True, kw_only=True)
class OwnPackage:
    """What the source of a package says of itself."""

    name: ProjectName
    version: ProjectVersion | None
    """As ``setup.py`` writes it; None where ``pyproject.toml`` says it, which is asked for at every build."""
    requires: tuple[str, ...]
    """Of the build."""
    needs_torch: bool

    def entry(self, compatibility: Compatibility) -> str:
        """Write ``wheelmill.yml``: for the newest torches and every Python that they are for."""
        entry: dict[str, object] = {"source": "."}
        if self.version:
            entry["versions"] = [self.version]
        if self.needs_torch:
            entry["build_args"] = "--no-build-isolation"
            entry["extra_deps"] = [*without_torch(self.requires), "torch"]
        else:
            entry["needs"] = "cuda"
        newest = sorted(compatibility.torch)[-TORCHES:]
        axis = {"torch": f">={newest[0]}"} if self.needs_torch else {"cuda": _CUDA}  # a torch is for few CUDAs
        defaults = {"python": _PYTHON, **axis}
        said = ["defaults:", *(f"  {key}: {json.dumps(value)}" for key, value in defaults.items())]
        said += ["packages:", f"  {self.name}:", *(f"    {key}: {json.dumps(value)}" for key, value in entry.items())]
        return _ENTRY + "\n".join(said) + "\n"


def read_own_package(folder: Path, *, name: str | None = None, version: str | None = None) -> OwnPackage:
    """Read ``pyproject.toml`` and ``setup.py`` of a source.

    Args:
        folder: the source.
        name: the package's name, where its source computes it.
        version: its version, where its source computes it.

    Raises:
        UsageError: they cannot be read, or do not say the name or the version; or what was given is neither.
    """
    pyproject = Pyproject.read(folder)
    setup = SetupScript.read(SourceTree(folder))
    said = name or pyproject.name or next(iter(setup.argument("name")), None)
    if not said:
        unnamed = f"no pyproject.toml or setup.py in {folder} says the package's name"
        raise UsageError("project-name-unknown", unnamed, hint="give it: --name NAME")
    written = version or (None if pyproject.version else next(iter(setup.argument("version")), None))
    if not written and not pyproject.version:
        hint = "give the one that the next tag has: --version 1.2.3"
        raise UsageError(
            "version-unknown", f"no pyproject.toml or setup.py in {folder} says the version of {said}", hint=hint
        )
    try:
        found = project_name(said), project_version(written) if written else None
    except ValueError as error:
        raise UsageError("package-invalid", str(error)) from None
    requirements = (*pyproject.requires, *pyproject.dependencies)
    return OwnPackage(
        name=found[0],
        version=found[1],
        requires=pyproject.requires,
        needs_torch=has_torch(requirements) or "torch" in setup.imports,
    )


def workflow_text(repository: str, reference: str) -> str:
    """Write the workflow that calls ours.

    Args:
        repository: ``OWNER/REPO`` of wheelmill.
        reference: the commit, tag or branch of it.
    """
    return _WORKFLOW_TEXT.replace(_CALLED, f"{repository}/.github/workflows/package.yml@{reference}")
