"""The commands of a factory whose releases and site are in a bucket, and installers that install from there."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.gpu_wheels import gpu_wheel
from tests.integration.conftest import Command
from tests.releases import store_in
from tests.s3_server import BUCKET, S3, serving
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.cli.factory.inputs import store_at
from wheelmill.release.publish import publish
from wheelmill.smoke.verdict import certificate_path
from wheelmill.system.progress import QUIET
from wheelmill.system.records import write_record

NAME = "demo-1.0+cu130-py3-none-any.whl"
PLAIN = "demo-1.0-py3-none-any.whl"
LATER = "demo-2.0+cu130-py3-none-any.whl"
STORE = f"s3:{BUCKET}/cuda"
"""Has a release and its site, which tests only read."""


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    """One for all tests, which this process and its commands are set to; each writes below a prefix of its own."""
    with serving(S3()) as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        yield server


@pytest.fixture
def own(s3: S3, tmp_path: Path) -> str:
    """A prefix of the bucket below which there is nothing yet."""
    assert s3.origin
    return f"s3:{BUCKET}/{tmp_path.name}"


@pytest.fixture(scope="module")
def folder(python: Command, s3: S3, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a site in it, which is in the bucket, too, of a release in the bucket."""
    assert s3.origin
    folder = tmp_path_factory.mktemp("site")
    publish(store_at(STORE), [certified_wheel(folder / "wheels" / NAME)], now=NOW)
    build(python, folder, STORE)
    assert "0 the same, 0 removed" in upload(python, folder / "site", STORE)
    return folder


@pytest.fixture(scope="module")
def site(s3: S3, folder: Path) -> str:
    """The address of the site."""
    assert folder.exists()
    return f"{s3.origin}/{BUCKET}/cuda/"


def build(python: Command, folder: Path, store: str, *options: str) -> None:
    """Build the site of a store that has no configuration."""
    (folder / "config").mkdir(exist_ok=True)
    where = ("--store", store, "--output", folder / "site", "--config", folder / "config")
    python("-m", "wheelmill", "index", "build", *where, *options, exit_code=0)


def upload(python: Command, site: Path, store: str) -> str:
    return python("-m", "wheelmill", "index", "upload", site, store, exit_code=0).stderr


def listed(folder: Path) -> dict[str, str]:
    wheels = json.loads((folder / "site" / "wheels.json").read_bytes())["wheels"]
    return {wheel["filename"]: wheel["url"] for wheel in wheels}


def headers_of(url: str) -> httpx.Headers:
    """The headers of what everybody can have."""
    return httpx.get(url, timeout=60).raise_for_status().headers


