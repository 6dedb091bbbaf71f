"""Compiles one CUDA source with the nvcc of CUDA_HOME: one module for every Python from 3.10 on."""

import os
import subprocess
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext


class CompileWithNvcc(build_ext):
    def build_extension(self, ext):
        output = Path(self.get_ext_fullpath(ext.name))
        output.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [
                Path(os.environ["CUDA_HOME"], "bin", "nvcc"),
                *("-O2", "-std=c++17", "-shared", "-cudart", "static"),
                *("-Xcompiler", "-fPIC", "-Xlinker", "-s"),
                *(
                    flag
                    for architecture in os.environ["TORCH_CUDA_ARCH_LIST"].split(";")
                    for flag in gencode(architecture)
                ),
                *("-I", sysconfig.get_paths()["include"]),
                *ext.sources,
                *("-o", output),
            ],
            check=True,
        )


def gencode(architecture):
    """nvcc's switches for one architecture: "9.0" is machine code, "12.0+PTX" machine code and PTX."""
    number = architecture.removesuffix("+PTX").replace(".", "")
    yield f"-gencode=arch=compute_{number},code=sm_{number}"
    if architecture.endswith("+PTX"):
        yield f"-gencode=arch=compute_{number},code=compute_{number}"


setup(
    ext_modules=[
        Extension("wheelmill_demo_average._kernels", ["wheelmill_demo_average/_kernels.cu"], py_limited_api=True)
    ],
    cmdclass={"build_ext": CompileWithNvcc},
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
