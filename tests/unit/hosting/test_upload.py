"""Sites that are sent to buckets."""

import json
from dataclasses import replace
from pathlib import Path
from urllib.parse import urljoin

import pytest

from tests.refusals import coded
from tests.s3_server import S3, Fault
from tests.unit.release.github.conftest import FakeClock
from tests.unit.release.s3.conftest import clock, s3, s3_server, store_on
from wheelmill.errors import IntegrityError, NetworkError, ReleaseError, SiteError
from wheelmill.hosting.upload import upload_site
from wheelmill.release.s3.bucket import Bucket
from wheelmill.system.progress import QUIET

__all__ = ["clock", "s3", "s3_server"]


JSON_PAGE = '{"files":[{"url":"../../files/demo.whl"},{"url":"https://files.example/demo.whl"}]}'


@pytest.fixture
def bucket(s3: S3, clock: FakeClock) -> Bucket:  # noqa: ARG001 - the server must be there
    return store_on(clock).bucket


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site of one project."""
    for name in ("simple/index.html", "simple/demo/index.html", "index.html", "404.html"):
        write(tmp_path / "site" / name, name)
    write(tmp_path / "site" / "simple" / "demo" / "index.json", JSON_PAGE)
    return tmp_path / "site"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_over(bucket: Bucket, key: str) -> None:
    """Write what others have, in place of any object."""
    etag, _ = bucket.read(key)
    assert bucket.write_verified(key, b"theirs", cache="no-cache", over=etag)


def pages(s3: S3) -> dict[str, str]:
    return {key.removeprefix("cuda/"): content.decode() for key, content in s3.objects.items() if ".site" not in key}


def test_pages_have_the_name_of_their_folder_too(site: Path, bucket: Bucket, s3: S3) -> None:
    assert str(upload_site(site, bucket, QUIET)) == "8 objects sent, 0 the same, 0 removed"
    sent = pages(s3)
    assert sent["simple/demo/"] == sent["simple/demo/index.html"] == "simple/demo/index.html"
    assert sent.keys() == {
        *("simple/", "simple/index.html", "simple/demo/", "simple/demo/index.html", "simple/demo/index.json"),
        *("simple/v1+json/demo/", "index.html", "404.html"),
    }


def test_json_has_an_address_of_its_own_with_links_to_the_same_wheels(site: Path, bucket: Bucket, s3: S3) -> None:
    upload_site(site, bucket, QUIET)
    urls = {
        urljoin(f"https://cuda.example/{key}", file["url"])
        for key in ("simple/demo/index.json", "simple/v1+json/demo/")
        for file in json.loads(pages(s3)[key])["files"]
    }
    assert urls == {"https://cuda.example/files/demo.whl", "https://files.example/demo.whl"}


def test_a_project_may_be_called_simple(site: Path, bucket: Bucket, s3: S3) -> None:
    places = [(tree, project) for tree in ("", "cu130/torch2.11/") for project in ("simple", "ever-so-simple")]
    for tree, project in places:
        write(site / tree / "simple" / project / "index.json", JSON_PAGE)
    upload_site(site, bucket, QUIET)
    assert {key for key in pages(s3) if "v1+json" in key and "demo" not in key} == {
        f"{tree}simple/v1+json/{project}/" for tree, project in places
    }


def test_a_broken_upload_is_completed_without_rest(site: Path, bucket: Bucket, s3: S3, clock: FakeClock) -> None:
    write(site / "simple" / "gone" / "index.html", "gone")
    upload_site(site, bucket, QUIET)
    (site / "simple" / "gone" / "index.html").unlink()
    write(site / "simple" / "demo" / "index.html", "new")
    write(site / "simple" / "more" / "index.html", "more")
    s3.faults |= dict.fromkeys(range(len(s3.calls) + 6, len(s3.calls) + 5000), Fault.BEFORE)
    with pytest.raises(NetworkError):
        upload_site(site, bucket, QUIET)
    s3.faults.clear()
    (site / "simple" / "more" / "index.html").unlink()
    upload_site(site, store_on(clock).bucket, QUIET)
    assert {key for key in pages(s3) if key.startswith("simple/")} == {
        *("simple/", "simple/index.html", "simple/demo/", "simple/demo/index.html", "simple/demo/index.json"),
        "simple/v1+json/demo/",
    }
    assert pages(s3)["simple/demo/"] == "new"


def test_what_others_have_there_stays_and_what_they_changed_is_put_right(site: Path, bucket: Bucket, s3: S3) -> None:
    upload_site(site, bucket, QUIET)
    write_over(bucket, "simple/theirs.txt")
    write_over(bucket, "simple/demo/")
    assert str(upload_site(site, bucket, QUIET)) == "1 object sent, 7 the same, 0 removed"
    assert pages(s3)["simple/theirs.txt"] == "theirs"
    assert pages(s3)["simple/demo/"] == "simple/demo/index.html"


def test_of_two_uploads_one_fails(
    site: Path, bucket: Bucket, s3: S3, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure = Bucket.ensure

    def and_another(own: Bucket, *arguments: object, **options: object) -> None:
        monkeypatch.setattr(Bucket, "ensure", ensure)
        write(site / "simple" / "other" / "index.html", "of the other site")
        upload_site(site, store_on(clock).bucket, QUIET)
        ensure(own, *arguments, **options)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(Bucket, "ensure", and_another)
    monkeypatch.setattr("wheelmill.hosting.upload._AT_ONCE", 1)
    with pytest.raises(ReleaseError, check=coded("somebody-else", "s3:wheels/cuda")):
        upload_site(site, bucket, QUIET)
    assert pages(s3)["simple/other/"] == "of the other site"


@pytest.mark.parametrize("name", ["files/x", "v2026-11-21/manifest.json", "ledger.tar.gz"])
def test_a_site_has_nothing_where_releases_are(name: str, site: Path, bucket: Bucket, s3: S3) -> None:
    write(site / name, "mine")
    with pytest.raises(SiteError, check=coded("site-name-reserved")):
        upload_site(site, bucket, QUIET)
    assert s3.objects == {}


THEIRS = ["files/a/x.whl", "v2026-11-21/manifest.json", "ledger.tar.gz", "simple/theirs/index.html", "thesis.pdf"]


def list_also(s3: S3, *keys: str) -> None:
    """Add keys to the site's list, as whoever may write that one object could."""
    record = s3.keys["cuda/.site.json"]
    record.value = json.dumps({"schema": "wheelmill.uploaded-site/1", "keys": keys}).encode()


