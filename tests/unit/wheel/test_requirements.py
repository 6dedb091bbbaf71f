"""Requirements that leave out torches and CUDA majors."""

import pytest
from packaging.requirements import Requirement

from wheelmill.names import CudaVersion, Platform, PythonVersion, StableTorch, TorchVersion
from wheelmill.wheel.metadata import admits, is_bound

CUDA_12, CUDA_13 = CudaVersion(12, 8), CudaVersion(13, 0)
TORCH_13, TORCH_14, TORCH_14_RC = TorchVersion(2, 13), TorchVersion(2, 14), TorchVersion(2, 14, 1)
PY_11, PY_12 = PythonVersion(3, 11), PythonVersion(3, 12)
X86, ARM = Platform.parse("linux_x86_64"), Platform.parse("linux_aarch64")


@pytest.mark.parametrize(
    ("text", "torches"),
    [
        ("torch>=2.13,<2.14", [TORCH_13]),
        ("Torch<2.14", [TORCH_13]),
        ("torch>=2.14", [TORCH_14, TORCH_14_RC]),
        ("torch==2.14.0rc1", [TORCH_14_RC]),
        ("torch==2.13.1", [TORCH_13]),
        ("torch==2.13.0+cu130", [TORCH_13]),
        ("torch!=2.13.0", [TORCH_13, TORCH_14, TORCH_14_RC]),
        ("torch!=2.13.*", [TORCH_14, TORCH_14_RC]),
        ("torch<2", []),
    ],
)
def test_a_minor_release_of_torch_is_admitted_with_one_of_its_patches(text: str, torches: list[TorchVersion]) -> None:
    assert is_bound(Requirement(text))
    every = (TORCH_13, TORCH_14, TORCH_14_RC)
    assert [torch for torch in every if admits(text, CUDA_13, torch, PY_12, X86)] == torches
    assert admits(text, CUDA_13, None, PY_12, X86)
    assert admits(text, CUDA_13, StableTorch(oldest=TORCH_13), PY_12, X86)


@pytest.mark.parametrize(
    ("text", "cudas"),
    [
        ("nvidia-cublas-cu12", [CUDA_12]),
        ("NVIDIA_cuDNN_cu13>=9", [CUDA_13]),
        ("cupy-cuda12x>=13", [CUDA_12]),
        ("cupy-cuda110", []),
        ("spconv-cu120", [CUDA_12]),
        ("jax-cuda13-plugin", [CUDA_13]),
        ("jax[cuda13]", [CUDA_13]),
        ("jax[cuda12_local]>=0.7", [CUDA_12]),
        ("humming-kernels[cu12,cu13]", [CUDA_12, CUDA_13]),
        ("cuda-bindings~=12.0", [CUDA_12]),
        ("cuda-bindings<14,>=12.9.1", [CUDA_12, CUDA_13]),
        ("cuda-python>=13", [CUDA_13]),
        ("cuda-python==12.6.2.post1", [CUDA_12]),
        ("cuda-python!=12.*", [CUDA_13]),
        ("cuda-toolkit[cudart]==13.*", [CUDA_13]),
        ("cuda-toolkit===13.x", [CUDA_13]),
        ("nvidia-cuda-runtime<13", [CUDA_12]),
    ],
)
def test_a_requirement_for_one_cuda_admits_its_major_release(text: str, cudas: list[CudaVersion]) -> None:
    assert is_bound(Requirement(text))
    assert [cuda for cuda in (CUDA_12, CUDA_13) if admits(text, cuda, TORCH_14, PY_12, X86)] == cudas


@pytest.mark.parametrize(
    "text",
    [
        *("torch", "torch[opt-einsum]", "torchvision>=0.28", "numpy<2", "jax>=0.7", "jax[cuda]", "cuda-bindings"),
        *("cupy", "focu12", "cu12tools", "cuda-core>=1", "nvidia-cublas>=13", "acme-cu", "cuda-python>=9"),
        *('torch<2; extra == "old"', 'nvidia-cublas-cu12; sys_platform == "linux" and extra == "cuda"'),
    ],
)
def test_other_requirements_are_no_bounds(text: str) -> None:
    assert not is_bound(Requirement(text))


@pytest.mark.parametrize(
    ("marker", "excluded"),
    [
        ('python_version >= "3.12"', [(PY_12, X86), (PY_12, ARM)]),
        ('python_full_version < "3.11.4"', []),
        ('platform_machine == "x86_64"', [(PY_11, X86), (PY_12, X86)]),
        ('sys_platform == "linux"', [(PY_11, X86), (PY_11, ARM), (PY_12, X86), (PY_12, ARM)]),
        ('sys_platform == "win32"', []),
        ('python_version ~= "x"', []),
        ('"a" in extras', []),
    ],
)
def test_a_marker_limits_pythons_and_platforms(marker: str, excluded: list[tuple[PythonVersion, Platform]]) -> None:
    text = f"torch<2; {marker}"
    places = [(python, platform) for python in (PY_11, PY_12) for platform in (X86, ARM)]
    assert [place for place in places if not admits(text, CUDA_13, TORCH_14, *place)] == excluded
