"""Wheels in a bucket that no release names, left by interrupted publications, which may yet be resumed."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

from wheelmill.errors import ReleaseError
from wheelmill.release.ledger.releases import Releases, published
from wheelmill.release.s3.bucket import Bucket
from wheelmill.release.s3.publisher import FILES
from wheelmill.release.store import KEPT, LeftDraft


def left_wheels(bucket: Bucket, releases: Releases, now: datetime, *, remove: bool) -> list[LeftDraft]:
    """Find such wheels; see `Store.left_drafts`.

    Args:
        bucket: where the wheels are.
        releases: those that may name them.
        now: the time, in UTC.
        remove: whether those of more than a day ago are removed.

    Raises:
        ReleaseError: a release cannot be read, so that it is unknown which wheels it names.
    """
    written: defaultdict[str, dict[str, datetime]] = defaultdict(dict)
    for key, at in bucket.dated_keys(f"{FILES}/"):
        written["/".join(key.split("/")[:2])][key] = at
    doubts: list[str] = []
    state = published(releases, doubts.append)  # after the wheels: what was published meanwhile is known by now
    if doubts:
        raise ReleaseError(
            "leftovers-doubtful", "\n".join(("it cannot be said which wheels no release names:", *doubts))
        )
    named = {f"{FILES}/{wheel.sha256}" for release in state.releases.values() for wheel in release.wheels}
    left = []
    for folder in sorted(written.keys() - named):
        keys = written[folder]
        age = now - max(keys.values())
        if removed := remove and age > KEPT:
            for key in keys:
                bucket.remove(key)
        wheel = next((key for key in keys if key.endswith(".whl")), folder)
        left.append(LeftDraft(name=wheel, age=age, files=len(keys), removed=removed))
    return left
