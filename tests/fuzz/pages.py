"""What the client and `index check` do with a page that was read."""

import json
from typing import Final

from packaging.requirements import Requirement
from packaging.version import Version

from wheelmill.client.choose.finder import Finder
from wheelmill.client.choose.fit import mismatches
from wheelmill.client.choose.resolve import read_facts
from wheelmill.client.lock.pins import pins_of
from wheelmill.client.records import Choice, Resolution, Search, Source, SourceKind, TargetEnvironment
from wheelmill.client.sources.forms import group_links
from wheelmill.client.sources.pages import PageCache, Pages
from wheelmill.conformance.rule import Document, ExaminedFile, FileContents
from wheelmill.conformance.rules import DETAIL_CHECKS, FILE_CHECKS
from wheelmill.conformance.simple_api import check_detail
from wheelmill.conformance.wheels import compare_requirements
from wheelmill.names import CudaVersion, Platform, PythonVersion, TorchVersion, project_name
from wheelmill.web.pages import Link, Page
from wheelmill.wheel.platforms import Libc

ADDRESS: Final = "https://index.example/simple/demo/"
TARGET: Final = TargetEnvironment(
    python=PythonVersion(3, 12),
    python_release="3.12.4",
    interpreter=None,
    platform=Platform.parse("linux_x86_64"),
    libc=Libc("glibc", 2, 34),
    torch=TorchVersion(2, 8),
    cuda=CudaVersion(12, 8),
)
DEMO: Final = project_name("demo")
FACTS: Final = read_facts()
SOURCE: Final = Source(name="fuzz", kind=SourceKind.FIND_LINKS, url=ADDRESS)


def answered(content: bytes = b"") -> Document:
    """A document of the index, as it was served."""
    return Document(url=ADDRESS, final_url=ADDRESS, status=200, content_type="", content=content)


def look_at_wheel(metadata: bytes) -> None:
    """Check a wheel with this METADATA."""
    file = ExaminedFile(
        link=Link("demo-1.0-py3-none-any.whl", "demo.whl", requires_python=">=3.9"),
        page=ADDRESS,
        url=ADDRESS,
        answer=answered(),
        is_there_escaped=False,
        digests=None,
        sidecar=None,
        inside=FileContents(dist_info=frozenset({"demo-1.0.dist-info/METADATA"}), metadata=metadata),
        provenance=None,
        signature=None,
        variants=None,
    )
    said = [violation.message for check in FILE_CHECKS for violation in check(file)]
    said += [violation.message for violation in compare_requirements(file, {(DEMO, Version("1.0")): ("", frozenset())})]
    json.dumps(said)


def look_at(page: Page) -> Page:
    """Choose from a page, and check it; returns it."""
    said = [message for check in DETAIL_CHECKS for _, message in check(page)]
    said += [message for _, message in check_detail(page, DEMO)]
    json.dumps([*said, *(fault.problem for fault in page.faults)], ensure_ascii=False).encode()
    with PageCache(None) as cache:
        groups = group_links((link.filename, link) for link in page.links)
        cache.store(ADDRESS, base=page.base, following=None, etag=None, modified=None, lifetime=600, groups=groups)
        finder = Finder(sources=[SOURCE], facts=FACTS, pages=Pages(cache, Search()), targets=[TARGET])
        for candidate in finder.all_candidates(DEMO):
            assert candidate.url.startswith(("https://", "http://"))
            reasons = [each.reason for each in mismatches(candidate, Requirement("demo>=1"), TARGET, FACTS)]
            assert all(reason.isprintable() for reason in reasons)
            choices = {DEMO: Choice(project=DEMO, candidate=candidate)}
            pins_of([Resolution(environment=TARGET, choices=choices, unresolved={})])
    return page
