"""An index over 900 wheels that people built: each is grouped, or refused by name with the reason."""

import hashlib
import re
from collections import Counter, defaultdict
from dataclasses import replace

import pytest
from msgspec import structs

from tests.flash_attn_wheels import ASSETS, NAMES
from tests.unit.index.conftest import entry_named, release_of
from wheelmill.config.model.files import Listing, Removed
from wheelmill.errors import SiteError
from wheelmill.index.collect import site_of_releases
from wheelmill.names import Sha256
from wheelmill.release.manifest.record import ListedRelease

REPEATED = {name: n for name, n in Counter(asset.partition("/")[2] for asset in ASSETS).items() if n > 1}


def manifests() -> list[ListedRelease]:
    """What the releases' manifests would say."""
    by_tag = defaultdict(list)
    for asset in ASSETS:
        tag, _, name = asset.partition("/")
        sha256 = Sha256(hashlib.sha256(asset.encode()).hexdigest())
        entry = entry_named(name)
        certificate = replace(entry.certificate, sha256=sha256)
        entry = structs.replace(entry, sha256=sha256, certificate=certificate, requires_dist=("einops", "torch"))
        by_tag[tag].append(entry)
    return [release_of(tag, entries) for tag, entries in by_tag.items()]


def trees_named_by(filename: str) -> set[str]:
    """What a person would say; a commit may stand behind the torch version."""
    match = re.search(r"\+(cu\d+)(torch[0-9.]+)(git[0-9a-f]{7})?-", filename)
    return {"", match[1], f"{match[1]}/{match[2]}"} if match else {""}


def test_each_name_with_several_bytes_is_refused_with_both_places() -> None:
    with pytest.raises(SiteError) as refusal:
        site_of_releases(manifests(), "https://example.org")
    faults = str(refusal.value).splitlines()
    assert Counter(fault.partition(" ")[0] for fault in faults) == {name: n - 1 for name, n in REPEATED.items()}
    assert len(REPEATED) == 100
    place = r"https://example\.org/v[\d.]+/flash_attn\S+\.whl"
    assert [
        fault for fault in faults if not re.fullmatch(rf"\S+ has different bytes at {place} and {place}", fault)
    ] == []


def test_every_other_wheel_stands_in_the_trees_of_its_label() -> None:
    removed = Listing(removed=Removed(wheels=dict.fromkeys(REPEATED, "stands under several tags")))
    site = site_of_releases(manifests(), "https://example.org", removed)
    found = defaultdict(set)
    for tree in site.trees:
        for files in tree.projects.values():
            for file in files:
                found[file.filename].add(tree.path)
    assert found == {name: trees_named_by(name) for name in set(NAMES) - REPEATED.keys()}
    assert len(found) == 673
    assert set(site.projects) == {"flash-attn", "flash-attn-3"}
