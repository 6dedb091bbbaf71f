"""``wheelmill config lock`` as a person meets it, with a package index of its own."""

from pathlib import Path

import pytest

from tests.integration.conftest import Command, publish
from wheelmill.config.load import load_config
from wheelmill.names import project_name, project_version
from wheelmill.system.files import sha256_of
from wheelmill.system.git import run_git

DEMO = project_name("demo")
SOURCE = {"pyproject.toml": '[build-system]\nrequires = ["ninja>=1", "torch==2.5"]\n'}


@pytest.fixture
def config(index: Path, tmp_path: Path) -> Path:
    """A configuration folder with a range of versions, all of which the index has."""
    publish(index, "demo-1.0.tar.gz", SOURCE)
    for platform in ("linux_x86_64", "linux_aarch64"):
        publish(index, f"ninja-1.0-py3-none-{platform}.whl")
    for name in ("setuptools", "wheel"):
        publish(index, f"{name}-99.0-py3-none-any.whl")
    config = tmp_path / "config"
    config.mkdir()
    (config / "packages.yml").write_text('packages: {demo: {versions: ">=1", extra_deps: [torch]}}\n')
    return config


def test_sources_and_requirements_are_locked_and_stay_so(python: Command, config: Path, index: Path) -> None:
    done = python("-m", "wheelmill", "config", "lock", "--config", config, exit_code=0)
    assert done.stdout == ""
    lock = load_config(config).lock
    sdist = lock.sdists[DEMO][project_version("1.0")]
    assert sdist.sha256 == sha256_of(index / "demo" / sdist.sdist)
    assert sdist.requires == ("ninja>=1", "torch==2.5")
    pins = {pin.requirement: pin.sha256 for pin in lock.requirements[DEMO].pinned}
    assert list(pins) == ["ninja==1.0", "setuptools==99.0", "wheel==99.0"]
    assert pins["ninja==1.0"] == tuple(sorted(sha256_of(wheel) for wheel in (index / "ninja").glob("*.whl")))

    first = (config / "packages.lock").read_bytes()
    publish(index, "demo-2.0.tar.gz", SOURCE)
    publish(index, "ninja-2.0-py3-none-any.whl")
    python("-m", "wheelmill", "config", "lock", "--config", config, exit_code=0)
    assert (config / "packages.lock").read_bytes() == first

    python("-m", "wheelmill", "config", "lock", "demo", "--upgrade", "--config", config, exit_code=0)
    upgraded = load_config(config)
    assert upgraded.packages[DEMO].versions == ("1.0", "2.0")
    assert upgraded.lock.requirements[DEMO].pinned[0].requirement == "ninja==2.0"


def test_other_bytes_under_the_hash_of_the_index_are_not_read(python: Command, config: Path, index: Path) -> None:
    (index / "demo" / "demo-1.0.tar.gz").write_bytes(b"other")
    done = python("-m", "wheelmill", "config", "lock", "--config", config, exit_code=9)
    assert "demo-1.0.tar.gz" in done.stderr
    assert not (config / "packages.lock").exists()


def test_requirements_that_do_not_fit_together_change_nothing(python: Command, config: Path) -> None:
    entry = '{versions: ["1.0"], extra_deps: ["ninja<1"]}'
    (config / "packages.yml").write_text(f"packages: {{demo: {entry}}}\n")
    done = python("-m", "wheelmill", "config", "lock", "--config", config, exit_code=2)
    assert "(ninja<1, ninja>=1, setuptools, wheel)" in done.stderr
    assert not (config / "packages.lock").exists()


def test_a_commit_is_locked_from_a_clone(python: Command, config: Path, tmp_path: Path) -> None:
    clone, url = tmp_path / "clone", "https://127.0.0.1:9/demo.git"
    clone.mkdir()
    (clone / "pyproject.toml").write_text(SOURCE["pyproject.toml"])
    run_git(clone, "init", "--quiet")
    run_git(clone, "add", ".")
    run_git(clone, "-c", "user.name=tests", "-c", "user.email=tests@example.org", "commit", "--quiet", "-m", "first")
    run_git(clone, "tag", "v1.0")
    entry = f'{{versions: ["1.0"], pypi: absent, source: {{git: "{url}", ref: "v{{version}}"}}}}'
    (config / "packages.yml").write_text(f"packages: {{demo: {entry}}}\n")
    clones = (f"--clone={url}={clone}", f"--clone={url}2={clone}")
    done = python("-m", "wheelmill", "config", "lock", "--config", config, *clones, exit_code=0)
    (locked,) = load_config(config).lock.commits[DEMO].values()
    assert (locked.git, locked.requires) == (url, ("ninja>=1", "torch==2.5"))
    assert done.stderr.startswith(f"warning: --clone {url}2: no source and no submodule has this address\n")


def test_a_failure_is_named_and_the_others_are_locked(python: Command, config: Path, index: Path) -> None:
    publish(index, "other-1.0.tar.gz", SOURCE)
    entries = '{demo: {versions: ["1.0", "7.0"]}, missing: {versions: ["1.0"]}, other: {versions: ["1.0"]}}'
    (config / "packages.yml").write_text(f"packages: {entries}\n")
    done = python("-m", "wheelmill", "config", "lock", "--config", config, exit_code=2)
    assert "demo 7.0" in done.stderr
    assert "missing 1.0" in done.stderr
    assert list(load_config(config).lock.sdists) == ["other"]
