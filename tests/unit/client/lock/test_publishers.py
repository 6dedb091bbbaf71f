"""Publishers in a lock; tests/integration/test_publishers.py has the commands."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from packaging.pylock import Pylock

from tests.refusals import coded
from tests.unit.client.lock.test_files import LOCKS
from tests.unit.client.targets import LINUX, SHA
from wheelmill.client.install.wheel_cache import WheelCache
from wheelmill.client.lock import files
from wheelmill.client.lock.files import (
    changed_publishers,
    check_publishers,
    merge,
    publishers_named_in,
    wheels_for,
    with_publishers,
)
from wheelmill.errors import IntegrityError

OWN = {"kind": "GitHub", "repository": "owner/repo", "workflow": "wheels.yml", "signer": "owner/repo@main"}
OTHER = OWN | {"repository": "somebody/else", "signer": "somebody/else@main"}
LOCK = merge(LOCKS)
FLASH = [choice.candidate for each in LOCKS for choice in each.resolution.choices.values()]
FILES: list[tuple[str, str]] = [(each.filename, SHA) for each in FLASH]


@pytest.fixture
def cache(tmp_path: Path) -> WheelCache:
    """A cache whose connection must not be used."""
    return WheelCache(directory=tmp_path, web=Mock(spec=()), threads=Mock(spec=()))


@pytest.fixture
def without_sigstore(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "find_spec", {}.get)


@pytest.mark.usefixtures("without_sigstore")
def test_without_the_extra_wheels_are_installed_by_their_hashes_and_that_is_said(cache: WheelCache) -> None:
    lock = replace(LOCK, packages=[replace(each, attestation_identities=[OWN]) for each in LOCK.packages])
    wheels = wheels_for(lock, LINUX)
    warning = check_publishers(lock, wheels, cache, required=False)
    assert warning is not None
    assert "wheelmill[attestations]" in warning
    with pytest.raises(IntegrityError, check=coded("publisher-not-verified", "wheelmill[attestations]")):
        check_publishers(lock, wheels, cache, required=True)
    assert check_publishers(LOCK, wheels, cache, required=False) is None
    (note,) = changed_publishers(lock.packages, FLASH, cache)
    assert "wheelmill[attestations]" in note


def identities_of(lock: Pylock) -> dict[str, Any]:
    return {each.name: each.attestation_identities for each in lock.packages}


def test_a_package_has_the_publishers_that_attest_all_its_wheels() -> None:
    found = dict.fromkeys(FILES, (OTHER, OWN))
    assert identities_of(with_publishers(LOCK, found)) == {"einops": None, "flash-attn": [OWN, OTHER]}
    del found[FILES[0]]
    assert identities_of(with_publishers(LOCK, found)) == {"einops": None, "flash-attn": None}


def test_known_publishers_stay_with_the_same_bytes_only() -> None:
    lock = with_publishers(LOCK, dict.fromkeys(FILES, (OWN,)))
    known = publishers_named_in(lock.packages)
    assert known == {file: [OWN] for file in FILES}
    assert with_publishers(LOCK, known) == lock
    assert identities_of(with_publishers(merge(LOCKS[:1]), known)) == {"einops": None, "flash-attn": [OWN]}
    changed = dict.fromkeys([(name, "f" * 64) for name, _ in FILES], (OWN,))
    assert with_publishers(LOCK, changed) == LOCK
