"""What options say of the inputs of a command."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.refusals import Coded, coded
from wheelmill.cli.factory.inputs import (
    BuildOptions,
    FilterOptions,
    PlaceOptions,
    SandboxKind,
    own_config_at,
    place_at,
    store_at,
    use_clones,
)
from wheelmill.config.model.container_builder import installed_builder
from wheelmill.errors import BuildError, UsageError
from wheelmill.names import PythonVersion
from wheelmill.plan.targets import Filters
from wheelmill.system import git, own_installation

URL = "https://git.example/demo"


@pytest.mark.parametrize(
    ("texts", "refusal"),
    [
        ([URL], coded("clone-invalid", "--clone", f"'{URL}'")),
        (["=."], coded("clone-invalid", "--clone", "'=.'")),
        ([f"{URL}=nowhere"], coded("clone-absent", "--clone", "nowhere")),
        ([f"{URL}=.", f"{URL}=.."], coded("clone-twice", f"--clone: {URL}")),
    ],
)
def test_a_clone_that_means_nothing_is_refused(texts: list[str], refusal: Coded) -> None:
    with pytest.raises(UsageError, check=refusal), use_clones(texts):
        pytest.fail("it went on")


def test_an_unasked_clone_is_named_also_after_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BuildError), use_clones([f"{URL}={tmp_path}"]):
        raise BuildError("build-failed", "another address is in packages.yml")
    assert capsys.readouterr().err.startswith(f"warning: --clone {URL}: ")


def test_what_was_asked_for_is_not_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git.run_git(tmp_path, "init", "--quiet")
    with use_clones([f"{URL}.git={tmp_path}"]):
        assert git.find_commit(URL, "v1") is None
    assert capsys.readouterr().err == ""


def test_without_botocore_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("botocore", "wheelmill.release.s3."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "botocore", None)  # as if it were not installed
    with pytest.raises(UsageError, check=coded("s3-not-installed", "botocore", "pip install 'wheelmill[s3]'")):
        store_at("s3:wheels")


@pytest.mark.parametrize("projects", [[""], ["", ""], [","]])
def test_a_command_that_needs_a_project_takes_an_empty_one_for_none(projects: list[str]) -> None:
    with pytest.raises(UsageError, check=coded("value-absent", "project")):
        FilterOptions().for_this_machine(projects)
    assert FilterOptions().for_this_machine(["demo", ""]).projects == ("demo",)
    assert FilterOptions().of([""]).projects == ()


@pytest.mark.parametrize(
    ("store", "code", "fact"),
    [("nowhere", "place-invalid", "github:OWNER/REPO"), ("dir:/nowhere", "folder-absent", "/nowhere")],
)
def test_a_store_that_is_none_is_told_with_its_option(store: str, code: str, fact: str) -> None:
    with pytest.raises(UsageError, check=coded(code, "--to", fact)):
        store_at(store, option="--to", must_exist=True)


@pytest.mark.parametrize(
    ("sandbox", "pythons", "bounded"),
    [("docker", (), True), ("docker", ("3.13t",), True), ("local", (), True), ("local", ("3.13t",), False)],
)
def test_only_a_python_that_is_named_for_this_machine_needs_no_builder_in_containers(
    sandbox: str, pythons: tuple[str, ...], *, bounded: bool
) -> None:
    wanted = Filters(pythons=tuple(map(PythonVersion.parse, pythons)))
    for options in (PlaceOptions, BuildOptions):
        narrowed = options(sandbox=SandboxKind(sandbox)).narrow(wanted)
        assert narrowed == replace(wanted, builder=installed_builder() if bounded else None)


def test_the_shipped_configuration_is_ones_own_if_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = own_installation.CONFIG
    link = tmp_path / "link"
    link.symlink_to(shipped)
    monkeypatch.chdir(tmp_path)
    assert own_config_at(None) is None
    for spelling in (shipped, link, shipped / ".." / shipped.name):
        config = own_config_at(spelling)
        assert config is not None
        assert config.packages


def test_a_folder_with_a_packages_own_file_stands_for_it(tmp_path: Path) -> None:
    (tmp_path / "wheelmill.yml").touch()
    assert place_at(tmp_path) == tmp_path / "wheelmill.yml"
    (tmp_path / "packages.yml").touch()
    assert place_at(tmp_path) == tmp_path
