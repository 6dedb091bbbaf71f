"""What ``wheelmill config add`` prints of an issue."""

from pathlib import Path

import yaml
from typer.testing import CliRunner

from tests.commands import ROOT
from wheelmill.cli.factory.config import app

ISSUE = """### Project

demo

### Versions

1.0

### Description

###[error]all is lost

### Licence

MIT

### Checked

- [X] Its licence lets others be given the wheels
- [X] It has compiled CUDA code; a pure Python package needs no wheels from here
"""


def test_an_entry_gives_a_runner_no_command_and_says_the_same(tmp_path: Path) -> None:
    (tmp_path / "issue.md").write_text(ISSUE)
    words = ["add", "--dry-run", "--config", str(ROOT / "config"), "--from-issue", str(tmp_path / "issue.md")]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert "##[" not in done.output
    entry = {"versions": ["1.0"], "description": "###[error]all is lost", "licence": "MIT", "build_args": ""}
    assert yaml.safe_load(done.stdout) == {"demo": entry}
