"""Workflows run by act on this machine; stand-ins take the place of actions, and a folder that of Pages."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from tests.github_artifacts import Artifacts
from tests.github_server import REPOSITORY, TOKEN, GitHub, serving
from tests.real.act_results import with_results
from tests.real.conftest import ROOT, SHORT_PAUSES, portable_demo
from tests.sigstore_instance import Sigstore
from wheelmill.index.serve import serve_folder
from wheelmill.wheel.attestation import TRUSTED_ROOT

WORKFLOWS: Final = "owner/wheelmill"
"""The repository whose workflow a package calls."""
RELEASE: Final = "v1"
"""The tag of that."""
ACTIONS: Final = Path(__file__).parent / "actions"
GPU_MACHINE: Final = "machine-with-a-gpu"
"""The label of a runner; here it has none."""
PINNED: Final = re.compile(r"uses: ([\w-]+/[\w-]+)(?:/[\w-]+)?@([0-9a-f]{40})")


@dataclass(frozen=True, kw_only=True)
class Host:
    """A repository of the demo packages, and what stands in for GitHub."""

    repository: Path
    served: Path
    """Has the pages, and the releases where they are kept in a folder."""
    url: str
    """Of that folder."""
    variables: dict[str, str]
    """The repository's."""
    environment: Mapping[str, str]
    """Of every job."""
    github: GitHub
    """Has the artifacts of runs, and the releases where they are not kept in a folder."""
    machine: Sequence[str | Path] = ()
    """The command that runs others on another machine; this one's jobs if empty."""

    @property
    def artifacts(self) -> Path:
        """What the jobs of the last run handed to each other; the folder has the number of the run."""
        runs = self.repository.with_name("runs")
        return max(runs.iterdir(), key=lambda folder: int(folder.name), default=runs / "0")

    @property
    def log(self) -> Path:
        """What the stand-ins were asked for."""
        return self.repository.with_name("log.txt")

    def dispatch(self, inputs: Mapping[str, str], *, exit_code: int = 0, **befalls: str) -> str:
        """Run wheels.yml to its end and return the output; ``befalls`` are variables of the stand-ins."""
        options = [word for name, value in inputs.items() for word in ("--input", f"{name}={value}")]
        options += [word for name, value in befalls.items() for word in ("--env", f"{name}={value}")]
        return self.run("workflow_dispatch", "wheels", *options, exit_code=exit_code)

    def summary(self) -> str:
        """What the last run's summary says."""
        return (self.artifacts / "summary-1" / "summary.md").read_text()

    def dispatched(self) -> list[str]:
        """The runs that were asked for since the log began."""
        return [line for line in self.log.read_text().splitlines() if line.startswith("gh workflow run")]

    def run(
        self, event: str, workflow: str, *options: str, payload: Mapping[str, Any] | None = None, exit_code: int = 0
    ) -> str:
        """Run a workflow, as a run of its own with a number of its own, and return what was printed."""
        run = int(self.artifacts.name) + 1
        artifacts = self.artifacts.with_name(str(run))
        artifacts.mkdir(parents=True)
        event_file = self.repository.with_name("event.json")
        event_file.write_text(json.dumps(payload or {}))
        environment = {
            "GITHUB_API_URL": self.github.environment["GITHUB_API_URL"],
            **self.environment,
            "STAND_INS": str(ACTIONS),
            "STAND_IN_REPOSITORIES": str(self.repository.with_name("repositories")),
            "GITHUB_RUN_ID": str(run),
            "STAND_IN_ARTIFACTS": str(artifacts),
            "STAND_IN_PAGES": str(self.served / "pages"),
            "STAND_IN_PAGES_URL": f"{self.url}pages/",
            "STAND_IN_LOG": str(self.log),
            TRUSTED_ROOT: str(self.repository.with_name("trusted_root.json")),
        }
        workflows = "\n".join(path.read_text() for path in (ROOT / ".github").rglob("*.yml"))
        argv: list[str | Path] = [
            *(
                *self.machine,
                f"{Path(sys.executable).parent}/act",
                event,
                "-W",
                f".github/workflows/{workflow}.yml",
                *options,
            ),
            *("-P", "ubuntu-24.04=-self-hosted", "-P", f"{GPU_MACHINE}=-self-hosted"),
            *("--no-cache-server", "--concurrent-jobs", "1"),
            *("--defaultbranch", "main"),
            *(("--eventpath", str(event_file)) if payload else ()),  # inputs are not read beside one
            *("--secret", f"GITHUB_TOKEN={TOKEN}"),
            *(word for name, value in self.variables.items() for word in ("--var", f"{name}={value}")),
            *(word for name, value in environment.items() for word in ("--env", f"{name}={value}")),
            *(
                f"--local-repository={action}@{commit}={ACTIONS / action.partition('/')[2]}"
                for action, commit in sorted(set(PINNED.findall(workflows)))
            ),
        ]
        # The stand-in for gh, and the Python that setup-python would bring.
        path = {"PATH": f"{ACTIONS / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"}
        done = subprocess.run(
            argv, cwd=self.repository, env=os.environ | path, capture_output=True, text=True, check=False
        )
        assert done.returncode == exit_code, done.stdout[-8000:] + done.stderr[-2000:]
        return done.stdout

    def commit(self) -> str:
        """Commit everything and return the commit before."""
        before = git(self.repository, "rev-parse", "HEAD").strip()
        git(self.repository, "commit", "--quiet", "--all", "--message=change")
        return before

    def planned(self) -> list[str]:
        """The groups that the last run planned."""
        (plan,) = self.artifacts.glob("*plan*/plan.json")
        shards = json.loads(plan.read_bytes())["shards"]
        return [group["group"] for shard in shards for group in shard["include"]]

    def installed_by_pip(self, folder: Path, project: str = "wheelmill-demo") -> str:
        """Have pip install a project from the deployed index into a folder; returns the wheel's URL."""
        folder.mkdir(exist_ok=True)
        index = f"{self.url}pages/cu130/simple/"
        install = [sys.executable, "-m", "pip", "install", "--isolated", "--index-url", index, project]
        # For the wheel's Python: the interpreter of the tests is another one.
        aside = ["--no-deps", "--target", str(folder), "--python-version", "3.12", "--only-binary", ":all:"]
        subprocess.run([*install, *aside, "--report", str(folder / "report.json")], check=True)
        assert any(folder.glob("*.dist-info"))
        (installed,) = json.loads((folder / "report.json").read_bytes())["install"]
        return unquote(installed["download_info"]["url"])


