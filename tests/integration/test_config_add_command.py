"""``wheelmill config add``: the entry is there, and nothing else changed."""

import functools
import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from tests.commands import ROOT
from tests.git_repositories import Commit, repository
from tests.integration.conftest import Command, publish
from wheelmill.config.load import load_config
from wheelmill.names import project_name

SETUP = """\
import os
import torch
from setuptools import setup
from torch.utils.cpp_extension import CUDAExtension
raise SystemExit("was run")
if os.getenv("FORCE_CUDA", "0") == "1":
    setup(name="demo", ext_modules=[CUDAExtension("demo._C", ["demo.cu"])])
"""
SOURCE = {
    "setup.py": SETUP,
    "demo.cu": "",
    "PKG-INFO": "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nLicense: MIT\n",
}
ENTRY = """\
  "demo":
    versions: ["1.0"]
    licence: "MIT"
    build_args: "--no-build-isolation"
    extra_deps: ["setuptools", "ninja", "wheel", "torch"]
    env: {FORCE_CUDA: "1"}
    test_import: ["torch", "demo._C"]
"""


@pytest.fixture
def config(index: Path, tmp_path: Path) -> Path:
    """A configuration with a comment, and an index with what builds require."""
    for name in ("ninja", "setuptools", "wheel"):
        publish(index, f"{name}-99.0-py3-none-any.whl")
    config = tmp_path / "config"
    config.mkdir()
    (config / "packages.yml").write_text('packages:\n  other: {versions: ["1.0"]} # kept\n')
    return config


ISSUE = """### Project

demo

### Versions

1.0

### Its name on the package index

None

### Description

###[error]all is lost

### Licence

MIT

### Build requirements

torch, wheel

### Anything else

A_B=1
It takes an hour.

### Checked

- [X] Its licence lets others be given the wheels
- [X] It has compiled CUDA code; a pure Python package needs no wheels from here
"""
REQUESTED = """\
  "demo":
    versions: ["1.0"]
    description: "###[error]all is lost"
    licence: "MIT"
    build_args: "--no-build-isolation"
    extra_deps: ["torch", "wheel"]
    test_import: ["torch", "demo._C"]
    env: {FORCE_CUDA: "1", A_B: "1"}
"""
"""Answers where there are some, and the rest from the source."""


def test_a_request_is_surveyed_added_and_locked(python: Command, config: Path, index: Path, tmp_path: Path) -> None:
    publish(index, "demo-1.0.tar.gz", SOURCE)
    before = (config / "packages.yml").read_text()
    (tmp_path / "issue.md").write_text(ISSUE)
    add = ("-m", "wheelmill", "config", "add", "--config", config, "--from-issue", tmp_path / "issue.md")
    tried = python(*add, "--dry-run", exit_code=0)
    assert yaml.safe_load(tried.stdout) == yaml.safe_load(REQUESTED)
    assert (config / "packages.yml").read_text() == before
    done = python(*add, exit_code=0)
    assert (config / "packages.yml").read_text() == before + REQUESTED
    loaded = load_config(config)
    demo = loaded.packages[project_name("demo")]
    assert loaded.lock.source_of(demo, demo.versions[0])
    for said in (tried.stderr, done.stderr):
        assert "It takes an hour.\n" in said
        assert '"ninja"' in said  # the source imports what the answer leaves out
        assert "##[" not in said  # a command of a runner
    python(*add, exit_code=2).check_refused("entry-exists", "demo", "add the versions", "--replace")
    (config / "packages.lock").unlink()  # as after a kill between the two files
    python(*add, exit_code=2).check_refused("entry-exists", "'wheelmill config lock demo'", "--replace")


def test_a_contradicted_issue_is_noted_by_line(python: Command, config: Path, index: Path, tmp_path: Path) -> None:
    publish(index, "demo-1.0.tar.gz", SOURCE)
    (tmp_path / "issue.md").write_text(ISSUE.replace("\nMIT\n", "\nApache-2.0\n"))
    add = ("-m", "wheelmill", "config", "add", "--config", config, "--from-issue", tmp_path / "issue.md")
    printed = json.loads(python(*add, "--dry-run", "--json", exit_code=0).stdout)
    assert printed["entry"]["licence"] == "Apache-2.0"
    (guess,) = [each for each in printed["guesses"] if each["key"] == "licence"]
    assert guess["file"] == "PKG-INFO"
    assert '"MIT"' in guess["says"]


def test_a_range_is_surveyed_at_its_newest_version(python: Command, config: Path, index: Path, tmp_path: Path) -> None:
    publish(index, "demo-1.0.tar.gz", SOURCE)
    publish(index, "demo-2.0.tar.gz", {"setup.py": "setup(name='demo')"})
    (tmp_path / "issue.md").write_text(ISSUE.replace("\n1.0\n", "\n<2\n"))
    add = ("-m", "wheelmill", "config", "add", "--config", config, "--from-issue", tmp_path / "issue.md")
    python(*add, exit_code=0)
    assert load_config(config).packages[project_name("demo")].versions == ("1.0",)
    python(*add, "--version", "2.0", exit_code=2).check_refused("no-build-needed", "setup.py:1")
    (tmp_path / "issue.md").write_text(ISSUE.replace("\n1.0\n", "\n>2\n"))
    python(*add, exit_code=2).check_refused("no-source-distribution", ">2")


