"""Sources in small."""

from collections.abc import Callable
from pathlib import Path

import pytest

from wheelmill.config.survey.facts import Facts

Source = Callable[..., Facts]

CUDA_SETUP = """\
import torch
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="demo",
    version="1.0",
    ext_modules=[CUDAExtension("demo._C", ["csrc/ops.cu"])],
    cmdclass={"build_ext": BuildExtension},
)
"""


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Write the files of a source and look at them."""

    def write(subdirectory: str = "", **files: str) -> Facts:
        for name, text in files.items():
            path = tmp_path / "demo-1.0" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return Facts.of(tmp_path / "demo-1.0", subdirectory)

    return write
