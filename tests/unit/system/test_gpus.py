"""The GPUs of a machine, as a program in the place of nvidia-smi shows them."""

from pathlib import Path

import pytest

from tests.refusals import coded
from wheelmill.errors import UsageError
from wheelmill.system import gpus
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
    assert gpus.name_gpus() == ("NVIDIA H200, driver 580.65.06",)


def test_a_machine_without_a_driver_has_no_gpus_to_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert gpus.name_gpus() == ()


@pytest.mark.parametrize("said", ["[N/A]", "$(x).1", "5\u00b2.1"])
def test_what_is_no_version_is_no_driver(said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\necho '{said}'\n", encoding="utf-8")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("UV_CUDA_DRIVER_VERSION", raising=False)
    for name in ("_SYSFS", "_PROCFS"):
        monkeypatch.setattr(gpus, name, tmp_path / "nothing")
    assert gpus.driver_version() == (None, "no NVIDIA driver found")


@pytest.mark.parametrize("text", ["$(x)", "9" * 5000])
def test_a_variable_that_is_no_version_is_an_error(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_CUDA_DRIVER_VERSION", text)
    with pytest.raises(UsageError, check=coded("version-invalid")):
        gpus.driver_version()


def test_a_sandbox_has_the_device_files_of_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without them the driver shows no GPU to what runs there."""
    monkeypatch.setattr(gpus, "_DEVICES", tmp_path)
    for name in ("nvidia0", "nvidiactl", "null"):
        (tmp_path / name).touch()
    devices = gpus.device_files()
    assert [device.name for device in devices] == ["nvidia0", "nvidiactl"]
    words = list(map(str, Sandbox(writable={}, devices=devices)._options()))  # noqa: SLF001 - what bubblewrap is told
    assert words.count("--dev-bind") == 2
    assert words.index("--dev-bind") > words.index("--dev")