def test_an_unlockable_entry_is_not_written(python: Command, config: Path, index: Path, tmp_path: Path) -> None:
    publish(index, "demo-1.0.tar.gz", SOURCE)
    before = (config / "packages.yml").read_text()
    (tmp_path / "issue.md").write_text(ISSUE.replace("torch, wheel", "torch, nowhere"))
    add = ("-m", "wheelmill", "config", "add", "--config", config, "--from-issue", tmp_path / "issue.md")
    assert "nowhere" in python(*add, exit_code=2).stderr
    assert (config / "packages.yml").read_text() == before
    assert [each.name for each in config.iterdir()] == ["packages.yml"]


def test_a_repository_is_surveyed_at_its_newest_tag(python: Command, config: Path, index: Path, tmp_path: Path) -> None:
    newest = {**SOURCE, "setup.py": SETUP.replace("_C", "_D")}
    source = repository(Commit(SOURCE, tags=("v1.9",)), Commit(newest, tags=("v1.10",))).path
    answers = {
        "1.0\n": f"1.9, 1.10\n\n### Git repository\n\nfile://{source}@v{{version}}\n",
        "None\n": "other: it is another project's, or a placeholder\n",
    }
    text = functools.reduce(lambda text, each: text.replace(*each), answers.items(), ISSUE)
    (tmp_path / "issue.md").write_text(text)
    add = ("-m", "wheelmill", "config", "add", "--config", config, "--from-issue", tmp_path / "issue.md")
    done = python(*add, exit_code=0)
    assert '"absent"' in done.stderr  # what the index has, beside the answer
    package = load_config(config).packages[project_name("demo")]
    assert (package.versions, package.pypi, package.test_import) == (("1.9", "1.10"), "other", ("torch", "demo._D"))
    assert index.is_dir()


def test_a_request_forbids_redistribution(python: Command, config: Path, index: Path, tmp_path: Path) -> None:
    publish(index, "demo-1.0.tar.gz", SOURCE)
    (tmp_path / "issue.md").write_text(ISSUE.replace("MIT", "CC-BY-NC-4.0"))
    add = ("-m", "wheelmill", "config", "add", "--config", config, "--from-issue", tmp_path / "issue.md", "--dry-run")
    entry = yaml.safe_load(python(*add, exit_code=0).stdout)["demo"]
    assert (entry["licence"], entry["redistributable"]) == ("CC-BY-NC-4.0", False)


def test_a_hostile_request_changes_nothing(python: Command, tmp_path: Path) -> None:
    config = tmp_path / "config"
    shutil.copytree(ROOT / "config", config)
    before = (config / "packages.yml").read_bytes()
    (tmp_path / "issue.md").write_text(ISSUE.replace("demo", "$(id)"))
    add = ("-m", "wheelmill", "config", "add", "--config", config, "--from-issue", tmp_path / "issue.md")
    python(*add, exit_code=2).check_refused("configuration-invalid", "issue.md:1:1", "Project")
    assert (config / "packages.yml").read_bytes() == before


def test_a_project_is_added_as_its_source_says_and_locked(python: Command, config: Path, index: Path) -> None:
    publish(index, "demo-1.0.tar.gz", SOURCE)
    before = (config / "packages.yml").read_text()
    add = ("-m", "wheelmill", "config", "add", "demo", "--config", config)
    assert python(*add, "--dry-run", exit_code=0).stdout == ENTRY
    assert (config / "packages.yml").read_text() == before
    done = python(*add, exit_code=0)
    assert "setup.py:6" in done.stderr
    assert done.stderr.strip().endswith("now try it: wheelmill run demo --sample")
    assert (config / "packages.yml").read_text() == before + ENTRY
    loaded = load_config(config)
    assert loaded.lock.source_of(
        loaded.packages[project_name("demo")], loaded.packages[project_name("demo")].versions[0]
    )


@pytest.mark.parametrize(
    ("torches", "command"),
    [("torch>=2", "run demo --sample"), ("torch<2.8", "run demo --sample --torch 2.7"), ("torch<1", "plan demo --all")],
)
def test_the_command_after_an_entry(torches: str, command: str, python: Command, config: Path, index: Path) -> None:
    information = SOURCE["PKG-INFO"].replace("2.1", "2.2") + f"Requires-Dist: {torches}\n"
    publish(index, "demo-1.0.tar.gz", {**SOURCE, "PKG-INFO": information})
    (config / "packages.yml").write_text("defaults: {torch: '>=2.11'}\n" + (config / "packages.yml").read_text())
    done = python("-m", "wheelmill", "config", "add", "demo", "--config", config, exit_code=0)
    assert done.stderr.strip().removesuffix(" --skips").endswith(f"wheelmill {command}")


