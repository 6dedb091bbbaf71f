"""A torch without CUDA is named as the reason, with what puts another one in its place."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.client.conftest import TARGET, Resolve
from wheelmill.installers import uv

CPU = replace(
    TARGET, torch_release="2.8.0+cpu", cuda=None, cpu_only=True, interpreter=Path("/env/bin/python"), origins={}
)
WHEELS = [f"demo-1.0+{label}-cp312-cp312-linux_x86_64.whl" for label in ("cu126torch2.8", "cu128torch2.8")]


def test_the_command_of_uv_replaces_it(resolved: Resolve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uv, "find_uv", lambda: Path("uv"))
    (missing,) = resolved(WHEELS, "demo", target=CPU).unresolved.values()
    assert missing.reason.startswith("torch 2.8.0+cpu, which is installed, is built without CUDA; 2 wheels, none for ")
    found, command = (missing.suggestion or "").split(": ", 1)
    assert found == "put torch for CUDA 12.8 in its place"
    words = ["uv", "pip", "install", "--python", "/env/bin/python", "torch==2.8.*", "--reinstall-package", "torch"]
    assert shlex.split(command) == words  # the usual index has torch 2.8 for CUDA 12.8
    (other,) = resolved(WHEELS[:1], "demo", target=CPU).unresolved.values()
    assert shlex.split(other.suggestion or "")[-2:] == ["--torch-backend", "cu126"]


def test_the_command_of_pip_names_the_index(resolved: Resolve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uv, "find_uv", lambda: None)
    monkeypatch.setenv("WHEELMILL_TORCH_INDEX", "https://mirror.example/cu{cuda}")
    (missing,) = resolved(WHEELS[:1], "demo", target=CPU).unresolved.values()
    pip = "/env/bin/python -m pip"
    install = f"{pip} install 'torch==2.8.*' --index-url https://mirror.example/cu126"
    assert missing.suggestion == f"put torch for CUDA 12.6 in its place: {pip} uninstall --yes torch && {install}"


def test_a_torch_that_was_only_asked_for_is_asked_for_with_cuda(resolved: Resolve) -> None:
    asked = replace(CPU, torch_release=None, origins={"cuda": "UV_TORCH_BACKEND"})
    (missing,) = resolved(WHEELS, "demo", target=asked).unresolved.values()
    assert missing.reason.startswith("UV_TORCH_BACKEND asks for torch without CUDA; 2 wheels")
    assert missing.suggestion == "--torch 2.8 --cuda 12.8"


def test_it_is_no_reason_where_no_wheel_is_refused_for_it(resolved: Resolve) -> None:
    (missing,) = resolved(["demo-1.0-cp311-cp311-linux_x86_64.whl"], "demo", target=CPU).unresolved.values()
    assert missing.reason.startswith("1 wheel, none for ")
