"""A ledger in a folder and on GitHub: concurrent changes, kills, damage, and the downloads that it keeps."""

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.github_server import Fault, GitHub
from tests.refusals import coded
from tests.releases import store_in
from tests.unit.plan.examples import CELL
from tests.unit.release.github.conftest import FakeClock, store_on
from wheelmill.errors import NetworkError, ReleaseError, UnreadableError
from wheelmill.names import ProjectName, ReleaseTag, Sha256, project_name
from wheelmill.plan.targets import KnownFailure
from wheelmill.release.ledger import ledger
from wheelmill.release.ledger.ledger import Ledger, LedgerSummary, files_of, read_archive, state_of, write_archive
from wheelmill.release.ledger.records import (
    Claim,
    DownloadCount,
    LedgerRelease,
    LedgerState,
    ReleasedWheel,
    Reservation,
    of_projects,
    with_count,
)
from wheelmill.system.records import record_bytes

NOW = datetime(2026, 11, 21, 12, 30, tzinfo=UTC)
TAG = ReleaseTag("v2026-11-21")
COUNT = DownloadCount(day=date(2026, 11, 1), projects={ProjectName("demo"): 7})
RELEASE = LedgerRelease(
    tag=TAG,
    manifest=Sha256("1" * 64),
    published_at=NOW,
    wheels=(ReleasedWheel(filename="demo-1.0-py3-none-any.whl", sha256=Sha256("2" * 64), size=3),),
)
Open = Callable[[], Ledger]


@pytest.fixture(params=["folder", "github"])
def open_ledger(request: pytest.FixtureRequest, tmp_path: Path, github: GitHub, clock: FakeClock) -> Open:
    """Opens the same ledger, each time as another process does."""
    if request.param == "folder":
        return lambda: store_in(tmp_path / "releases").ledger
    return lambda: store_on(github, clock).ledger


def claim(group: str, run: str = "1") -> Callable[[LedgerState], LedgerState]:
    """An edit that claims a group for a run."""

    def edit(state: LedgerState) -> LedgerState:
        claims = {**state.work.claims, group: Claim(run=run, attempt=1, since=NOW, cell=CELL)}
        return replace(state, work=replace(state.work, claims=claims))

    return edit


@pytest.mark.parametrize("name", ["1\nnotice=forged", "7\n", "../7", "by hand", "", "\u0663", "-1"])
@pytest.mark.parametrize("place", ["runs", "claims", "unreleased", "continues"])
def test_a_run_that_is_named_with_line_breaks(name: str, place: str, tmp_path: Path) -> None:
    """Names of runs reach the outputs of workflows, and URLs."""
    claimed = {"run": name, "attempt": 1, "since": "2026-11-21T00:00:00Z", "cell": json.loads(record_bytes(CELL))}
    work = {
        "runs": {"runs": {name: RUN}},
        "claims": {"claims": {"demo": claimed}},
        "unreleased": {"runs": {"1": RUN | {"unreleased": {"demo": {"run": name, "wheels": {}}}}}},
        "continues": {"runs": {"1": RUN | {"continues": name}}},
    }
    with pytest.raises(ReleaseError, check=coded("not-a-ledger", "pattern")):
        ledger_with(work[place], tmp_path).read()


def test_a_failure_that_reads_backwards(tmp_path: Path) -> None:
    """Its text is shown by 'release ledger', in plans and on pages."""
    failure = {"id": "demo\u202e", "target": "0" * 64, "failed_at": "2026-11-21T00:00:00Z", "reason": "a\u202eb\u00e9"}
    content = json.dumps({"by_inputs": {"1" * 64: failure | {"log": "x\u200b\ny"}}}).encode()
    (tmp_path / "ledger.tar.gz").write_bytes(write_archive({"failures.json": content}))
    (found,) = store_in(tmp_path).ledger.read().failures.values()
    assert (found.id, found.reason, found.log) == (r"demo\u202e", r"a\u202ebé", "x\\u200b\ny")


def test_a_run_that_is_a_number_is_read(tmp_path: Path) -> None:
    ledger = ledger_with({"runs": {"7": RUN | {"continues": "16234567890"}}}, tmp_path)
    assert ledger.read().work.runs["7"].continues == "16234567890"


