"""What needs no build is refused, and the line says why."""

import pytest

from tests.refusals import coded
from tests.unit.config.survey.conftest import CUDA_SETUP, Source
from wheelmill.config.survey.refusals import check_needs_build
from wheelmill.errors import UsageError

PLAIN = "from setuptools import setup\nsetup(name='demo')\n"
SCIKIT = '[build-system]\nrequires = []\nbuild-backend = "scikit_build_core.build"\n'


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"setup.py": PLAIN}, "setup.py:2"),
        ({"pyproject.toml": '[build-system]\nbuild-backend = "x"\n'}, "pyproject.toml:2"),
        ({"setup.py": PLAIN, "demo/a.py": "\nimport triton\n"}, "Triton's, compiled at first use (demo/a.py:2)"),
        (
            {"setup.py": PLAIN, "demo/a.py": "from torch.utils.cpp_extension import load\n", "demo/a.cu": ""},
            "compiles at first use (demo/a.py:1)",
        ),
        ({"setup.py": PLAIN, "demo/libdemo.so": ""}, "demo/libdemo.so"),
        (
            {"setup.py": "CppExtension('demo._C', ['a.cpp'])", "a.cpp": ""},
            "no GPU code; setup.py:1",
        ),
        ({"pyproject.toml": SCIKIT, "CMakeLists.txt": "\nproject(x LANGUAGES CXX)\n"}, "CMakeLists.txt:2"),
    ],
)
def test_a_source_that_needs_no_build_is_refused(files: dict[str, str], why: str, source: Source) -> None:
    with pytest.raises(UsageError, check=coded("no-build-needed", "demo", why)):
        check_needs_build("demo", source(**files))


def test_sources_that_the_source_distribution_lacks_are_named(source: Source) -> None:
    facts = source(**{"setup.py": CUDA_SETUP.replace("name=", 'url="https://host.example/demo", name=')})
    with pytest.raises(UsageError, check=coded("source-incomplete", "csrc/ops.cu", "setup.py:8")) as refused:
        check_needs_build("demo", facts)
    assert refused.value.hint == "build it from git: wheelmill config add https://host.example/demo.git"


def test_an_extension_that_is_not_understood_is_one(source: Source) -> None:
    setup = "kind, name = choose()\nsetup(ext_modules=[kind(name, ['a.cu'])])"
    check_needs_build("demo", source(**{"setup.py": setup, "a.cu": ""}))
    with pytest.raises(UsageError, check=coded("no-build-needed", "setup.py:2")):
        check_needs_build("demo", source(**{"setup.py": "none = []\nsetup(ext_modules=none)"}))


def test_gpu_code_may_be_in_a_submodule(source: Source) -> None:
    cmake = "project(demo LANGUAGES CXX)\nadd_subdirectory(vendor/demo)\n"
    check_needs_build("demo", source(**{"pyproject.toml": SCIKIT, "CMakeLists.txt": cmake, ".gitmodules": ""}))


def test_what_a_submodule_may_bring_is_not_lacking(source: Source) -> None:
    check_needs_build("demo", source(**{"setup.py": CUDA_SETUP, ".gitmodules": ""}))


def test_gpu_code_is_built(source: Source) -> None:
    check_needs_build("demo", source(**{"setup.py": CUDA_SETUP, "csrc/ops.cu": ""}))
