"""What a person types first, on a machine that lacks something."""

import os
import shutil
import signal
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
    for name in ("sh", "dirname", "cat", "cksum", "grep"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    return tmp_path


def add_program(folder: Path, name: str, script: str = "") -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("script", ["quickstart", "test"])
@pytest.mark.parametrize(
    ("manager", "hint"), [("apt-get", "sudo apt-get install g++"), ("dnf", "sudo dnf install gcc-c++")]
)
def test_a_missing_compiler_is_named_with_its_install_line(manager: str, hint: str, script: str, bare: Path) -> None:
    add_program(bare, manager)
    done = run(script, path=bare)
    assert done.returncode == 2
    assert done.stderr == f"error: a C++ compiler is needed: {hint}\n"


@pytest.mark.parametrize(
    ("manager", "offers", "hint"),
    [
        ("apt-get", "python3.10 python3.10-dev", "sudo apt-get install python3 python3-venv python3-dev"),
        (
            "apt-get",
            "python3.9 python3.11 python3.10",
            "sudo apt-get install python3.11 python3.11-venv python3.11-dev",
        ),
        ("dnf", "", "sudo dnf install python3.12 python3.12-devel"),
    ],
)
def test_a_missing_python_is_named_with_one_that_is_here(manager: str, offers: str, hint: str, bare: Path) -> None:
    add_program(bare, manager)
    add_program(bare, "apt-cache", f"printf '%s\\n' {offers}")
    add_program(bare, "python3", "exit 1")  # it is too old
    done = run("setup", path=bare)
    assert done.returncode == 2
    assert done.stderr == f"error: Python 3.11 to 3.14 is needed; set PYTHON to it, or: {hint}\n"


@pytest.mark.parametrize(
    ("database", "owner", "hint"),
    [
        (
            "dpkg-query",
            "python3.11-minimal: /usr/bin/python3.11",
            "sudo apt-get install python3.11-venv python3.11-dev",
        ),
        ("rpm", "python3.12", "sudo dnf install python3.12-devel"),
        ("rpm", "python3", "sudo dnf install python3-devel"),
        ("none", "", "set PYTHON to one that has both"),
    ],
)
def test_a_python_without_venv_or_headers_names_packages(database: str, owner: str, hint: str, bare: Path) -> None:
    add_program(bare, database, f"echo '{owner}'")
    version, path = "*sys.argv*) exit 0", "*realpath*) echo /usr/bin/python3.11"
    add_program(bare, "python3", f'case "$*" in {version};; {path};; *) exit 1;; esac')
    done = run("setup", path=bare)
    assert done.returncode == 2
    assert done.stderr == f"error: {bare / 'python3'} lacks its venv module or its headers: {hint}\n"


LINTERS = ("mypy", "ruff", "deptry", "shellcheck", "hadolint", "zizmor")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of which every linter is content, and all tests pass."""
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    (tmp_path / "scripts").mkdir()
    for name in ("test", "machine.sh"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    add_program(tmp_path / "scripts", "setup")
    for name in LINTERS:
        add_program(programs, name, f'echo "$*" >> {tmp_path}/{name}.asked; echo "{name} is content"')
    add_program(programs, "python", "echo tests; echo 'all passed'")
    return tmp_path


def run_tests(checkout: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "CI"} | variables
    argv = [str(checkout / "scripts" / "test"), *arguments]
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)


def test_linters_that_find_nothing_say_nothing(checkout: Path) -> None:
    done = run_tests(checkout)
    assert (done.returncode, done.stdout, done.stderr) == (0, "tests\nall passed\n", "")
    assert {path.stem for path in checkout.glob("*.asked")} == set(LINTERS)


def test_what_linters_find_stands_before_the_closing_line_of_the_tests(checkout: Path) -> None:
    programs = checkout / ".venv" / "bin"
    for name in ("mypy", "zizmor"):
        add_program(programs, name, f"echo '{name} found this'; exit 1")
    done = run_tests(checkout)
    shown = ["tests", "all passed", "mypy found this", "zizmor found this", "all passed"]
    assert (done.returncode, done.stdout.splitlines()) == (1, shown)


@pytest.mark.parametrize("linter", ["exit 0", "exit 1"])
def test_tests_that_fail_decide_how_it_ends_and_get_its_arguments(linter: str, checkout: Path) -> None:
    add_program(checkout / ".venv" / "bin", "ruff", linter)
    add_program(checkout / ".venv" / "bin", "python", 'echo "$@"; exit 5')
    done = run_tests(checkout, "--real", "tests/a folder")
    assert done.returncode == 5
    assert done.stdout.splitlines()[0].endswith(" --real tests/a folder")


@pytest.mark.parametrize(("variables", "runs"), [({}, 1), ({"CI": "true"}, 2)])
def test_the_client_is_checked_for_windows_if_ci_is_set(variables: dict[str, str], runs: int, checkout: Path) -> None:
    run_tests(checkout, **variables)
    asked = (checkout / "mypy.asked").read_text().splitlines()
    assert len(asked) == runs
    assert any("--platform win32" in line for line in asked) == (runs == 2)


def test_an_interruption_ends_linters_and_tests(checkout: Path) -> None:
    """As by a terminal, which interrupts what is in the foreground; what a shell put in the background ignores it."""
    programs, started = checkout / ".venv" / "bin", checkout / "mypy.started"
    add_program(programs, "mypy", f"echo yes > {started}; exec sleep 60")
    add_program(programs, "python", f"until [ -s {started} ]; do sleep 0.01; done; echo ready; exec sleep 60")
    reader, writer = os.pipe()  # whoever was started has the writing end, until it is gone
    with os.fdopen(reader, "rb") as alive:
        argv = [
            "env",
            "--default-signal=INT",
            str(checkout / "scripts" / "test"),
        ]  # these tests may be in the background
        with subprocess.Popen(argv, stdout=subprocess.PIPE, pass_fds=[writer], start_new_session=True) as process:
            os.close(writer)
            assert process.stdout
            assert process.stdout.readline() == b"ready\n"
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait() == 130
        assert alive.read() == b""


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
