"""wheels.yml under act with the releases of a repository: an emulator of GitHub's API that is not ours."""

from pathlib import Path

import pytest

from tests.github_server import REPOSITORY
from tests.real.act import killed_at, new_host
from tests.real.github_emulator import Description, emulator, npm_packages

pytestmark = pytest.mark.real

WANTED = {
    "package": "wheelmill-demo",
    "python_versions": "3.12",
    "cuda_versions": "13.0",
    "platforms": "linux_x86_64",
}


def test_each_end_of_a_job_is_taken_up_by_the_next_run_without_a_hand(tmp_path: Path) -> None:
    """A build that is killed, a release that breaks off, an index that is killed; and no cache is ever there."""
    modules = npm_packages()
    with emulator(modules, tmp_path) as front, new_host(tmp_path, front) as host:
        host.dispatch(WANTED, exit_code=1, **killed_at(".log"))
        assert "| `wheelmill-demo` | 0 of 1 | none | 1: ended without a report; another run builds" in host.summary()
        assert "Another run goes on with 1 group, as attempt 2 of 5." in host.summary()

        front.takes = 1
        host.dispatch({"continues": "1"}, exit_code=1, **killed_at(""))  # pauses are short
        front.takes = None
        assert "| `wheelmill-demo` | 1 of 1 | none | 1: passed, and is not released; another run" in host.summary()
        (draft,) = front.releases()
        assert draft["draft"]
        assert len(draft["assets"]) == 1

        released = host.dispatch({"continues": "2"}, exit_code=1, **killed_at("/simple/index.html"))
        assert "Main Build and smoke" not in released  # what the second run built is released
        tag = front.releases()[0]["tag_name"]
        assert f"| `wheelmill-demo` | 1 of 1 | 1 in {tag} | nothing: all is released |" in host.summary()
        assert "The index was not updated: what this run released is not listed yet." in host.summary()
        assert "Another run goes on with the index, as attempt 1 of 5." in host.summary()

        indexed = host.dispatch({"continues": "3"})
        assert host.summary() == "Nothing to build.\n\nNothing is left to do.\n"
        assert "findings: 0; read: 1 of 1 project page, 1 of 1 file" in indexed  # where the site is deployed
        started = [f"gh workflow run wheels.yml --ref main -f continues={run}" for run in (1, 2, 3)]
        assert host.dispatched() == started

        (release,) = front.releases()
        assert not release["draft"]
        names = {asset["name"] for asset in release["assets"]}
        (wheel,) = (name for name in names if name.endswith(".whl"))
        assert names == {wheel, f"{wheel}.metadata", f"{wheel}.cdx.json", "manifest.json", "attestations.jsonl"}
        releases = f"{front.origin}/{REPOSITORY}/releases/download"
        assert host.installed_by_pip(tmp_path / "installed") == f"{releases}/{tag}/{wheel}"
        counted = host.run("workflow_dispatch", "downloads")
        assert "0  wheelmill-demo" in counted
        assert "findings: 0; read: 1 of 1 project page, 1 of 1 file" in counted
        description = Description(modules)
        assert [fault for call in front.calls for fault in description.faults(call)] == []
