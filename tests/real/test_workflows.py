"""wheels.yml from dispatch to an index that pip installs from, run by act; stand-ins take the place of actions."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.real.conftest import ROOT
from wheelmill.files import sha256_of
from wheelmill.index.serve import serving

pytestmark = pytest.mark.real

ACTIONS = Path(__file__).parent / "actions"
AXES = {"cuda_versions": "13.0", "platforms": "linux_x86_64"}
PINNED = re.compile(r"uses: (actions/[\w-]+)(?:/[\w-]+)?@([0-9a-f]{40})")


@dataclass(frozen=True, kw_only=True)
class Host:
    """A repository of the demo packages, and what stands in for GitHub."""

    repository: Path
    store: Path
    pages: Path
    log: Path
    """What the stand-ins were asked for."""
    url: str
    """Of the folder that holds store and pages."""

    def dispatch(self, inputs: dict[str, str], *, exit_code: int = 0) -> str:
        """Run wheels.yml to its end and return what was printed."""
        artifacts = self.repository.with_name("artifacts")
        shutil.rmtree(artifacts, ignore_errors=True)
        artifacts.mkdir()
        variables = {
            "WHEELMILL_STORE": f"dir:{self.store}",
            "WHEELMILL_BASE_URL": f"{self.url}releases",
            "WHEELMILL_SANDBOX": "local",
        }
        stand_ins = {
            "STAND_INS": ACTIONS,
            "STAND_IN_ARTIFACTS": artifacts,
            "STAND_IN_PAGES": self.pages,
            "STAND_IN_PAGES_URL": f"{self.url}pages/",
            "STAND_IN_LOG": self.log,
        }
        workflows = "\n".join(path.read_text() for path in (ROOT / ".github").rglob("*.yml"))
        argv = [
            *(f"{Path(sys.executable).parent}/act", "workflow_dispatch", "-W", ".github/workflows/wheels.yml"),
            *("-P", "ubuntu-24.04=-self-hosted", "--no-cache-server", "--concurrent-jobs", "1"),
            *(word for name, value in inputs.items() for word in ("--input", f"{name}={value}")),
            *(word for name, value in variables.items() for word in ("--var", f"{name}={value}")),
            *(word for name, value in stand_ins.items() for word in ("--env", f"{name}={value}")),
            *(
                f"--local-repository={action}@{commit}={ACTIONS / action.removeprefix('actions/')}"
                for action, commit in sorted(set(PINNED.findall(workflows)))
            ),
        ]
        path = {"PATH": f"{ACTIONS / 'bin'}:{os.environ['PATH']}"}  # has the stand-in for gh
        done = subprocess.run(
            argv, cwd=self.repository, env=os.environ | path, capture_output=True, text=True, check=False
        )
        assert done.returncode == exit_code, done.stdout[-8000:] + done.stderr[-2000:]
        return done.stdout

    @property
    def manifests(self) -> list[Path]:
        """Of all releases."""
        return sorted(self.store.glob("v*/manifest.json"))


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("host")
    repository = folder / "repository"
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().splitlines():
        if not name.startswith("config/") and (ROOT / name).is_file():
            (repository / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, repository / name)
    for workflow in (repository / ".github" / "workflows").iterdir():
        workflow.write_text(workflow.read_text().replace("queue: max", "# act does not know queue"))
    shutil.copytree(ROOT / "tests" / "data" / "demo", repository / "config")
    (repository / ".venv").symlink_to(ROOT / ".venv")
    (repository / ".gitignore").write_text("/out/\n")
    author = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    for words in (["init", "--quiet", "--initial-branch=main"], ["add", "."], ["commit", "--quiet", "--message=demo"]):
        subprocess.run(["git", *author, *words], cwd=repository, check=True)
    remote = ["remote", "add", "origin", "https://github.com/example/wheels.git"]
    subprocess.run(["git", *remote], cwd=repository, check=True)
    served = folder / "served"
    (served / "releases").mkdir(parents=True)
    with serving(served) as url:
        yield Host(
            repository=repository, store=served / "releases", pages=served / "pages", log=folder / "log.txt", url=url
        )


def installed_by_pip(host: Host, folder: Path) -> str:
    """Have pip install from the deployed index into a folder; returns the name of the wheel that it took."""
    index = f"{host.url}pages/cu130/simple/"
    install = [sys.executable, "-m", "pip", "install", "--isolated", "--index-url", index, "wheelmill-demo"]
    # For the wheel's Python: the interpreter of the tests is another one.
    aside = ["--no-deps", "--target", str(folder), "--python-version", "3.12", "--only-binary", ":all:"]
    subprocess.run([*install, *aside, "--report", str(folder / "report.json")], check=True)
    assert (folder / "wheelmill_demo" / "__init__.py").exists()
    (installed,) = json.loads((folder / "report.json").read_bytes())["install"]
    return unquote(installed["download_info"]["url"].rpartition("/")[2])


def test_from_dispatch_to_an_index_that_pip_installs_from(host: Host, tmp_path: Path) -> None:
    wanted = {"package": " wheelmill-demo , ", "python_versions": "3.12", **AXES}
    host.dispatch(wanted)
    (manifest,) = host.manifests
    (entry,) = json.loads(manifest.read_bytes())["wheels"]
    assert entry["attestation"] == "https://github.com/example/wheels/attestations/1"
    assert entry["sha256"] == sha256_of(manifest.with_name(entry["filename"]))
    assert entry["sha256"] in host.log.read_text()  # what was attested
    assert "save" not in host.log.read_text()  # nothing is left to compile
    assert installed_by_pip(host, tmp_path) == entry["filename"]

    again = host.dispatch(wanted)
    assert host.manifests == [manifest]
    assert "wheelmill release" not in again  # an empty plan ends green, and early


def test_a_package_that_requires_another_one_follows_in_a_run_of_its_own(host: Host) -> None:
    host.log.unlink()
    wanted = {"package": "wheelmill-demo,wheelmill-demo-average", "python_versions": "3.11,3.12", **AXES}
    host.dispatch(wanted)
    waiting = "wheelmill-demo-average-1.0.0+cu130-linux_x86_64"
    (dispatched,) = (line for line in host.log.read_text().splitlines() if line.startswith("gh workflow run"))
    assert dispatched == (
        f"gh workflow run wheels.yml --ref main -f attempt=2 -f groups={waiting} -f force=false"
        " -f package=wheelmill-demo,wheelmill-demo-average -f version= -f python_versions=3.11,3.12"
        " -f cuda_versions=13.0 -f torch_versions= -f platforms=linux_x86_64"
    )
    assert "gh cache list --key compiled-wheelmill-demo-1.0.0+cu130-linux_x86_64-" in host.log.read_text()
    host.dispatch({"groups": waiting, "attempt": "2", **wanted})
    (entry,) = json.loads(host.manifests[-1].read_bytes())["wheels"]
    rooms = entry["certificate"]["clean_rooms"]
    assert [room["python"].rpartition(".")[0] for room in rooms] == ["3.11", "3.12"]
    assert {room["installed"]["wheelmill-demo"] for room in rooms} == {"1.0.0+cu130"}


def test_a_forced_rebuild_with_other_bytes_reaches_pip_as_build_1(host: Host, tmp_path: Path) -> None:
    module = host.repository / "config" / "wheelmill-demo" / "wheelmill_demo" / "__init__.py"
    module.write_text(module.read_text() + "\n# Built again.\n")
    host.dispatch({"package": "wheelmill-demo", "python_versions": "3.12", "force": "true", **AXES})
    assert installed_by_pip(host, tmp_path).startswith("wheelmill_demo-1.0.0+cu130-1-cp312-")


def test_a_group_that_fails_is_red_keeps_its_cache_and_is_named(host: Host) -> None:
    host.log.unlink()
    before = host.manifests
    (kernels,) = host.repository.glob("config/wheelmill-demo/**/*.cu")
    kernels.write_text(kernels.read_text() + "\nthis is no C++;\n")
    wanted = {"package": "wheelmill-demo", "python_versions": "3.12", "force": "true", **AXES}
    host.dispatch(wanted, exit_code=1)
    group = "wheelmill-demo-1.0.0+cu130-linux_x86_64"
    assert re.search(rf"save compiled-{re.escape(group)}-\d+-1", host.log.read_text())
    assert "gh workflow run" not in host.log.read_text()
    assert host.manifests == before
    kept = host.repository.with_name("artifacts") / f"group-{group}"
    (failure,) = json.loads((kept / "reports" / f"{group}.json").read_bytes())["failures"]
    assert failure["stage"] == "build"
    assert "does not build" in failure["message"]
    (log,) = kept.glob("built/*")
    assert kernels.name in log.read_text()
