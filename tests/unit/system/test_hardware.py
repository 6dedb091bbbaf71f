"""GPUs as a program in the place of nvidia-smi shows them, and the level of an x86-64 processor."""

import platform
from pathlib import Path

import pytest

from tests.refusals import coded
from wheelmill.errors import UsageError
from wheelmill.system import hardware
from wheelmill.system.hardware import x86_64_level
from wheelmill.system.sandbox import Sandbox

SMI = """#!/bin/sh
case "$1" in
*name*) echo "NVIDIA H200, 9.0" ;;
*) echo "580.65.06" ;;
esac
"""


def test_evidence_names_a_gpu_and_its_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nvidia-smi").write_text(SMI)
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("UV_CUDA_DRIVER_VERSION", "580.65.06")
    assert hardware.name_gpus() == ("NVIDIA H200, driver 580.65.06",)


def test_windows_subsystem_for_linux_has_its_driver_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # as sudo sets it
    monkeypatch.setattr(hardware, "_WSL", tmp_path / "wsl")
    monkeypatch.setattr(hardware, "_DEVICES", tmp_path)
    (tmp_path / "dxg").touch()
    assert (hardware.device_files(), hardware.find_gpus()) == ([], ())  # a GPU of another maker
    (tmp_path / "wsl").mkdir()
    (tmp_path / "wsl" / "nvidia-smi").write_text(SMI)
    (tmp_path / "wsl" / "nvidia-smi").chmod(0o755)
    assert hardware.device_files() == [tmp_path / "dxg"]
    assert [gpu.name for gpu in hardware.find_gpus()] == ["NVIDIA H200"]


def test_a_machine_without_a_driver_has_no_gpus_to_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert hardware.name_gpus() == ()


@pytest.mark.parametrize("said", ["[N/A]", "$(x).1", "5\u00b2.1"])
def test_what_is_no_version_is_no_driver(said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\necho '{said}'\n", encoding="utf-8")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("UV_CUDA_DRIVER_VERSION", raising=False)
    for name in ("_SYSFS", "_PROCFS"):
        monkeypatch.setattr(hardware, name, tmp_path / "nothing")
    assert hardware.driver_version() == (None, "no NVIDIA driver found")


@pytest.mark.parametrize("text", ["$(x)", "9" * 5000])
def test_a_variable_that_is_no_version_is_an_error(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_CUDA_DRIVER_VERSION", text)
    with pytest.raises(UsageError, check=coded("version-invalid")):
        hardware.driver_version()


def test_a_sandbox_has_the_device_files_of_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without them the driver shows no GPU to what runs there."""
    monkeypatch.setattr(hardware, "_DEVICES", tmp_path)
    for name in ("nvidia0", "nvidiactl", "null"):
        (tmp_path / name).touch()
    devices = hardware.device_files()
    assert [device.name for device in devices] == ["nvidia0", "nvidiactl"]
    words = list(map(str, Sandbox(writable={}, devices=devices)._options()))  # noqa: SLF001 - what bubblewrap is told
    assert words.count("--dev-bind") == 2
    assert words.index("--dev-bind") > words.index("--dev")


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
    monkeypatch.setattr(hardware, "_CPUINFO", path)
    assert x86_64_level() == level


@pytest.mark.parametrize("text", [None, "", "processor: 0\nFeatures: fp asimd\n"])
def test_what_is_no_such_processor_has_none(text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cpuinfo"
    if text is not None:
        path.write_text(text)
    monkeypatch.setattr(hardware, "_CPUINFO", path)
    assert x86_64_level() is None


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not Path("/proc/cpuinfo").exists(), reason="no Linux with such a processor"
)
def test_this_machine_has_one() -> None:
    assert x86_64_level() in {1, 2, 3, 4}
