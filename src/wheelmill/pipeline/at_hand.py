"""Wheels that a run need not build: what is released, and what passed on this machine before."""

from __future__ import annotations

import shutil
from collections.abc import Container, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from wheelmill.build.provenance import provenance_path
from wheelmill.errors import IntegrityError
from wheelmill.names import Sha256
from wheelmill.release.ledger.records import LedgerState
from wheelmill.release.store import Store
from wheelmill.smoke.examine import AvailableWheel
from wheelmill.smoke.verdict import TestedWheel, certificate_path, tested_wheel_at


def released_wheels(state: LedgerState, store: Store) -> list[AvailableWheel]:
    """Every released wheel of a store that a factory built."""
    return [
        AvailableWheel(
            cell=wheel.cell,
            pythons=wheel.pythons,
            requires=wheel.requires,
            fetch=partial(store.fetch, release.tag, wheel.filename, wheel.sha256),
        )
        for release in state.releases.values()
        for wheel in release.wheels
        if wheel.cell
    ]


def kept_wheels(published: Container[str], folders: Iterable[Path]) -> dict[Sha256, TestedWheel]:
    """Find the wheels that passed in earlier runs and are not published.

    Args:
        published: the file names of all published wheels.
        folders: where runs leave wheels that passed.

    Returns:
        The wheels, by the identity of what they were built from.
    """
    paths = (path for folder in folders for path in folder.glob("*.whl") if path.name not in published)
    kept: dict[Sha256, TestedWheel] = {}
    for path in paths:
        with suppress(IntegrityError):  # a certificate of another version of ours
            tested = tested_wheel_at(path)
            if tested and tested.certificate.provenance and tested.certificate.provenance.inputs:
                kept[tested.certificate.provenance.inputs] = tested
    return kept


def move_wheel(wheel: TestedWheel, folder: Path) -> TestedWheel:
    """Move a wheel and the records beside it; the wheel last, so that none lies in the folder without them."""
    folder.mkdir(parents=True, exist_ok=True)
    path = wheel.file.path
    for each in (provenance_path(path), certificate_path(path), path):
        shutil.move(each, folder / each.name)
    return replace(wheel, file=replace(wheel.file, path=folder / path.name))
