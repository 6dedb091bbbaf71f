"""Libraries of torch, CUDA and the driver, and the stub of the driver's. The stable ABI, as abi3info knows it."""

import ctypes
from pathlib import Path

import pytest

from wheelmill.names import PythonVersion, StableTorch, TorchNeed, TorchVersion
from wheelmill.wheel.libraries import (
    compile_stub,
    cuda_major_of,
    cuda_majors_of,
    driver_functions_in,
    is_in_stable_abi,
    is_of_driver,
    is_of_toolkit,
    is_provided,
    original_name,
    provided_libraries,
)


@pytest.mark.parametrize(
    ("library", "majors"),
    [
        *(("libcudart.so.11.0", (11,)), ("libcudart.so.13", (13,)), ("libcublasLt.so.12", (12,))),
        *(("libnvrtc-builtins.so.13.0", (13,)), ("libnppial.so.12", (12,)), ("libcusolver.so.11", (11, 12))),
        *(("libcusolver.so.12", (13,)), ("libcusparse.so.12", (12, 13)), ("libcufft.so.11", (12,))),
        *(("libcusparseLt.so.0", ()), ("libcurand.so.10", (11, 12, 13)), ("libcurand.so.99", ())),
        *(("libcudart.so", ()), ("libcudart.so.x", ()), ("libm.so.6", ())),
    ],
)
def test_a_soname_says_which_cuda_majors_have_it(library: str, majors: tuple[int, ...]) -> None:
    assert cuda_majors_of(library) == majors


def test_a_library_of_two_majors_does_not_say_which_one_a_wheel_is_for() -> None:
    assert cuda_major_of(["libcusparse.so.12", "libcublas.so.13"]) == 13
    assert cuda_major_of(["libcusparse.so.12", "libm.so.6"]) is None


@pytest.mark.parametrize("library", ["libtorch.so", "libtorch_cuda_linalg.so", "libc10_cuda.so", "libcuda.so.1"])
def test_torch_and_the_driver_bring_libraries(library: str) -> None:
    assert is_provided(library, None, "x86_64")
    assert is_provided(library, TorchVersion(2, 11), "x86_64")


@pytest.mark.parametrize("library", ["libtorch_scatter.so", "libtorchvision.so", "libcudart_of_ours.so", "libm.so.6"])
def test_other_names_are_nobodys(library: str) -> None:
    assert not is_provided(library, None, "x86_64")
    assert not is_provided(library, TorchVersion(2, 11), "x86_64")
    assert not is_of_toolkit(library)


@pytest.mark.parametrize(
    ("torch", "machine", "is_torchs"),
    [
        (TorchVersion(2, 6), "x86_64", False),  # its own has a hash in its name
        (TorchVersion(2, 7), "x86_64", True),
        (TorchVersion(2, 9), "aarch64", False),
        (TorchVersion(2, 10), "aarch64", True),
        (TorchVersion(9, 9), "x86_64", True),
        (StableTorch(oldest=TorchVersion(2, 10)), "x86_64", True),
        (StableTorch(oldest=TorchVersion(2, 9)), "aarch64", False),
        (None, "x86_64", False),
    ],
)
def test_openmp_is_torchs_where_its_wheel_holds_it(torch: TorchNeed | None, machine: str, *, is_torchs: bool) -> None:
    assert is_provided("libgomp.so.1", torch, machine) == is_torchs


def test_libraries_of_nvidias_wheels_are_provided() -> None:
    provided = provided_libraries(TorchVersion(2, 11), "x86_64")
    assert {"libcublas", "libcudart", "libcudnn_ops", "libnccl", "libnvJitLink"} <= provided
    assert not provided & {"libm", "libgfortran", "libjpeg", "libnvjpeg"}


@pytest.mark.parametrize(
    ("copy", "original"),
    [
        ("libcudart-d0da41ae.so.12.4.127", "libcudart.so.12.4.127"),
        ("demo.libs/libcudart.3eda8113.so.13", "libcudart.so.13"),
        ("libcudart.so.13", "libcudart.so.13"),
        ("libgomp-notahash.so.1", "libgomp-notahash.so.1"),
        ("libhelper-more.so", "libhelper-more.so"),
        ("-d0da41ae.so", "-d0da41ae.so"),
    ],
)
def test_a_copied_library_is_known_by_the_name_it_had(copy: str, original: str) -> None:
    assert original_name(copy) == original


HEADER = """
#define cuMemAlloc                          cuMemAlloc_v2
CUresult CUDAAPI cuInit(unsigned int Flags);
CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize);
typedef void (CUDA_CB *CUhostFn)(void *userData);
"""


def test_the_functions_of_a_header_are_found(tmp_path: Path) -> None:
    (tmp_path / "cuda.h").write_text(HEADER)
    assert driver_functions_in(tmp_path / "cuda.h") >= {"cuInit", "cuMemAlloc_v2"}


@pytest.mark.parametrize(
    ("symbol", "is_one"),
    [
        *(("cuTensorMapEncodeTiled", True), ("cuMemcpyHtoD_v2_ptds", True), ("cudaMalloc", False)),
        *(("cublasCreate_v2", False), ("cu", False), ("cuInit(); int evil", False), ("_cuInit", False)),
    ],
)
def test_a_function_of_the_driver_is_known_by_its_name(symbol: str, is_one: bool) -> None:  # noqa: FBT001
    assert is_of_driver(symbol) is is_one


def test_every_function_says_that_it_is_a_stub(tmp_path: Path) -> None:
    library = tmp_path / "libcuda.so"
    compile_stub({"cuInit", "cuMemAlloc_v2"}, library)
    assert ctypes.CDLL(str(library)).cuMemAlloc_v2(None, 8) == 34  # CUDA_ERROR_STUB_LIBRARY


@pytest.mark.parametrize(
    ("symbol", "minor", "is_in"),
    [
        *(("PyList_New", 9, True), ("_Py_Dealloc", 9, True), ("PyExc_ValueError", 9, True)),
        *(("PyList_GetItemRef", 12, False), ("PyList_GetItemRef", 13, True), ("_PyObject_MakeTpCall", 13, False)),
        *(("PyBuffer_Release", 10, False), ("PyBuffer_Release", 11, True), ("cudaMalloc", 9, True)),
    ],
)
def test_a_symbol_is_stable_from_some_python_on_or_never(symbol: str, minor: int, is_in: bool) -> None:  # noqa: FBT001
    assert is_in_stable_abi(symbol, PythonVersion(3, minor)) == is_in
