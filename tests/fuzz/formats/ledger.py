"""Files of a ledger, which several jobs write: what is read is written as the same state again."""

import json

from tests.fuzz.formats.manifest import ENTRY, MANIFEST, TAG
from tests.fuzz.harness import Format
from tests.fuzz.mutation import mutated
from tests.releases import NOW
from wheelmill.errors import WheelmillError
from wheelmill.names import Sha256
from wheelmill.release.ledger.ledger import files_of, read_archive, state_of, summary_of, write_archive
from wheelmill.release.ledger.records import LedgerState
from wheelmill.release.ledger.releases import line_of
from wheelmill.release.manifest.rules import manifest_from
from wheelmill.system.records import record_bytes

SINCE = "2026-11-21T12:30:15Z"
CELL = {
    "project": "demo",
    "version": "1.0",
    "python": "3.12",
    "cuda": "13.0",
    "torch": "2.11",
    "platform": "linux_x86_64",
}
RUN = {
    "attempt": 1,
    "filters": {"cuda": "13.0"},
    "groups": ["demo"],
    "unreleased": {"demo": {"run": "12", "wheels": {ENTRY.filename: "a" * 64}}},
    "since": SINCE,
    "continues": "11",
    "waits_for": [],
}
WORK = json.dumps(
    {
        "claims": {"demo": {"run": "12", "attempt": 1, "since": SINCE, "cell": CELL}},
        "leases": {"publish": {"nonce": "a", "since": SINCE, "tag": TAG, "draft": 5}},
        "changes": [{"at": SINCE, "count": 2}],
        "runs": {"12": RUN},
    }
).encode()
DOWNLOADS = json.dumps({"counts": [{"day": "2026-11-21", "projects": {"demo": 5}}]}).encode()
RELEASE = record_bytes(
    line_of(manifest_from(MANIFEST, tag=TAG, source="manifest.json", now=NOW), Sha256("c" * 64)), indent=None
)
PATHS = (f"releases/{TAG}.json", "work.json", "downloads.json", "failures.json")
SEEDS = [RELEASE, WORK, DOWNLOADS, write_archive({PATHS[0]: RELEASE, PATHS[1]: WORK})]
WORDS = rb"""" { } [ ] , : null true 1e999 \ud800 \u0000 \u202e \n ../ .. -1 "12" "run" 9999-12-31T23:59:59Z""".split()
WORDS += [b"9" * 5000, b"[" * 2000, b"\xff", b"\0"]


def read(content: bytes) -> None:
    """The bytes are each of the files, and all of them packed; what none of these can be counts as refused."""
    refused, sound = None, 0
    files = [{path: content} for path in PATHS]
    try:
        files.append(read_archive(content))
    except WheelmillError as error:
        refused = error
    for found in files:
        try:
            state = state_of(found)
            summary_of(found)
        except WheelmillError as error:
            refused = error
        else:
            sound += 1
            assert state_of(files_of(state, {}, LedgerState())) == state
            assert all(run.isdecimal() for run in state.work.runs)
    if refused and not sound:
        raise refused


FORMAT = Format(inputs=mutated(SEEDS, WORDS), read=read)
