"""What a person types first, on a machine that lacks something."""

import shutil
import subprocess
import sys
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


@pytest.mark.parametrize(
    ("lacks", "packages"),
    [("ensurepip", "python3-venv"), ("Python.h", "python3-dev"), ("import", "python3-venv python3-dev")],
)
def test_setup_names_every_package_of_python_that_is_missing(bare: Path, lacks: str, packages: str) -> None:
    python = bare / "python3"
    python.write_text(f'#!/bin/sh\ncase "$*" in *version_info*) exit 0;; *{lacks}*) exit 1;; esac\n')
    python.chmod(0o755)
    done = run("setup", path=bare)
    assert done.returncode == 2
    assert done.stderr == f"error: python3 lacks its venv module or its headers: sudo apt-get install {packages}\n"


def test_the_tests_name_every_program_that_is_missing(bare: Path) -> None:
    done = run("test", path=bare)
    assert done.returncode == 2
    assert done.stderr == "error: tests need what is missing here: sudo apt-get install g++ jq patch\n"


@pytest.mark.parametrize("arguments", [(), ("torch-spline-conv", "1.2.2", "3.12"), tuple("abcdef")])
def test_build_wheel_shows_its_usage(arguments: tuple[str, ...]) -> None:
    done = run("build_wheel.sh", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: scripts/build_wheel.sh PACKAGE VERSION PYTHON CUDA [TORCH]\n")


CHANGELOG = """# Changelog

## [Unreleased]

- not yet

## [1.2.0] - 2026-12-01

### Added

- this

```
## [1.1.0] is only shown
```

## 1.1.0

- that

## [1.0.0]
"""
NOTES = {"1.2.0": "### Added\n\n- this\n\n```\n## [1.1.0] is only shown\n```", "1.1.0": "- that"}


def test_the_notes_of_a_release_are_its_section_of_the_changelog(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "release_notes.py", tmp_path / "scripts")
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)

    def notes(version: str, tag: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "pyproject.toml").write_text(f'[project]\nversion = "{version}"\n')
        argv = [sys.executable, str(tmp_path / "scripts" / "release_notes.py"), tag]
        return subprocess.run(argv, capture_output=True, text=True, check=False)

    for version, expected in NOTES.items():
        assert notes(version, f"wheelmill-{version}").stdout == f"{expected}\n"
    for version in ("1.0.0", "1.2", "3.0"):
        done = notes(version, f"wheelmill-{version}")
        assert done.returncode == 1
        assert done.stderr.startswith(f"error: CHANGELOG.md says nothing of {version}, ")
    assert "so the tag is wheelmill-1.2.0, not wheelmill-1.1.0" in notes("1.2.0", "wheelmill-1.1.0").stderr
