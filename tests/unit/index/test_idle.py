"""Lines of yanked.yml and removed.yml that are about no wheel are named, with the wheel that may be meant."""

from packaging.requirements import Requirement

from tests.unit.index.conftest import EVERY_KIND, Release
from wheelmill.config.model import Listing, Removed, Status, StatusEntry, Yanked
from wheelmill.index.idle import idle_lines
from wheelmill.names import project_name

TORCH_211, _, _, NO_TORCH, _ = EVERY_KIND
GONE = "gone-1.0-py3-none-any.whl"
IDLE = "so the line does nothing"


def test_lines_about_wheels_that_there_are_say_nothing(release: Release) -> None:
    listing = Listing(
        removed=Removed(wheels={TORCH_211: "broken", GONE: "its release is gone"}),
        yanked=Yanked(
            wheels={NO_TORCH: "slow"},
            versions={Requirement("demo>=1.0"): "old"},
            projects={project_name("demo"): StatusEntry(status=Status.ARCHIVED, reason="done")},
        ),
    )
    assert list(idle_lines(listing, release(*EVERY_KIND), [GONE])) == []


def test_a_mistyped_wheel_is_named_with_the_one_that_may_be_meant(release: Release) -> None:
    mistyped = TORCH_211.replace("cp311-cp311", "cp311-cp310")
    listing = Listing(removed=Removed(wheels={mistyped: "broken"}), yanked=Yanked(wheels={GONE: "broken"}))
    assert list(idle_lines(listing, release(*EVERY_KIND), [])) == [
        f"removed.yml: wheels.{mistyped}: no release has that wheel, {IDLE}; did you mean {TORCH_211}?",
        f"yanked.yml: wheels.{GONE}: no release has that wheel, {IDLE}",
    ]


def test_versions_and_projects_without_a_wheel_are_named(release: Release) -> None:
    quarantined = StatusEntry(status=Status.QUARANTINED, reason="it steals")
    listing = Listing(
        yanked=Yanked(
            versions={Requirement("demo==1.1"): "slow", Requirement("demmo==1.0"): "slow"},
            projects={project_name("plain-cudda"): quarantined},
        )
    )
    assert list(idle_lines(listing, release(*EVERY_KIND), [])) == [
        f"yanked.yml: versions.demo==1.1: no release has such a wheel, {IDLE}",
        f"yanked.yml: versions.demmo==1.0: no release has such a wheel, {IDLE}; did you mean demo?",
        f"yanked.yml: projects.plain-cudda: no release has a wheel of it, {IDLE}; did you mean plain-cuda?",
    ]
