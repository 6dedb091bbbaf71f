"""docs/add-a-package.md in a stranger's clone, set up by scripts/quickstart: its commands print what it shows."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands import ROOT
from tests.shown_commands import Shown, missing_in, shown_in
from tests.unit.test_documents import UNTESTED

pytestmark = [pytest.mark.real, pytest.mark.nightly]

PAGE = shown_in(ROOT / "docs" / "add-a-package.md")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the first command of the page makes, of this checkout as it is committed."""
    folder = tmp_path_factory.mktemp("stranger") / "wheelmill"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    return folder


def test_a_stranger_adds_a_package_by_the_page_alone(clone: Path) -> None:
    """With an empty home; uv's cache is shared, as torch is large."""
    uv_cache = os.environ.get("UV_CACHE_DIR", str(Path("~/.cache/uv").expanduser()))
    (home := clone.with_name("home")).mkdir()
    git = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org"}
    git |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in git.items()}
    without = {name: value for name, value in os.environ.items() if not name.startswith(("WHEELMILL_", "XDG_"))}
    environment = without | git | {"HOME": str(home), "UV_CACHE_DIR": uv_cache, "COLUMNS": "120"}
    path = f"{clone / '.venv' / 'bin'}:{os.environ['PATH']}"
    for each in runnable():
        done = subprocess.run(
            ["bash", "-c", each.command],
            cwd=clone,
            env=environment | {"PATH": path},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        assert (each.command, done.returncode) == (each.command, each.exit_code), done.stdout
        assert (each.command, missing_in(done.stdout, each.printed)) == (each.command, []), done.stdout


def runnable() -> Iterator[Shown]:
    """The commands of the page that need nothing but this machine; the clone is there."""
    return (it for it in PAGE if it.command not in UNTESTED and not it.command.startswith(("git clone", "export ")))
