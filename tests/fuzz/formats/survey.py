"""Sources of packages that nobody built yet: their scripts are searched, and an entry is guessed."""

import tempfile
from contextlib import suppress
from pathlib import Path

from tests.fuzz.harness import Format
from tests.fuzz.mutation import mutated
from tests.unit.config.survey.conftest import CUDA_SETUP
from wheelmill.config.survey.entry import check_needs_build, guess_entry
from wheelmill.config.survey.facts import Facts
from wheelmill.errors import UsageError

CMAKE = b"""project(demo LANGUAGES CXX CUDA)
find_package(Torch REQUIRED)
find_package(Python 3.9 COMPONENTS Interpreter Development.Module NumPy)
set(SOURCES ops.cu a.cpp)
pybind11_add_module(_C MODULE ${SOURCES})
FetchContent_Declare(cutlass GIT_REPOSITORY https://git.example/cutlass)
"""
CODE = b"""#include <torch/extension.h>
TORCH_LIBRARY(demo, m) {}
PYBIND11_MODULE(_C, m) {}
"""
WORDS = (
    b"""find_package(Python cpp_extension ( ) { } " ' , ; \\ # include < > FORCE_CUDA _WITH_CUDA lambda if""".split()
)
WORDS += [b"\n", b" ", b"\0", b"\xff", b"find_package(Python " * 500, b"cpp_extension " * 500, b"#include <" * 200]
WORDS += [b"(" * 300, b"a_FORCE_" * 500, b"set(" * 500, b"PYBIND11_MODULE(" * 300, b"+'a'" * 200]
FILES = ("setup.py", "CMakeLists.txt", "csrc/ops.cu", "demo/__init__.py", "pyproject.toml", "setup.cfg")


def read(content: bytes) -> None:
    """The same bytes stand in each of the files that are searched; a script that is no Python is refused."""
    with tempfile.TemporaryDirectory() as folder:
        for name in FILES[1:4] if content.startswith((CMAKE[:7], CODE[:8])) else (FILES[0], *FILES[2:4]):
            path = Path(folder, "demo", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        facts = Facts.of(Path(folder, "demo"))
        for guess in guess_entry(facts):
            str(guess)
        with suppress(UsageError):
            check_needs_build("demo", facts)


FORMAT = Format(inputs=mutated([CUDA_SETUP.encode(), CMAKE, CODE], WORDS), read=read)
