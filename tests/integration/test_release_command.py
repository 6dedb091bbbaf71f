"""``wheelmill release``: only what was tested, and nothing twice."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.github_server import REPOSITORY, GitHub, serving
from tests.integration.conftest import Command
from tests.releases import manifests_in
from tests.sigstore_instance import MAIN, Sigstore
from tests.unit.release.conftest import certified_wheel, everything_in
from tests.wheels import write_wheel
from wheelmill.release.directory import DirectoryStore
from wheelmill.smoke.verdict import GPU_SUFFIX, certificate_path
from wheelmill.system.files import sha256_of, sha256_of_bytes
from wheelmill.system.progress import SYSTEM_CLOCK
from wheelmill.system.records import write_record
from wheelmill.wheel.metadata import metadata_bytes

NAME = "demo-1.0-py3-none-any.whl"
INDEX = ("-m", "wheelmill", "index", "build", "--config", "tests/data/demo")
"""Of a small configuration: a plan of all that ships takes longer than the index."""


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A folder with one tested wheel."""
    wheel = certified_wheel(tmp_path / "wheels" / NAME)
    write_record(certificate_path(wheel.file.path), wheel.certificate)
    return tmp_path / "wheels"


def released(wheels: Path) -> DirectoryStore:
    """What commands, whose clock is this machine's, released."""
    return DirectoryStore(directory=wheels.parent / "releases", clock=SYSTEM_CLOCK)


def release(python: Command, wheels: Path, *, exit_code: int = 0) -> str:
    store = f"dir:{wheels.parent / 'releases'}"
    return python("-m", "wheelmill", "release", wheels, "--store", store, exit_code=exit_code).stderr


def test_a_tested_wheel_is_released_once(python: Command, wheels: Path) -> None:
    store = released(wheels)
    said = release(python, wheels)
    (manifest,) = manifests_in(store)
    assert manifest.tag in said
    assert NAME in said
    before = everything_in(store.directory)
    assert "nothing to release" in release(python, wheels)
    assert everything_in(store.directory) == before


def test_three_releases_at_once_publish_a_wheel_once(python: Command, wheels: Path) -> None:
    with ThreadPoolExecutor() as pool:
        said = list(pool.map(lambda _number: release(python, wheels), range(3)))
    store = released(wheels)
    assert [path.name for path in store.directory.glob("v*")] == [manifest.tag for manifest in manifests_in(store)]
    assert sorted("nothing to release" in text for text in said) == [False, True, True]


def test_a_disk_that_takes_no_more_is_a_release_error_that_names_the_file(wheels: Path) -> None:
    wheel = certified_wheel(wheels / NAME, content=os.urandom(1 << 20))
    write_record(certificate_path(wheel.file.path), wheel.certificate)
    store = wheels.parent / "releases"
    argv = [sys.executable, "-m", "wheelmill", "release", str(wheels), "--store", f"dir:{store}"]
    limited = ["sh", "-c", 'ulimit -f 512; exec "$@"', "sh", *argv]  # in 512 bytes
    done = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert done.returncode == 6
    assert re.fullmatch(rf"error: {store}/{re.escape(NAME)} cannot be written: File too large\n", done.stderr)
    assert list(store.iterdir()) == []


def test_a_build_cannot_speak_for_the_gpu(python: Command, wheels: Path, tmp_path: Path) -> None:
    wheel = certified_wheel(wheels / "gpu-1.0-cp311-cp311-manylinux_2_28_x86_64.whl")
    write_record(certificate_path(wheel.file.path), wheel.certificate)
    said = certificate_path(wheel.file.path, GPU_SUFFIX)
    write_record(said, wheel.certificate)
    (apart := tmp_path / "gpu").mkdir()
    words = ("-m", "wheelmill", "release", wheels, "--require-gpu", "linux_x86_64", "--gpu-certificates", apart)
    options = ("--checksums", tmp_path / "checksums", "--store", f"dir:{tmp_path / 'releases'}")
    assert f"{wheel.file.filename} did not pass on a machine with a GPU" in python(*words, *options, exit_code=6).stderr
    said.rename(apart / said.name)
    python(*words, *options, exit_code=0)
    assert said.name in (tmp_path / "checksums").read_text()


