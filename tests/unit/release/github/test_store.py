"""A release on GitHub is a draft until it is whole, and never touched later. What GitHub cannot take is not sent."""

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.github_server import HEAD, REPOSITORY, Answer, Asset, Call, Fault, GitHub, Release
from tests.refusals import coded
from tests.releases import NOW, manifests_in, stopped_at
from tests.unit.release.conftest import certified_wheel
from tests.unit.release.github.conftest import NAMES, FakeClock, store_on
from wheelmill.errors import NetworkError, ReleaseError, UsageError
from wheelmill.names import Sha256
from wheelmill.release import store as store_module
from wheelmill.release.github.api import Pace, Repository
from wheelmill.release.github.store import MAX_WHEELS, GitHubStore
from wheelmill.release.manifest.record import MANIFEST, manifest_bytes
from wheelmill.release.manifest.rules import listed_of
from wheelmill.release.publish import publish
from wheelmill.release.publish_lease import CHANGES_AN_HOUR
from wheelmill.release.store import Quotas
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.wheel.archive import MAX_WHEEL
from wheelmill.wheel.name import WheelFile

ENDS = ("", ".metadata", ".cdx.json")
"""What a wheel's own name ends in, and what lies beside it."""


def test_a_release_has_wheels_and_manifest(store: GitHubStore, github: GitHub, wheels: list[TestedWheel]) -> None:
    (manifest,) = publish(store, wheels, now=NOW).releases
    files = github.published()["v2026-11-21"]
    assert files.keys() == {*(f"{name}{end}" for name in NAMES for end in ENDS), "manifest.json"}
    assert {name: files[name] for name in NAMES} == {wheel.file.filename: wheel.file.sha256 for wheel in wheels}
    (content,) = (asset.content for asset in github.releases[0].assets if asset.name == "manifest.json")
    assert content == manifest_bytes(manifest)
    assert manifests_in(store) == (listed_of(manifest),)


def test_a_packages_own_release_stays_the_latest(store: GitHubStore, github: GitHub, wheels: list[TestedWheel]) -> None:
    publish(store, wheels, now=NOW)
    assert [(release.draft, release.latest) for release in github.releases] == [(False, False)]


def test_nothing_is_sent_twice(store: GitHubStore, github: GitHub, wheels: list[TestedWheel]) -> None:
    publish(store, wheels, now=NOW)
    github.calls.clear()
    assert publish(store, wheels, now=NOW + timedelta(days=1)).releases == ()
    assert {call.method for call in github.calls} == {"GET"}


def test_every_release_of_every_page_is_read(github: GitHub, clock: FakeClock, wheels: list[TestedWheel]) -> None:
    github.page_size = 2
    for wheel in wheels:
        publish(store_on(github, clock), [wheel], now=NOW)
    github.releases.insert(0, Release(1000, "v0.1.0", "the program's own release", "", draft=False))
    tags = sorted(manifest.tag for manifest in manifests_in(store_on(github, clock)))
    assert tags == ["v2026-11-21", "v2026-11-21.2", "v2026-11-21.3", "v2026-11-21.4"]


def test_assets_of_every_page_are_compared(github: GitHub, clock: FakeClock, wheels: list[TestedWheel]) -> None:
    github.page_size = 2
    publish(store_on(github, clock), wheels, now=NOW)
    assert sum(call.method == "POST" and "name" in call.query for call in github.calls) == 3 * len(wheels) + 1


def break_off(github: GitHub, *, uploads: int) -> None:
    """Fail for good after some uploads."""

    def fail(call: Call) -> None:
        if call.query.get("name") and sum("name" in each.query for each in github.calls) > uploads:
            github.faults |= dict.fromkeys(range(len(github.calls), 10_000), Fault.BEFORE)
            github.always = lambda _call: None

    github.always = fail