def killed_at(file: str) -> dict[str, str]:
    """Variables that kill a process of the host as it opens a file of this ending, and shorten pauses."""
    return SHORT_PAUSES | {"STAND_IN_KILLED_AT": file}


def change_entry(repository: Path, project: str, *lines: str) -> None:
    """Add keys to an entry of packages.yml."""
    packages = repository / "config" / "packages.yml"
    added = "".join(f"    {line}\n" for line in lines)
    packages.write_text(packages.read_text().replace(f"  {project}:\n", f"  {project}:\n{added}"))


def git(repository: Path, *words: str) -> str:
    """Run git as somebody."""
    author = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    return subprocess.run(["git", *author, *words], cwd=repository, capture_output=True, text=True, check=True).stdout


def commit_everything(repository: Path, name: str) -> None:
    """Make a folder a repository with one commit and a name."""
    git(repository, "init", "--quiet", "--initial-branch=main")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message=demo")
    git(repository, "repack", "-adq")  # each job copies the repository, and one pack is copied in no time
    git(repository, "remote", "add", "origin", f"https://github.com/{name}.git")


def publish_sources(repository: Path, name: str) -> None:
    """Make a folder a repository with one commit, which the stand-in for checkout finds by its name."""
    commit_everything(repository, name)
    link = repository.with_name("repositories") / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(repository)


@contextmanager
def folder_for_all() -> Iterator[Path]:
    """Make a folder that every user may enter, as those of pytest are not."""
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def on_hosted_machine(host: Host, disk: Path, **variables: str) -> Iterator[Host]:
    """Run the jobs of a host on a machine as GitHub's own, whose disk holds the host's folder."""
    subprocess.run(["chown", "--recursive", "1001:1001", host.repository.parent], check=True)
    known = [f"{name}={value}" for name, value in {"WHEELMILL_DISK": str(disk), **variables}.items()]
    umask = os.umask(0)  # for folders that are made here and written to there
    try:
        yield replace(host, machine=("env", *known, ROOT / ".ci" / "hosted", "sandbox"))
    finally:
        os.umask(umask)


@contextmanager
def new_clone(folder: Path) -> Iterator[Host]:
    """Have a repository of all that is in this one, whose jobs make an environment of their own."""
    with new_host(folder) as host:
        shutil.rmtree(host.repository)
        for name in _listed():
            if (ROOT / name).is_file():
                (host.repository / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, host.repository / name)
        # act does not know that variable by the other name.
        for action in (host.repository / ".github" / "actions").glob("*/action.yml"):
            action.write_text(action.read_text().replace("runner.environment", "env.RUNNER_ENVIRONMENT"))
        commit_everything(host.repository, REPOSITORY)
        yield host