def test_an_untested_wheel_is_named_and_the_others_are_released(python: Command, wheels: Path) -> None:
    untested = write_wheel(wheels / "untested-1.0-py3-none-any.whl")
    said = release(python, wheels, exit_code=6).splitlines()
    assert said[-2:] == [
        "error: not released:",
        f"untested-1.0-py3-none-any.whl was not tested: run 'wheelmill smoke {untested}' first",
    ]
    (manifest,) = manifests_in(released(wheels))
    assert [entry.filename for entry in manifest.wheels] == [NAME]


def test_a_wheel_that_changed_after_its_test_is_untested(python: Command, wheels: Path) -> None:
    write_wheel(wheels / NAME, files={"demo/more.py": b""})
    assert f"\n{NAME} " in release(python, wheels, exit_code=6)
    assert not (wheels.parent / "releases").exists()


def test_a_wheel_that_is_not_in_the_plan_is_refused(python: Command, wheels: Path) -> None:
    plan = wheels.parent / "plan.json"
    plan.write_text('{"shards": [], "waiting": []}')
    store = f"dir:{wheels.parent / 'releases'}"
    done = python("-m", "wheelmill", "release", wheels, "--store", store, "--plan", plan, exit_code=6)
    done.check_refused("publication-incomplete", NAME)
    assert not (wheels.parent / "releases").exists()


def test_what_is_to_be_attested_is_written_and_nothing_is_published(python: Command, wheels: Path) -> None:
    """Of the sidecar too: installers read it alone to find out what else to install."""
    write_wheel(wheels / "untested-1.0-py3-none-any.whl")
    checksums = wheels.parent / "checksums.txt"
    store = f"dir:{wheels.parent / 'releases'}"
    python("-m", "wheelmill", "release", wheels, "--store", store, "--checksums", checksums, exit_code=6)
    sidecar = sha256_of_bytes(metadata_bytes(wheels / NAME))
    assert checksums.read_text().splitlines() == [
        f"{sha256_of(wheels / NAME)}  {NAME}",
        f"{sidecar}  {NAME}.metadata",
        f"{sha256_of(certificate_path(wheels / NAME))}  {NAME}.tested.json",
    ]
    assert not (wheels.parent / "releases").exists()


def attest(sigstore: Sigstore, wheels: Path, *, ref: str = MAIN) -> None:
    """Sign the wheels of a folder as a job of theirs does, and leave the bundle beside them."""
    checksums = wheels.parent / "checksums.txt"
    files = {name: sha256 for sha256, name in map(str.split, checksums.read_text().splitlines())}
    (wheels / "bundle.jsonl").write_bytes(sigstore.attest(files, ref=ref) + b"\n")


def test_only_an_attested_wheel_is_released_and_listed(python: Command, wheels: Path, sigstore: Sigstore) -> None:
    """Somebody with the release's token adds a release of his own: its wheel has no attestation and is not listed."""
    store = ("--store", f"dir:{wheels.parent / 'releases'}")
    required = (*store, "--require-attestation", REPOSITORY)
    run = ("-m", "wheelmill", "release", wheels)
    python(*run, *required, exit_code=6).check_refused("publication-incomplete", NAME, f"{REPOSITORY}@main")
    python(*run, *store, "--checksums", wheels.parent / "checksums.txt", exit_code=0)
    attest(sigstore, wheels, ref="refs/heads/feature")
    python(*run, *required, exit_code=6).check_refused("publication-incomplete", NAME, f"{REPOSITORY}@main")
    attest(sigstore, wheels)
    python(*run, *required, exit_code=0)

    stolen = certified_wheel(wheels.parent / "stolen" / "demo-2.0-py3-none-any.whl")
    write_record(certificate_path(stolen.file.path), stolen.certificate)
    python("-m", "wheelmill", "release", wheels.parent / "stolen", *store, exit_code=0)
    site = wheels.parent / "site"
    index = (*INDEX, "--output", site)
    said = python(*index, *required, exit_code=0).stderr
    assert "demo-2.0-py3-none-any.whl" in said
    page = (site / "simple" / "demo" / "index.html").read_text()
    assert NAME in page
    assert "demo-2.0" not in page
    python(*index, *store, exit_code=0)
    assert "demo-2.0" in (site / "simple" / "demo" / "index.html").read_text()


