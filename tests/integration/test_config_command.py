"""``wheelmill config check`` as a person meets it."""

import json
import shutil
from functools import partial
from pathlib import Path

import pytest

from tests.integration.conftest import Command
from tests.refusals import check_places
from wheelmill.config.load import load_config
from wheelmill.system import own_installation

BROKEN = Path(__file__).parents[1] / "data" / "broken"
CHECK = ("-m", "wheelmill", "config", "check")


@pytest.mark.parametrize("name", ["several-faults", "name-with-escape-character", "not-utf8"])
def test_faults_are_all_that_is_printed(python: Command, tmp_path: Path, name: str) -> None:
    shutil.copy(BROKEN / f"{name}.yml", tmp_path / "packages.yml")
    done = python(*CHECK, tmp_path, exit_code=2)
    assert done.stdout == ""
    assert "\x1b" not in done.stderr
    check_places(done.stderr.splitlines(), (BROKEN / f"{name}.expected").read_text().splitlines())


def test_faults_of_every_file_of_a_folder_are_printed(python: Command, tmp_path: Path) -> None:
    (tmp_path / "packages.yml").write_text("packages: []\n")
    (tmp_path / "compatibility.yml").write_text("- 13.0\n")
    (tmp_path / "packages.lock").write_text('sdists: {demo: "1.0"}\n')
    (tmp_path / "images.yml").write_text('plain: "docker.io/library/almalinux:8"\n')
    done = python(*CHECK, tmp_path, exit_code=2)
    assert done.stdout == ""
    expected = [
        *("packages.yml:1:1: packages", "compatibility.yml:1:1", "packages.lock:1:10: sdists.demo"),
        *("images.yml:1:1: manylinux", "images.yml:1:1: plain", "images.yml:1:1: cuda"),
    ]
    check_places(done.stderr.splitlines(), expected)


@pytest.mark.parametrize("name", ["config", "[bold]", "[/bold]"])
def test_a_folder_without_faults_is_named_as_it_is_written(python: Command, tmp_path: Path, name: str) -> None:
    directory = tmp_path / name
    shutil.copytree(own_installation.CONFIG, directory)
    done = python(*CHECK, directory, exit_code=0)
    assert done.stdout == ""
    assert done.stderr.startswith(f"{directory}: {len(load_config(directory).packages)} packages, ")


def test_a_git_source_that_is_not_locked_is_named_and_no_fault(python: Command, tmp_path: Path) -> None:
    source = 'source: {git: "https://git.example/demo", ref: "v{version}"}, pypi: absent'
    (tmp_path / "packages.yml").write_text(f'packages:\n  demo: {{versions: ["1.0", "2.0"], {source}}}\n')
    said = python(*CHECK, tmp_path, exit_code=0).stderr.splitlines()
    check_places(said, ["demo 1.0, 2.0", str(tmp_path)])
    assert "'wheelmill config lock demo'" in said[0]
    plan = python("-m", "wheelmill", "plan", "--config", tmp_path, "--store", f"dir:{tmp_path}", "--json", exit_code=0)
    assert {skip["kind"] for skip in json.loads(plan.stdout)["skips"]} >= {"not locked"}
    assert json.loads(plan.stdout)["targets"] == []


@pytest.mark.parametrize("missing", ["nowhere", "notes.txt"])
def test_a_folder_that_is_none_is_a_fault(python: Command, tmp_path: Path, missing: str) -> None:
    (tmp_path / "notes.txt").touch()
    (tmp_path / "packages.yml").write_text('packages: {demo: {versions: ["1.0"]}}\n')
    done = python(*CHECK, tmp_path / missing, exit_code=2)
    assert done.stderr.startswith("packages.yml:1:1: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", ["lock", "add --from-issue issue.md", "drift --write", "images --refresh --write"])
def test_no_shipped_file_is_written_outside(
    words: str, python: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WHEELMILL_CONFIG", raising=False)
    done = python("-m", "wheelmill", "config", *words.split(), cwd=tmp_path, exit_code=2)
    assert done.stdout == ""
    assert done.stderr.startswith("error: there is no folder ./config\nhint: change to a clone, begin ")
    done.check_refused("no-config-folder", "wheelmill init")


def test_a_fork_keeps_a_few_packages_and_those_that_they_require(python: Command, tmp_path: Path) -> None:
    folder = tmp_path / "config"
    shutil.copytree(own_installation.CONFIG, folder)
    packages = folder / "packages.yml"
    before = packages.read_bytes()
    only = partial(python, "-m", "wheelmill", "config", "only", "--config", str(folder))
    only("torch-spline-conv", "flash-atn", exit_code=2)
    assert packages.read_bytes() == before
    only("mamba_ssm", exit_code=0)
    checked = python("-m", "wheelmill", "config", "check", str(folder), exit_code=0)
    assert "2 packages, no faults" in checked.stderr
    assert [*load_config(folder).packages] == ["causal-conv1d", "mamba-ssm"]


def test_an_entry_without_its_lock_is_named_with_the_command_that_locks_it(python: Command, tmp_path: Path) -> None:
    (tmp_path / "packages.yml").write_text('packages: {demo: {versions: ["1.0"]}}\n')
    (said, _) = python(*CHECK, tmp_path, exit_code=0).stderr.splitlines()
    assert "'wheelmill config lock demo'" in said
