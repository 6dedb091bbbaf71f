"""What a person types first, on a machine that lacks something."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(script: str, *arguments: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(path), "HOME": str(path)} if path else None
    argv = [str(ROOT / "scripts" / script), *arguments]
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A PATH with a shell's own programs and nothing to compile or interpret with."""
    for name in ("sh", "dirname", "cat", "cksum"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    return tmp_path


def test_quickstart_names_the_install_line_for_a_missing_compiler(bare: Path) -> None:
    done = run("quickstart", path=bare)
    assert done.returncode == 2
    assert done.stderr == "error: a C++ compiler is needed: sudo apt-get install g++\n"


def test_setup_names_the_install_line_for_a_missing_python(bare: Path) -> None:
    done = run("setup", path=bare)
    assert done.returncode == 2
    assert "Python 3.11 or newer is needed" in done.stderr
    assert "sudo apt-get install python3" in done.stderr


@pytest.mark.parametrize("arguments", [(), ("torch-spline-conv", "1.2.2", "3.12"), tuple("abcdef")])
def test_build_wheel_shows_its_usage(arguments: tuple[str, ...]) -> None:
    done = run("build_wheel.sh", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: scripts/build_wheel.sh PACKAGE VERSION PYTHON CUDA [TORCH]\n")