def test_an_entry_leaves_out_what_the_defaults_of_its_file_are(python: Command, config: Path, index: Path) -> None:
    publish(index, "demo-1.0.tar.gz", SOURCE)
    isolation = '    build_args: "--no-build-isolation"\n'
    (config / "packages.yml").write_text("defaults:\n" + isolation + (config / "packages.yml").read_text())
    add = ("-m", "wheelmill", "config", "add", "demo", "--config", config, "--dry-run")
    assert python(*add, exit_code=0).stdout == ENTRY.replace(isolation, "")
    printed = json.loads(python(*add, "--json", exit_code=0).stdout)
    assert "build_args" not in printed["entry"]
    assert "build_args" in [guess["key"] for guess in printed["guesses"]]


def test_an_entry_is_replaced_only_where_that_is_said(python: Command, config: Path, index: Path) -> None:
    publish(index, "demo-1.0.tar.gz", SOURCE)
    (config / "packages.yml").write_text(
        'packages:\n  "demo":\n    versions: ["0.1"]\n\n  other: {versions: ["1.0"]}\n'
    )
    add = ("-m", "wheelmill", "config", "add", "demo", "--config", config)
    assert "--replace" in python(*add, exit_code=2).stderr
    done = python(*add, "--replace", "--json", exit_code=0)
    said = json.loads(done.stdout)
    assert (said["schema"], said["project"]) == ("wheelmill.config-add/1", "demo")
    assert {"key": "env", "file": "setup.py", "line": 6, "says": "reads FORCE_CUDA, which '1' switches on"} in said[
        "guesses"
    ]
    text = (config / "packages.yml").read_text()
    assert text == f'packages:\n{ENTRY}\n  other: {{versions: ["1.0"]}}\n'


def test_two_entries_added_at_once_both_stay(python: Command, config: Path, index: Path, tmp_path: Path) -> None:
    publish(index, "demo-1.0.tar.gz", SOURCE)
    issue = tmp_path / "issue.md"
    publish(index, "another-1.0.tar.gz", SOURCE)
    issue.write_text(ISSUE.replace("demo", "another"))
    adds: tuple[tuple[str | Path, ...], ...] = (("demo",), ("--from-issue", issue))
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda x: python("-m", "wheelmill", "config", "add", *x, "--config", config, exit_code=0), adds))
    assert set(load_config(config).packages) == {"other", "demo", "another"}
    assert {each.name for each in config.iterdir()} == {"packages.yml", "packages.lock"}


@pytest.mark.parametrize(
    ("arguments", "code", "fact"),
    [
        (("pure",), "no-build-needed", "setup.py:1"),
        (("wheels",), "no-source-distribution", "wheels 2.0"),
        (("nowhere",), "no-source-distribution", "nowhere"),
        (("torch",), "source-unavailable", "torch"),
        (("demo", "--version", "7"), "no-source-distribution", "demo 7"),
        (("demo", "--subdirectory", "x"), "subdirectory-without-repository", "--subdirectory"),
        (("https://host.example/a/b@--upload-pack=x",), "origin-invalid", "--upload-pack=x"),
        (("ext::sh -c id",), "origin-invalid", "https://"),
        (("https://you:secret@host.example/a/b@v1",), "origin-invalid", "without a user"),
        ((), "nothing-named", "--from-issue"),
    ],
)
def test_what_cannot_be_added_is_refused_and_nothing_written(
    python: Command, config: Path, index: Path, arguments: tuple[str, ...], *, code: str, fact: str
) -> None:
    publish(index, "demo-1.0.tar.gz", SOURCE)
    publish(index, "pure-1.0.tar.gz", {"setup.py": "setup(name='pure')"})
    publish(index, "wheels-1.0.tar.gz", SOURCE)
    publish(index, "wheels-2.0-py3-none-any.whl")
    before = (config / "packages.yml").read_text()
    done = python("-m", "wheelmill", "config", "add", *arguments, "--config", config, exit_code=2)
    done.check_refused(code, fact)
    assert "secret" not in done.stderr
    assert (config / "packages.yml").read_text() == before


def test_a_subdirectory_is_added_at_its_commit(python: Command, config: Path, index: Path, tmp_path: Path) -> None:
    repository = tmp_path / "kernels"
    setup = SETUP.replace("ext_modules", "version=read(), ext_modules")
    for name, text in {"hopper/setup.py": setup, "hopper/demo.cu": "", ".gitmodules": ""}.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text)
    somebody = ("git", "-C", repository, "-c", "user.name=tests", "-c", "user.email=tests@example.org")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "first")):
        subprocess.run([*somebody, *arguments], check=True)
    commit = subprocess.run([*somebody, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    named = (f"file://{repository}", "--subdirectory", "./hopper/")
    add = ("-m", "wheelmill", "config", "add", *named, "--config", config)
    python(*add, exit_code=2).check_refused("version-unknown", "--version")
    done = python(*add, "--version", "3.0", exit_code=0)
    assert commit[:12] in done.stderr
    package = load_config(config).packages[project_name("demo")]
    assert vars(package.source) | {"git": ""} == {
        "git": "",
        "ref": commit,
        "submodules": True,
        "subdirectory": "hopper",
    }
    assert package.pypi == "absent"
    assert index.is_dir()
