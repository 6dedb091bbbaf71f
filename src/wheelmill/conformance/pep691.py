"""PEP 691: the simple index in JSON.

https://peps.python.org/pep-0691/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from packaging.utils import canonicalize_name

from wheelmill.conformance.finding import Finding, Rule, fails, installs
from wheelmill.conformance.pages import FileLink, Form, ProjectDetail, ProjectList

CONTENT_TYPE: Final = Rule(
    number="691.1",
    says="A page has one of the three content types of the API.",
    section="Content-Types",
    pip=fails("skips the page with a warning: no matching distribution"),
    uv=fails("unsupported content type"),
)
SHAPE: Final = Rule(
    number="691.2",
    says="A page in JSON has the keys of the API, with values of their types.",
    section="JSON Serialization",
    pip=installs("in part: a file without hashes is installed unchecked"),
    uv=fails("refuses the page"),
)
NAME: Final = Rule(
    number="691.3",
    says="name is the normalized name of the project.",
    section="Project Detail",
    pip=installs("does not look at it"),
    uv=installs("does not look at it"),
)
SAME_PROJECTS: Final = Rule(
    number="691.4",
    says="The project list is the same in HTML and JSON.",
    section="Version + Format Selection",
    pip=installs("never reads the project list"),
    uv=installs("never reads the project list"),
)
SAME_FILES: Final = Rule(
    number="691.5",
    says="A project's page lists the same files with the same attributes in HTML and JSON.",
    section="Version + Format Selection",
    pip=installs("by what the JSON says"),
    uv=installs("by what the JSON says"),
)

RULES: Final = (CONTENT_TYPE, SHAPE, NAME, SAME_PROJECTS, SAME_FILES)

HTML_TYPES: Final = ("text/html", "application/vnd.pypi.simple.v1+html")

_COMPARED: Final = ("url", "hashes", "requires_python", "core_metadata", "yanked", "provenance")


def of_detail(page: ProjectDetail) -> Iterator[Finding]:
    """What a project's page breaks."""
    if page.name is not None and page.name != page.project:
        yield NAME.broken(page.document.url, f"name is {page.name!r}, not {page.project!r}")


def of_lists(pages: list[ProjectList]) -> Iterator[Finding]:
    """How project lists of different forms differ."""
    if len({page.form for page in pages}) < len(Form):
        return
    html, json = sorted(pages, key=lambda page: page.form)
    names = [{canonicalize_name(project.text) for project in page.projects} for page in (html, json)]
    if names[0] != names[1]:
        yield SAME_PROJECTS.broken(html.document.url, f"only one form lists {', '.join(sorted(names[0] ^ names[1]))}")


def of_details(pages: list[ProjectDetail]) -> Iterator[Finding]:
    """How pages of different forms differ."""
    if len({page.form for page in pages}) < len(Form):
        return
    html, json = ({file.filename: file for file in page.files} for page in sorted(pages, key=lambda page: page.form))
    url = pages[0].document.url
    for filename in sorted(html.keys() | json.keys()):
        if filename not in html or filename not in json:
            yield SAME_FILES.broken(url, f"only one form lists {filename}")
        elif names := _different(html[filename], json[filename]):
            yield SAME_FILES.broken(url, f"HTML and JSON differ about {filename}: {', '.join(names)}")


def _different(html: FileLink, json: FileLink) -> list[str]:
    """Which attributes differ. HTML has room for one hash only."""
    return [
        name.replace("_", "-")
        for name in _COMPARED
        if (left := getattr(html, name)) != (right := getattr(json, name))
        and not (name == "hashes" and left and left.items() <= right.items())
    ]
