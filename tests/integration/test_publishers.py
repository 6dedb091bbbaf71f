"""Publishers in a lock: written by ``lock``, verified by ``sync`` and ``install``, compared by ``update``."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Done
from tests.github_server import REPOSITORY
from tests.integration.conftest import TAG, Command, new_project, served_alone
from tests.sigstore_instance import Sigstore
from tests.trees import content_of
from tests.wheel_site import write_site
from wheelmill.installers.uv import own_uv
from wheelmill.system import process
from wheelmill.system.files import sha256_of

OLD, NEW = (f"demo_gpu-{version}+cu130torch2.11-{TAG}.whl" for version in ("1.0", "1.1"))
OWN = {"kind": "GitHub", "repository": REPOSITORY, "workflow": "wheels.yml", "signer": f"{REPOSITORY}@main"}
TARGET = ("--torch", "2.11", "--cuda", "13.0")
PROJECT = '[project]\nname = "fresh"\nversion = "0.1.0"\nrequires-python = ">=3.11"\ndependencies = []\n'


class Scene:
    """A project, its index, and the attestations beside the wheels of that."""

    def __init__(self, root: Path, sigstore: Sigstore) -> None:
        self.site, self.sigstore = root / "site", sigstore
        write_site(self.site, TAG)
        self.project = new_project(root / "project", PROJECT)
        self.attest(OLD)

    @property
    def attestations(self) -> Path:
        return self.site / "files" / "attestations.jsonl"

    @property
    def lock(self) -> Path:
        return self.project / "pylock.toml"

    @property
    def identities(self) -> dict[str, list[dict[str, Any]]]:
        packages = tomllib.loads(self.lock.read_text())["packages"]
        return {each["name"]: each["attestation-identities"] for each in packages if "attestation-identities" in each}

    def attest(self, *names: str, **who: Any) -> None:
        """Let the repository, or another one, attest wheels, and nobody others."""
        files = {name: sha256_of(self.site / "files" / name) for name in names}
        self.attestations.write_bytes(self.sigstore.attest(files, **who) + b"\n")


@pytest.fixture
def scene(tmp_path: Path, sigstore: Sigstore) -> Scene:
    return Scene(tmp_path, sigstore)


Run = Callable[..., Done]


@pytest.fixture
def run(wheelmill: Command, scene: Scene, tmp_path: Path) -> Iterator[Run]:
    """Run a command on the project, with the site as the only index."""
    python = str(scene.project / ".venv" / "bin" / "python")
    with served_alone(wheelmill, scene.site, tmp_path / "uv-cache", "--python-path", python) as run:
        yield run


def locked(scene: Scene, run: Run) -> None:
    run("lock", "demo-gpu==1.0", *TARGET, "--project", scene.project)


def installed(scene: Scene) -> bool:
    return any((scene.project / ".venv").rglob("demo_gpu/__init__.py"))


def test_publishers_are_locked_once_and_verified(scene: Scene, run: Run) -> None:
    locked(scene, run)
    assert scene.identities == {"demo-gpu": [OWN]}
    run("lock", "demo-gpu==1.0", *TARGET, "--project", scene.project, "--check")
    done = run("sync", "--lock", scene.lock, "--require-attestation")
    assert installed(scene)
    assert "not verified" not in done.stderr


@pytest.mark.parametrize("who", [{"repository": "somebody/else"}, {"ref": "refs/heads/feature"}, {"seed": "2"}])
def test_a_wheel_of_another_publisher_than_the_lock_names(scene: Scene, run: Run, who: dict[str, str]) -> None:
    """An index that serves the attestation of another repository, of a branch, or of another authority."""
    locked(scene, run)
    if who.pop("seed", None):
        scene.sigstore = Sigstore(seed=2)
    scene.attest(OLD, **who)
    before = content_of(scene.project)
    for command in ("sync", "install"):
        done = run(command, "--lock", scene.lock, exit_code=9)
        done.check_refused("publisher-differs", OLD, f"{REPOSITORY}@main")
    assert content_of(scene.project) == before


def test_an_index_that_no_longer_has_the_attestation(scene: Scene, run: Run) -> None:
    locked(scene, run)
    scene.attestations.unlink()
    run("sync", "--lock", scene.lock, exit_code=9).check_refused("publisher-differs", OLD)
    assert not installed(scene)
    locked(scene, run)
    assert scene.identities == {"demo-gpu": [OWN]}
    run("lock", "demo-gpu==1.0", *TARGET, "--project", scene.project, "--upgrade")
    assert scene.identities == {}
    run("sync", "--lock", scene.lock)
    assert installed(scene)


def test_the_attestation_of_another_wheel_of_the_same_publisher(scene: Scene, run: Run) -> None:
    locked(scene, run)
    scene.attest(NEW)
    run("sync", "--lock", scene.lock, exit_code=9).check_refused("publisher-differs", OLD)


def test_what_is_installed_is_not_asked_for_again(scene: Scene, run: Run) -> None:
    locked(scene, run)
    run("sync", "--lock", scene.lock)
    scene.attestations.unlink()
    run("sync", "--lock", scene.lock)
    run("sync", "--lock", scene.lock, "--require-attestation", exit_code=9).check_refused("publisher-differs", OLD)


def test_a_lock_that_names_another_publisher(scene: Scene, run: Run) -> None:
    locked(scene, run)
    scene.lock.write_text(scene.lock.read_text().replace(f'"{REPOSITORY}', '"somebody/else'))
    run("sync", "--lock", scene.lock, exit_code=9).check_refused("publisher-differs", OLD, "somebody/else@main")
    assert not installed(scene)


@pytest.mark.parametrize("why", ["another-tool", "offline"])
def test_unverifiable_publishers_are_named_and_refused_only_where_required(scene: Scene, run: Run, why: str) -> None:
    """The wheels are those of the hashes in the lock."""
    locked(scene, run)
    options: tuple[str | Path, ...] = ("--lock", scene.lock)
    if why == "another-tool":
        lines = scene.lock.read_text().splitlines()
        scene.lock.write_text("\n".join(line for line in lines if not line.startswith("signer")))
        assert scene.identities == {"demo-gpu": [{key: text for key, text in OWN.items() if key != "signer"}]}
    else:
        run("install", "--lock", scene.lock)
        process.run([own_uv(), "pip", "uninstall", "--quiet", "--python", scene.project / ".venv", "demo-gpu"])
        options = (*options, "--offline")
    before = content_of(scene.project)
    run("sync", *options, "--require-attestation", exit_code=9).check_refused("publisher-not-verified", OLD)
    assert content_of(scene.project) == before
    assert f"the publishers of {OLD} in the lock are not verified" in run("sync", *options).stderr
    assert installed(scene)


def test_a_lock_without_publishers_is_refused_where_they_are_required(scene: Scene, run: Run) -> None:
    scene.attestations.unlink()
    locked(scene, run)
    assert scene.identities == {}
    run("sync", "--lock", scene.lock, "--require-attestation", exit_code=9).check_refused("publisher-not-verified")
    run("sync", "--lock", scene.lock)
    assert installed(scene)


def test_update_names_both_publishers(scene: Scene, run: Run) -> None:
    given = ("--project", str(scene.project))
    run("add", "demo-gpu>=1", "--no-sync", *TARGET, *given)
    locked(scene, run)
    scene.attest(OLD, NEW)
    done = run("update", "--no-sync", "--dry-run", "--json", *given)
    assert not [note for note in json.loads(done.stdout)["notes"] if "publisher" in note]
    scene.attest(OLD, NEW, repository="somebody/else")
    done = run("update", "--no-sync", "--dry-run", "--json", *given)
    before, after = (f"GitHub {name}@main wheels.yml" for name in (REPOSITORY, "somebody/else"))
    change = f"publisher of demo-gpu: {before} -> {after}"
    assert change in json.loads(done.stdout)["notes"]
    assert change in done.stderr
    scene.attest(OLD)
    assert f"GitHub {REPOSITORY}@main wheels.yml -> none" in run("update", "--no-sync", "--dry-run", *given).stderr


def test_uv_and_pip_read_a_lock_with_publishers(scene: Scene, run: Run, tmp_path: Path) -> None:
    locked(scene, run)
    assert scene.identities
    environment = scene.project / ".venv"
    uv = (own_uv(), "pip", "sync", "--preview", "--dry-run", "--python", environment, scene.lock)
    pip = (sys.executable, "-m", "pip", "install", "--dry-run", "--target", tmp_path / "x", "-r", scene.lock)
    for command in (uv, pip):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
        assert re.search(r"demo-gpu[=-]+1\.0\+cu130torch2\.11", done.stdout + done.stderr)


def test_update_leaves_a_lock_of_another_form_alone(scene: Scene, run: Run) -> None:
    given = ("--project", str(scene.project))
    run("add", "demo-gpu>=1", "--no-sync", *TARGET, *given)
    scene.lock.write_text("no = lock")
    assert "publishers are not compared" in run("update", "--no-sync", *given).stderr
