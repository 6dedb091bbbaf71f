"""``wheelmill config add --from-issue``: the entry is there, and nothing else changed."""

import shutil
from pathlib import Path

from tests.commands import ROOT
from tests.integration.conftest import Command

ISSUE = """### Project

torch-demo

### Versions

1.0

### Licence

MIT
"""


def test_a_request_is_added_below_the_others(python: Command, tmp_path: Path) -> None:
    config = tmp_path / "config"
    shutil.copytree(ROOT / "config", config)
    before = (config / "packages.yml").read_text()
    (tmp_path / "issue.md").write_text(ISSUE)
    add = ("-m", "wheelmill", "config", "add", "--config", config, "--from-issue", tmp_path / "issue.md")
    assert "added torch-demo" in python(*add, exit_code=0).stderr
    after = (config / "packages.yml").read_text()
    assert after.startswith(before.rstrip("\n"))
    assert after.removeprefix(before.rstrip("\n")).strip().splitlines() == [
        '"torch-demo":',
        '    versions: ["1.0"]',
        '    licence: "MIT"',
    ]
    python("-m", "wheelmill", "config", "check", config, exit_code=0)
    assert "is in" in python(*add, exit_code=2).stderr


def test_a_hostile_request_changes_nothing(python: Command, tmp_path: Path) -> None:
    config = tmp_path / "config"
    shutil.copytree(ROOT / "config", config)
    before = (config / "packages.yml").read_bytes()
    (tmp_path / "issue.md").write_text(ISSUE.replace("torch-demo", "$(id)"))
    add = ("-m", "wheelmill", "config", "add", "--config", config, "--from-issue", tmp_path / "issue.md")
    assert "issue.md:1:1: Project: expected plain text without $" in python(*add, exit_code=2).stderr
    assert (config / "packages.yml").read_bytes() == before
