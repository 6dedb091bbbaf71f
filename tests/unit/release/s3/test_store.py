"""Releases in a bucket."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from werkzeug.wrappers import Response

from tests.refusals import Coded, coded
from tests.releases import manifests_in, stopped_at
from tests.s3_server import BUCKET, KEY_ID, S3, Fault
from tests.unit.release.conftest import NOW, certified_wheel
from tests.unit.release.github.conftest import FakeClock
from tests.unit.release.s3.conftest import store_on
from wheelmill.errors import NetworkError, RejectedError, ReleaseError, UsageError, WheelmillError
from wheelmill.release.ledger.releases import absent_files, published, rebuild
from wheelmill.release.manifest.rules import listed_of
from wheelmill.release.publish import publish
from wheelmill.release.s3.bucket import Bucket
from wheelmill.release.s3.store import S3Store
from wheelmill.release.store import Publication
from wheelmill.system.progress import QUIET

NAME = "demo-1.0+cu130torch2.11-cp311-cp311-manylinux_2_28_x86_64.whl"
OTHER = "demo-1.1-py3-none-any.whl"


def test_wheels_lie_under_their_hashes_and_a_release_under_its_tag(store: S3Store, s3: S3, tmp_path: Path) -> None:
    wheels = [replace(certified_wheel(tmp_path / name), bundles=(name.encode(),)) for name in (NAME, OTHER)]
    manifests = publish(store, wheels, now=NOW).releases
    folders = {f"cuda/files/{wheel.file.sha256}": wheel.file for wheel in wheels}
    release = {"cuda/v2026-11-21/manifest.json", "cuda/v2026-11-21/attestations.jsonl"}
    beside = ("", ".metadata", ".cdx.json")
    assert set(s3.objects) == release | {
        key
        for folder, file in folders.items()
        for key in (*(f"{folder}/{file.filename}{suffix}" for suffix in beside), f"{folder}/attestations.jsonl")
    }
    for folder, file in folders.items():
        assert s3.objects[f"{folder}/{file.filename}"] == file.path.read_bytes()
        assert s3.objects[f"{folder}/attestations.jsonl"] == file.filename.encode() + b"\n"
    assert s3.objects["cuda/v2026-11-21/attestations.jsonl"] == f"{NAME}\n{OTHER}\n".encode()
    assert manifests_in(store) == tuple(map(listed_of, manifests))
    assert published(store, pytest.fail).published.keys() == {NAME, OTHER}


def test_requests_are_signed_and_conditional_and_say_what_may_be_kept(store: S3Store, s3: S3, tmp_path: Path) -> None:
    """What never changes may be kept for ever, and the ledger not at all."""
    publish(store, [certified_wheel(tmp_path / NAME)], now=NOW)
    assert all(f"Credential={KEY_ID}/" in call.headers["Authorization"] for call in s3.calls)
    writes = [call for call in s3.calls if call.method == "PUT"]
    assert all(call.headers.keys() & {"If-None-Match", "If-Match"} for call in writes)
    assert "PUT /cuda/v2026-11-21/manifest.json" in map(str, writes)
    kept = {key: found.metadata["cache-control"] for key, found in s3.keys.items()}
    assert kept.pop("cuda/ledger.tar.gz") == "no-cache"
    assert set(kept.values()) == {"public, max-age=31536000, immutable"}


def test_the_ledger_is_made_again_from_the_releases(store: S3Store, s3: S3, tmp_path: Path) -> None:
    publish(store, [certified_wheel(tmp_path / NAME)], now=NOW)
    publish(store, [certified_wheel(tmp_path / OTHER)], now=NOW)
    before = store.ledger.read()
    del s3.keys["cuda/ledger.tar.gz"]
    told: list[str] = []
    assert rebuild(store_on(FakeClock()), told.append).releases == before.releases
    assert told == []
    assert list(before.releases) == ["v2026-11-21", "v2026-11-21.2"]


def test_files_that_a_release_lacks_are_found(store: S3Store, s3: S3, tmp_path: Path) -> None:
    wheel = certified_wheel(tmp_path / NAME)
    publish(store, [wheel], now=NOW)
    del s3.keys[f"cuda/files/{wheel.file.sha256}/{NAME}.metadata"]
    assert absent_files(store, store.ledger.read().releases) == {"v2026-11-21": (f"{NAME}.metadata",)}


def test_a_wheel_is_fetched_in_pieces(store: S3Store, s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wheelmill.release.s3.bucket._PIECE", 1000)
    wheel = certified_wheel(tmp_path / NAME, content=bytes(range(256)) * 20)
    publish(store, [wheel], now=NOW)
    s3.calls.clear()
    (here := tmp_path / "here").mkdir()
    fetched = store.fetch(store.ledger.read().published[NAME][1], NAME, wheel.file.sha256, here)
    assert fetched.path.read_bytes() == wheel.file.path.read_bytes()
    assert len([call for call in s3.calls if "Range" in call.headers]) == -(-wheel.file.size // 1000)


def test_a_released_wheel_with_other_bytes_is_not_fetched(store: S3Store, s3: S3, tmp_path: Path) -> None:
    wheel = certified_wheel(tmp_path / NAME)
    (manifest,) = publish(store, [wheel], now=NOW).releases
    s3.keys[f"cuda/files/{wheel.file.sha256}/{NAME}"].value = b"other bytes"
    (here := tmp_path / "here").mkdir()
    with pytest.raises(ReleaseError, check=coded("hash-differs")):
        store.fetch(manifest.tag, NAME, wheel.file.sha256, here)
    assert list(here.iterdir()) == []


def test_orphans_are_listed_and_old_ones_removed(store: S3Store, s3: S3, clock: FakeClock, tmp_path: Path) -> None:
    wheels = [certified_wheel(tmp_path / name) for name in (NAME, OTHER, "demo-3.0+cu130-py3-none-any.whl")]
    publish(store, wheels[:1], now=NOW)
    with store.publisher(now=NOW, progress=QUIET, until=None) as publisher:
        publisher.add(wheels[1:])
    now = datetime.fromtimestamp(clock.now(), UTC)
    keys = {wheel.file.filename: f"cuda/files/{wheel.file.sha256}/" for wheel in wheels}
    for key, kept in s3.keys.items():
        is_old = key.startswith((keys[NAME], keys[OTHER]))
        kept.last_modified = (now - timedelta(days=2 if is_old else 0)).replace(tzinfo=None)
    left = {each.name.rpartition("/")[2]: each for each in store.orphans(remove=False, progress=QUIET)}
    assert {name: (each.files, each.age.days, each.removed) for name, each in left.items()} == {
        OTHER: (3, 2, False),
        "demo-3.0+cu130-py3-none-any.whl": (3, 0, False),
    }
    assert left[OTHER].name == f"files/{wheels[1].file.sha256}/{OTHER}"
    before = s3.objects
    removed = store.orphans(remove=True, progress=QUIET)
    assert {each.name.rpartition("/")[2]: each.removed for each in removed} == {
        OTHER: True,
        "demo-3.0+cu130-py3-none-any.whl": False,
    }
    assert before.keys() - s3.objects.keys() == {key for key in before if key.startswith(keys[OTHER])}
    with (
        store_on(clock).publisher(now=NOW, progress=QUIET, until=None),
        pytest.raises(ReleaseError, check=coded("somebody-else")),
    ):
        store.orphans(remove=True, progress=QUIET)


@pytest.mark.parametrize("damage", ["v2026-11-20/manifest.json", "v2026-11-20-by-hand/manifest.json"])
def test_no_wheel_is_removed_while_a_release_is_unreadable(damage: str, store: S3Store, s3: S3, tmp_path: Path) -> None:
    publish(store, [certified_wheel(tmp_path / NAME)], now=NOW)
    store.bucket.write_verified(damage, b"{}", cache="no-cache", over=None)
    before = s3.objects
    with pytest.raises(ReleaseError, check=coded("leftovers-doubtful", damage[:13])):
        store.orphans(remove=True, progress=QUIET)
    assert s3.objects == before


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("files/a/x.whl.provenance", "application/json"),
        ("files/a/x.whl.metadata", "text/plain; charset=utf-8"),
        ("files/a/x.whl.cdx.json", "application/json"),
        ("cu130/simple/v1+json/demo/", "application/vnd.pypi.simple.v1+json"),
    ],
)
def test_every_object_has_its_type(key: str, kind: str, store: S3Store) -> None:
    store.bucket.write_verified(key, b"{}", cache="no-cache", over=None)
    answer = store.bucket.connection.client.head_object(Bucket=store.bucket.name, Key=f"cuda/{key}")
    assert answer["ContentType"] == kind


def test_what_a_publication_left_that_broke_off_is_taken_up(store: S3Store, s3: S3, tmp_path: Path) -> None:
    wheels = [certified_wheel(tmp_path / name) for name in (NAME, OTHER)]
    with store.publisher(now=NOW, progress=QUIET, until=None) as publisher:
        publisher.add(wheels[:1])
    assert published(store, pytest.fail).releases == {}
    s3.calls.clear()
    publish(store, wheels, now=NOW + timedelta(days=1))
    sent = [call.path for call in s3.calls if call.method == "PUT" and call.path.endswith(".whl")]
    assert [path.rpartition("/")[2] for path in sent] == [OTHER]


def test_half_a_wheel_is_replaced_and_its_release_is_whole(store: S3Store, s3: S3, tmp_path: Path) -> None:
    wheel = certified_wheel(tmp_path / NAME)
    with store.publisher(now=NOW, progress=QUIET, until=None) as publisher:
        publisher.add([wheel])
    s3.keys[f"cuda/files/{wheel.file.sha256}/{NAME}"].value = wheel.file.path.read_bytes()[:100]
    publish(store, [wheel], now=NOW)
    assert s3.is_whole()


@pytest.mark.parametrize("hashes", [True, False])
def test_a_wheel_is_read_again_only_without_a_hash(store: S3Store, s3: S3, tmp_path: Path, *, hashes: bool) -> None:
    s3.hashes = hashes
    publish(store, [certified_wheel(tmp_path / NAME)], now=NOW)
    read = [call for call in s3.calls if call.method == "GET" and "/files/" in call.path]
    assert len(read) == (0 if hashes else 3)


def test_a_tag_that_somebody_else_took_is_left_to_them(store: S3Store, s3: S3, tmp_path: Path) -> None:
    theirs = store_on(FakeClock())
    theirs.bucket.write_verified("v2026-11-21/manifest.json", b"{}", cache="no-cache", over=None)
    (manifest,) = publish(store, [certified_wheel(tmp_path / NAME)], now=NOW).releases
    assert manifest.tag == "v2026-11-21.2"
    assert s3.objects["cuda/v2026-11-21/manifest.json"] == b"{}"


def test_two_publishers_release_equal_wheels_once(store: S3Store, s3: S3, clock: FakeClock, tmp_path: Path) -> None:
    wheel = certified_wheel(tmp_path / NAME)
    done: list[Publication] = []
    sleep = clock.sleep

    def meanwhile(seconds: float) -> None:
        """The first one goes on while the second waits for a minute."""
        sleep(seconds)
        if seconds == 60 and not done:
            first.add([wheel])
            done.append(first.publish())
            context.__exit__(None, None, None)

    context = store.publisher(now=NOW, progress=QUIET, until=None)
    first = context.__enter__()
    clock.sleep = meanwhile  # type: ignore[method-assign]
    assert publish(store_on(clock), [wheel], now=NOW).releases == ()
    assert [manifest.tag for each in done for manifest in each.releases] == ["v2026-11-21"]
    assert s3.is_whole()


def test_a_publisher_without_a_lease_stops_in_time(store: S3Store, s3: S3, clock: FakeClock, tmp_path: Path) -> None:
    with store.publisher(now=NOW, progress=QUIET, until=None) as sleeper:
        sleeper.add([certified_wheel(tmp_path / NAME)])
        clock.time += 3600
        publish(store_on(clock), [certified_wheel(tmp_path / OTHER)], now=NOW)
        with pytest.raises(ReleaseError, check=coded("turn-lost")):
            sleeper.publish()
    assert [key for key in s3.objects if key.endswith("manifest.json")] == ["cuda/v2026-11-21/manifest.json"]


def test_when_the_time_is_over_what_arrived_is_published(store: S3Store, clock: FakeClock, tmp_path: Path) -> None:
    with store.publisher(now=NOW, progress=QUIET, until=clock.now() + 10) as publisher:
        publisher.add([certified_wheel(tmp_path / NAME)])
        clock.time += 60
        publisher.add([certified_wheel(tmp_path / OTHER)])
        assert publisher.over
        (manifest,) = publisher.publish().releases
    assert [entry.filename for entry in manifest.wheels] == [NAME]


def test_a_wheel_that_s3_does_not_take_holds_up_no_other(store: S3Store, s3: S3, tmp_path: Path) -> None:
    wheels = [certified_wheel(tmp_path / name) for name in (NAME, OTHER)]
    certified_wheel(tmp_path / NAME, content=b"changed meanwhile")
    publication = publish(store, wheels, now=NOW)
    assert [entry.filename for manifest in publication.releases for entry in manifest.wheels] == [OTHER]
    (refusal,) = publication.refusals
    assert refusal.filename == NAME
    assert s3.is_whole()


def test_a_wheel_that_is_too_large_is_refused(store: S3Store, tmp_path: Path) -> None:
    wheel = certified_wheel(tmp_path / NAME)
    huge = replace(wheel, file=replace(wheel.file, size=5 * 10**9))
    (refusal,) = publish(store, [huge], now=NOW).refusals
    assert "S3 takes less than 5000000000" in str(refusal)


def _reading(store: S3Store) -> object:
    return store.ledger.read()


def _listing(store: S3Store) -> object:
    return store.tags()


@pytest.mark.parametrize(
    ("name", "ask", "kind", "refusal"),
    [
        ("other", _reading, RejectedError, coded("s3-rejected", "404 NoSuchBucket")),
        ("other", _listing, RejectedError, coded("s3-rejected", "404 NoSuchBucket")),
        ("a!b", _listing, UsageError, coded("s3-denied", "a!b")),
    ],
)
def test_what_s3_will_not_do_is_told_with_its_words(
    store: S3Store, name: str, ask: Callable[[S3Store], object], kind: type[WheelmillError], refusal: Coded
) -> None:
    with pytest.raises(kind, check=refusal):
        ask(S3Store(bucket=replace(store.bucket, name=name)))


@pytest.mark.parametrize("fault", [Fault.PAGE, Fault.EMPTY])
@pytest.mark.parametrize("ask", [_reading, _listing])
def test_other_xml_is_no_empty_bucket(store: S3Store, s3: S3, fault: Fault, ask: Callable[[S3Store], object]) -> None:
    s3.faults[0] = fault
    with pytest.raises(NetworkError):
        ask(store)


LISTED = '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{}</ListBucketResult>'
TRUNCATED = "<IsTruncated>true</IsTruncated>"


@pytest.mark.parametrize(
    "page",
    [
        "<ListBucketResult",
        LISTED.format(TRUNCATED),
        LISTED.format(f"{TRUNCATED}<NextContinuationToken>x</NextContinuationToken>"),
    ],
)
def test_an_impossible_listing_is_refused(store: S3Store, s3: S3, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wheelmill.release.s3.bucket._PAGES", 3)
    s3.instead = lambda _call: Response(page, content_type="application/xml")
    with pytest.raises(NetworkError):
        store.tags()


@pytest.mark.parametrize(
    "headers",
    [
        {"ETag": '"x"', "x-amz-checksum-sha256": "%%%"},
        {"ETag": '"x"', "Last-Modified": "yesterday"},
        {"x-amz-checksum-sha256": "AAAA"},
    ],
)
def test_headers_that_no_object_has_are_refused(store: S3Store, s3: S3, headers: dict[str, str]) -> None:
    s3.instead = lambda _call: Response(headers=headers)
    with pytest.raises(NetworkError, check=coded("s3-unreadable")):
        store.bucket.find("x")


def test_a_piece_of_another_size_is_no_piece(store: S3Store, s3: S3, tmp_path: Path) -> None:
    wheel = certified_wheel(tmp_path / NAME)
    (manifest,) = publish(store, [wheel], now=NOW).releases
    s3.instead = lambda call: Response(b"short", 206, headers={"ETag": '"x"'}) if "Range" in call.headers else None
    with pytest.raises(NetworkError, check=coded("answer-cut-short", "5")):
        store.fetch(manifest.tag, NAME, wheel.file.sha256, tmp_path)


def test_a_busy_server_is_asked_again_a_little_later(store: S3Store, s3: S3, clock: FakeClock) -> None:
    s3.faults |= dict.fromkeys(range(2), Fault.SLOW_DOWN)
    assert store.tags() == frozenset()
    assert clock.waited == [1.0, 10.0]


def test_only_publishing_needs_credentials(store: S3Store, s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(UsageError, check=coded("s3-credentials-absent", "s3:wheels/cuda")):
        store.check_can_publish()
    assert store.tags() == frozenset()
    assert "Authorization" not in s3.calls[-1].headers


@pytest.mark.parametrize("place", ["", "/prefix", "bucket//x", "bucket/../x", "bucket/a\nb"])
def test_a_place_that_is_none_is_refused(place: str) -> None:
    with pytest.raises(UsageError, check=coded("bucket-invalid")):
        Bucket.parse(place, stopped_at(NOW))


def test_a_bucket_has_an_address(store: S3Store, s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert store.url_from(tmp_path) == f"{s3.origin}/{BUCKET}/cuda/"
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "https://somebody:secret@minio.example")
    assert S3Store(bucket=Bucket.parse("wheels", stopped_at(NOW))).url_from(tmp_path) == "https://minio.example/wheels/"
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3")
    amazon = S3Store(bucket=Bucket.parse("wheels/a+b/", stopped_at(NOW)))
    assert amazon.url_from(tmp_path) == "https://wheels.s3.eu-central-1.amazonaws.com/a%2Bb/"
    named = S3Store(bucket=Bucket.parse("wheels", stopped_at(NOW)), address="https://wheels.example.org")
    assert named.url_from(tmp_path) == "https://wheels.example.org"


def test_a_manifest_says_what_every_store_says(store: S3Store, s3: S3, tmp_path: Path) -> None:
    publish(store, [certified_wheel(tmp_path / NAME)], now=NOW)
    manifest = json.loads(s3.objects["cuda/v2026-11-21/manifest.json"])
    assert manifest["tag"] == "v2026-11-21"
    assert [wheel["filename"] for wheel in manifest["wheels"]] == [NAME]
