"""One file stands in the place of a configuration folder: that of a package which is built in its own repository."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.git_repositories import Commit, repository
from tests.refusals import faults_of
from wheelmill.config.load import load_config
from wheelmill.names import project_name
from wheelmill.system import own_installation

DEMO = project_name("demo")
ENTRY = "packages:\n  demo:\n    source: .\n"
PYPROJECT = '[project]\nname = "demo"\nversion = "1.2.3"\n'


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The checkout of a package, with its file."""
    files = {"wheelmill.yml": ENTRY, "pyproject.toml": PYPROJECT}
    return repository(Commit(files), checkout=True).copy(tmp_path / "demo")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The same without git, which is asked for the names of files alone."""
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "wheelmill.yml").write_text(ENTRY)
    (folder / "pyproject.toml").write_text(PYPROJECT)
    return folder


def test_its_source_is_the_checkout_and_its_version_what_that_says(checkout: Path) -> None:
    package = load_config(checkout / "wheelmill.yml").packages[DEMO]
    assert package.source == checkout
    assert package.versions == ("1.2.3",)


def test_facts_are_those_that_ship_whatever_else_the_repository_has(folder: Path) -> None:
    (folder / "images.yml").write_text("- cat.png\n")
    (folder / "compatibility.yml").write_text("browsers: all\n")
    own, shipped = load_config(folder / "wheelmill.yml"), load_config(own_installation.CONFIG)
    assert (own.compatibility, own.images) == (shipped.compatibility, shipped.images)


def test_its_lock_and_what_it_yanks_lie_beside_it(folder: Path) -> None:
    (folder / "wheelmill.lock").write_text("sdists: []\n")
    (folder / "yanked.yml").write_text("[]\n")
    assert [fault.partition(":")[0] for fault in faults_of(load_config, folder / "wheelmill.yml")] == [
        "wheelmill.lock",
        "yanked.yml",
    ]


@pytest.mark.parametrize(
    "pyproject", ["", '[project]\nname = "demo"\ndynamic = ["version"]\n', "[project]\nversion = 1\n"]
)
def test_a_version_that_the_build_computes_must_be_written_down(pyproject: str, folder: Path) -> None:
    (folder / "pyproject.toml").write_text(pyproject)
    assert faults_of(load_config, folder / "wheelmill.yml") == (
        "wheelmill.yml:2:3: packages.demo.versions: is required: neither its pyproject.toml nor a tag says a version",
    )
    (folder / "wheelmill.yml").write_text(ENTRY + '    versions: ["2.0"]\n')
    assert load_config(folder / "wheelmill.yml").packages[DEMO].versions == ("2.0",)


def tag(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("GITHUB_REF_TYPE", "tag")
    monkeypatch.setenv("GITHUB_REF_NAME", name)


@pytest.mark.parametrize("name", ["v1.2.3", "1.2.3", "v1.2.3-torch2.16", "v1.2.3-2", "nightly"])
def test_a_tag_may_be_of_the_planned_version_or_none(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tag(monkeypatch, name)
    assert load_config(folder / "wheelmill.yml").packages[DEMO].versions == ("1.2.3",)


@pytest.mark.parametrize("versions", ["", '    versions: ["1.2.3"]\n'])
def test_a_tag_of_another_version_is_a_fault(versions: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tag(monkeypatch, "v1.2.4-torch2.16")
    (folder / "wheelmill.yml").write_text(ENTRY + versions)
    (fault,) = faults_of(load_config, folder / "wheelmill.yml")
    assert "demo.versions: is 1.2.3, and the tag v1.2.4-torch2.16 is of 1.2.4" in fault


def test_one_tag_may_be_of_one_of_several_packages(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tag(monkeypatch, "v2.0")
    (folder / "wheelmill.yml").write_text(ENTRY + '  other:\n    source: .\n    versions: ["2.0"]\n')
    assert len(load_config(folder / "wheelmill.yml").packages) == 2


def test_tags_of_a_factory_are_of_none_of_its_packages(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tag(monkeypatch, "v9")
    (folder / "wheelmill.yml").rename(folder / "packages.yml")
    for name in ("compatibility.yml", "images.yml"):
        shutil.copy(own_installation.CONFIG / name, folder)
    assert load_config(folder).packages[DEMO].versions == ("1.2.3",)


TOOLS = {
    "setuptools-scm": 'requires = ["setuptools_scm[toml]>=8"]\n[project]\ndynamic = ["version"]\n',
    "hatch-vcs": 'requires = ["hatchling", "hatch-vcs"]\n[project]\ndynamic = ["version"]\n',
    "pdm-backend": 'requires = ["pdm-backend"]\n[tool.pdm.version]\nsource = "scm"\n',
    "poetry": 'requires = ["poetry-core", "poetry-dynamic-versioning"]\n',
}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_version_read_from_git_is_that_of_the_tag(tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"wheelmill.yml": ENTRY, "pyproject.toml": f"[build-system]\n{TOOLS[tool]}"}
    file = repository(Commit(files), checkout=True).copy(tmp_path / "demo") / "wheelmill.yml"

    def version() -> str:
        return str(load_config(file).packages[DEMO].versions[0])

    assert version() == "0.0.0"
    for name in ("v1.2", "v2026-11-22", "latest"):  # the last two are no versions
        subprocess.run(["git", "-C", file.parent, "tag", name], check=True)
    assert version() == "1.2"
    tag(monkeypatch, "v1.3.0rc1")
    assert version() == "1.3.0rc1"
    tag(monkeypatch, "v1.3.0-torch2.16")
    assert version() == "1.3.0"
    tag(monkeypatch, "nightly")
    (fault,) = faults_of(load_config, file)
    assert "demo.versions: is required: " in fault


def test_a_pyproject_that_is_no_toml_is_a_fault(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[project\n")
    (fault,) = faults_of(load_config, folder / "wheelmill.yml")
    assert fault.startswith("wheelmill.yml:3:5: packages.demo.source: the pyproject.toml of demo is not TOML: ")


def test_a_source_that_is_no_folder_must_have_versions(folder: Path) -> None:
    (folder / "wheelmill.yml").write_text("packages:\n  demo: {abi: none}\n")
    assert faults_of(load_config, folder / "wheelmill.yml") == (
        "wheelmill.yml:2:3: packages.demo.versions: is required",
    )


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    (fault,) = faults_of(load_config, tmp_path / "wheelmill.yml")
    assert fault.startswith("wheelmill.yml:1:1: cannot be read in ")


def test_links_of_what_git_ignores_may_lead_anywhere(checkout: Path) -> None:
    """A virtual environment in a checkout is full of them."""
    (checkout / ".gitignore").write_text(".venv/\n")
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / "python").symlink_to("/usr/bin/env")
    load_config(checkout / "wheelmill.yml")
    (checkout / "python").symlink_to("/usr/bin/env")
    (fault,) = faults_of(load_config, checkout / "wheelmill.yml")
    assert fault.startswith("wheelmill.yml:3:5: packages.demo.source: 'python' leads out of ")


def test_a_checkout_that_git_does_not_read_is_a_fault(checkout: Path) -> None:
    (checkout / ".git" / "HEAD").unlink()
    (fault,) = faults_of(load_config, checkout / "wheelmill.yml")
    assert fault.startswith("wheelmill.yml:3:5: packages.demo.source: git does not list the files of this checkout: ")