def _lend_environment(repository: Path) -> None:
    """Have set-up find its work done, in a folder of links: what clears that leaves the tests' own environment."""
    (lent := repository / ".venv").mkdir()
    for path in (ROOT / ".venv").iterdir():
        if path.name != "wheelmill-setup":
            (lent / path.name).symlink_to(path)
    wanted = b"".join((repository / name).read_bytes() for name in ("requirements.lock", "pyproject.toml"))
    done = subprocess.run(["cksum"], input=wanted, capture_output=True, check=True).stdout
    (lent / "wheelmill-setup").write_bytes(done)


def _readable(workflow: Path) -> str:
    """The text of a workflow without what act does not know."""
    return workflow.read_text().replace("queue: max", "# act does not know queue")


@contextmanager
def new_package_host(folder: Path, source: Path | None = None) -> Iterator[Host]:
    """Create a repository of one package (the demo's without ``source``) that calls another repository's workflow."""
    with new_host(folder / "factory") as factory:
        ours, package = factory.repository, folder / "repository"
        for workflow in (ours / ".github" / "workflows").iterdir():
            text = _readable(ROOT / ".github" / "workflows" / workflow.name)
            text = text.replace("job.workflow_repository", f"'{WORKFLOWS}'")  # act does not know them
            text = text.replace("job.workflow_sha, hashFiles", f"'{'0' * 40}', hashFiles")
            there = rf"uses: {WORKFLOWS}/\1@{RELEASE}"  # nor that this is where ./ leads
            workflow.write_text(re.sub(r"uses: \./(\.github/workflows/\S+)", there, text))
        shutil.copytree(source or ours / "config" / "wheelmill-demo", package)
        init = [sys.executable, "-m", "wheelmill", "init", str(package), "--from", f"{WORKFLOWS}@{RELEASE}"]
        subprocess.run(init, check=True)
        own = package / "wheelmill.yml"
        own.write_text(f"{own.read_text()}    architectures: ['9.0']\n    platforms: [linux_x86_64]\n")
        publish_sources(package, REPOSITORY)
        (folder / "repositories" / WORKFLOWS).parent.mkdir(exist_ok=True)
        (folder / "repositories" / WORKFLOWS).symlink_to(ours)
        (folder / "runs").mkdir()
        shutil.copy2(folder / "factory" / "trusted_root.json", folder)
        factory.github.artifacts.folder = folder / "runs"
        yield replace(factory, repository=package, environment={"STAND_IN_WORKFLOWS": WORKFLOWS})


def _listed() -> list[str]:
    """The files of this repository."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    return listed.stdout.decode().splitlines()


def _is_checked_out(name: str) -> bool:
    """Whether workflows run on a file: each job has a copy of all, and each index renders all documents."""
    if name.startswith("docs/"):
        return name == "docs/conf.py" or name.startswith("docs/reference/schemas/")
    return not name.startswith(("config/", "tests/")) or name.startswith("tests/locks/")


@contextmanager
def new_host(folder: Path, *, releases_on_github: bool = False) -> Iterator[Host]:
    """Have a repository, whose releases are kept in a folder unless they are to be on GitHub."""
    repository, served = folder / "repository", folder / "served"
    for name in _listed():
        if _is_checked_out(name) and (ROOT / name).is_file():
            (repository / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, repository / name)
    (repository / "docs" / "_toc.yml").write_text("root: README\n")
    (repository / "docs" / "README.md").write_text("# wheelmill's documents\n")
    for workflow in (repository / ".github" / "workflows").iterdir():
        workflow.write_text(with_results(_readable(workflow), is_first=workflow.name == "wheels.yml"))
    portable_demo(repository / "config")
    _lend_environment(repository)
    (repository / ".gitignore").write_text("/out/\n")
    publish_sources(repository, REPOSITORY)
    (served / "releases").mkdir(parents=True)
    (folder / "runs").mkdir()
    Sigstore().write_trusted_root(folder / "trusted_root.json")
    with serve_folder(served) as url, serving(GitHub(artifacts=Artifacts(folder=folder / "runs"))) as github:
        in_a_folder = {"WHEELMILL_STORE": f"dir:{served / 'releases'}", "WHEELMILL_BASE_URL": f"{url}releases"}
        yield Host(
            repository=repository,
            served=served,
            url=url,
            variables={"WHEELMILL_SANDBOX": "local"} | ({} if releases_on_github else in_a_folder),
            environment=github.environment if releases_on_github else {},
            github=github,
        )
