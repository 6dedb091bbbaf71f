"""The action that anybody can check an index with, run by act."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broken_indexes import BROKEN, Spoil
from tests.good_index import good_index
from tests.real.act import PINNED, Host, new_host
from tests.real.conftest import ROOT
from tests.simple_server import Server, serving

pytestmark = pytest.mark.real

WORKFLOW = """
name: check
on: workflow_dispatch
jobs:
  check:
    runs-on: ubuntu-24.04
    steps:
      - uses: {checkout}
      - uses: owner/wheelmill/.github/actions/check-index@v1
        id: check
        with: {inputs}
      - run: cp "$REPORT" "{copy}"
        if: always()
        env:
          REPORT: ${{{{ steps.check.outputs.report }}}}
"""

_FACTORY = (ROOT / ".github" / "workflows" / "index.yml").read_text()
CHECKOUT = next(f"{action}@{commit}" for action, commit in PINNED.findall(_FACTORY) if action == "actions/checkout")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with new_host(tmp_path_factory.mktemp("host")) as made:
        yield made


def checked(host: Host, folder: Path, spoil: Spoil, *, exit_code: int, **inputs: str) -> tuple[str, str]:
    """What the job printed, and the report that a later step of it finds."""
    report = folder / "report"
    with serving(Server()) as server:
        index = good_index(folder, server.url)
        spoil(index)
        index.put_on(server)
        text = WORKFLOW.format(
            checkout=CHECKOUT, inputs=json.dumps({"url": f"{server.url}/simple/", **inputs}), copy=report
        )
        (host.repository / ".github" / "workflows" / "check.yml").write_text(text)
        ours = f"--local-repository=owner/wheelmill@v1={host.repository}"
        printed = host.run("workflow_dispatch", "check", ours, exit_code=exit_code)
    return printed, report.read_text()


def test_findings_fail_the_job_and_a_later_step_has_the_report(host: Host, tmp_path: Path) -> None:
    _, report = checked(host, tmp_path, BROKEN["658.3"], exit_code=1, format="sarif")
    assert [result["ruleId"] for result in json.loads(report)["runs"][0]["results"]] == ["658.3"]


def test_projects_of_an_index_without_a_list(host: Host, tmp_path: Path) -> None:
    projects = "demo\n  gone; $(touch hacked) \n"
    printed, _ = checked(host, tmp_path, BROKEN["503.1"], exit_code=1, project=projects)
    assert "error: " in printed
    assert not [*host.repository.rglob("hacked")]
    printed, report = checked(host, tmp_path, BROKEN["503.1"], exit_code=0, project="\nDemo\n")
    assert "findings: 0; read: 1 of 1 project page, 2 of 2 files" in printed
    assert report == ""
