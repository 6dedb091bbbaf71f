"""The README's first command, and the session that it shows, in a clone as a stranger has it."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.real


def without_numbers(text: str) -> str:
    """Without versions and sizes, which differ between machines."""
    return re.sub(r"[0-9]+([._][0-9]+)*", "N", text)


def test_quickstart_goes_the_whole_way_and_leaves_a_clean_clone(tmp_path: Path) -> None:
    clone = tmp_path / "wheelmill"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    done = subprocess.run([clone / "scripts" / "quickstart"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == (
        "pip installed and imported wheelmill-demo 1.0.0+cu130, uv wheelmill-demo 1.0.0+cu130"
    )
    results = clone / "out" / "quickstart"
    assert len(list(results.glob("wheels/*.whl"))) == 1
    assert len(list(results.glob("releases/v*/manifest.json"))) == 1
    assert (results / "site" / "cu130" / "simple" / "wheelmill-demo" / "index.html").exists()
    session = subprocess.run([clone / "scripts" / "session"], capture_output=True, text=True, check=True)
    shown = re.findall(r"```text\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert [without_numbers(text) for text in shown] == [without_numbers(session.stdout)]
    status = subprocess.run(["git", "status", "--porcelain"], cwd=clone, capture_output=True, text=True, check=True)
    assert status.stdout == ""
