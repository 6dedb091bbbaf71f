"""Reading pages in JSON. What has another shape than PEP 691 gives it is a finding, and no page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError

from wheelmill.conformance import pep592, pep691, pep700, pep740, pep792, schema
from wheelmill.conformance.finding import Finding, Rule
from wheelmill.conformance.pages import Document, FileLink, Form, ListedProject, ProjectDetail, ProjectList
from wheelmill.conformance.urls import absolute

_Model = TypeVar("_Model", bound=BaseModel)

_RULE_OF_KEY: Final[Mapping[int | str, Rule]] = {
    "yanked": pep592.JSON_VALUE,
    "size": pep700.SIZE,
    "upload-time": pep700.UPLOAD_TIME,
    "versions": pep700.VERSIONS,
    "provenance": pep740.URL,
    "project-status": pep792.STATUS,
}
"""Whose key it is; the others are of PEP 691 itself."""


def read_project_list(document: Document) -> tuple[ProjectList | None, list[Finding]]:
    """Read a root page; None and findings when it has another shape."""
    content, findings = _read(document, schema.Projects)
    if content is None:
        return None, findings
    projects = tuple(ListedProject(text=project.name, href=None) for project in content.projects)
    page = ProjectList(
        document=document, form=Form.JSON, repository_version=content.meta.api_version, projects=projects
    )
    return page, []


def read_project_detail(document: Document, project: str) -> tuple[ProjectDetail | None, list[Finding]]:
    """Read a project's page; None and findings when it has another shape."""
    content, findings = _read(document, schema.Project)
    if content is None:
        return None, findings
    page = ProjectDetail(
        document=document,
        form=Form.JSON,
        project=project,
        name=content.name,
        repository_version=content.meta.api_version,
        status=content.project_status.status if content.project_status else None,
        versions=content.versions,
        files=tuple(_file(document, file) for file in content.files),
    )
    return page, []


def _read(document: Document, model: type[_Model]) -> tuple[_Model | None, list[Finding]]:
    try:
        return model.model_validate_json(document.content), []
    except ValidationError as error:
        return None, list(_findings(document, error))


def _findings(document: Document, error: ValidationError) -> Iterator[Finding]:
    """One for each faulty value, also where it could have had several types."""
    told = set()
    for fault in error.errors(include_url=False, include_input=False):
        keys = fault["loc"][:3] if fault["loc"][:1] == ("files",) else fault["loc"][:1]
        if keys not in told:
            told.add(keys)
            rule = next((_RULE_OF_KEY[key] for key in keys if key in _RULE_OF_KEY), pep691.SHAPE)
            where = ".".join(map(str, keys)) or "the page"
            yield rule.broken(document.url, f"{where}: {fault['msg']}")


def _file(document: Document, file: schema.File) -> FileLink:
    url, _ = absolute(document.final_url, file.url)
    return FileLink(
        page=document.url,
        form=Form.JSON,
        text=file.filename,
        filename=file.filename,
        url=url,
        hashes=file.hashes,
        requires_python=file.requires_python,
        core_metadata=_core_metadata(file.core_metadata),
        legacy_metadata=None,
        yanked=None if file.yanked is False else "" if file.yanked is True else file.yanked,
        size=None if file.size is None else str(file.size),
        upload_time=file.upload_time,
        provenance=file.provenance,
        signature=None if file.gpg_sig is None else str(file.gpg_sig).lower(),
    )


def _core_metadata(value: bool | dict[str, str] | None) -> str | None:  # noqa: FBT001 - a value of JSON
    """As the attribute of HTML has it."""
    if isinstance(value, dict):
        name = "sha256" if "sha256" in value else min(value, default="")
        return f"{name}={value[name]}" if name else "true"
    return "true" if value else None
