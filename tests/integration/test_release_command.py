"""``wheelmill release``: only what was tested, and nothing twice."""

from pathlib import Path

import pytest

from tests.github_server import REPOSITORY, GitHub, serving
from tests.integration.conftest import Command
from tests.unit.release.conftest import certified_wheel, everything_in
from tests.wheels import write_wheel
from wheelmill.release.directory import DirectoryStore
from wheelmill.smoke.verdict import certificate_path
from wheelmill.system.files import sha256_of
from wheelmill.system.record_files import write_record

NAME = "demo-1.0-py3-none-any.whl"


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A folder with one tested wheel."""
    wheel = certified_wheel(tmp_path / "wheels" / NAME)
    write_record(certificate_path(wheel.file.path), wheel.certificate)
    return tmp_path / "wheels"


def release(python: Command, wheels: Path, *, exit_code: int = 0) -> str:
    store = f"dir:{wheels.parent / 'releases'}"
    return python("-m", "wheelmill", "release", wheels, "--store", store, exit_code=exit_code).stderr


def test_a_tested_wheel_is_released_once(python: Command, wheels: Path) -> None:
    store = DirectoryStore(directory=wheels.parent / "releases")
    said = release(python, wheels)
    (manifest,) = store.manifests()
    assert manifest.tag in said
    assert NAME in said
    before = everything_in(store.directory)
    assert "nothing to release" in release(python, wheels)
    assert everything_in(store.directory) == before


def test_an_untested_wheel_is_named_and_the_others_are_released(python: Command, wheels: Path) -> None:
    untested = write_wheel(wheels / "untested-1.0-py3-none-any.whl")
    said = release(python, wheels, exit_code=6).splitlines()
    assert said[-2:] == [
        "error: not released:",
        f"untested-1.0-py3-none-any.whl was not tested: run 'wheelmill smoke {untested}' first",
    ]
    (manifest,) = DirectoryStore(directory=wheels.parent / "releases").manifests()
    assert [entry.filename for entry in manifest.wheels] == [NAME]


def test_a_wheel_that_changed_after_its_test_is_untested(python: Command, wheels: Path) -> None:
    write_wheel(wheels / NAME, files={"demo/more.py": b""})
    assert f"{NAME} was not tested" in release(python, wheels, exit_code=6)
    assert not (wheels.parent / "releases").exists()


def test_a_wheel_that_is_not_in_the_plan_is_refused(python: Command, wheels: Path) -> None:
    plan = wheels.parent / "plan.json"
    plan.write_text('{"shards": [], "waiting": []}')
    store = f"dir:{wheels.parent / 'releases'}"
    done = python("-m", "wheelmill", "release", wheels, "--store", store, "--plan", plan, exit_code=6)
    assert f"{NAME} is not in the plan" in done.stderr
    assert not (wheels.parent / "releases").exists()


def test_a_check_publishes_nothing(python: Command, wheels: Path) -> None:
    store = f"dir:{wheels.parent / 'releases'}"
    done = python("-m", "wheelmill", "release", wheels, "--store", store, "--check", exit_code=0)
    assert "every wheel may be released" in done.stderr
    assert not (wheels.parent / "releases").exists()


def test_a_store_of_no_known_kind_is_a_usage_error(python: Command, wheels: Path) -> None:
    done = python("-m", "wheelmill", "release", wheels, "--store", "ftp:somewhere", exit_code=2)
    assert done.stderr == "error: --store: expected dir:PATH or github:OWNER/REPO, not 'ftp:somewhere'\n"


def test_what_github_cannot_take_is_told_a_line_each(
    python: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"demo-1.{number}-cp311-cp311-manylinux_2_34_x86_64.whl" for number in range(2)]
    for name in names:
        wheel = certified_wheel(tmp_path / "wheels" / name)
        write_record(certificate_path(wheel.file.path), wheel.certificate)
    with serving(GitHub()) as github:
        for variable, value in github.environment.items():
            monkeypatch.setenv(variable, value)
        argv = ("-m", "wheelmill", "release", tmp_path / "wheels", "--store", f"github:{REPOSITORY}")
        lines = python(*argv, exit_code=6).stderr.splitlines()
    assert lines[0] == "error: not released:"
    assert [line.split(" is for ")[0] for line in lines[1:]] == names
    assert github.state() == {"tags": {}, "releases": []}


def test_without_a_token_nothing_is_published(python: Command, wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(GitHub()) as github:
        for variable, value in {**github.environment, "GITHUB_TOKEN": ""}.items():
            monkeypatch.setenv(variable, value)
        argv = ("-m", "wheelmill", "release", wheels, "--store", f"github:{REPOSITORY}")
        assert "error: GITHUB_TOKEN is not set\n" in python(*argv, exit_code=2).stderr


@pytest.mark.parametrize(
    ("base_url", "href"),
    [((), "../../../releases/"), (("--base-url", "https://files.test/x"), "https://files.test/x/")],
)
def test_an_index_links_to_its_store_or_where_it_is_told(
    base_url: tuple[str, ...], href: str, python: Command, wheels: Path
) -> None:
    release(python, wheels)
    site = wheels.parent / "site"
    store = f"dir:{wheels.parent / 'releases'}"
    python("-m", "wheelmill", "index", "build", "--store", store, "--output", site, *base_url, exit_code=0)
    assert f'href="{href}v2' in (site / "simple" / "demo" / "index.html").read_text()


def test_wheels_are_not_below_a_query(python: Command, wheels: Path) -> None:
    release(python, wheels)
    folders = ("--store", f"dir:{wheels.parent / 'releases'}", "--output", wheels.parent / "site")
    done = python("-m", "wheelmill", "index", "build", *folders, "--base-url", "https://host.test/?to=", exit_code=7)
    assert done.stderr == "error: expected the URL of a folder, without ? or #, not 'https://host.test/?to='\n"


def test_the_site_has_the_list_of_sources_for_clients(python: Command, wheels: Path, tmp_path: Path) -> None:
    release(python, wheels)
    folders = ("--config", tmp_path / "config", "--output", tmp_path / "site")
    build = ("-m", "wheelmill", "index", "build", "--store", f"dir:{wheels.parent / 'releases'}", *folders)
    sources = tmp_path / "config" / "sources.yml"
    sources.parent.mkdir()
    sources.write_text("sources: {new: {ftp: 'ftp://host.test/'}}\n")
    assert "sources.yml:1:17: sources.new.ftp" in python(*build, exit_code=2).stderr
    sources.write_text("sources: {new: {simple: 'https://host.test/simple/'}}\n")
    python(*build, exit_code=0)
    assert (tmp_path / "site" / "sources.yml").read_bytes() == sources.read_bytes()
    assert (tmp_path / "site" / "sources.yml.sha256").read_text() == f"{sha256_of(sources)}  sources.yml\n"


def test_a_store_that_is_no_folder_is_named(python: Command, wheels: Path) -> None:
    (wheels.parent / "releases").write_text("a file")
    assert release(python, wheels, exit_code=2) == f"error: --store: there is no folder {wheels.parent / 'releases'}\n"


def test_an_index_is_not_made_of_a_store_that_is_not_there(python: Command, tmp_path: Path) -> None:
    build = ("-m", "wheelmill", "index", "build", "--store", f"dir:{tmp_path / 'typo'}", "--output", tmp_path / "site")
    assert python(*build, exit_code=2).stderr == f"error: --store: there is no folder {tmp_path / 'typo'}\n"
    assert not (tmp_path / "site").exists()
