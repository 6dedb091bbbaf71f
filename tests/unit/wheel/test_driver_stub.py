"""A library that stands in for the driver's."""

import ctypes
from pathlib import Path

import pytest

from wheelmill.wheel.driver_stub import compile_stub, driver_functions_in, is_of_driver

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
