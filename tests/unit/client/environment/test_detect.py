"""What is given by hand beside what is found, and what wheels are chosen then."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.refusals import coded
from tests.unit.client.conftest import TARGET, Resolve, chosen
from wheelmill.cli.shared.options import TargetOptions
from wheelmill.client.environment import detect
from wheelmill.client.records import TargetEnvironment
from wheelmill.errors import UsageError
from wheelmill.names import CudaVersion, TorchVersion
from wheelmill.system import hardware


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment with torch 2.8.0+cu128, and no driver."""
    found = replace(TARGET, torch_release="2.8.0+cu128", cxx11_abi=True, interpreter=Path("python"))
    monkeypatch.setattr(detect, "environment_of", lambda _interpreter: found)
    monkeypatch.setattr(hardware, "driver_version", lambda: (None, ""))


def given(**options: str) -> TargetEnvironment:
    return TargetOptions(python_path=Path("python"), **options).detect()  # type: ignore[arg-type]  # texts alone


@pytest.mark.parametrize("said", ["2.9.1+cu130", "2.9.0.dev20250801+cu130", "2.9.0a0+cu130.git12ab"])
def test_what_torch_prints_is_a_torch_and_its_cuda(said: str) -> None:
    found = given(torch=said)
    assert (found.torch, found.cuda, found.torch_release) == (TorchVersion(2, 9), CudaVersion(13, 0), None)
    assert found.origins["cuda"] == "--torch"


@pytest.mark.parametrize("said", ["2.9.1+cpu", "2.9.1+rocm6.4", "2.9.1+xpu"])
def test_a_build_without_cuda_is_none_for_cuda_wheels(said: str) -> None:
    assert (given(torch=said).cpu_only, given(torch=said).cuda) == (True, None)


def test_a_torch_that_does_not_say_its_cuda_keeps_the_one_that_was_found() -> None:
    assert given(torch="2.8.0a0+git12ab").cuda == CudaVersion(12, 8)
    other = given(torch="2.9.0a0+git12ab")
    assert (other.cuda, other.preferred_cuda) == (None, CudaVersion(12, 8))


@pytest.mark.parametrize("cuda", ["13", "12.6", "cu130"])
def test_a_torch_that_is_built_for_another_cuda_is_refused(cuda: str) -> None:
    with pytest.raises(UsageError, check=coded("cuda-conflict", "for CUDA 12.8", "1")):
        given(torch="2.8.0+cu128", cuda=cuda)
    with pytest.raises(UsageError, check=coded("cuda-conflict", "without CUDA")):
        given(torch="2.8.0+cpu", cuda=cuda)


@pytest.mark.parametrize("said", ["+cu128", "two+cu128", "2+", "2.8.0+" + 5000 * "c"])
def test_what_is_no_torch_is_named(said: str) -> None:
    with pytest.raises(UsageError, check=coded("value-invalid", "--torch")):
        given(torch=said)


def test_any_minor_release_is_the_installed_one_where_it_will_do() -> None:
    found = given(cuda="12")
    assert (found.cuda, found.torch_release) == (CudaVersion(12, 8), "2.8.0+cu128")


@pytest.mark.parametrize("said", ["13", "cu13"])
def test_a_major_release_of_cuda_leaves_its_minor_one_open(said: str, resolved: Resolve) -> None:
    target = given(torch="2.9", cuda=said)
    assert (target.cuda, target.cuda_major) == (None, 13)
    assert "CUDA 13 (any)" in str(target)
    names = [f"demo-1.0+{label}torch2.9-cp312-cp312-linux_x86_64.whl" for label in ("cu126", "cu130")]
    assert chosen(resolved(names, "demo", target=target)) == names[1]
    assert chosen(resolved(names, "demo", target=given(torch="2.9", cuda="12"))) == names[0]
    assert chosen(resolved(names[:1], "demo", target=target)) is None


def test_nothing_of_another_major_release_fits_where_no_torch_is_known_for_the_wanted_one(resolved: Resolve) -> None:
    name = "demo-1.0+cu130-cp312-cp312-linux_x86_64.whl"
    assert chosen(resolved([name], "demo", target=given(torch="2.9", cuda="19"))) is None


def test_no_interpreter_is_asked_where_all_of_it_was_given() -> None:
    complete = {"python": "3.12", "platform": "linux_x86_64", "torch": "2.8.0+cpu"}
    assert TargetOptions(**complete).detect().interpreter is None  # type: ignore[arg-type]  # texts alone


def test_a_driver_that_is_given_runs_another_cuda_than_the_one_that_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    here = replace(TARGET, driver="550.54.14", driver_cuda=CudaVersion(12, 4))
    monkeypatch.setattr(detect, "environment_of", lambda _interpreter: here)
    assert (given(driver="580.65.06").driver_cuda, given().driver_cuda) == (None, CudaVersion(12, 4))