RUN: dict[str, Any] = {"attempt": 1, "filters": {}, "groups": [], "since": "2026-11-21T00:00:00Z"}


def ledger_with(work: dict[str, Any], folder: Path) -> Ledger:
    """A ledger of this work."""
    (folder / "ledger.tar.gz").write_bytes(write_archive({"work.json": json.dumps(work).encode()}))
    return store_in(folder).ledger


def add_release(state: LedgerState) -> LedgerState:
    return replace(state, releases={**state.releases, RELEASE.tag: RELEASE})


def test_all_but_the_wheels_is_read_alone(open_ledger: Open) -> None:
    ledger = open_ledger()
    assert ledger.summary() == LedgerSummary()
    written = open_ledger().change("published", lambda state: replace(add_release(state), downloads=(COUNT,)))
    summary = ledger.summary()
    assert (summary.manifests, summary.failures) == ({TAG: RELEASE.manifest}, written.failures)
    assert summary.downloads == (COUNT,)
    assert ledger.summary() is summary


HASHES = ("../../elsewhere", "/dev/zero", "1" * 63, "1" * 64 + "\\n", "A" * 64)


@pytest.mark.parametrize(
    ("line", "key"),
    [(f'{{"manifest": "{1:064}"}}', "tag"), *((f'{{"tag": "{TAG}", "manifest": "{x}"}}', "manifest") for x in HASHES)],
)
def test_a_release_without_a_tag_or_a_hash_is_named(line: str, key: str, tmp_path: Path) -> None:
    """Manifests are kept under their hashes on the machine of whoever reads the ledger: none may lead elsewhere."""
    ledger = store_in(tmp_path).ledger
    (tmp_path / "ledger.tar.gz").write_bytes(write_archive({f"releases/{TAG}.json": line.encode()}))
    with pytest.raises(ReleaseError, check=coded("not-a-ledger", "ledger.tar.gz", "releases/", ".json", key, TAG)):
        ledger.summary()


def test_what_is_written_is_read(open_ledger: Open) -> None:
    assert open_ledger().read() == LedgerState()
    written = open_ledger().change("a release", add_release)
    assert open_ledger().read() == written
    assert written.releases == {TAG: RELEASE}
    assert written.published == {"demo-1.0-py3-none-any.whl": ("2" * 64, TAG)}


def test_a_lost_race_is_applied_again(open_ledger: Open) -> None:
    mine, theirs = open_ledger(), open_ledger()
    mine.change("begin", claim("a"))
    raced: list[LedgerState] = []

    def edit(state: LedgerState) -> LedgerState:
        if not raced:
            raced.append(theirs.change("first", claim("b")))
        return claim("c")(state)

    state = mine.change("second", edit)
    assert set(state.work.claims) == {"a", "b", "c"}
    assert open_ledger().read() == state


def test_two_who_make_the_ledger_at_once_both_are_in_it(open_ledger: Open) -> None:
    raced: list[LedgerState] = []

    def edit(state: LedgerState) -> LedgerState:
        if not raced:
            raced.append(open_ledger().change("first", claim("b")))
        return claim("c")(state)

    assert set(open_ledger().change("second", edit).work.claims) == {"b", "c"}


