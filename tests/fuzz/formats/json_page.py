"""Pages in JSON: of a project (PEP 691), and of GitHub's releases."""

import json
from dataclasses import replace

from tests.fuzz.harness import Format
from tests.fuzz.mutation import mutated
from tests.fuzz.pages import ADDRESS, answered, look_at
from tests.hostile_pages import ANSWERS, ENTRY, WHEEL, page
from wheelmill.client.sources.forms import read_group, read_listing
from wheelmill.conformance.simple_api import check_json
from wheelmill.web.json_pages import read_project_list

FULL = ENTRY | {
    "url": f"https://files.example/{WHEEL}",
    "size": 5,
    "requires-python": ">=3.9,<4",
    "core-metadata": {"sha256": "b" * 64},
    "upload-time": "2026-11-21T12:30:15.5Z",
    "yanked": "broken",
    "provenance": "https://files.example/provenance",
    "gpg-sig": True,
}
ASSET = {
    "name": WHEEL,
    "browser_download_url": f"https://files.example/{WHEEL}",
    "size": 5,
    "digest": f"sha256:{'c' * 64}",
}
RELEASES = [{"draft": False, "assets": [ASSET, ASSET | {"name": f"{WHEEL}.metadata"}]}]
SEEDS = [
    page(ENTRY),
    page(FULL, ENTRY, versions=["1.0", "9.9.9"], **{"project-status": {"status": "archived"}}),
    json.dumps(RELEASES).encode(),
    *(answer.body for answer in ANSWERS.values() if answer.body[:1] in b"{[" and len(answer.body) < 1 << 16),
]
WORDS = rb"""" { } [ ] , : null true 1e999 NaN \ud800 \u0000 \u001b file:/// // http://[ # .. "files":[""".split()
WORDS += [b"9" * 5000, b"[" * 2000, b'"hashes":{"sha256":', b"\xff"]


def read(content: bytes) -> None:
    check_json(answered(content))
    read_project_list(content.replace(b'"files"', b'"projects"'), ADDRESS)
    page, groups = read_listing(content, "application/json", ADDRESS)
    for links in groups.values():
        look_at(replace(read_group(links, page.base), faults=page.faults))


FORMAT = Format(inputs=mutated(SEEDS, WORDS), read=read)
