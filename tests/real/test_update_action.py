"""The actions that update another repository's wheels and ask for it in a pull request, run by act."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests.github_server import REPOSITORY
from tests.install_pages import sections
from tests.integration.conftest import only_site
from tests.real.act import ACTIONS, RELEASE, WORKFLOWS, Host, git, new_host, publish_sources
from tests.real.conftest import ROOT
from tests.real.test_client_project import PROJECTS, TAG
from tests.wheel_site import add_wheel
from wheelmill.index.serve import serve_folder

pytestmark = pytest.mark.real

WORKFLOW = sections()["ci.md#pull-requests-with-updates"].file(".github/workflows/update.yml")
BRANCH = "refs/heads/wheelmill-update"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    site = tmp_path / "site"
    for torch in ("2.13", "2.14"):
        add_wheel(site, f"torch-{torch}.0-{TAG}.whl")
    for name in ("demo_gpu", "slow_gpu"):
        add_wheel(site, f"{name}-1.0+cu130torch2.13-{TAG}.whl", requires=("torch",))
    return site


@pytest.fixture
def host(site: Path, tmp_path: Path) -> Iterator[Host]:
    """A repository with a project of two wheels, another one with the actions, and one that is pushed to."""
    project, pushed = tmp_path / "repository", tmp_path / "pushed"
    with new_host(tmp_path / "factory") as factory, serve_folder(site) as url:
        variables = {
            **only_site(url, tmp_path / "uv"),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "XDG_STATE_HOME": str(tmp_path / "state"),
        }
        workflow = project / ".github" / "workflows" / "update.yml"
        workflow.parent.mkdir(parents=True)
        text = WORKFLOW.replace("OWNER/wheelmill", WORKFLOWS).replace("COMMIT", RELEASE)
        options = "        with: {options: --cuda=13.0}\n"
        workflow.write_text(text.replace(f"actions/update@{RELEASE}\n", f"actions/update@{RELEASE}\n{options}"))
        (project / "pyproject.toml").write_text(PROJECTS["fresh"] or "")
        for words in (("add", "demo-gpu", "slow-gpu", "--torch", "2.13"), ("lock",)):
            argv = [sys.executable, "-m", "wheelmill", *words]
            subprocess.run(argv, cwd=project, env=os.environ | variables, check=True)
        shutil.rmtree(project / ".venv")
        publish_sources(project, REPOSITORY)
        git(tmp_path, "clone", "--quiet", "--bare", str(project), str(pushed))
        (tmp_path / "runs").mkdir()
        shutil.copy2(tmp_path / "factory" / "trusted_root.json", tmp_path)
        instead = {"KEY_0": f"url.{pushed}.insteadOf", "VALUE_0": f"https://github.com/{REPOSITORY}.git"}
        redirected = {"GIT_CONFIG_COUNT": "1", **{f"GIT_CONFIG_{key}": value for key, value in instead.items()}}
        yield replace(factory, repository=project, environment=variables | redirected)


def run(host: Host) -> list[str]:
    """Run the workflow, and return what gh was asked to change."""
    ours = f"--local-repository={WORKFLOWS}@{RELEASE}={host.repository.with_name('factory') / 'repository'}"
    host.run("workflow_dispatch", "update", ours, f"--local-repository=actions/checkout@v5={ACTIONS / 'checkout'}")
    return changes(host)


def changes(host: Host) -> list[str]:
    calls = host.log.read_text().splitlines()
    host.log.unlink()
    return [call for call in calls if not call.startswith("gh pr list ")]


def propose_again(host: Host, patch: bytes, folder: Path) -> list[str]:
    """Run the last step of the second action, in another checkout of the same commit."""
    folder.mkdir()
    git(folder, "clone", "--quiet", str(host.repository), "checkout")
    git(folder / "checkout", "remote", "set-url", "origin", f"https://github.com/{REPOSITORY}.git")
    (folder / "wheelmill-update").mkdir()
    (folder / "wheelmill-update" / "update.patch").write_bytes(patch)
    (folder / "wheelmill-update" / "body.md").touch()
    action = yaml.safe_load((ROOT / ".github" / "actions" / "propose-update" / "action.yml").read_text())
    variables = {"RUNNER_TEMP": str(folder), "BRANCH": "wheelmill-update", "STAND_IN_ARTIFACTS": str(folder)}
    variables |= {"STAND_IN_LOG": str(host.log), "PATH": f"{ACTIONS / 'bin'}:{os.environ['PATH']}"}
    bash = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", action["runs"]["steps"][-1]["run"]]
    host.log.touch()
    subprocess.run(bash, cwd=folder / "checkout", env=os.environ | host.environment | variables, check=True)
    return changes(host)


def test_an_update_is_proposed_once_and_names_what_holds_torch_back(host: Host, site: Path, tmp_path: Path) -> None:
    pulls, pushed = tmp_path / "pulls.json", tmp_path / "pushed"
    fork = {"number": 6, "state": "OPEN", "isCrossRepository": True, "headRefOid": "0" * 40}
    pulls.write_text(json.dumps([fork]))
    for name in ("demo_gpu-1.1+cu130torch2.14", "slow_gpu-1.1+cu130torch2.13"):
        add_wheel(site, f"{name}-{TAG}.whl", requires=("torch",))
    (created,) = run(host)
    assert created.startswith("gh pr create --head wheelmill-update --base main ")
    body = (host.artifacts / "text.md").read_text()
    assert "| `slow-gpu` | 1.0+cu130torch2.13 | 1.1+cu130torch2.13 | none |" in body
    assert "| `demo-gpu` | 1.0+cu130torch2.13 | 1.0+cu130torch2.13 | 1.1+cu130torch2.14 |" in body
    assert git(pushed, "diff", "--name-only", "main", BRANCH).split() == ["pylock.toml", "pyproject.toml", "uv.lock"]
    assert "1.1+cu130torch2.13" in git(pushed, "show", f"{BRANCH}:pylock.toml")
    commit = git(pushed, "rev-parse", BRANCH)

    (patch,) = (path.read_bytes() for path in host.artifacts.rglob("update.patch"))
    assert propose_again(host, b"", tmp_path / "unchanged") == []
    workflow = host.repository / ".github" / "workflows" / "update.yml"
    workflow.write_text(f"{workflow.read_text()}# changed by code of a package\n")
    changed = git(host.repository, "diff", "--", ".github").encode()
    assert b"+# changed" in changed
    (edited,) = propose_again(host, patch + changed, tmp_path / "open")
    assert edited.startswith("gh pr edit 8 ")
    _, own = json.loads(pulls.read_text())
    pulls.write_text(json.dumps([fork]))
    (created,) = propose_again(host, patch, tmp_path / "pushed-only")
    assert created.startswith("gh pr create ")
    pulls.write_text(json.dumps([fork, {**own, "state": "CLOSED"}]))
    assert propose_again(host, patch, tmp_path / "closed") == []
    assert git(pushed, "rev-parse", BRANCH) == commit
