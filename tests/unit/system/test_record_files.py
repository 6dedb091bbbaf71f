from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.refusals import coded
from wheelmill.errors import IntegrityError
from wheelmill.names import CudaVersion
from wheelmill.system.record_files import read_record, write_record


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
