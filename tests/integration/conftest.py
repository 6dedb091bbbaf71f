"""Running commands as a person does."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def python() -> Command:
    """Run Python with arguments in the checkout, and return what was printed."""

    def run(*arguments: str | Path, exit_code: int) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, *map(str, arguments)]
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == exit_code, done.stderr
        assert "Traceback" not in done.stderr
        return done

    return run
