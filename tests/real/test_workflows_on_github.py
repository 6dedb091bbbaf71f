"""wheels.yml under act with the releases of a repository, on a server that is held to GitHub's own description."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.github_server import REPOSITORY, Answer, Call
from tests.real.act import killed_at, new_host
from tests.real.conftest import SHORT_PAUSES
from tests.real.github_description import Description

pytestmark = pytest.mark.real

WANTED = {"package": "wheelmill-demo", "python_versions": "3.12", "cuda_versions": "13.0", "platforms": "linux_x86_64"}


def outage_after_one_asset() -> Callable[[Call], Answer | None]:
    uploads = itertools.count()

    def answer(call: Call) -> Answer | None:
        is_over = call.method == "POST" and call.path.endswith("/assets") and next(uploads)
        return (502, {"Content-Type": "text/html"}, "<html>Unicorn!</html>") if is_over else None

    return answer


def test_each_end_of_a_job_is_taken_up_by_the_next_run_without_a_hand(tmp_path: Path) -> None:
    """A build that is killed, a release that breaks off, an index that is killed; and no cache is ever there."""
    with new_host(tmp_path, releases_on_github=True) as host:
        host.dispatch(WANTED, exit_code=1, **killed_at(".log"))
        assert "| `wheelmill-demo` | 0 of 1 | none | 1: ended without a report; another run builds" in host.summary()
        assert "Another run continues 1 group, as attempt 2 of 5." in host.summary()

        host.github.always = outage_after_one_asset()
        host.dispatch({"continues": "1"}, exit_code=1, **SHORT_PAUSES)
        host.github.always = lambda _call: None
        assert "| `wheelmill-demo` | 1 of 1 | none | 1: passed, and is not released; another run" in host.summary()
        (release,) = host.github.releases
        assert (release.draft, len(release.assets)) == (True, 1)

        released = host.dispatch({"continues": "2"}, exit_code=1, **killed_at("/simple/index.html"))
        assert "Main Build and smoke" not in released  # what the second run built is released
        tag = host.github.releases[0].tag
        assert f"| `wheelmill-demo` | 1 of 1 | 1 in {tag} | nothing: all is released |" in host.summary()
        assert "The index was not updated: what this run released is not listed yet." in host.summary()
        assert "Another run continues the index, as attempt 1 of 5." in host.summary()

        at_once = replace(host, environment={**host.environment, **SHORT_PAUSES})
        indexed = at_once.dispatch({"continues": "3"})
        assert host.summary() == "Nothing to build.\n\nNothing is left to do.\n"
        assert "findings: 0; read: 1 of 1 project page, 1 of 1 file" in indexed  # where the site is deployed
        started = [f"gh workflow run wheels.yml --ref main -f continues={run}" for run in (1, 2, 3)]
        assert host.dispatched() == started

        (release,) = host.github.releases
        assert not release.draft
        names = {asset.name for asset in release.assets}
        (wheel,) = (name for name in names if name.endswith(".whl"))
        assert names == {wheel, f"{wheel}.metadata", f"{wheel}.cdx.json", "manifest.json", "attestations.jsonl"}
        releases = f"{host.github.origin}/{REPOSITORY}/releases/download"
        assert host.installed_by_pip(tmp_path / "installed") == f"{releases}/{tag}/{wheel}"
        counted = at_once.run("workflow_dispatch", "downloads")
        assert "0  wheelmill-demo" in counted
        assert "findings: 0; read: 1 of 1 project page, 1 of 1 file" in counted
        assert Description().all_faults(host.github) == []
