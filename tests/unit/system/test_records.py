"""Records as files and as plain values."""

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal

import pytest
from packaging.specifiers import SpecifierSet

from tests.refusals import coded
from wheelmill.errors import IntegrityError
from wheelmill.names import Architecture, CudaVersion, Platform, ProjectName, project_name
from wheelmill.system.records import json_default, plain_of, read_record, record_of, write_record


@dataclass(frozen=True)
class Record:
    cuda: CudaVersion
    names: tuple[str, ...] = ()


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    record = Record(cuda=CudaVersion(13, 0), names=("one", "größe"))
    write_record(tmp_path / "record.json", record)
    assert read_record(tmp_path / "record.json", Record) == record
    assert '\n  "cuda": "13.0",\n' in (tmp_path / "record.json").read_text()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"cuda": 13.0}', b'{"cuda": "13"}', b"\xff"])
def test_another_file_is_no_record(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "record.json").write_bytes(content)
    with pytest.raises(IntegrityError, check=coded("record-invalid", "record.json", "Record")):
        read_record(tmp_path / "record.json", Record)


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, kw_only=True)
class Inner:
    platforms: Mapping[Platform, frozenset[CudaVersion]]
    since: dt.date | None = None


@dataclass(frozen=True, kw_only=True)
class Outer:
    name: ProjectName
    inner: Inner
    colour: Colour = Colour.RED
    gpus: tuple[Architecture, ...] = ()
    torch: SpecifierSet | None = None
    form: Literal["dotted", "digits"] = "dotted"
    sizes: Mapping[str, int] = field(default_factory=dict)


LINUX = Platform.parse("linux_x86_64")
CUDAS = frozenset({CudaVersion(12, 8), CudaVersion(13, 0)})


@pytest.mark.parametrize(
    "record",
    [
        Outer(name=project_name("demo"), inner=Inner(platforms={})),
        Outer(
            name=project_name("demo"),
            inner=Inner(platforms={LINUX: CUDAS}, since=dt.date(2026, 11, 21)),
            gpus=(Architecture(9, 0, "a"), Architecture(12, 0, ptx=True)),
            torch=SpecifierSet(">=2.6"),
            form="digits",
            sizes={"small": 1},
        ),
    ],
)
def test_a_record_comes_back_through_json(record: Outer) -> None:
    assert record_of(Outer, json.loads(json.dumps(plain_of(record)))) == record


def test_what_is_none_is_left_out_and_sets_are_sorted() -> None:
    assert plain_of(Inner(platforms={LINUX: CUDAS})) == {"platforms": {"linux_x86_64": ["12.8", "13.0"]}}


def test_a_printed_record_has_every_field() -> None:
    printed = json.loads(json.dumps({"inner": Inner(platforms={}), "platform": LINUX}, default=json_default))
    assert printed == {"inner": {"platforms": {}, "since": None}, "platform": "linux_x86_64"}


def test_what_is_no_record_is_not_printed() -> None:
    with pytest.raises(TypeError):
        json.dumps(CUDAS, default=json_default)
