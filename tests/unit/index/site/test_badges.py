"""Badges, as pictures and for shields."""

import json
import xml.etree.ElementTree as ET
from typing import Final

import jsonschema
import pytest

from tests.unit.index.conftest import Release
from tests.unit.index.site.test_pages import catalogue, people
from wheelmill.index.collect import site_of_releases
from wheelmill.index.site.badges import Badge, badge_of
from wheelmill.index.site.wheels import wheel_groups
from wheelmill.names import CudaVersion, TorchVersion, project_name

DEMO = project_name("demo")
ENDPOINT: Final = {
    "type": "object",
    "required": ["schemaVersion", "label", "message"],
    "additionalProperties": False,
    "properties": {
        "schemaVersion": {"const": 1},
        "label": {"type": "string"},
        "message": {"type": "string", "minLength": 1},
        "color": {"type": "string", "pattern": "^[0-9a-f]{6}$"},
    },
}
"""What shields asks of an endpoint: https://shields.io/badges/endpoint-badge."""


def badge(release: Release, *wheels: str, requires: tuple[str, ...] = ()) -> Badge:
    names = [f"demo-{each}-cp312-cp312-manylinux_2_28_x86_64.whl" for each in wheels]
    site = site_of_releases(release(*names, requires=requires), "")
    torches = {CudaVersion(13, 0): [TorchVersion(2, 10), TorchVersion(2, 11), TorchVersion(2, 12, 1)]}
    return badge_of(DEMO, {DEMO: wheel_groups(site.projects.get(DEMO, ()))}, torches)


GREEN, RED, GREY = "#0d7a66", "#a8431f", "#5d636b"


def test_the_newest_version_counts_and_of_it_the_newest_torch(release: Release) -> None:
    found = badge(release, "1.0+cu130torch2.9", "2.0+cu130torch2.9", "2.0+cu130torch2.11")
    assert (found.message, found.colour) == ("2.0, torch 2.11", GREEN)


def test_a_version_that_is_not_built_for_the_newest_torch_is_red(release: Release) -> None:
    found = badge(release, "1.0+cu130torch2.11", "2.0+cu130torch2.10")
    assert (found.message, found.colour) == ("2.0, torch 2.10", RED)


def test_what_needs_no_torch_is_green(release: Release) -> None:
    assert badge(release, "2.0+cu130") == Badge(message="2.0", colour=GREEN)


@pytest.mark.parametrize(("requires", "colour"), [("torch>=2.9", GREEN), ("torch>=2.9,<2.11", RED)])
def test_any_torch_of_a_range_is_green_where_the_newest_is_in_it(requires: str, colour: str, release: Release) -> None:
    found = badge(release, "2.0+cu130", requires=(requires,))
    assert found.message.startswith("2.0, any torch from 2.9")
    assert found.colour == colour


def test_every_package_has_a_badge_that_shields_takes(release: Release) -> None:
    pages = people(site_of_releases(release("demo-1.0+cu130torch2.11-cp312-cp312-linux_x86_64.whl"), ""), catalogue())
    badges = {path: content for path, content in pages.items() if path.endswith("/badge.json")}
    assert badges.keys() == {"packages/demo/badge.json", "packages/plain/badge.json"}
    for content in badges.values():
        jsonschema.validate(json.loads(content), ENDPOINT)
    assert json.loads(badges["packages/plain/badge.json"])["message"] == "none yet"


def test_a_picture_is_sound_and_hostile_text_stays_text() -> None:
    hostile = '</text><script>alert(1)</script>"&'
    picture = ET.fromstring(Badge(message=hostile, colour=GREY).svg)  # noqa: S314 - ours
    texts = [each.text for each in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["CUDA wheels", hostile]
    assert picture.find("{http://www.w3.org/2000/svg}title").text == f"CUDA wheels: {hostile}"  # type: ignore[union-attr]
    assert [each for each in picture.iter() if "script" in each.tag] == []
