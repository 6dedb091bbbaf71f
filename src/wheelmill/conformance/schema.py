"""The JSON of PEP 691 and of what was added to it. Keys that no PEP names are let be, as the PEP asks.

https://packaging.python.org/en/latest/specifications/simple-repository-api/#json-serialization
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr


def _dashes(name: str) -> str:
    return name.replace("_", "-")


class _Model(BaseModel):
    model_config = ConfigDict(alias_generator=_dashes, frozen=True)


NonEmpty = Annotated[str, Field(strict=True, min_length=1)]


class Meta(_Model):
    """``meta`` of both pages."""

    api_version: StrictStr


class Listed(_Model):
    """An entry of ``projects``."""

    name: StrictStr


class Projects(_Model):
    """The root page."""

    meta: Meta
    projects: tuple[Listed, ...]


class File(_Model):
    """An entry of ``files``."""

    filename: NonEmpty
    url: NonEmpty
    hashes: dict[StrictStr, StrictStr]
    requires_python: StrictStr | None = None
    core_metadata: StrictBool | dict[StrictStr, StrictStr] | None = None
    gpg_sig: StrictBool | None = None
    yanked: StrictBool | NonEmpty = False
    size: Annotated[StrictInt, Field(ge=0)] | None = None
    upload_time: StrictStr | None = None
    provenance: StrictStr | None = None


class ProjectStatus(_Model):
    """``project-status``."""

    status: StrictStr = "active"


class Project(_Model):
    """A project's page."""

    meta: Meta
    name: StrictStr
    files: tuple[File, ...]
    versions: tuple[StrictStr, ...] | None = None
    project_status: ProjectStatus | None = None
