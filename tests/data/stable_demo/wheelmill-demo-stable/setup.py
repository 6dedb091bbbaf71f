"""Compiles one CUDA source with the headers of torch's stable ABI, for torch 2.11 and Python 3.11 and all later ones."""

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

DEFINED = ["-DTORCH_TARGET_VERSION=0x020b000000000000", "-DPy_LIMITED_API=0x030b0000", "-DUSE_CUDA"]

setup(
    ext_modules=[
        CUDAExtension(
            "wheelmill_demo_stable._C",
            ["scale.cu"],
            extra_compile_args={"cxx": DEFINED, "nvcc": DEFINED},
            py_limited_api=True,
        )
    ],
    cmdclass={"build_ext": BuildExtension.with_options(use_ninja=False)},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
