"""One publishes at a time, whatever machine it is on, and the limits count for all of them."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.github_server import Answer, Call, GitHub
from tests.progress import RecordedProgress
from tests.refusals import coded
from tests.unit.release.conftest import NOW, certified_wheel
from tests.unit.release.github.conftest import NAMES, FakeClock, store_on
from wheelmill.errors import ReleaseError
from wheelmill.release.github.store import GitHubStore
from wheelmill.release.ledger.records import Lease, LedgerState
from wheelmill.release.publish import publish, publish_each
from wheelmill.release.publish_lease import CHANGES_AN_HOUR, PUBLISHING, STALE, RateLimitedLease
from wheelmill.release.store import Publication
from wheelmill.smoke.verdict import TestedWheel
from wheelmill.system.progress import QUIET, Clock


class SharedClock(FakeClock):
    """Time that goes by for several machines: who waits for long lets the others work."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def sleep(self, seconds: float) -> None:
        with self.lock:
            super().sleep(seconds)
        threading.Event().wait(seconds / 200 if seconds >= 60 else 0)


def side_by_side(github: GitHub, clock: FakeClock, *sets: list[TestedWheel]) -> list[Publication]:
    """Publish sets of wheels, each on a machine of its own."""
    done: list[Publication] = []

    def run(wheels: list[TestedWheel]) -> None:
        done.append(publish(store_on(github, clock), wheels, now=NOW))

    threads = [threading.Thread(target=run, args=(wheels,)) for wheels in sets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return done


@pytest.mark.parametrize("trial", range(3))
def test_two_publishers_release_equal_wheels_once(github: GitHub, wheels: list[TestedWheel], trial: int) -> None:
    done = side_by_side(github, SharedClock(), wheels, wheels if trial else wheels[::-1])
    assert sorted(len(each.releases) for each in done) == [0, 1]
    ((tag, files),) = github.published().items()
    assert (tag, len(files)) == ("v2026-11-21", 3 * len(wheels) + 1)


def test_two_publishers_of_other_wheels_release_all_of_them(github: GitHub, wheels: list[TestedWheel]) -> None:
    done = side_by_side(github, SharedClock(), wheels[:2], wheels[1:])
    published = github.published()
    assert published.keys() == {"v2026-11-21", "v2026-11-21.2"}
    assert sorted(name for files in published.values() for name in files if name.endswith(".whl")) == sorted(NAMES)
    assert sum(len(each.releases) for each in done) == 2


def test_who_says_nothing_for_long_has_ended(store: GitHubStore, clock: FakeClock, wheels: list[TestedWheel]) -> None:
    dead = Lease(nonce="another", since=NOW)
    store.ledger.change("a test", lambda state: _with_lease(state, dead))
    assert publish(store, wheels, now=NOW).releases
    assert timedelta(seconds=sum(clock.waited)) > STALE
    assert store.ledger.read().work.leases == {}


def test_who_is_told_to_wait_for_an_hour_keeps_its_turn(github: GitHub, wheels: list[TestedWheel]) -> None:
    others: list[str] = []

    class WatchedClock(FakeClock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if seconds >= 3600:
                another = FakeClock()
                another.time = self.time
                with pytest.raises(ReleaseError, check=coded("somebody-else")) as failure:
                    store_on(github, another).orphans(remove=True, progress=QUIET)
                others.append(str(failure.value))

    clock = WatchedClock()
    github.now = clock.now

    def limit(call: Call) -> Answer | None:
        if call.query.get("name") != NAMES[0]:
            return None
        github.always = lambda _call: None
        return 403, {"Retry-After": "3600"}, {"message": "You have exceeded a secondary rate limit."}

    github.always = limit
    assert len(publish(store_on(github, clock), wheels, now=NOW).releases) == 1
    assert len(others) == 1


def test_a_lost_turn_is_seen_before_publishing(store: GitHubStore, github: GitHub, wheels: list[TestedWheel]) -> None:
    """It stood still while its last file was sent; the one that took over has not published yet."""

    def take_over(call: Call) -> None:
        if call.query.get("name") == "manifest.json":
            github.always = lambda _call: None
            github.lock.release()
            other = Lease(nonce="another", since=NOW)
            store_on(github, FakeClock()).ledger.change("a test", lambda state: _with_lease(state, other))
            github.lock.acquire()

    github.always = take_over
    with pytest.raises(ReleaseError, check=coded("turn-lost")):
        publish(store, wheels, now=NOW)
    assert github.published() == {}
    assert store.ledger.read().work.leases[PUBLISHING].nonce == "another"


@pytest.mark.parametrize("count", [34, pytest.param(170, marks=pytest.mark.nightly)])
def test_what_arrived_in_time_is_published_and_the_rest_later(
    github: GitHub, clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr("wheelmill.release.publish_lease.CHANGES_AN_HOUR", changes := CHANGES_AN_HOUR * count // 170)
    github.changes_an_hour = changes + 60
    wheels = [certified_wheel(tmp_path / f"demo-2.{number}-py3-none-any.whl") for number in range(count)]
    deliveries = [wheels[first : first + count // 17] for first in range(0, len(wheels), count // 17)]
    until = clock.time + 1500 * count / 170
    done = publish_each(store_on(github, clock), deliveries, now=NOW, until=until)
    assert done.over
    assert done.refusals == ()
    (first,) = done.releases
    assert 0.8 * count < len(first.wheels) < count
    assert clock.time < until + 120
    rest = publish_each(store_on(github, clock), deliveries, now=NOW)
    assert not rest.over
    assert sum(len(each.wheels) for each in (*done.releases, *rest.releases)) == len(wheels)
    assert {len(files) for files in github.published().values()} == {
        3 * len(each.wheels) + 1 for each in (first, *rest.releases)
    }
    assert github.most_writes(3600) <= github.changes_an_hour


def test_a_sent_wheel_is_published_at_the_deadline(github: GitHub, clock: FakeClock, wheels: list[TestedWheel]) -> None:
    def end(call: Call) -> None:
        if call.query.get("name") == f"{NAMES[-1]}.cdx.json":
            clock.time += 1000

    github.always = end
    attested = [replace(wheel, bundles=(b"{}",)) for wheel in wheels]  # so two more files are sent
    (manifest,) = publish_each(store_on(github, clock), [attested], now=NOW, until=clock.time + 900).releases
    assert len(manifest.wheels) == len(wheels)


def _with_lease(state: LedgerState, lease: Lease) -> LedgerState:
    return replace(state, work=replace(state.work, leases={PUBLISHING: lease}))


@pytest.fixture
def steps() -> RecordedProgress:
    return RecordedProgress()


@pytest.fixture
def lease(
    store: GitHubStore, clock: FakeClock, steps: RecordedProgress, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RateLimitedLease]:
    """A lease of which four changes may be made in an hour, in two reservations, and one beyond."""
    for name, count in (("CHANGES_AN_HOUR", 4), ("_AT_ONCE", 2), ("_SPARE", 1)):
        monkeypatch.setattr(f"wheelmill.release.publish_lease.{name}", count)
    lease = RateLimitedLease(store.ledger, Clock(now=clock.now, sleep=clock.sleep), steps)
    with lease.held():
        yield lease


def reservations(store: GitHubStore) -> list[int]:
    """In minutes; what the ledger itself takes is seconds."""
    return [round((each.at - NOW).total_seconds() / 60) for each in store.ledger.read().work.changes]


def test_changes_are_reserved_for_ten_minutes(lease: RateLimitedLease, store: GitHubStore, clock: FakeClock) -> None:
    clock.time = NOW.timestamp()
    for minutes, reserved in ((0, [10]), (10, [10]), (20, [10, 30])):
        clock.time = NOW.timestamp() + minutes * 60
        lease.before_change()
        assert reservations(store) == reserved


def test_who_has_made_all_changes_of_an_hour_waits_until_the_first_are_an_hour_old(
    lease: RateLimitedLease, store: GitHubStore, clock: FakeClock, steps: RecordedProgress
) -> None:
    clock.time = NOW.timestamp()
    for minutes in (0, 0, 5, 5):
        clock.time = NOW.timestamp() + minutes * 60
        lease.before_change()
    assert (reservations(store), steps.steps) == ([10, 15], [])
    lease.before_change()
    assert (reservations(store), len(steps.steps)) == ([15, 10 + 60 + 10], 1)


def test_what_was_sent_is_published_with_a_few_changes_beyond_those_that_are_reserved(
    lease: RateLimitedLease, clock: FakeClock, steps: RecordedProgress
) -> None:
    for _ in range(4):
        lease.before_change()
    with lease.finishing():
        lease.before_change()
        assert steps.steps == []
        lease.before_change()
        assert len(steps.steps) == 1
    assert clock.time >= NOW.timestamp() + 3600
