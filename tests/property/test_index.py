"""Any wheels make an index that a client reads back as they are: in HTML, in JSON, and in every tree."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby

from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from pypi_simple import DistributionPackage, IndexPage, ProjectPage

from tests.property.test_wheel_names import tags
from tests.releases import NO_CODE
from wheelmill.config.model.files import Listing, Yanked
from wheelmill.index.collect import site_of_releases
from wheelmill.index.render import pages_of
from wheelmill.index.site.pages import site_pages
from wheelmill.index.tree import Site
from wheelmill.names import ReleaseTag, Sha256, project_name
from wheelmill.release.manifest import record
from wheelmill.release.manifest.record import ListedRelease, ManifestEntry
from wheelmill.release.manifest.rules import listed_of
from wheelmill.smoke.verdict import Certificate
from wheelmill.wheel.name import WheelName

BASE = "https://example.org/releases"
EVIDENCE = replace(NO_CODE, sass=("sm_90",))

labels = st.sampled_from(
    ["", "+cu128", "+cu130", "+cu128torch2.10", "+cu130torch2.9", "+cu130torch2.11", "+pt211cu130"]
)
names = st.builds(
    lambda project, version, label, build, tags: WheelName(
        project=project, version=Version(version + label), build=build, tags=tags
    ),
    project=st.sampled_from(["demo", "demo-2", "plain-cuda"]).map(project_name),
    version=st.sampled_from(["1.0", "1.10", "1.9", "2.0rc1"]),
    label=labels,
    build=st.sampled_from([(), (1, ""), (2, "a")]),
    tags=tags,
)
reasons = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1).filter(str.strip)


def entry_of(name: WheelName, requires_python: str | None) -> ManifestEntry:
    """An entry of a manifest; METADATA is the same for all wheels of a version."""
    sha256 = Sha256(hashlib.sha256(name.filename.encode()).hexdigest())
    return ManifestEntry(
        filename=name.filename,
        sha256=sha256,
        size=int(sha256[:6], 16) + 1,
        metadata_sha256=Sha256(hashlib.sha256(str(name.version).encode()).hexdigest()),
        name=name.project,
        version=str(name.version),
        requires_python=requires_python,
        requires_dist=(),
        certificate=Certificate(sha256=sha256, evidence=EVIDENCE, clean_rooms=(), provenance=None),
    )


entries = st.lists(names, max_size=12, unique_by=lambda name: name.filename).flatmap(
    lambda wheels: st.sampled_from([None, ">=3.9", "<4,>=3.11"]).map(
        lambda requires: tuple(entry_of(name, requires) for name in wheels)
    )
)


def manifest_of(wheels: tuple[ManifestEntry, ...], day: int) -> ListedRelease:
    published = datetime(2026, 11, 20 + day, tzinfo=UTC)
    return listed_of(record.manifest_of(ReleaseTag(f"v2026-11-2{day}"), wheels, now=published))


def site_of(wheels: tuple[ManifestEntry, ...], listing: Listing) -> Site:
    """The site of two releases that share these wheels."""
    halves = (wheels[::2], wheels[1::2])
    return site_of_releases([manifest_of(half, day) for day, half in enumerate(halves)], BASE, listing)


def rendered(site: Site) -> Mapping[str, bytes]:
    return {path: b"".join(pieces) for path, pieces in pages_of(site)}


def read(pages: Mapping[str, bytes], folder: str, project: str) -> tuple[ProjectPage, ProjectPage]:
    """A project's page in both forms."""
    html = pages[f"{folder}/{project}/index.html"]
    of_json = json.loads(pages[f"{folder}/{project}/index.json"])
    return ProjectPage.from_html(project, html), ProjectPage.from_json_data(of_json)


def said(package: DistributionPackage) -> tuple[object, ...]:
    """What both forms say of a file."""
    requires = SpecifierSet(package.requires_python) if package.requires_python else None
    return (package.filename, package.url, package.digests, package.metadata_digests, requires, package.yanked_reason)


@given(entries, st.dictionaries(st.integers(0, 11), reasons))
def test_pages_say_what_manifests_say(wheels: tuple[ManifestEntry, ...], yanked: Mapping[int, str]) -> None:
    reason_of = {wheel.filename: yanked[number] for number, wheel in enumerate(wheels) if number in yanked}
    pages = rendered(site_of(wheels, Listing(yanked=Yanked(wheels=reason_of))))
    by_project = sorted(wheels, key=lambda wheel: (wheel.name, wheel.filename))
    assert IndexPage.from_html(pages["simple/index.html"]).projects == sorted({wheel.name for wheel in wheels})
    for project, expected in groupby(by_project, key=lambda wheel: wheel.name):
        html, of_json = read(pages, "simple", project)
        assert [said(package) for package in html.packages] == [said(package) for package in of_json.packages]
        for package, wheel in zip(html.packages, expected, strict=True):
            assert package.filename == wheel.filename
            assert package.digests == {"sha256": wheel.sha256}
            assert package.metadata_digests == {"sha256": wheel.metadata_sha256}
            assert package.requires_python == wheel.requires_python
            assert package.yanked_reason == reason_of.get(wheel.filename)
            assert package.is_yanked == (wheel.filename in reason_of)


@given(entries)
def test_trees_part_the_wheels_by_their_labels(wheels: tuple[ManifestEntry, ...]) -> None:
    """A wheel with torch stands in one tree of its CUDA, one without torch in all of them, and all in the widest."""
    trees = {
        tree.path: {file.filename for files in tree.projects.values() for file in files}
        for tree in site_of(wheels, Listing()).trees
    }
    assert trees[""] == {wheel.filename for wheel in wheels}
    for wheel in wheels:
        label = WheelName.parse(wheel.filename).label
        narrow = {path for path in trees if path and wheel.filename in trees[path]}
        if label is None:
            assert narrow == set()
        elif label.torch:
            assert narrow == {label.cuda.tag, f"{label.cuda.tag}/torch{label.torch}"}
        else:
            assert narrow == {path for path in trees if path.split("/")[0] == label.cuda.tag}


@given(entries)
@settings(max_examples=settings().max_examples // 4)
def test_the_order_of_releases_and_wheels_does_not_matter(wheels: tuple[ManifestEntry, ...]) -> None:
    sites = [site_of_releases([manifest_of(each, 1)], BASE) for each in (wheels, wheels[::-1])]
    assert rendered(sites[0]) == rendered(sites[1])
    people = [{path: b"".join(pieces) for path, pieces in site_pages(site)} for site in sites]
    assert people[0] == people[1]
