"""upstream.yml under act: what can be updated reaches the pull request, and what cannot is told there."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.real.act import new_host

pytestmark = pytest.mark.real


def test_what_changed_is_proposed_and_a_failed_step_does_not_hold_it_up(tmp_path: Path) -> None:
    with new_host(tmp_path) as host:  # has neither facts nor images of its own, nor a lock
        # The tools of the new lock would be installed into the environment that runs this test.
        (host.repository / "scripts" / "setup").write_text("#!/bin/sh\necho set up >&2\n")
        host.run("workflow_dispatch", "upstream")
        first, *lines = host.log.read_text().splitlines()
        assert first == "pull request from upstream"
        assert lines[0] == "config/packages.lock"  # and requirements.lock where a tool has a newer release
        said = "\n".join(lines[1:])
        for part in (
            "set up",
            "there is no config/compatibility.yml",
            "there is no config/torch-symbols.gz",
            "there is no config/images.yml",
            "requirements of 2 packages",
            "a wheel of each of the three packages that cost least",
            "gh workflow run ci.yml --ref upstream",
            "gh workflow run request.yml --ref upstream --field base=",
        ):
            assert part in said
        assert (host.artifacts / "upstream" / "upstream.patch").stat().st_size


def test_a_schedule_starts_workflows_once_a_variable_says_so(tmp_path: Path) -> None:
    with new_host(tmp_path) as host:
        monday, wednesday, sunday = ({"schedule": cron} for cron in ("17 3 * * 1", "41 5 * * 3", "29 4 * * 0"))
        host.run("schedule", "schedule", payload=monday)
        assert not host.log.exists()
        switched_on = replace(host, variables=host.variables | {"WHEELMILL_SCHEDULE": "true"})
        for due in (monday, wednesday, sunday):
            switched_on.run("schedule", "schedule", payload=due)
        started = [f"gh workflow run {name}.yml --ref main" for name in ("wheels", "upstream", "downloads")]
        assert host.log.read_text().splitlines() == started
