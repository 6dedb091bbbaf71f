"""Asking whether the wheels that a lock or a project names are still where they were. None is downloaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from packaging.pylock import Pylock
from packaging.utils import canonicalize_name

from wheelmill.client.environment.faults import Fault, FaultCode
from wheelmill.client.project.pyproject import Pyproject
from wheelmill.errors import WheelmillError
from wheelmill.names import ProjectName
from wheelmill.web.client import Web


def faults_of_lock(lock: Pylock, web: Web) -> Iterator[Fault]:
    """Ask for every wheel of a lock, without reading it."""
    for package in lock.packages:
        for wheel in package.wheels or ():
            if wheel.url and not wheel.url.startswith("file:"):
                yield from _faults_of_url(wheel.filename, wheel.url, wheel.size, web)


def urls_of_project(pyproject: Pyproject) -> Mapping[ProjectName, str]:
    """The wheels that a project names by their URL."""
    return {
        canonicalize_name(requirement.name): requirement.url
        for requirement in pyproject.requirements
        if requirement.url and requirement.url.startswith("http")
    }


def faults_of_urls(urls: Mapping[ProjectName, str], web: Web) -> Iterator[Fault]:
    """Ask for wheels, without reading them."""
    for project, url in urls.items():
        yield from _faults_of_url(project, url.partition("#")[0], None, web)


def _faults_of_url(subject: str, url: str, size: int | None, web: Web) -> Iterator[Fault]:
    try:
        answer = web.get(url, span="0-0")
        if not answer.ok:
            yield Fault(code=FaultCode.URL, subject=subject, detail=f"{url}: {answer.outcome}")
        elif size is not None and answer.size not in (None, size):
            detail = f"{url} has {answer.size} bytes, but the lock says {size}"
            yield Fault(code=FaultCode.SIZE, subject=subject, detail=detail)
    except WheelmillError as error:
        yield Fault(code=FaultCode.URL, subject=subject, detail=str(error))
