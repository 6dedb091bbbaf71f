"""upstream.yml under act: what can be updated reaches the pull request, and what cannot is told there."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.real.act import Host, new_host
from tests.real.conftest import sampled

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """It has neither facts nor images of its own, nor a lock."""
    with new_host(tmp_path_factory.mktemp("host")) as made:
        yield made


@pytest.fixture
def log(host: Host) -> Path:
    """What the stand-ins are asked for, of which there is nothing yet."""
    host.log.unlink(missing_ok=True)
    return host.log


def test_what_changed_is_proposed_and_a_failed_step_does_not_hold_it_up(host: Host, log: Path) -> None:
    # The tools of the new lock would be installed into the environment that runs this test.
    (host.repository / "scripts" / "setup").write_text("#!/bin/sh\necho set up >&2\n")
    host.run("workflow_dispatch", "upstream")
    first, *lines = log.read_text().splitlines()
    assert first == "pull request from upstream"
    assert lines[0] == "config/packages.lock"  # and requirements.lock where a tool has a newer release
    said = "\n".join(lines[1:])
    for part in (
        *("set up", "there is no config/compatibility.yml", "there is no config/torch-symbols.gz"),
        *("there is no config/images.yml", "requirements of 2 packages"),
        *("a wheel of each of the three packages that cost least", "gh workflow run ci.yml --ref upstream"),
        "gh workflow run request.yml --ref upstream --field base=",
    ):
        assert part in said
    assert (host.artifacts / "upstream" / "upstream.patch").stat().st_size


@sampled(
    ("cron", "workflow"),
    [
        ("17 3 * * 1", "wheels"),
        ("41 5 * * 3", "upstream"),
        ("29 4 * * 0", "downloads"),
        ("53 1 * * *", "nightly"),
        ("11 */6 * * *", "newest"),
    ],
    ("29 4 * * 0", "downloads"),
)
def test_a_schedule_starts_a_workflow_once_a_variable_says_so(cron: str, workflow: str, host: Host, log: Path) -> None:
    host.run("schedule", "schedule", payload={"schedule": cron})
    assert not log.exists()
    switched_on = replace(host, variables=host.variables | {"WHEELMILL_SCHEDULE": "true"})
    switched_on.run("schedule", "schedule", payload={"schedule": cron})
    assert log.read_text() == f"gh workflow run {workflow}.yml --ref main\n"