def test_an_abandoned_draft_is_completed(store: GitHubStore, github: GitHub, wheels: list[TestedWheel]) -> None:
    break_off(github, uploads=6)
    with pytest.raises(NetworkError, check=coded("github-silent", "502")):
        publish(store, wheels, now=NOW)
    (draft,) = github.releases
    assert draft.draft
    assert {asset.state for asset in draft.assets} == {"uploaded", "starter"}
    sent = [asset.name for asset in draft.assets if asset.state == "uploaded"]
    github.faults.clear()
    github.calls.clear()
    (manifest,) = publish(store, wheels, now=NOW + timedelta(days=2)).releases
    assert (manifest.tag, draft.draft) == ("v2026-11-21", False)
    assert not {call.query["name"] for call in github.calls if call.method == "POST" and "name" in call.query} & {*sent}
    assert {asset.state for asset in draft.assets} == {"uploaded"}


def test_a_draft_of_other_wheels_is_left_alone(store: GitHubStore, github: GitHub, wheels: list[TestedWheel]) -> None:
    break_off(github, uploads=6)
    with pytest.raises(NetworkError):
        publish(store, wheels, now=NOW)
    github.faults.clear()
    (manifest,) = publish(store, wheels[:1], now=NOW).releases
    assert manifest.tag == "v2026-11-21.2"
    assert [(release.tag, release.draft) for release in github.releases] == [
        ("v2026-11-21", True),
        ("v2026-11-21.2", False),
    ]


def test_a_lost_answers_second_draft_is_gone(store: GitHubStore, github: GitHub, wheels: list[TestedWheel]) -> None:
    break_off(github, uploads=0)
    with pytest.raises(NetworkError):
        publish(store, wheels, now=NOW)
    github.faults.clear()
    github.releases += [Release(2000 + number, "v2026-11-21", "", "", draft=True) for number in range(2)]
    publish(store, wheels, now=NOW)
    assert [(release.id < 2000, release.draft) for release in github.releases] == [(True, False)]


@pytest.mark.parametrize("taken", [{"refs/tags/v2026-11-21": HEAD}, {}])
def test_a_tag_is_used_once(
    taken: dict[str, str], store: GitHubStore, github: GitHub, wheels: list[TestedWheel]
) -> None:
    """By a tag without a release, or by a release without its tag."""
    github.refs.update(taken)
    if not taken:
        publish(store, wheels[:1], now=NOW)
        del github.refs["refs/tags/v2026-11-21"]
    (manifest,) = publish(store, wheels[1:], now=NOW).releases
    assert manifest.tag == "v2026-11-21.2"


