"""Compiles many small CUDA files, one after the other, so that a build can be ended between them."""

from pathlib import Path

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

CUB = "#include <cub/block/block_reduce.cuh>\n"
KERNEL = """
__global__ void kernel_%(number)d(float* values, long size, float factor) {
    long i = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
    if (i < size) values[i] *= factor;
}

void multiply_%(number)d(float* values, long size, float factor) {
    if (size) kernel_%(number)d<<<(size + 255) / 256, 256>>>(values, size, factor);
}
"""


def kernels():
    for number in range(8):
        path = Path(f"multiply_{number}.cu")
        headers = "" if number else CUB  # which take ten times as long as the kernel: once is enough
        path.write_text(headers + KERNEL % {"number": number})
        yield str(path)


setup(
    ext_modules=[CUDAExtension("wheelmill_demo_torch._C", [*kernels(), "binding.cpp"])],
    cmdclass={"build_ext": BuildExtension.with_options(use_ninja=False)},
)