def test_a_wheel_with_a_forged_sidecar_is_not_listed(python: Command, wheels: Path, sigstore: Sigstore) -> None:
    """The manifest promises another sidecar, which would make pip install what somebody else wrote."""
    store = ("--store", f"dir:{wheels.parent / 'releases'}")
    required = (*store, "--require-attestation", REPOSITORY)
    python("-m", "wheelmill", "release", wheels, *store, "--checksums", wheels.parent / "checksums.txt", exit_code=0)
    attest(sigstore, wheels)
    python("-m", "wheelmill", "release", wheels, *required, exit_code=0)
    (path,) = (wheels.parent / "releases").glob("*/manifest.json")
    forged = path.read_text().replace(sha256_of_bytes(metadata_bytes(wheels / NAME)), "f" * 64)
    path.write_text(forged)
    site = wheels.parent / "site"
    said = python(*INDEX, "--output", site, *required, exit_code=0).stderr
    assert f"{NAME} is not listed: {REPOSITORY}@main " in said


def test_a_store_of_no_known_kind_is_a_usage_error(python: Command, wheels: Path) -> None:
    done = python("-m", "wheelmill", "release", wheels, "--store", "ftp:somewhere", exit_code=2)
    done.check_refused("place-invalid", "--store", "dir:PATH", "github:OWNER/REPO", "s3:BUCKET/PREFIX", "ftp:somewhere")


def test_githubs_limits_are_told_a_line_each(python: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        python(*argv, exit_code=2).check_refused("token-absent", "GITHUB_TOKEN")


@pytest.mark.parametrize(
    ("base_url", "href"),
    [((), "../../../releases/"), (("--base-url", "https://files.test/x"), "https://files.test/x/")],
)
def test_an_index_links_to_its_store(base_url: tuple[str, ...], href: str, python: Command, wheels: Path) -> None:
    release(python, wheels)
    site = wheels.parent / "site"
    store = f"dir:{wheels.parent / 'releases'}"
    python(*INDEX, "--store", store, "--output", site, *base_url, exit_code=0)
    assert f'href="{href}v2' in (site / "simple" / "demo" / "index.html").read_text()


@pytest.mark.parametrize("url", ["https://host.test/?to=", "https://[::1"])
def test_wheels_are_not_below_a_query_or_half_an_address(url: str, python: Command, wheels: Path) -> None:
    release(python, wheels)
    folders = ("--store", f"dir:{wheels.parent / 'releases'}", "--output", wheels.parent / "site")
    done = python(*INDEX, *folders, "--base-url", url, exit_code=7)
    done.check_refused("url-not-a-folder", "URL", url)


def test_a_password_does_not_get_into_pages(python: Command, wheels: Path) -> None:
    release(python, wheels)
    folders = ("--store", f"dir:{wheels.parent / 'releases'}", "--output", wheels.parent / "site")
    done = python(*INDEX, *folders, "--base-url", "https://me:secret@host.test/x", exit_code=7)
    done.check_refused("url-with-credentials")
    assert "secret" not in done.stderr


def test_the_site_has_the_list_of_sources_for_clients(python: Command, wheels: Path, tmp_path: Path) -> None:
    release(python, wheels)
    folders = ("--config", tmp_path / "config", "--output", tmp_path / "site")
    build = ("-m", "wheelmill", "index", "build", "--store", f"dir:{wheels.parent / 'releases'}", *folders)
    sources = tmp_path / "config" / "sources.yml"
    sources.parent.mkdir()
    sources.write_text("sources: {new: {ftp: 'ftp://host.test/'}}\n")
    python(*build, exit_code=2).check_refused("configuration-invalid", "sources.yml:1:17", "sources.new.ftp")
    sources.write_text("sources: {new: {simple: 'https://host.test/simple/'}}\n")
    python(*build, exit_code=0)
    assert (tmp_path / "site" / "sources.yml").read_bytes() == sources.read_bytes()
    assert (tmp_path / "site" / "sources.yml.sha256").read_text() == f"{sha256_of(sources)}  sources.yml\n"


def test_a_store_that_is_no_folder_is_named(python: Command, wheels: Path) -> None:
    (wheels.parent / "releases").write_text("a file")
    assert f"--store: there is no folder {wheels.parent / 'releases'}\n" in release(python, wheels, exit_code=2)


def test_an_index_is_not_made_of_a_store_that_is_not_there(python: Command, tmp_path: Path) -> None:
    build = ("-m", "wheelmill", "index", "build", "--store", f"dir:{tmp_path / 'typo'}", "--output", tmp_path / "site")
    python(*build, exit_code=2).check_refused("folder-absent", "--store", tmp_path / "typo")
    assert not (tmp_path / "site").exists()