def test_a_list_that_names_what_is_not_the_sites_removes_none(site: Path, bucket: Bucket, s3: S3) -> None:
    upload_site(site, bucket, QUIET)
    for key in THEIRS:
        write_over(bucket, key)
    list_also(s3, "simple/gone.html", *THEIRS)
    assert str(upload_site(site, bucket, QUIET)) == "0 objects sent, 8 the same, 0 removed"
    assert {f"cuda/{key}" for key in THEIRS} <= set(s3.keys)


def test_a_list_of_a_bucket_does_not_remove_the_site_of_a_prefix(site: Path, s3: S3, clock: FakeClock) -> None:
    whole, below = replace(store_on(clock).bucket, prefix=""), replace(store_on(clock).bucket, prefix="staging/")
    upload_site(site, below, QUIET)
    write(site / "simple" / "gone" / "index.html", "gone")
    upload_site(site, whole, QUIET)
    (site / "simple" / "gone" / "index.html").unlink()
    record = json.loads(s3.keys[".site.json"].value)
    record["keys"] += ["staging/404.html", "../wheels/staging/404.html"]
    s3.keys[".site.json"].value = json.dumps(record).encode()
    assert "2 removed" in str(upload_site(site, whole, QUIET))  # a page has two names
    assert "staging/404.html" in s3.keys


def test_a_page_that_another_wrote_over_is_not_removed(site: Path, bucket: Bucket, s3: S3) -> None:
    upload_site(site, bucket, QUIET)
    write_over(bucket, "404.html")
    (site / "404.html").unlink()
    assert "0 removed" in str(upload_site(site, bucket, QUIET))
    assert pages(s3)["404.html"] == "theirs"


def test_a_record_of_something_else_is_named(site: Path, bucket: Bucket, s3: S3) -> None:
    upload_site(site, bucket, QUIET)
    s3.keys["cuda/.site.json"].value = b"[]"
    with pytest.raises(IntegrityError, check=coded("record-invalid", "s3:wheels/cuda/.site.json")):
        upload_site(site, bucket, QUIET)


def test_a_folder_without_pages_is_no_site(tmp_path: Path, bucket: Bucket) -> None:
    with pytest.raises(SiteError, check=coded("not-a-site")):
        upload_site(tmp_path, bucket, QUIET)
