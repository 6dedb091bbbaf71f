"""upstream.yml under act: what can be updated reaches the pull request, and what cannot is told there."""

from pathlib import Path

import pytest

from tests.real.act import new_host

pytestmark = pytest.mark.real


def test_what_changed_is_proposed_and_a_failed_step_does_not_hold_it_up(tmp_path: Path) -> None:
    with new_host(tmp_path) as host:  # has neither facts nor images of its own, nor a lock
        host.run("workflow_dispatch", "upstream")
        first, *lines = host.log.read_text().splitlines()
        assert first == "pull request from upstream"
        assert lines[0] == "config/packages.lock"
        said = "\n".join(lines[1:])
        for part in (
            "there is no config/compatibility.yml",
            "there is no config/torch-symbols.gz",
            "there is no config/images.yml",
            "requirements of 2 packages",
            "a wheel of each of the three packages that cost least",
            "gh workflow run request.yml --ref upstream --field base=",
        ):
            assert part in said
        assert (host.artifacts / "upstream" / "upstream.patch").stat().st_size
