"""The package index that this machine is set to: the one that pip or uv would ask."""

from __future__ import annotations

import ast
import functools
import os
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from wheelmill.errors import ProcessError, WheelmillError
from wheelmill.system import process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pypi_simple import DistributionPackage, PyPISimple

    from wheelmill.names import ProjectName


TIMEOUT: Final = 60
"""Seconds without a byte."""


class PackageIndexError(WheelmillError):
    """The package index did not give what was asked for."""

    exit_code = 2


@functools.cache
def configured_index() -> str | None:
    """The URL that pip or uv is configured with; None when neither is, and libraries use their own default."""
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        if url := os.environ.get(name):
            return url
    try:
        listed = process.run([sys.executable, "-m", "pip", "config", "list"])
    except ProcessError:  # there is no pip beside this interpreter
        return None
    settings = dict(line.split("=", 1) for line in listed.splitlines() if "=" in line)
    quoted = settings.get("install.index-url") or settings.get("global.index-url")
    return str(ast.literal_eval(quoted)) if quoted else None


def sdists_of(project: ProjectName) -> tuple[DistributionPackage, ...]:
    """List a project's source distributions, yanked ones left out.

    Raises:
        PackageIndexError: the index has no such project or does not answer.
    """
    with index_client(project) as client:
        page = client.get_project_page(project, timeout=TIMEOUT)
    return tuple(file for file in page.packages if file.package_type == "sdist" and not file.is_yanked)


@contextmanager
def index_client(project: ProjectName) -> Iterator[PyPISimple]:
    """Ask the index about a project.

    Raises:
        PackageIndexError: it has no such project or does not answer.
    """
    import pypi_simple  # noqa: PLC0415 - factory extra
    from requests import RequestException  # noqa: PLC0415

    try:
        with pypi_simple.PyPISimple(configured_index() or pypi_simple.PYPI_SIMPLE_ENDPOINT) as client:
            yield client
    except pypi_simple.NoSuchProjectError:
        raise PackageIndexError(f"the package index has no project {project}") from None
    except RequestException as error:
        raise PackageIndexError(f"the package index does not answer: {_without_password(error)}") from None
    except (pypi_simple.UnsupportedContentTypeError, pypi_simple.UnsupportedRepoVersionError, ValueError) as error:
        said = _without_password(error)
        raise PackageIndexError(f"the package index answers with no page of {project}: {said}") from None


def _without_password(error: Exception) -> str:
    """What an error says, less the user in the addresses that it names."""
    return re.sub(r"//[^/@\s]+@", "//", str(error))
