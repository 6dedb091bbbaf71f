"""``wheelmill config add``: the entry is there, and nothing else changed."""

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.commands import ROOT
from tests.integration.conftest import Command, publish
from wheelmill.config.load import load_config
from wheelmill.names import project_name

ISSUE = """### Project

torch-demo

### Versions

1.0

### Licence

MIT

### Anything else

It takes an hour.

### Checked

- [X] Its licence lets others be given the wheels
- [X] It has compiled CUDA code; a pure Python package needs no wheels from here
"""


def test_a_request_is_added_below_the_others(python: Command, tmp_path: Path) -> None:
    config = tmp_path / "config"
    shutil.copytree(ROOT / "config", config)
    before = (config / "packages.yml").read_text()
    (tmp_path / "issue.md").write_text(ISSUE)
    add = ("-m", "wheelmill", "config", "add", "--config", config, "--from-issue", tmp_path / "issue.md")
    added = python(*add, exit_code=0).stderr
    assert "torch-demo" in added
    assert "It takes an hour.\n" in added
    after = (config / "packages.yml").read_text()
    assert after.startswith(before.rstrip("\n"))
    assert after.removeprefix(before.rstrip("\n")).strip().splitlines() == [
        '"torch-demo":',
        '    versions: ["1.0"]',
        '    licence: "MIT"',
        '    build_args: ""',  # the file's default is another
    ]
    python("-m", "wheelmill", "config", "check", config, exit_code=0)
    python(*add, exit_code=2).check_refused("entry-exists", "torch-demo", "--replace")


def test_a_request_that_is_only_tried_is_printed_and_not_added(python: Command, tmp_path: Path) -> None:
    config = tmp_path / "config"
    shutil.copytree(ROOT / "config", config)
    (tmp_path / "issue.md").write_text(ISSUE)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    add = ("-m", "wheelmill", "config", "add", "--config", config, "--from-issue", tmp_path / "issue.md", "--dry-run")
    shown = python(*add, exit_code=0)
    assert shown.stdout == '  "torch-demo":\n    versions: ["1.0"]\n    licence: "MIT"\n    build_args: ""\n'
    assert "It takes an hour." in shown.stderr
    printed = json.loads(python(*add, "--json", exit_code=0).stdout)
    entry = {"versions": ["1.0"], "licence": "MIT", "build_args": ""}
    assert (printed["project"], printed["entry"]) == ("torch-demo", entry)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_hostile_request_changes_nothing(python: Command, tmp_path: Path) -> None:
    config = tmp_path / "config"
    shutil.copytree(ROOT / "config", config)
    before = (config / "packages.yml").read_bytes()
    (tmp_path / "issue.md").write_text(ISSUE.replace("torch-demo", "$(id)"))
    add = ("-m", "wheelmill", "config", "add", "--config", config, "--from-issue", tmp_path / "issue.md")
    python(*add, exit_code=2).check_refused("configuration-invalid", "issue.md:1:1", "Project")
    assert (config / "packages.yml").read_bytes() == before


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


def test_an_entry_that_is_added_while_another_is_loses_neither(
    python: Command, config: Path, index: Path, tmp_path: Path
) -> None:
    publish(index, "demo-1.0.tar.gz", SOURCE)
    issue = tmp_path / "issue.md"
    issue.write_text(ISSUE)
    adds: tuple[tuple[str | Path, ...], ...] = (("demo",), ("--from-issue", issue))
    with ThreadPoolExecutor() as pool:
        list(
            pool.map(
                lambda add: python("-m", "wheelmill", "config", "add", *add, "--config", config, exit_code=0), adds
            )
        )
    assert set(load_config(config).packages) == {"other", "demo", "torch-demo"}
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
    assert (config / "packages.yml").read_text() == before


def test_a_folder_of_a_repository_is_added_at_its_newest_commit(
    python: Command, config: Path, index: Path, tmp_path: Path
) -> None:
    repository = tmp_path / "kernels"
    for name, text in {"hopper/setup.py": SETUP, "hopper/demo.cu": "", ".gitmodules": ""}.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text)
    somebody = ("git", "-C", repository, "-c", "user.name=tests", "-c", "user.email=tests@example.org")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "first")):
        subprocess.run([*somebody, *arguments], check=True)
    commit = subprocess.run([*somebody, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    add = ("-m", "wheelmill", "config", "add", f"file://{repository}", "--subdirectory", "hopper", "--config", config)
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
