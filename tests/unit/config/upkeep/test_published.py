"""What file names and METADATA on an index tell of torch."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.torch_index import write_torch_index
from wheelmill.config.upkeep.published import PublishedTorch, published_torch
from wheelmill.errors import IntegrityError
from wheelmill.index.serve import serve_folder
from wheelmill.names import CudaVersion, Platform, PythonVersion, TorchVersion

X86, ARM = Platform("linux", "x86_64"), Platform("linux", "aarch64")
T210, T211 = TorchVersion(2, 10), TorchVersion(2, 11)
WHEEL = "torch-2.11.0-cp312-cp312-manylinux_2_28_x86_64.whl"
CUDA_130 = ("cuda-toolkit[cublas,cudart]==13.0.2; platform_system == 'Linux'",)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the index that this machine is set to."""
    with serve_folder(tmp_path) as url:
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"{url}simple/")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield tmp_path


def published(index: Path, *names: str) -> dict[TorchVersion, PublishedTorch]:
    write_torch_index(index, dict.fromkeys(names, CUDA_130))
    return dict(published_torch(since=T210))


def cuda_of(index: Path, *requirements: str) -> CudaVersion | None:
    write_torch_index(index, {WHEEL: requirements})
    return published_torch(since=T210)[T211].default_cuda


def test_a_release_is_what_its_wheels_for_linux_say(index: Path) -> None:
    found = published(
        index,
        "torch-2.11.0-cp313-cp313t-manylinux_2_28_x86_64.whl",
        "torch-2.11.0-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "torch-2.11.0-cp314-cp314-linux_x86_64.whl",
        "torch-2.11.0-cp311-cp311-manylinux_2_29_aarch64.whl",
        "torch-2.11.0-cp311-cp311-musllinux_1_2_x86_64.whl",
        "torch-2.11.0-cp311-cp311-win_amd64.whl",
        "torch-2.11.0-cp311-none-macosx_11_0_arm64.whl",
        "torch-2.11.0.tar.gz",
        "no-wheel.whl",
    )
    (release,) = found.values()
    assert release.release == "2.11.0"
    assert release.python == {
        X86: {PythonVersion(3, 10), PythonVersion(3, 13, free_threaded=True), PythonVersion(3, 14)},
        ARM: {PythonVersion(3, 11)},
    }
    assert str(release.glibc) == "2.28"
    assert release.default_cuda == CudaVersion(13, 0)


def test_the_newest_final_release_counts(index: Path) -> None:
    tags = "cp312-cp312-manylinux_2_28_x86_64.whl"
    versions = ("2.9.1", "2.10.2", "2.10.10", "2.10.9", "2.11.0rc1", "2.10.11.dev1", "2.10.12+cu130", "2.11.0")
    found = published(index, *(f"torch-{version}-{tags}" for version in versions))
    assert {torch: release.release for torch, release in found.items()} == {T210: "2.10.10", T211: "2.11.0"}


def test_a_release_for_another_platform_alone_does_not_count(index: Path) -> None:
    found = published(index, WHEEL, "torch-2.11.1-cp312-cp312-manylinux_2_28_aarch64.whl")
    assert found[T211].release == "2.11.0"
    assert set(found[T211].python) == {X86}


def test_a_yanked_release_does_not_count(index: Path) -> None:
    write_torch_index(index, {WHEEL: CUDA_130}, attributes='data-yanked="broken"')
    assert published_torch(since=T210) == {}


@pytest.mark.parametrize(
    ("requirement", "cuda"),
    [
        ('nvidia-cuda-runtime-cu11 (==11.7.99) ; platform_system == "Linux" and platform_machine == "x86_64"', (11, 7)),
        (
            'nvidia-cuda-runtime-cu12 (==12.1.105) ; platform_system == "Linux" and platform_machine == "x86_64"',
            (12, 1),
        ),
        ("nvidia-cuda-runtime-cu12==12.8.90; platform_system == 'Linux' and platform_machine == 'x86_64'", (12, 8)),
        ("nvidia-cuda-runtime==13.0.96; platform_system == 'Linux'", (13, 0)),
        ("cuda-toolkit[cublas,cudart,nvrtc]==13.2.1; sys_platform == 'linux'", (13, 2)),
        ("CUDA_Toolkit==13.2.1", (13, 2)),
    ],
)
def test_the_cuda_of_a_wheel_is_the_one_it_requires(index: Path, requirement: str, cuda: tuple[int, int]) -> None:
    assert cuda_of(index, requirement) == CudaVersion(*cuda)


def test_what_is_required_elsewhere_does_not_count(index: Path) -> None:
    elsewhere = "nvidia-cuda-runtime==12.9.79; platform_machine == 'aarch64'"
    extra = "cuda-toolkit==13.2.1; extra == 'newer'"
    assert cuda_of(index, *CUDA_130, elsewhere, extra) == CudaVersion(13, 0)


@pytest.mark.parametrize(
    "requirements",
    [
        (),
        ("cuda-toolkit>=13.0",),
        ("cuda-toolkit==13.*",),
        ("cuda-toolkit==13.0.2", "nvidia-cuda-runtime==13.2.51"),
        ("nvidia-cuda-runtime==?",),
    ],
    ids=["none", "a range", "a major release", "two that differ", "no requirement"],
)
def test_a_cuda_that_is_not_told_is_not_guessed(index: Path, requirements: tuple[str, ...]) -> None:
    assert cuda_of(index, *requirements) is None


def test_a_wheel_without_metadata_on_the_index_tells_no_cuda(index: Path) -> None:
    write_torch_index(index, {WHEEL: None})
    assert published_torch(since=T210)[T211].default_cuda is None


def test_metadata_must_have_the_hash_that_the_index_gives(index: Path) -> None:
    write_torch_index(index, {WHEEL: CUDA_130})
    right = hashlib.sha256((index / "simple" / "torch" / f"{WHEEL}.metadata").read_bytes()).hexdigest()
    write_torch_index(index, {WHEEL: CUDA_130}, attributes=f'data-core-metadata="sha256={right}"')
    assert published_torch(since=T210)[T211].default_cuda == CudaVersion(13, 0)
    write_torch_index(index, {WHEEL: CUDA_130}, attributes=f'data-core-metadata="sha256={"0" * 64}"')
    with pytest.raises(IntegrityError, match=WHEEL):
        published_torch(since=T210)
