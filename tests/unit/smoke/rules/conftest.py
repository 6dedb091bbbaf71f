"""Wheels for rules: whole, but for what a test changes."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests.unit.build.conftest import PROVENANCE
from tests.unit.smoke.conftest import LABELLED, METADATA
from tests.wheels import DEFAULT_MODES, NOTHING, write_wheel
from wheelmill.names import TorchNeed, TorchVersion
from wheelmill.smoke.evidence import Contents, open_wheel
from wheelmill.smoke.rules import findings_of
from wheelmill.wheel.findings import Code
from wheelmill.wheel.name import WheelFile

PINNED = TorchVersion(2, 11)
NO_EXPECTATIONS: Mapping[str, Any] = MappingProxyType({})
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
        modes: Mapping[str, int] = DEFAULT_MODES,
        second: str | None = None,
        dist_info: str | None = None,
        built_here: bool = True,
        torch: TorchNeed = PINNED,
        expects: Mapping[str, Any] = NO_EXPECTATIONS,
    ) -> Contents:
        kinds = {"_C.so": machine_code, second or "": second and "helper"}
        held = {f"demo/{member}": objects[kind] for member, kind in kinds.items() if kind}
        held |= {"demo/__init__.py": b"", **files}
        path = write_wheel(
            tmp_path / name, metadata=metadata, files=held, record=record, dist_info=dist_info, modes=modes
        )
        file = WheelFile.at(path)
        cell = replace(PROVENANCE.cell, torch=torch)
        expectations = replace(PROVENANCE.expectations, **expects)
        provenance = replace(PROVENANCE, sha256=file.sha256, cell=cell, expectations=expectations)
        contents = open_wheel(file, provenance if built_here else None)
        assert isinstance(contents, Contents)
        return contents

    return make


def codes_of(contents: Contents) -> list[Code]:
    """What the rules say, in short."""
    return [finding.code for finding in findings_of(contents)]


def details_of(contents: Contents) -> str:
    """What the rules say, a line a finding."""
    return "\n".join(finding.detail for finding in findings_of(contents))
