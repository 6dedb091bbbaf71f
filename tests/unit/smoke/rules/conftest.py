"""Wheels for rules: whole, but for what a test changes."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.build.conftest import PROVENANCE
from tests.unit.smoke.conftest import LABELLED, METADATA
from tests.wheels import NOTHING, write_wheel
from wheelmill.names import TorchNeed, TorchVersion
from wheelmill.smoke.evidence import Contents, open_wheel
from wheelmill.smoke.rules import findings_of
from wheelmill.wheel.findings import Code
from wheelmill.wheel.name import WheelFile

PINNED = TorchVersion(2, 11)
Opened = Callable[..., Contents]


@pytest.fixture
def opened(tmp_path: Path, objects: Mapping[str, bytes]) -> Opened:
    """Open a wheel that keeps every promise, but for what a test changes."""

    def make(
        name: str = LABELLED,
        *,
        machine_code: str | None = "as promised",
        metadata: str = METADATA,
        record: bytes | None = None,
        files: Mapping[str, bytes] = NOTHING,
        dist_info: str | None = None,
        built_here: bool = True,
        torch: TorchNeed = PINNED,
    ) -> Contents:
        held = {"demo/__init__.py": b"", **files} | ({"demo/_C.so": objects[machine_code]} if machine_code else {})
        path = write_wheel(tmp_path / name, metadata=metadata, files=held, record=record, dist_info=dist_info)
        file = WheelFile.at(path)
        cell = replace(PROVENANCE.cell, torch=torch)
        provenance = replace(PROVENANCE, sha256=file.sha256, cell=cell) if built_here else None
        contents = open_wheel(file, provenance)
        assert isinstance(contents, Contents)
        return contents

    return make


def codes_of(contents: Contents) -> list[Code]:
    """What the rules say, in short."""
    return [finding.code for finding in findings_of(contents)]


def details_of(contents: Contents) -> str:
    """What the rules say, a line a finding."""
    return "\n".join(finding.detail for finding in findings_of(contents))
