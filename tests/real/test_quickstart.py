"""The README's first command, and the session that it shows, in a clone as a stranger has it; and the lock."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.real


def without_numbers(text: str) -> str:
    """Without versions and sizes, which differ between machines."""
    return re.sub(r"[0-9]+([._][0-9]+)*", "N", text)


@pytest.fixture
def constrained(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine whose owner keeps to old releases of what set-up, builds and locks need."""
    (tmp_path / "constraints.txt").write_text("six<1.10\nsetuptools<1\n")
    (tmp_path / "uv").mkdir()
    (tmp_path / "uv" / "uv.toml").write_text('constraint-dependencies = ["six<1.10", "setuptools<1"]\n')
    constraints = str(tmp_path / "constraints.txt")
    return os.environ | {"PIP_CONSTRAINT": constraints, "UV_CONSTRAINT": constraints, "XDG_CONFIG_HOME": str(tmp_path)}


def test_the_lock_needs_no_environment_and_is_as_on_any_machine(tmp_path: Path, constrained: dict[str, str]) -> None:
    (tmp_path / "clone" / "scripts").mkdir(parents=True)
    shutil.copytree(ROOT / "tests" / "locks", tmp_path / "clone" / "tests" / "locks")
    for name in ("scripts/lock", "scripts/machine.sh", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path / "clone" / name)
    subprocess.run([tmp_path / "clone" / "scripts" / "lock"], env=constrained, check=True)
    locks = ("requirements.lock", *(f"tests/locks/{path.name}" for path in (ROOT / "tests" / "locks").iterdir()))
    assert [lock for lock in locks if (tmp_path / "clone" / lock).read_text() != (ROOT / lock).read_text()] == []
    assert not (tmp_path / "clone" / ".venv").exists()


def test_quickstart_goes_the_whole_way_and_leaves_a_clean_clone(tmp_path: Path, constrained: dict[str, str]) -> None:
    clone = tmp_path / "wheelmill"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    quickstart = [clone / "scripts" / "quickstart"]
    done = subprocess.run(quickstart, env=constrained, capture_output=True, text=True, check=False)
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
