"""What makes a wheel large, of shared objects that a compiler made."""

from pathlib import Path

import pytest

from tests.shared_objects import EXTENSION, compiled
from tests.wheels import write_wheel
from wheelmill.system import process
from wheelmill.wheel.archive import open_archive
from wheelmill.wheel.shared_objects import shared_objects_of
from wheelmill.wheel.sizes import Sizes, sizes_of


def sizes_in(wheel: Path) -> Sizes:
    with wheel.open("rb") as file, open_archive(file) as archive:
        return sizes_of(archive.infolist(), shared_objects_of(wheel))


def in_wheel(folder: Path, *libraries: Path, module: bytes = b"") -> Path:
    files = {f"demo/{library.name}": library.read_bytes() for library in libraries}
    return write_wheel(folder / "demo-1.0-py3-none-any.whl", files={"demo/__init__.py": module, **files})


def test_every_byte_of_every_file_counts_once(tmp_path: Path) -> None:
    first, second = compiled(tmp_path / "a.so", EXTENSION), compiled(tmp_path / "b.so", EXTENSION)
    wheel = in_wheel(tmp_path, first, second)
    sizes = sizes_in(wheel)
    assert sizes.gpu_code == {"sm_90": 16}
    with wheel.open("rb") as file, open_archive(file) as archive:
        files = sum(member.file_size for member in archive.infolist())
    assert 16 + sizes.host_code + sizes.debug + sizes.other == files
    larger = sizes_in(in_wheel(tmp_path, first, second, module=b"#" * 1000))
    assert 1000 <= larger.other - sizes.other < 1010, "RECORD says its size"
    assert larger.host_code == sizes.host_code


def test_what_strip_takes_away_is_debug_information(tmp_path: Path) -> None:
    source = tmp_path / "demo.c"
    source.write_text(EXTENSION)
    library = tmp_path / "demo.so"
    process.run(["gcc", "-shared", "-fPIC", "-g", "-o", library, source])
    before = sizes_in(in_wheel(tmp_path, library))
    whole = library.stat().st_size
    process.run(["strip", library])
    after = sizes_in(in_wheel(tmp_path, library))
    assert before.debug - after.debug == pytest.approx(whole - library.stat().st_size, abs=1024), "sections are aligned"
    assert before.gpu_code == after.gpu_code
    assert after.debug < 1024 < before.debug


def test_it_is_told_without_what_there_is_none_of() -> None:
    sizes = Sizes(gpu_code={"sm_90": 8_980_000, "compute_120": 500_000}, host_code=610_000, debug=0, other=20_000)
    assert str(sizes) == "sm_90 9.0 MB, compute_120 500 kB, host code 610 kB, other files 20.0 kB"
