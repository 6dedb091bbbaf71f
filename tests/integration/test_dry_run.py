"""What would change is shown and nothing is changed; then it is changed, and told."""

import json
import os
import platform
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.commands import Done
from tests.integration.conftest import Command, only_site
from tests.trees import content_of
from tests.wheel_site import write_site
from wheelmill.client.install.distributions import InstallPlace
from wheelmill.client.project.journal import exclusive, roll_back_on_failure
from wheelmill.index.serve import serve_folder
from wheelmill.installers.uv import own_uv
from wheelmill.names import PythonVersion
from wheelmill.system import process

PYTHON = PythonVersion(*sys.version_info[:2])
TAG = f"{PYTHON.interpreter}-{PYTHON.abi}-linux_{platform.machine()}"
PROJECT = '[project]\nname = "fresh"\nversion = "0.1.0"\nrequires-python = ">=3.11"\ndependencies = []\n'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    write_site(tmp_path / "site", TAG)
    return tmp_path / "site"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with an environment that holds an older torch."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text(PROJECT)
    process.run([own_uv(), "venv", "--quiet", "--python", sys.executable, folder / ".venv"])
    return folder


@pytest.fixture
def run(wheelmill: Command, site: Path, project: Path, tmp_path: Path) -> Iterator[Callable[..., Done]]:
    """Run a command on that project, with that site as the only index."""
    with serve_folder(site) as url:
        variables = only_site(url, tmp_path / "uv-cache")
        own = ("--python-path", str(project / ".venv" / "bin" / "python"))

        def run(command: str, *arguments: str, exit_code: int = 0) -> Done:
            return wheelmill(command, *arguments, *own, exit_code=exit_code, **variables)

        yield run


TARGET = ("--torch", "2.11", "--cuda", "13.0")


def test_a_project(run: Callable[..., Done], project: Path) -> None:
    given = ("--project", str(project))
    before = content_of(project)
    done = run("add", "demo-gpu", "--dry-run", *TARGET, *given)
    assert '+dependencies = ["demo-gpu==1.1+cu130torch2.11 ; sys_platform' in done.stderr
    assert "torch 2.11.0" in done.stderr
    assert content_of(project) == before

    told = json.loads(run("add", "demo-gpu==1.0", "--json", *TARGET, *given).stdout)
    assert {each["project"]: each["change"] for each in told["packages"]} == dict.fromkeys(
        ("demo-gpu", "filelock", "torch"), "installed"
    )
    assert all(each["size"] > 0 and each["before"] is None for each in told["packages"])

    before = content_of(project)
    planned = json.loads(run("add", "demo-gpu", "--dry-run", "--json", *given).stdout)
    assert planned["dry_run"]
    assert "+dependencies" in planned["diff"][str(project / "pyproject.toml")]
    assert [(each["change"], each["before"], each["after"]) for each in planned["packages"]] == [
        ("upgraded", "1.0+cu130torch2.11", "1.1+cu130torch2.11")
    ]
    assert content_of(project) == before
    done = run("add", "demo-gpu", *given)
    assert "demo-gpu 1.0+cu130torch2.11 -> 1.1+cu130torch2.11 (" in done.stderr
    assert "'wheelmill test'" in done.stderr

    again = json.loads(run("update", "--dry-run", "--json", *given).stdout)
    assert (again["schema"], again["changed"], again["packages"]) == ("wheelmill.update/1", False, [])

    before = content_of(project)
    assert "demo-gpu 1.1" in run("remove", "demo-gpu", "--dry-run", "--json", *given).stderr
    assert content_of(project) == before


def test_locks(run: Callable[..., Done], project: Path) -> None:
    given = ("--project", str(project))
    lock = project / "pylock.toml"
    run("lock", "demo-gpu==1.0", "--check", *TARGET, *given, exit_code=9)
    assert not lock.exists()
    run("lock", "demo-gpu==1.0", "--json", *TARGET, *given)
    run("lock", "demo-gpu==1.0", "--check", *TARGET, *given)
    before = lock.read_bytes()
    done = run("lock", "demo-gpu", "--upgrade", "--check", *TARGET, *given, exit_code=9)
    done.check_refused("lock-outdated", '+version = "1.1+cu130torch2.11"')
    assert lock.read_bytes() == before

    before_sync = content_of(project)
    done = run("sync", "--check", "--lock", str(lock), exit_code=9)
    done.check_refused("environment-differs", "demo-gpu 1.0+cu130torch2.11")
    assert content_of(project) == before_sync
    assert "demo-gpu" in run("sync", "--lock", str(lock), "--json").stderr
    assert [each["project"] for each in json.loads(run("list", "--json").stdout)["packages"]] == ["demo-gpu"]
    assert run("list").stdout == "demo-gpu  1.0+cu130torch2.11  CUDA 13.0  torch 2.11\n"
    assert [each["failure"] for each in json.loads(run("test", "--json").stdout)["packages"]] == [None]
    run("sync", "--check", "--lock", str(lock))
    done = run("install", "demo-gpu", "--dry-run", "--json")
    assert "demo-gpu 1.0+cu130torch2.11 -> 1.1+cu130torch2.11" in done.stderr
    assert content_of(project) != before_sync


def test_what_a_killed_command_left_is_undone_before_it_is_looked_at(
    run: Callable[..., Done], project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    before, environment = content_of(project), project / ".venv"
    child = os.fork()
    if child == 0:
        with (
            exclusive(environment, print),
            roll_back_on_failure(environment, (), InstallPlace.of_environment(environment), print),
        ):
            shutil.rmtree(environment / "lib")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert content_of(project) != before
    assert ".venv" in run("list").stderr
    assert run("list").stderr == "no installed version names a CUDA or a torch\n"
    assert content_of(project) == before