def test_who_is_never_first_is_told(open_ledger: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wheelmill.release.ledger.ledger.PAUSES", (0.0, 0.0))
    others = iter(range(9))

    def edit(state: LedgerState) -> LedgerState:
        open_ledger().change("first", claim(f"other{next(others)}"))
        return claim("mine")(state)

    with pytest.raises(ReleaseError, check=coded("ledger-contended", "2")):
        open_ledger().change("never", edit)


def test_a_change_that_changes_nothing_is_not_written(github: GitHub, clock: FakeClock) -> None:
    ledger = store_on(github, clock).ledger
    ledger.change("once", claim("a"))
    writes = len(github.writes)
    ledger.change("twice", claim("a"))
    assert len(github.writes) == writes


def test_nothing_is_downloaded_twice(github: GitHub, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    store_on(github, clock).ledger.change("once", claim("a"))
    ledger = store_on(github, clock).ledger
    state = ledger.read()
    monkeypatch.setattr(github, "archive", None)  # nothing can be downloaded
    assert ledger.read() == state
    assert ledger.change("once more", claim("b")) == ledger.read()


@pytest.mark.parametrize("fault", list(Fault))
def test_if_a_call_fails_the_ledger_is_the_old_or_the_new(github: GitHub, clock: FakeClock, fault: Fault) -> None:
    for number in range(6):
        before = store_on(github, clock).ledger.change("before", claim("a"))
        github.faults[len(github.calls) + number] = fault
        try:
            after = store_on(github, clock).ledger.change("change", claim(f"g{number}"))
        except (NetworkError, ReleaseError):
            after = before
        github.faults.clear()
        assert store_on(github, clock).ledger.read() == after


def test_a_kill_between_steps_leaves_the_old_state(open_ledger: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    before = open_ledger().change("before", claim("a"))

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("wheelmill.release.directory.write_bytes", killed)
        patch.setattr("wheelmill.release.github.store._move", killed)
        with pytest.raises(KeyboardInterrupt):
            open_ledger().change("change", claim("b"))
    assert open_ledger().read() == before
    assert "b" in open_ledger().change("again", claim("b")).work.claims


def damage(ledger: Ledger, files: Mapping[str, bytes], github: GitHub) -> None:
    if isinstance(path := getattr(ledger.place, "path", None), Path):
        path.write_bytes(write_archive(files))
    else:
        github.files("refs/heads/ledger").clear()
        github.files("refs/heads/ledger").update(files)


TIME = b'"2026-11-21T12:30:00"'
"""Without a zone: it could not be compared with now."""


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("releases/v2026-11-21.json", b'{"tag": 1}'),
        ("work.json", b"[]"),
        ("failures.json", b"[]"),
        ("releases/v2026-11-21.json", b'{"tag":"v2026-11-21","manifest":"1","wheels":[],"published_at":' + TIME + b"}"),
        ("releases/v2026-11-21.json", record_bytes(RELEASE).replace(b'"demo', b'"../../demo')),
        ("failures.json", b'{"by_inputs":{"1":{"id":"a","target":"2","reason":"no","failed_at":' + TIME + b"}}}"),
        ("downloads.json", b'{"counts":[{"day":"0001-01-01","projects":{}}]}'),
        ("work.json", b'{"changes":[{"count":1,"at":' + TIME + b"}]}"),
        ("work.json", b'{"leases":{"publishing":{"nonce":"1","since":' + TIME + b"}}}"),
        ("work.json", b'{"claims":' + b'{"a":' * 5000),
    ],
    ids=["tag", "no work", "no failures", "release", "path", "failure", "day", "change", "lease", "deep"],
)
def test_a_damaged_ledger_is_named_with_what_to_do(
    open_ledger: Open, github: GitHub, file: str, content: bytes
) -> None:
    open_ledger().change("a release", add_release)
    damage(open_ledger(), {file: content}, github)
    with pytest.raises(ReleaseError, check=coded("not-a-ledger", file, "--rebuild")):
        open_ledger().read()
    assert open_ledger().change("rebuild", add_release, repair=True) == open_ledger().read()


def test_a_huge_ledger_is_named_with_what_to_do(open_ledger: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    open_ledger().change("a release", add_release)
    monkeypatch.setattr("wheelmill.release.ledger.ledger.MAX_BYTES", 100)
    with pytest.raises(ReleaseError, check=coded("not-a-ledger", "100 bytes")):
        open_ledger().read()


def test_what_is_old_is_left_out(open_ledger: Open) -> None:
    failed = KnownFailure(id="demo", target=Sha256("0" * 64), failed_at=NOW - timedelta(days=31), reason="no")

    def edit(state: LedgerState) -> LedgerState:
        changes = (Reservation(at=NOW - timedelta(hours=2), count=3), Reservation(at=NOW, count=4))
        failures = {Sha256("1" * 64): failed, Sha256("2" * 64): replace(failed, failed_at=NOW)}
        return replace(state, failures=failures, work=replace(state.work, changes=changes))

    state = open_ledger().change("some of it is old", edit)
    assert [each.count for each in state.work.changes] == [4]
    assert list(state.failures) == ["2" * 64]


def test_a_large_ledger_is_sent_in_pieces(github: GitHub, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wheelmill.release.github.store._PIECE", 1000)
    releases = {tag: replace(RELEASE, tag=tag) for tag in (ReleaseTag(f"v2026-11-{day}") for day in range(10, 20))}
    ledger = store_on(github, clock).ledger
    ledger.change("many", lambda state: replace(state, releases=releases))
    assert sum(call.path.endswith("/git/trees") for call in github.calls) > 2
    assert store_on(github, clock).ledger.read().releases == releases


FILES = {"README.md": b"a ledger\n", "releases/v2026-11-21.json": b"{}", "work.json": b""}


def packed(member: tarfile.TarInfo) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as tar:
        tar.addfile(member)
    return written.getvalue()


def test_what_is_packed_is_read() -> None:
    assert read_archive(write_archive(FILES)) == FILES
    assert write_archive(FILES) == write_archive(dict(reversed(FILES.items())))


LINK = tarfile.TarInfo("ledger/work.json")
LINK.type, LINK.linkname = tarfile.SYMTYPE, "/etc/passwd"
OUTSIDE = ("ledger/../../etc/passwd", "ledger/a/b/c", "work.json", "/", "ledger/..")


@pytest.mark.parametrize("member", [LINK, *map(tarfile.TarInfo, OUTSIDE)], ids=["link", *OUTSIDE])
def test_no_path_and_no_link_leads_out_of_it(member: tarfile.TarInfo) -> None:
    with pytest.raises(UnreadableError, check=coded("archive-foreign-file")):
        read_archive(packed(member))


def test_it_is_read_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "MAX_BYTES", 1 << 20)
    with pytest.raises(UnreadableError, check=coded("archive-too-large", "1048576")):
        read_archive(gzip.compress(bytes(2 << 20)))
    monkeypatch.setattr(ledger, "MAX_FILES", 2)
    with pytest.raises(UnreadableError, check=coded("archive-too-large", "2")):
        read_archive(write_archive(FILES))


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"no archive",
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole[:-30],
        lambda _: gzip.compress(b"x" * 1024),
    ],
    ids=["text", "half", "without its end", "no tar"],
)
def test_what_is_no_archive_is_named(damage: Callable[[bytes], bytes]) -> None:
    with pytest.raises(UnreadableError, check=coded("archive-damaged")):
        read_archive(damage(write_archive(FILES)))