def install(tool: list[str], folder: Path, index: str) -> None:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_", "AWS_"))}
    env = ours | {"PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1"}
    where = ["--target", str(folder), "--index-url", index, "demo"]
    done = subprocess.run([sys.executable, "-m", *tool, *where], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (folder / "demo-1.0+cu130.dist-info").is_dir()


@pytest.mark.parametrize(
    ("tool", "by_time"),
    [
        (["pip", "install", "--no-cache-dir"], ["--uploaded-prior-to", "2100-01-01T00:00:00Z"]),
        (["uv", "pip", "install", "--no-cache"], ["--exclude-newer", "2100-01-01T00:00:00Z"]),
    ],
    ids=["pip", "uv"],
)
def test_installers_use_the_s3_address(site: str, tool: list[str], by_time: list[str], s3: S3, tmp_path: Path) -> None:
    s3.calls.clear()
    install(tool, tmp_path / "installed", f"{site}cu130/simple/")
    asked = [call.path.rpartition("/")[2] for call in s3.calls if "/files/" in call.path]
    assert {NAME, f"{NAME}.metadata"} >= set(asked) >= {NAME}
    install([*tool, *by_time], tmp_path / "of time", f"{site}cu130/simple/v1%2Bjson/")


def test_a_raw_plus_in_a_path_is_a_space_and_the_index_has_none(folder: Path) -> None:
    (url,) = listed(folder).values()
    assert url.endswith("/demo-1.0%2Bcu130-py3-none-any.whl")
    page = (folder / "site" / "simple" / "demo" / "index.html").read_text()
    assert [part for part in page.split('"') if part.startswith("http") and "+" in part] == []
    assert headers_of(url)["cache-control"] == "public, max-age=31536000, immutable"
    with pytest.raises(httpx.HTTPStatusError, match=r"40[34]"):
        headers_of(url.replace("%2B", "+"))


def test_objects_of_a_site_have_their_types_and_are_asked_for_again(site: str) -> None:
    types = {
        "simple/demo/": "text/html; charset=utf-8",
        "simple/demo/index.html": "text/html; charset=utf-8",
        "simple/demo/index.json": "application/vnd.pypi.simple.v1+json",
        "simple/v1%2Bjson/": "application/vnd.pypi.simple.v1+json",
        "simple/v1%2Bjson/demo/": "application/vnd.pypi.simple.v1+json",
        "wheels.json": "application/json",
        "index.html": "text/html; charset=utf-8",
    }
    answers = {key: headers_of(site + key) for key in types}
    assert {key: answer["content-type"] for key, answer in answers.items()} == types
    assert {answer["cache-control"] for answer in answers.values()} == {"public, max-age=600"}


def test_only_differences_are_sent_or_removed(python: Command, s3: S3, own: str, folder: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(folder / "site", site)
    upload(python, site, own)
    prefix = own.partition("/")[2]
    s3.keys[f"{prefix}/ours.txt"] = s3.keys[f"{prefix}/index.html"]
    assert "0 objects sent" in upload(python, site, own)
    (site / "wheels.json").write_bytes(b"{}")
    (site / "404.html").unlink()
    assert "1 object sent" in (said := upload(python, site, own))
    assert "1 removed" in said
    assert f"{prefix}/404.html" not in s3.objects
    assert s3.objects.keys() >= {f"{prefix}/ours.txt", f"{prefix}/simple/demo/"}
    assert s3.is_whole()


def test_a_mirror_is_named_where_it_has_the_very_wheel(python: Command, s3: S3, own: str, tmp_path: Path) -> None:
    releases = store_in(tmp_path / "releases")
    wheels = [certified_wheel(tmp_path / "all" / name) for name in (NAME, LATER)]
    publish(releases, wheels, now=NOW)
    publish(store_at(own), wheels[:1], now=NOW)
    build(python, tmp_path, f"dir:{releases.directory}", "--base-url", "https://wheels.example", "--mirror", own)
    assert listed(tmp_path)[NAME].startswith(f"{s3.origin}/{BUCKET}/{own.partition('/')[2]}/files/")
    assert listed(tmp_path)[LATER].startswith("https://wheels.example/v2026-11-21/")
    build(
        python, tmp_path, f"dir:{releases.directory}", "--mirror", f"{own}=https://fast.example/cuda", "--mirror", own
    )
    assert listed(tmp_path)[NAME].startswith("https://fast.example/cuda/files/")


def test_the_public_address_of_a_bucket_can_be_named(python: Command, site: str, tmp_path: Path) -> None:
    build(python, tmp_path, STORE, "--base-url", "https://wheels.example/cuda/")
    assert site not in listed(tmp_path)[NAME]
    assert listed(tmp_path)[NAME].startswith("https://wheels.example/cuda/files/")


def test_a_wheel_is_released_once_and_the_ledger_remade(python: Command, s3: S3, own: str, tmp_path: Path) -> None:
    wheel = certified_wheel(tmp_path / "wheels" / PLAIN)
    write_record(certificate_path(wheel.file.path), wheel.certificate)
    assert PLAIN in python("-m", "wheelmill", "release", tmp_path / "wheels", "--store", own, exit_code=0).stderr
    before, ledger = s3.objects, f"{own.partition('/')[2]}/ledger.tar.gz"
    del s3.keys[ledger]
    python("-m", "wheelmill", "release", "ledger", "--rebuild", "--store", own, exit_code=0)
    assert ledger in s3.keys
    said = python("-m", "wheelmill", "release", tmp_path / "wheels", "--store", own, exit_code=0).stderr
    assert "nothing to release" in said
    assert s3.objects == before


def test_a_publications_rest_is_listed_and_kept_for_a_day(python: Command, s3: S3, own: str, tmp_path: Path) -> None:
    store = store_at(own)
    wheel = certified_wheel(tmp_path / PLAIN)
    with store.publisher(now=NOW, progress=QUIET, until=None) as publisher:
        publisher.add([wheel])
    before = s3.objects
    for options in ([], ["--remove"]):
        said = python("-m", "wheelmill", "release", "drafts", "--store", own, *options, exit_code=0).stderr
        assert f"files/{wheel.file.sha256}/{PLAIN}: 3 files, 0 days old\n" in said
    assert s3.objects == before


@pytest.mark.parametrize(
    ("arguments", "code", "fact"),
    [
        (["plan", "--store", "s3:"], "bucket-invalid", "BUCKET/PREFIX"),
        (["plan", "--store", "s4:x"], "place-invalid", "--store"),
        (["index", "upload", "docs", "github:x/y"], "place-invalid", "github:x/y"),
        (["index", "upload", "docs", "s3:x/y"], "s3-credentials-absent", "s3:x/y"),
    ],
)
@pytest.mark.usefixtures("s3")
def test_nonsense_is_refused(
    python: Command, arguments: list[str], code: str, fact: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    python("-m", "wheelmill", *arguments, exit_code=2).check_refused(code, fact)


def test_variant_wheels_are_in_a_bucket_too(python: Command, s3: S3, own: str, tmp_path: Path) -> None:
    stores = (own, f"{own}-variants")
    publish(store_at(stores[0]), [gpu_wheel(tmp_path / "wheels", "demo", "cu130", (90,))], now=NOW)
    python("-m", "wheelmill", "release", "variants", "demo", "--store", stores[0], "--to", stores[1], exit_code=0)
    build(python, tmp_path, stores[0], "--variants", stores[1])
    page = json.loads((tmp_path / "site" / "variants" / "simple" / "demo" / "index.json").read_bytes())
    wheels = [file for file in page["files"] if file["filename"].endswith(".whl")]
    assert len(wheels) == 2
    for wheel in wheels:
        content = httpx.get(wheel["url"], timeout=60).raise_for_status().content
        assert hashlib.sha256(content).hexdigest() == wheel["hashes"]["sha256"]
        assert httpx.get(f"{wheel['url']}.metadata", timeout=60).raise_for_status().text.count("Version: 1.0\n") == 1
    assert s3.origin in wheels[0]["url"]
