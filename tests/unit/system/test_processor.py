"""The level of an x86-64 processor, by what Linux says of it."""

import platform
from pathlib import Path

import pytest

from wheelmill.system import processor
from wheelmill.system.processor import x86_64_level

V1 = "fpu cx8 cmov mmx fxsr sse sse2 syscall nx lm"
V2 = f"{V1} pni ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm"
V3 = f"{V2} fma movbe xsave avx f16c abm bmi1 avx2 bmi2"
V4 = f"{V3} avx512f avx512dq avx512cd avx512bw avx512vl"


@pytest.mark.parametrize(
    ("flags", "level"),
    [(V1, 1), (V2, 2), (V3, 3), (V4, 4), (V4.replace(" avx2", ""), 2), (V4.replace(" avx512vl", ""), 3), ("fpu", None)],
)
def test_a_level_is_reached_with_all_that_it_adds(
    flags: str, level: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text(f"processor\t: 0\nvendor_id\t: A\nflags\t\t: {flags}\nbugs\t\t: \n\nprocessor\t: 1\nflags\t\t: \n")
    monkeypatch.setattr(processor, "_CPUINFO", path)
    assert x86_64_level() == level


@pytest.mark.parametrize("text", [None, "", "processor: 0\nFeatures: fp asimd\n"])
def test_what_is_no_such_processor_has_none(text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cpuinfo"
    if text is not None:
        path.write_text(text)
    monkeypatch.setattr(processor, "_CPUINFO", path)
    assert x86_64_level() is None


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not Path("/proc/cpuinfo").exists(), reason="no Linux with such a processor"
)
def test_this_machine_has_one() -> None:
    assert x86_64_level() in {1, 2, 3, 4}
