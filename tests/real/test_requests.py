"""request.yml under act: what becomes of a pull request, and of a hostile one."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.act import Host, change_entry, folder_for_all, new_host, on_hosted_machine

pytestmark = pytest.mark.real

ONE_GROUP = ('python: "==3.12"', 'cuda: "==13.0"', "platforms: [linux_x86_64]")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with new_host(tmp_path_factory.mktemp("host")) as made:
        yield made


def opened(host: Host, *, branch: str = "x", by: str = "somebody", exit_code: int = 0, base: str = "") -> str:
    """Commit what was changed since a commit, open a pull request with it, and return what request.yml printed."""
    base = base or host.commit()
    pull = {"number": 1, "base": {"sha": base, "ref": "main"}, "head": {"ref": branch}}
    payload = {"number": 1, "pull_request": pull, "sender": {"login": by}}
    return host.run("pull_request", "request", payload=payload, exit_code=exit_code)


def commented(host: Host) -> str:
    """Have request-comment.yml run after request.yml, and return what it said."""
    run = {
        "id": int(host.artifacts.name),
        "event": "pull_request",
        "conclusion": "success",
        "html_url": "https://github.com/run/1",
        "head_sha": "c0ffee",
        "head_branch": "asks",
        "head_repository": {"owner": {"login": "somebody"}},
    }
    host.run("workflow_run", "request-comment", payload={"workflow_run": run})
    search, comment = host.log.read_text().splitlines()
    assert "--field head=somebody:asks" in search
    assert comment == "gh pr comment 7 --edit-last --create-if-none --body-file comment.md"
    return (host.artifacts / "comment.md").read_text()


def check_sample(host: Host) -> None:
    """See that the only group that a request planned has a good wheel."""
    assert host.planned() == ["wheelmill-demo-1.0.0+cu130-linux_x86_64"]
    (report,) = host.artifacts.glob("request-wheelmill-demo-*/reports/*.json")
    (wheel,) = json.loads(report.read_bytes())["wheels"]
    assert wheel["ok"]


def test_a_request_is_checked_planned_and_sampled(host: Host) -> None:
    change_entry(host.repository, "wheelmill-demo", *ONE_GROUP)
    assert "Build and smoke" in opened(host)
    check_sample(host)
    assert not list(host.served.glob("releases/*"))
    said = (host.artifacts / "comment" / "request.txt").read_text()
    for part in ("2 packages, no faults", "wheels to build: 1, in 1 job", "| 1 of 1 | passed |"):
        assert part in said
    assert [line.strip() for line in commented(host).splitlines()[2:]] == [line.strip() for line in said.splitlines()]


@pytest.mark.nightly
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_request_is_sampled_on_a_machine_as_githubs_own() -> None:
    with folder_for_all() as disk, new_host(disk / "host") as made:
        here = f'python: "=={sys.version_info.major}.{sys.version_info.minor}"'  # that machine has no other
        change_entry(made.repository, "wheelmill-demo", here, *ONE_GROUP[1:])
        base = made.commit()
        with on_hosted_machine(made, disk) as host:
            opened(host, base=base)
            check_sample(host)


def test_what_upstream_dispatched_is_built_once_and_what_a_person_pushes_there_too(host: Host) -> None:
    change_entry(host.repository, "wheelmill-demo-average", "nonsense: 1")
    printed = opened(host, branch="upstream", by="github-actions[bot]")
    assert "Check and plan" not in printed
    assert not list(host.artifacts.iterdir())
    change_entry(host.repository, "wheelmill-demo-average", "more: 1")
    assert "Check and plan" in opened(host, branch="upstream", by="somebody", exit_code=1)


def test_a_hostile_request_ends_at_config_and_nothing_of_it_is_run(host: Host, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with (host.repository / "config" / "packages.yml").open("a") as packages:
        packages.write(
            f'  "$(touch {trace})":\n    versions: ["1.0"]\n'
            f'  evil:\n    versions: ["`touch {trace}`"]\n    runner: self-hosted\n'
            '    description: "${{ secrets.GITHUB_TOKEN }}\\n::set-output name=plan::x"\n'
        )
    printed = opened(host, exit_code=1)
    said = (host.artifacts / "comment" / "request.txt").read_text()
    for fault in ("packages.$(touch", "evil.versions", "evil.runner: expected one of GitHub's own", "evil.description"):
        assert fault in said
    assert "Build and smoke" not in printed
    assert not list(host.artifacts.glob("request-*/plan.json"))
    assert not trace.exists()
