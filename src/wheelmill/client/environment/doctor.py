"""Looking for what is wrong with a project and its environment. Nothing is changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from packaging.pylock import Pylock
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelmill.client.choose.fit import minimum_driver
from wheelmill.client.install.distributions import Distribution
from wheelmill.client.project.pyproject import Pyproject
from wheelmill.client.records import TargetEnvironment
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import WheelmillError
from wheelmill.names import ProjectName, StableTorch
from wheelmill.wheel.mangling import describe_symbol
from wheelmill.wheel.torch_need import words_for
from wheelmill.wheel.torch_window import TorchWindow

if TYPE_CHECKING:
    from wheelmill.web.client import Web


class DefectCode(StrEnum):
    """What kind of defect it is. The values are part of the command's JSON."""

    DRIVER = "driver"
    """The driver is too old for the installed CUDA."""
    CUDA = "cuda"
    """A wheel was built for another CUDA than the installed torch."""
    TORCH = "torch"
    """A wheel was built for another torch than the installed one."""
    ABI = "abi"
    """A wheel was built with another C++ ABI than the installed torch."""
    DUPLICATE = "duplicate"
    """A project is installed twice."""
    SHADOWED = "shadowed"
    """The usual package index may give another file than the one that was chosen."""
    URL = "url"
    """A wheel is not where it was."""
    SIZE = "size"
    """A wheel has another size than the lock says."""
    HASH = "hash"
    """Nothing says which bytes a wheel has."""


@dataclass(frozen=True, kw_only=True)
class Defect:
    """One thing that is wrong."""

    code: DefectCode
    subject: str
    detail: str


def defects_of_environment(
    environment: TargetEnvironment,
    installed: Iterable[Distribution],
    facts: Compatibility,
    windows: Mapping[ProjectName, TorchWindow],
) -> Iterator[Defect]:
    """Compare what is installed with torch, and torch with the driver.

    Args:
        environment: the environment as it was detected.
        installed: every distribution, those too that another one of the same name hides.
        facts: the facts of ``compatibility.yml`` about CUDA and its drivers.
        windows: in which torches the code of each project could load, as far as that is known.
    """
    if environment.driver and environment.cuda:
        needed = minimum_driver(environment.cuda, facts)
        if needed and Version(environment.driver) < Version(needed):
            yield Defect(
                code=DefectCode.DRIVER,
                subject=f"driver {environment.driver}",
                detail=f"CUDA {environment.cuda} needs {needed} or newer: update it, or take torch for an older CUDA",
            )
    seen: dict[ProjectName, str] = {}
    for each in installed:
        project, version = each.project, each.version
        if project not in seen:
            seen[project] = version
            yield from _against_torch(each, environment, windows.get(project))
        elif seen[project] != version:
            yield Defect(
                code=DefectCode.DUPLICATE,
                subject=project,
                detail=f"{seen[project]} and {version} are both installed; uninstall both, then install one",
            )


def _against_torch(
    installed: Distribution, environment: TargetEnvironment, window: TorchWindow | None
) -> Iterator[Defect]:
    label, needed = installed.label, installed.torch
    subject = f"{installed.project} {installed.version}"
    cuda, torch = environment.cuda, environment.torch
    beside = torch in needed if torch and isinstance(needed, StableTorch) else needed == torch
    if installed.project != "torch" and torch and needed and not beside:
        detail = f"built for {words_for(needed)}, but {torch} is installed{f'; {window}' if window else ''}"
        yield Defect(code=DefectCode.TORCH, subject=subject, detail=detail)
    elif torch and window and (lacking := window.lacking(torch)):
        detail = f"{window}; {torch}, which is installed, lacks {describe_symbol(lacking[0])}"
        yield Defect(code=DefectCode.TORCH, subject=subject, detail=detail)
    if cuda and label.cuda_major and label.cuda_major != cuda.major:
        detail = f"built for CUDA {label.cuda_major}, but the installed torch is for CUDA {cuda}"
        yield Defect(code=DefectCode.CUDA, subject=subject, detail=detail)
    if None not in (label.cxx11_abi, environment.cxx11_abi) and label.cxx11_abi != environment.cxx11_abi:
        yield Defect(code=DefectCode.ABI, subject=subject, detail="built with another C++ ABI than the installed torch")


def defects_of_project(pyproject: Pyproject) -> Iterator[Defect]:
    """Look at how a project names what was added to it."""
    sources = {canonicalize_name(name) for name in pyproject.table("tool", "uv", "sources") or {}}
    asked = {canonicalize_name(each.name) for each in pyproject.asked}
    for requirement in pyproject.requirements:
        name = canonicalize_name(requirement.name)
        if requirement.url:
            if requirement.url.endswith(".whl"):
                yield Defect(code=DefectCode.HASH, subject=name, detail=f"no #sha256= in the URL {requirement.url}")
        elif name in asked and name not in sources:
            yield Defect(
                code=DefectCode.SHADOWED,
                subject=name,
                detail="no URL and no entry in tool.uv.sources: the default index may have another file",
            )


def defects_of_lock(lock: Pylock, web: Web) -> Iterator[Defect]:
    """Ask for every wheel of a lock, without reading them."""
    for package in lock.packages:
        for wheel in package.wheels or ():
            if wheel.url and not wheel.url.startswith("file:"):
                yield from _defects_of_url(wheel.filename, wheel.url, wheel.size, web)


def defects_of_project_urls(pyproject: Pyproject, web: Web) -> Iterator[Defect]:
    """Ask for the wheels that a project names by their URL, without reading them."""
    for requirement in pyproject.requirements:
        if requirement.url and requirement.url.startswith("http"):
            yield from _defects_of_url(
                canonicalize_name(requirement.name), requirement.url.partition("#")[0], None, web
            )


def _defects_of_url(subject: str, url: str, size: int | None, web: Web) -> Iterator[Defect]:
    try:
        answer = web.get(url, span="0-0")
        if not answer.ok:
            yield Defect(code=DefectCode.URL, subject=subject, detail=f"{url}: {answer.outcome}")
        elif size is not None and answer.size not in (None, size):
            detail = f"{url} has {answer.size} bytes, but the lock says {size}"
            yield Defect(code=DefectCode.SIZE, subject=subject, detail=detail)
    except WheelmillError as error:
        yield Defect(code=DefectCode.URL, subject=subject, detail=str(error))