def test_one_bad_file_does_not_hold_up_the_others(
    store: GitHubStore, github: GitHub, wheels: list[TestedWheel], monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = f"{NAMES[1]}.metadata"
    refused: Answer = (422, {}, {"message": "Validation Failed", "errors": [{"field": "name", "code": "custom"}]})
    github.always = lambda call: refused if call.query.get("name") == bad else None
    open_asset = store_module.Asset.open

    def vanished(asset: store_module.Asset) -> BinaryIO:
        if asset.name == NAMES[2]:
            raise FileNotFoundError(2, "No such file or directory")
        return open_asset(asset)

    monkeypatch.setattr(store_module.Asset, "open", vanished)
    publication = publish(store, wheels, now=NOW)
    assert {refusal.filename: refusal.reason for refusal in publication.refusals} == {
        NAMES[1]: f"sending {bad}: GitHub answers 422 Validation Failed (name: custom)",
        NAMES[2]: "cannot be read: No such file or directory",
    }
    files = github.published()["v2026-11-21"]
    assert files.keys() == {*(f"{name}{end}" for name in NAMES[::3] for end in ENDS), "manifest.json"}
    (content,) = (asset.content for asset in github.releases[0].assets if asset.name == "manifest.json")
    assert [entry["filename"] for entry in json.loads(content)["wheels"]] == [*NAMES[::3]]


def test_wheels_beyond_githubs_limits_are_refused_at_once(store: GitHubStore, github: GitHub, tmp_path: Path) -> None:
    newer = certified_wheel(tmp_path / "demo-1.0+cu130-cp311-cp311-manylinux_2_34_x86_64.whl")
    (refusal,) = publish(store, [newer], now=NOW).refusals
    assert "manylinux_2_34_x86_64; published wheels are for manylinux_2_28 or older" in refusal.reason
    assert github.state() == {"tags": {}, "releases": []}


def test_bytes_that_arrived_wrong_are_resent(store: GitHubStore, github: GitHub, wheels: list[TestedWheel]) -> None:
    """The size is right, so only the digest shows it."""
    swapped: list[Asset] = []

    def swap(call: Call) -> None:
        if call.path.endswith("/assets") and call.method == "GET" and github.releases[0].assets and not swapped:
            swapped.append(asset := github.releases[0].assets[0])
            asset.content = bytes(len(asset.content))

    github.always = swap
    publish(store, wheels, now=NOW)
    assert len(swapped) == 1
    assert {name: github.published()["v2026-11-21"][name] for name in NAMES} == {
        wheel.file.filename: wheel.file.sha256 for wheel in wheels
    }


def test_without_digests_the_bytes_are_read(store: GitHubStore, github: GitHub, wheels: list[TestedWheel]) -> None:
    github.digests = False

    def damage(call: Call) -> None:
        if call.method == "PATCH" and "/releases/" in call.path:
            asset = github.releases[0].assets[0]
            asset.content = bytes(len(asset.content))

    github.always = damage
    with pytest.raises(ReleaseError, check=coded("not-public", NAMES[0])):
        publish(store, wheels, now=NOW)


def test_an_unreadable_release_is_an_error(store: GitHubStore, github: GitHub, wheels: list[TestedWheel]) -> None:
    github.public = False
    with pytest.raises(ReleaseError, check=coded("not-public", "404")):
        publish(store, wheels, now=NOW)


@pytest.mark.parametrize(
    ("most", "changes"), [(24, 60), pytest.param(MAX_WHEELS, CHANGES_AN_HOUR, marks=pytest.mark.nightly)]
)
def test_a_full_release_stays_below_the_limits(
    github: GitHub, clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, most: int, changes: int
) -> None:
    monkeypatch.setattr(GitHubStore, "quotas", Quotas(wheels=most))
    monkeypatch.setattr("wheelmill.release.publish_lease.CHANGES_AN_HOUR", changes)
    github.changes_an_hour = changes + 60
    wheels = [certified_wheel(tmp_path / f"demo-1.{number}-py3-none-any.whl") for number in range(most + 6)]
    (first, second) = publish(store_on(github, clock), wheels, now=NOW).releases
    assert (len(first.wheels), len(second.wheels)) == (most, 6)
    assert not [call for call in github.calls if call.method == "GET" and "name" in call.query]
    assert 3600 < github.writes[-1] - github.writes[0] < 4800
    assert github.most_writes(60) <= 80
    assert github.most_writes(3600) <= github.changes_an_hour
    sent = sum(call.method == "POST" and "name" in call.query for call in github.calls)
    assert sent == 3 * len(wheels) + 2
    assert len(github.writes) - sent < 80  # for tags, drafts and the ledger


def test_a_wheel_is_fetched(store: GitHubStore, github: GitHub, wheels: list[TestedWheel], tmp_path: Path) -> None:
    (manifest,) = publish(store, wheels, now=NOW).releases
    here = tmp_path / "here"
    fetched = store.fetch(manifest.tag, NAMES[0], wheels[0].file.sha256, here)
    assert fetched.path.read_bytes() == wheels[0].file.path.read_bytes()
    github.releases[0].assets[0].content = b"other bytes"
    with pytest.raises(ReleaseError, check=coded("hash-differs")):
        store.fetch(manifest.tag, NAMES[0], wheels[0].file.sha256, tmp_path / "there")
    assert list((tmp_path / "there").iterdir()) == []


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No manifest was read before on this machine."""
    monkeypatch.setattr("wheelmill.release.ledger.releases.user_cache_path", lambda _name: tmp_path)


@pytest.mark.parametrize(
    ("tampering", "message"),
    [
        (("v2026-11-21", "v2026-11-22"), "tag: it is the manifest of 'v2026-11-22', not of v2026-11-21"),
        ((NAMES[0], f"../{NAMES[0]}"), r"manifest\.json: wheels\[0\]\.filename: .*\.\./"),
        (("{", "["), "v2026-11-21/manifest.json: it is no manifest: "),
    ],
)
@pytest.mark.usefixtures("empty_cache")
def test_a_manifest_that_was_tampered_with_is_not_read(
    tampering: tuple[str, str], message: str, store: GitHubStore, github: GitHub, wheels: list[TestedWheel]
) -> None:
    publish(store, wheels, now=NOW)
    asset = github.releases[0].assets[-1]
    asset.content = asset.content.decode().replace(*tampering).encode()
    warnings: list[str] = []
    assert manifests_in(store, warnings.append) == ()
    assert re.search(message, "\n".join(warnings))


@pytest.mark.usefixtures("empty_cache")
def test_only_a_manifest_with_its_hash_is_kept_on_this_machine(
    store: GitHubStore, github: GitHub, wheels: list[TestedWheel], tmp_path: Path
) -> None:
    publish(store, wheels, now=NOW)
    asset, known = github.releases[0].assets[-1], store.ledger.summary().manifests
    published, asset.content = asset.content, asset.content + b"\n"
    assert [content for _, content in store.read_each(known, MANIFEST)] == [asset.content]
    assert not (tmp_path / "manifests").exists()
    asset.content = published
    assert [content for _, content in store.read_each(known, MANIFEST)] == [published]
    assert [path.name for path in (tmp_path / "manifests").iterdir()] == [*known.values()]


def test_only_publishing_takes_a_token(github: GitHub, clock: FakeClock, wheels: list[TestedWheel]) -> None:
    publish(store_on(github, clock), wheels[:1], now=NOW)
    anonymous = {name: value for name, value in github.environment.items() if name != "GITHUB_TOKEN"}
    store = GitHubStore(repository=Repository.parse(REPOSITORY, anonymous), pace=Pace(stopped_at(NOW)))
    assert len(manifests_in(store)) == 1
    with pytest.raises(UsageError, check=coded("token-absent")):
        publish(store, wheels, now=NOW)


def test_an_index_links_to_the_downloads(store: GitHubStore, github: GitHub, tmp_path: Path) -> None:
    assert store.url_from(tmp_path) == f"{github.origin}/{REPOSITORY}/releases/download"


def test_a_runs_end_is_asked_for_and_unknown_of_a_missing_run(store: GitHubStore, github: GitHub) -> None:
    github.runs = {"1": "completed", "2": "in_progress"}
    assert [store.is_over(run) for run in ("1", "2", "3")] == [True, False, None]


STORE = GitHubStore(repository=Repository(full_name="octo/wheels"), pace=Pace(stopped_at(NOW)))


def wheel(tags: str, *, version: str = "1.0+cu130torch2.11", size: int = 1) -> WheelFile:
    return WheelFile(path=Path(f"demo-{version}-{tags}.whl"), sha256=Sha256("0" * 64), size=size)


@pytest.mark.parametrize(
    "taken",
    [
        wheel("cp312-cp312-manylinux_2_28_x86_64"),
        wheel("cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64"),
        wheel("cp39-abi3-manylinux_2_28_aarch64"),
        wheel("py3-none-any", size=MAX_WHEEL - 1),
    ],
)
def test_the_published_policy_and_older_are_taken_below_two_gibibytes(taken: WheelFile) -> None:
    assert STORE.reason_to_refuse(taken) is None


POLICY = "published wheels are for manylinux_2_28 or older"


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        *(
            (wheel(f"cp312-cp312-{platform}"), f"is for {platform}; {POLICY}")
            for platform in ("manylinux_2_34_x86_64", "manylinux_3_0_x86_64", "linux_x86_64", "win_amd64")
        ),
        (wheel("py3-none-any", version="1!2.0"), "has '!' in its name, which GitHub would replace"),
        (wheel("py3-none-any", size=MAX_WHEEL), f"has {MAX_WHEEL} bytes; GitHub takes less than 2 GiB"),
    ],
)
def test_others_are_refused(refused: WheelFile, reason: str) -> None:
    assert (STORE.reason_to_refuse(refused) or "").startswith(reason)
