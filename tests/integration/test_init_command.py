"""``wheelmill init`` as a maintainer meets it."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.conftest import Command, only_site
from tests.wheel_site import add_wheel
from wheelmill.index.serve import serve_folder

INIT = ("-m", "wheelmill", "init")
FROM = ("--from", "owner/wheelmill@v1")
PYPROJECT = '[build-system]\nrequires = []\n[project]\nname = "demo"\nversion = "1.0"\n'
SOURCE = {
    "pyproject.toml": PYPROJECT,
    "setup.py": 'setup(ext_modules=[Extension("demo._C", ["demo.cu"])])',
    "demo.cu": "",
}
FILES = {"wheelmill.yml", "wheelmill.lock", ".github/workflows/wheels.yml"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    checkout = tmp_path / "demo"
    checkout.mkdir()
    for name, text in SOURCE.items():
        (checkout / name).write_text(text)
    subprocess.run(["git", "init", "--quiet", checkout], check=True)
    return checkout


@pytest.fixture
def locked(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What every build needs is on an index of its own."""
    site = checkout.with_name("site")
    for name in ("setuptools", "setuptools_scm", "wheel"):
        add_wheel(site, f"{name}-80.0-py3-none-any.whl")
    with serve_folder(site) as url:
        for name, value in only_site(url, checkout.with_name("cache")).items():
            monkeypatch.setenv(name, value)
        yield


def files_in(checkout: Path) -> set[str]:
    found = (path.relative_to(checkout).as_posix() for path in checkout.rglob("*") if path.is_file())
    return {name for name in found if not name.startswith(".git/")} - SOURCE.keys()


@pytest.mark.usefixtures("locked")
def test_three_files_are_written_and_what_comes_next_works(python: Command, checkout: Path) -> None:
    done = python(*INIT, *FROM, cwd=checkout, exit_code=0)
    assert files_in(checkout) == FILES
    assert "wheelmill build demo --here" in done.stderr
    assert len({len(words) for words in re.findall(r"^  wheelmill .+  (?=[a-z])", done.stderr, re.MULTILINE)}) == 1
    assert python("-m", "wheelmill", "config", "check", cwd=checkout, exit_code=0).stderr == (
        "wheelmill.yml: 1 package, no faults\n"
    )
    assert (
        '"id": "demo-1.0+cu130-cp312-linux_x86_64"'
        in python("-m", "wheelmill", "plan", "--json", cwd=checkout, exit_code=0).stdout
    )


@pytest.mark.usefixtures("locked")
def test_a_version_from_git_must_be_the_tags(python: Command, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_tags = PYPROJECT.replace("requires = []", 'requires = ["setuptools-scm"]').replace("version =", "#")
    (checkout / "pyproject.toml").write_text(by_tags)
    python(*INIT, *FROM, cwd=checkout, exit_code=0)
    tag = {"GITHUB_REF_TYPE": "tag", "GITHUB_REF_NAME": "v2.5-torch2.16"}
    for name, value in tag.items():
        monkeypatch.setenv(name, value)
    plan = ("-m", "wheelmill", "plan", "--json")
    assert '"id": "demo-2.5+cu130-cp312-linux_x86_64"' in python(*plan, cwd=checkout, exit_code=0).stdout
    (checkout / "pyproject.toml").write_text(PYPROJECT)
    python(*plan, cwd=checkout, exit_code=2).check_refused("configuration-invalid", "demo", "1.0", "2.5")


def test_a_dry_run_shows_the_files_and_writes_nothing(python: Command, checkout: Path) -> None:
    done = python(*INIT, checkout, *FROM, "--dry-run", exit_code=0)
    assert files_in(checkout) == set()
    assert "uses: owner/wheelmill/.github/workflows/package.yml@v1\n" in done.stdout
    assert 'source: "."' in done.stdout
    assert "redistributable" not in done.stdout + done.stderr  # no licence is declared; its owner decides


@pytest.mark.parametrize("name", sorted(FILES))
def test_nothing_is_overwritten(name: str, python: Command, checkout: Path) -> None:
    (checkout / name).parent.mkdir(parents=True, exist_ok=True)
    (checkout / name).write_text("mine")
    done = python(*INIT, checkout, *FROM, exit_code=2)
    assert f"error: already there: {checkout / name}\n" in done.stderr
    assert files_in(checkout) == {name}


@pytest.mark.usefixtures("locked")
def test_what_a_command_that_broke_off_left_is_taken_up(python: Command, checkout: Path) -> None:
    shown = python(*INIT, *FROM, "--dry-run", cwd=checkout, exit_code=0).stdout.partition("# wheelmill.yml\n")[2]
    (checkout / "wheelmill.yml").write_text(shown.partition("\n# .github")[0])
    python(*INIT, checkout, *FROM, exit_code=0)
    assert files_in(checkout) == FILES


def test_nothing_is_written_through_a_link(python: Command, checkout: Path) -> None:
    others = checkout / "others"
    others.mkdir()
    (checkout / ".github").symlink_to(others)
    (checkout / "wheelmill.yml").symlink_to(checkout / "setup.py")
    done = python(*INIT, checkout, *FROM, exit_code=2)
    assert f"error: already there: {checkout / '.github'}, {checkout / 'wheelmill.yml'}\n" in done.stderr
    assert list(others.iterdir()) == []
    assert (checkout / "wheelmill.yml").is_symlink()


def test_a_file_in_the_place_of_a_folder_is_told_before_anything_is_written(python: Command, checkout: Path) -> None:
    (checkout / ".github").write_text("mine")
    python(*INIT, checkout, *FROM, exit_code=2).check_refused("file-exists")
    assert files_in(checkout) == {".github"}


def test_a_folder_that_is_no_checkout_is_told(python: Command, checkout: Path) -> None:
    (checkout / "part").mkdir()
    for name, text in SOURCE.items():
        (checkout / "part" / name).write_text(text)
    done = python(*INIT, checkout / "part", *FROM, "--dry-run", exit_code=0)
    assert f"\n{checkout / 'part'} is not the root of a checkout" in done.stderr


def test_the_workflow_calls_just_what_was_named(python: Command, checkout: Path) -> None:
    done = python(*INIT, checkout, "--from", "PREFAB/OWNER-REPO@REF/v1", "--dry-run", exit_code=0)
    assert "uses: PREFAB/OWNER-REPO/.github/workflows/package.yml@REF/v1\n" in done.stdout
    assert "continues: ${{ inputs.continues }}\n" in done.stdout


@pytest.mark.parametrize(
    "source",
    [
        *("*a/wheelmill@v1", "'a/wheelmill@v1", "owner/wheelmill", "wheelmill@v1", "o/w/x@v1", "o/w@v1 #", "o/w@"),
        "o/w@v1\nrun: x",
    ],
)
def test_a_source_that_is_none_is_refused(source: str, python: Command, checkout: Path) -> None:
    done = python(*INIT, checkout, "--from", source, exit_code=2)
    assert "error: --from: expected OWNER/REPO@REF, not " in done.stderr
    assert files_in(checkout) == set()