TODAY = date(2026, 11, 22)
DEMO = project_name("demo")


def count(day: date, downloads: int) -> DownloadCount:
    return DownloadCount(day=day, projects={DEMO: downloads})


def test_wheels_count_and_nothing_beside_them() -> None:
    downloads = {
        "demo-1.0+cu130-py3-none-any.whl": 3,
        "demo-1.0+cu130-1-py3-none-any.whl": 4,
        "other-1.0-py3-none-any.whl": 0,
        "demo-1.0+cu130-py3-none-any.whl.metadata": 500,
        "manifest.json": 70,
        "no.whl": 7,
    }
    expected: Mapping[ProjectName, int] = {DEMO: 7, project_name("other"): 0}
    assert of_projects(downloads) == expected


def test_counts_are_in_the_order_of_their_days_and_the_last_of_a_day_counts() -> None:
    state = LedgerState()
    for number, days in enumerate((7, 0, 14, 0)):
        state = with_count(state, count(TODAY - timedelta(days=days), number))
    assert state.downloads == tuple(
        count(TODAY - timedelta(days=days), number) for days, number in ((14, 2), (7, 0), (0, 3))
    )


def test_of_what_is_long_past_one_count_of_each_month_is_kept() -> None:
    state = LedgerState()
    weeks = 52 * 10
    for week in range(weeks):
        state = with_count(state, count(TODAY - timedelta(weeks=weeks - 1 - week), week))
    assert len(state.downloads) < 58 + 12 * 9
    days = [each.day for each in state.downloads]
    assert days[0] == TODAY - timedelta(weeks=weeks - 1)
    assert sum(TODAY - day < timedelta(days=400) for day in days) == 58
    months = [(day.year, day.month) for day in days if TODAY - day >= timedelta(days=400)]
    assert len(months) == len(set(months))


def test_the_files_of_a_ledger_keep_them_and_a_ledger_without_has_no_file() -> None:
    state = with_count(LedgerState(), count(TODAY, 12))
    files = files_of(state, {}, LedgerState())
    assert state_of(files) == state
    assert "downloads.json" not in files_of(LedgerState(), {}, LedgerState())
