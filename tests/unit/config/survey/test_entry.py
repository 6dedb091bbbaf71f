"""Each key of an entry comes from a line of the source, and says which."""

from typing import Any

import pytest

from tests.refusals import coded
from tests.unit.config.survey.conftest import CUDA_SETUP, Source
from wheelmill.config.survey.entry import check_needs_build, guess_entry
from wheelmill.config.survey.facts import Facts
from wheelmill.errors import UsageError

KERNEL = "#include <torch/extension.h>\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}\n"
MIT = "Permission is hereby granted, free of charge, to any person obtaining a copy"

SCIKIT = '[build-system]\nrequires = []\nbuild-backend = "scikit_build_core.build"\n'
CLASSIFIED = '[project]\nname = "demo"\nclassifiers = ["License :: {} License", "Topic :: Other"]\n'


def entry(facts: Facts) -> dict[str, Any]:
    return {guess.key: guess.value for guess in guess_entry(facts) if guess.key}


def said(facts: Facts) -> list[str]:
    return [str(guess) for guess in guess_entry(facts)]


def test_a_plain_extension_of_torch(source: Source) -> None:
    facts = source(**{"setup.py": CUDA_SETUP, "csrc/ops.cu": KERNEL, "LICENSE": MIT})
    assert entry(facts) == {
        "licence": "MIT",
        "build_args": "--no-build-isolation",
        "extra_deps": ["setuptools", "ninja", "wheel", "torch"],
        "test_import": ["torch", "demo._C"],
    }
    assert "setup.py:1: imports torch: the target says which one" in said(facts)
    assert "setup.py:8: the names of its extensions" in said(facts)


def test_each_line_of_what_is_declared_is_named(source: Source) -> None:
    info = "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nSummary: a demo\nLicense: MIT\n"
    lines = said(source(**{"setup.py": CUDA_SETUP, "csrc/ops.cu": KERNEL, "PKG-INFO": info}))
    assert {"PKG-INFO:4: its summary", "PKG-INFO:5: reads like MIT"} <= {*lines}


@pytest.mark.parametrize(
    ("setup", "extra"),
    [
        (CUDA_SETUP, ["setuptools", "pybind11>=2.5", "ninja", "wheel", "torch"]),
        ("from setuptools import setup, Extension\nsetup(ext_modules=[Extension('a', ['a.cu'])])", ["pybind11>=2.5"]),
    ],
)
def test_what_setup_requires_is_required_with_and_without_torch(setup: str, extra: list[str], source: Source) -> None:
    setup = setup.replace("ext_modules=", "setup_requires=['pybind11>=2.5', 'no name'], ext_modules=")
    facts = source(**{"setup.py": setup, "csrc/ops.cu": KERNEL if "torch" in setup else ""})
    assert entry(facts)["extra_deps"] == extra
    assert any(line.startswith("setup.py:") and line.endswith("requires and imports") for line in said(facts))
    assert entry(source(**{"setup.py": setup.replace("no name", "torch")}))["build_args"] == "--no-build-isolation"


def test_build_requirements_are_kept_but_for_torch_and_imports_are_added(source: Source) -> None:
    build = '[build-system]\nrequires = ["setuptools>=61", "torch<2.8"]\n'
    setup = f"import packaging\nimport pkg_resources\nimport own, _hidden, na\u00efve\n{CUDA_SETUP}"
    facts = source(**{"setup.py": setup, "own.py": "", "pyproject.toml": build, "csrc/ops.cu": KERNEL})
    assert entry(facts)["extra_deps"] == ["packaging", "setuptools>=61", "ninja", "wheel", "torch"]


@pytest.mark.parametrize(
    ("line", "env"),
    [
        ('os.getenv("FORCE_CUDA", "0") == "1"', {"FORCE_CUDA": "1"}),
        ('os.getenv("DEMO_FORCE_BUILD", "FALSE") == "TRUE"', {"DEMO_FORCE_BUILD": "TRUE"}),
        ('os.getenv("DEMO_BUILD_CUDA_EXTENSION", "0") == "1"', {"DEMO_BUILD_CUDA_EXTENSION": "1"}),
        ('os.getenv("BUILD_CUDA_EXTENSIONS", "0") == "1"', {"BUILD_CUDA_EXTENSIONS": "1"}),
        ('os.environ.get("DEMO_BUILD_LEGACY_CUDA") != "1"', {"DEMO_BUILD_LEGACY_CUDA": "1"}),
        ('os.getenv("DEMO_BACKEND", "cpu") == "cuda"', {"DEMO_BACKEND": "cuda"}),
        ('os.getenv("DEMO_BACKEND", "cpu") == "metal"', None),
        ('os.environ["DEMO_BACKEND"]\nY = "opencl" in X.lower(), "cuda" in X.lower()', {"DEMO_BACKEND": "cuda"}),
        ('os.environ["DEMO_BACKEND"]\nY = "opencl" in X.lower()', None),
        ('"DEMO_BACKEND" in os.environ\nX = os.environ["DEMO_BACKEND"]\nX == "cuda"', {"DEMO_BACKEND": "cuda"}),
        ('os.getenv("DEMO_WITH_OPS", "1") == "0"', {"DEMO_WITH_OPS": "1"}),
        ('os.getenv("DEMO_SKIP_CUDA_BUILD", "FALSE") == "TRUE"', None),
        ('os.getenv("FORCE_ONLY_CPU", "0") == "1"', None),
        ('os.getenv("CUDA_HOME")', None),
    ],
)
def test_variables_that_switch_the_extension_on_are_set(line: str, env: dict[str, str] | None, source: Source) -> None:
    facts = source(**{"setup.py": f"import os\nX = {line}\n{CUDA_SETUP}", "csrc/ops.cu": KERNEL})
    assert entry(facts).get("env") == env
    if env:
        assert any(f": reads {next(iter(env))}, which" in text for text in said(facts))


def test_other_variables_are_named_without_those_of_the_machine(source: Source) -> None:
    setup = f"import os\nif not os.getenv('DEMO_MAJOR'):\n    raise os.environ['CUDA_HOME']\n{CUDA_SETUP}"
    facts = source(**{"setup.py": setup, "csrc/ops.cu": KERNEL})
    assert "setup.py:2: also reads DEMO_MAJOR: see whether env needs one" in said(facts)
    assert not [line for line in said(source(**{"setup.py": CUDA_SETUP})) if "also reads" in line]


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ('os.getenv("DEMO_CUDA_ARCHS", "80;90")', "arch_variable", {"name": "DEMO_CUDA_ARCHS", "form": "digits"}),
        ('os.getenv("DEMO_CUDA_ARCH", "8.0")', "arch_variable", {"name": "DEMO_CUDA_ARCH", "form": "dotted"}),
        ('"-gencode=arch=compute_80,code=sm_80"', "gencode", "replace"),
        ('os.getenv("TORCH_CUDA_ARCH_LIST") or "-gencode=arch=compute_80,code=sm_80"', "gencode", None),
        ('Extension("demo._D", ["csrc/ops.cu"])', "gencode", None),
    ],
)
def test_architectures_are_a_variable_or_override_sources(line: str, key: str, value: object, source: Source) -> None:
    facts = source(**{"setup.py": f"import os\nX = {line}\n{CUDA_SETUP}", "csrc/ops.cu": KERNEL})
    assert entry(facts).get(key) == value


def test_the_stable_abis_of_python_and_torch_are_seen(source: Source) -> None:
    flags = (
        'CUDAExtension("demo._C", ["csrc/ops.cu"], ["-DTORCH_TARGET_VERSION=0x020a000000000000"], py_limited_api=True)'
    )
    facts = source(**{"setup.py": f"import torch\n{flags}", "csrc/ops.cu": KERNEL})
    assert {key: entry(facts)[key] for key in ("abi", "torch_abi")} == {"abi": "abi3", "torch_abi": {"stable": "2.10"}}


@pytest.mark.parametrize(
    ("tag", "abi"), [('"py3"', "none"), ('"py2.py3"', "none"), ('"cp312"', "abi3"), ('""', None), ("3", None)]
)
def test_the_tag_that_scikit_build_core_is_told_is_seen(tag: str, abi: str | None, source: Source) -> None:
    facts = source(**{"pyproject.toml": f"{SCIKIT}[tool.scikit-build]\nwheel.py-api = {tag}\n"})
    assert entry(facts).get("abi") == abi
    assert any(line.startswith("pyproject.toml:5: tags its wheels") for line in said(facts)) == bool(abi)
    assert "abi" not in entry(source(**{"pyproject.toml": f"{SCIKIT}[tool]\nscikit-build = 1\n"}))


@pytest.mark.parametrize(
    ("headers", "says"),
    [
        (["torch/csrc/stable/ops.h", "c10/util/Half.h"], "csrc/ops.cu:2: includes c10/util/Half.h, outside of"),
        (["ATen/ATen.h", "torch/all.h"], "csrc/ops.cu:1: includes ATen/ATen.h and 1 more, outside of"),
        (["torch/csrc/stable/library.h", "torch/headeronly/Macros.h"], "csrc/ops.cu:1: includes headers of torch's"),
        (["cuda.h"], None),
    ],
)
def test_the_headers_measure_the_way_to_the_stable_abi(headers: list[str], says: str | None, source: Source) -> None:
    kernel = "".join(f"#include <{header}>\n" for header in headers)
    facts = source(**{"setup.py": CUDA_SETUP, "csrc/ops.cu": kernel})
    found = [line for line in said(facts) if "stable ABI" in line]
    assert [line[: len(says or "")] for line in found] == ([says] if says else [])


def test_operators_of_torch_are_no_module(source: Source) -> None:
    kernel = "#include <torch/library.h>\nTORCH_LIBRARY(demo, m) {}\n"
    facts = source(**{"setup.py": CUDA_SETUP, "csrc/ops.cu": kernel, "demo/__init__.py": ""})
    assert entry(facts)["test_import"] == ["torch", "demo"]
    other = "void* PyInit__other() { return nullptr; }\n"  # of another platform, as pyg-lib has
    assert entry(source(**{"csrc/a.cpp": other}))["test_import"] == ["torch", "demo"]
    macro = "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}\n"
    assert entry(source(**{"csrc/a.cpp": macro}))["test_import"] == ["torch", "demo._C"]


def test_an_extension_without_a_module_is_stood_for_by_its_package(source: Source) -> None:
    extension = "Extension('demo._C', ['a.cu'], libraries=['cuda', 'nvrtc'])"
    files = {"setup.py": f"setup(ext_modules=[{extension}])", "demo/__init__.py": ""}
    for code, module in (('extern "C" int f();', "demo"), ("PyMODINIT_FUNC PyInit__C() {}", "demo._C")):
        found = entry(source(**files, **{"a.cu": code}))
        assert (found["test_import"], found["import_needs"]) == ([module], "driver")
        assert (found["gencode"], found["needs"], found["toolkit"]) == ("replace", ["cuda", "nvrtc"], ["nvrtc"])
    assert entry(source(**files, **{"a.cu": "", "b.pyx": ""}))["test_import"] == ["demo._C"]
    files["setup.py"] = files["setup.py"].replace("['cuda', 'nvrtc']", "['cudart']")
    found = entry(source(**files))
    assert ("import_needs" in found, found["needs"]) == (False, "cuda")


def test_operators_of_torch_beside_a_module_of_pep_793_are_in_it(source: Source) -> None:
    kernel = "#include <torch/library.h>\nTORCH_LIBRARY(demo, m) {}\nPyMODEXPORT_FUNC PyModExport__C() {}\n"
    facts = source(**{"setup.py": CUDA_SETUP, "csrc/ops.cu": kernel, "demo/__init__.py": ""})
    assert entry(facts)["test_import"] == ["torch", "demo._C"]


def test_packages_beside_the_project_s_own_are_named_with_the_line_that_allows_them(source: Source) -> None:
    files = {"setup.py": CUDA_SETUP, "csrc/ops.cu": KERNEL, "demo/__init__.py": "", "demo_tools/__init__.py": ""}
    assert not [line for line in said(source(**files)) if "top-level" in line]
    others = {f"{name}/__init__.py": "" for name in ("evaluate", "tests", "demo/evaluate", "demo/kernels")}
    (line,) = [line for line in said(source(**files, **others)) if "top-level" in line]
    assert "has evaluate, tests beside" in line
    for listed in ("['demo']", "['demo', 'evaluate']", "['demo'] + find_packages('lib')"):
        files["setup.py"] = CUDA_SETUP.replace("ext_modules=", f"packages={listed}, ext_modules=")
        lines = [line for line in said(source(**files, **others)) if "top-level" in line]
        expected = {"['demo']": [], "['demo', 'evaluate']": ["has evaluate beside"]}.get(
            listed, ["has evaluate, tests"]
        )
        assert [line[: len(text)] for line, text in zip(lines, expected, strict=True)] == expected


@pytest.mark.parametrize(
    ("files", "added"),
    [
        ({"demo/a.py": "import os\nimport numpy.fft\nfrom PIL import Image\nimport demo, torch"}, ["numpy", "pillow"]),
        ({"demo/a.py": "def f():\n    import numpy"}, None),
        ({"tests/__init__.py": "import pytest", "tool.py": "import numpy"}, None),
        ({"demo/a.py": "import numpy", "PKG-INFO": "Metadata-Version: 2.1\nRequires-Dist: numba"}, None),
        ({"demo/a.py": "import numpy", "demo.egg-info/requires.txt": "numba"}, None),
        ({"demo/a.py": "import numpy", "PKG-INFO": ""}, None),
    ],
)
def test_imports_are_the_last_resort(files: dict[str, str], added: list[str] | None, source: Source) -> None:
    info = "Metadata-Version: 2.1\nName: demo\n"
    files = {"PKG-INFO": info, "setup.py": CUDA_SETUP, "csrc/ops.cu": KERNEL, "demo/__init__.py": ""} | files
    if not files["PKG-INFO"]:
        del files["PKG-INFO"]
    facts = source(**files)
    assert entry(facts).get("requires_dist") == (added and {"add": added})
    assert not added or "demo/a.py:2: imports numpy, PIL, and its wheels require nothing" in said(facts)


@pytest.mark.parametrize(
    ("required", "says"),
    [
        ("torch<2.8,>=2.0", "PKG-INFO:3: its wheels are for torch<2.8,>=2.0 alone"),
        ("torch~=2.8", "PKG-INFO:3: its wheels are for torch~=2.8 alone"),
        ("torch>=2.0,!=2.3", None),
        ("numpy<2", None),
    ],
)
def test_the_torches_that_its_wheels_are_for_are_named(required: str, says: str | None, source: Source) -> None:
    info = f"Metadata-Version: 2.1\nName: demo\nRequires-Dist: {required}\n"
    lines = said(source(**{"PKG-INFO": info, "setup.py": CUDA_SETUP, "csrc/ops.cu": KERNEL}))
    assert [line for line in lines if "its wheels are for" in line] == ([says] if says else [])


def test_a_package_that_imports_torch_and_requires_none_is_named(source: Source) -> None:
    files = {"pyproject.toml": SCIKIT, "CMakeLists.txt": "project(demo LANGUAGES CUDA)\n", "demo/__init__.py": ""}

    def named(*required: str) -> bool:
        project = f"[project]\ndependencies = {[*required]}\n"
        lines = said(source(**files | {"pyproject.toml": SCIKIT + project}))
        return any(line.startswith("demo/a.py:1: imports torch") for line in lines)

    assert not named("numpy")
    files["demo/a.py"] = "import torch\n"
    assert named("numpy")
    assert not named("numpy", "torch")
    assert not named()  # computed, for all that is known


@pytest.mark.parametrize(
    ("file", "line", "needs"),
    [
        ("demo/a.py", "SM = f'{torch.cuda.get_device_properties(0).major}'", "driver"),
        ("demo/a.py", "def f():\n    sm = torch.cuda.get_device_capability()", None),
        ("demo/a.py", "HAS = torch.cuda.is_available()", None),
        ("tool.py", "SM = torch.cuda.get_device_capability()", None),
    ],
)
def test_asking_for_a_gpu_on_import_needs_a_driver(file: str, line: str, needs: str | None, source: Source) -> None:
    facts = source(**{"setup.py": CUDA_SETUP, "csrc/ops.cu": KERNEL, "demo/__init__.py": "", file: line})
    assert entry(facts).get("needs") == needs


def test_cuda_without_torch_says_which_components_it_includes(source: Source) -> None:
    build = '[build-system]\nrequires = ["scikit-build-core"]\nbuild-backend = "scikit_build_core.build"\n'
    cmake = (
        "project(demo LANGUAGES CXX CUDA)\npybind11_add_module(_core a.cu)\ninstall(TARGETS _core DESTINATION demo)\n"
    )
    facts = source(**{"pyproject.toml": build, "CMakeLists.txt": cmake, "a.cu": "#include <cublas_v2.h>\n"})
    found = entry(facts)
    assert (found["needs"], found["toolkit"]) == ("cuda", ["cublas"])
    assert found["test_import"] == ["demo._core"]
    assert "build_args" not in found
    commented = cmake.replace("module(_core", "module(\n\n  # Its name\n  # is this:\n  _core")
    in_a_folder = commented.replace("DESTINATION demo", "DESTINATION ${SKBUILD_PLATLIB_DIR}/demo")
    for text in (commented, in_a_folder):
        assert entry(source(**{"CMakeLists.txt": text}))["test_import"] == ["demo._core"]


def test_what_torch_does_not_bring_is_a_component_beside_it(source: Source) -> None:
    kernel = f"#include <cublas_v2.h>\n#include <curand_kernel.h>\n{KERNEL}"
    facts = source(**{"setup.py": CUDA_SETUP, "csrc/ops.cu": kernel})
    assert entry(facts)["toolkit"] == ["curand"]
    assert "csrc/ops.cu:2: includes headers of curand" in said(facts)


def test_headers_of_others_beside_it_count_for_nothing(source: Source) -> None:
    files = {"setup.py": "Extension('demo', ['a.cu'])", "a.cu": "", "third_party/x/b.cu": "#include <cublas_v2.h>\n"}
    facts = source(**files)
    assert "toolkit" not in entry(facts)


def test_architectures_that_cmake_writes_down_are_replaced(source: Source) -> None:
    build = '[build-system]\nrequires = []\nbuild-backend = "scikit_build_core.build"\n'
    cmake = "project(demo LANGUAGES CXX CUDA)\nset(CMAKE_CUDA_ARCHITECTURES 80;90)\nExternalProject_Add(eigen)\n"
    facts = source(**{"pyproject.toml": build, "CMakeLists.txt": cmake, "a.cu": ""})
    assert entry(facts)["gencode"] == "replace"
    assert any(text.startswith("CMakeLists.txt:3: downloads something") for text in said(facts))
    find_cuda = "find_package(CUDA REQUIRED)\nCUDA_ADD_LIBRARY(demo SHARED a.cu)\n"
    assert entry(source(**{"pyproject.toml": build, "CMakeLists.txt": find_cuda, "a.cu": ""}))["gencode"] == "replace"
    commented = source(**{"CMakeLists.txt": "project(demo LANGUAGES CUDA)\n# such as -gencode arch=compute_70\n"})
    assert "gencode" not in entry(commented)


def test_architectures_of_the_build_machine_are_named_to_cmake_instead(source: Source) -> None:
    cmake = "if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)\n  set(CMAKE_CUDA_ARCHITECTURES native)\nendif()\n"
    setup = "import os\nFORCED = os.getenv('FORCE_CUDA', '0') == '1'\n"
    files = {"pyproject.toml": SCIKIT, "CMakeLists.txt": f"{cmake}enable_language(CUDA)\n", "a.cu": ""}
    named = {"CMAKE_ARGS": "-DCMAKE_CUDA_ARCHITECTURES={architectures:cmake}"}
    facts = source(**files)
    assert (entry(facts)["env"], "gencode" in entry(facts)) == (named, False)
    assert "CMakeLists.txt:2: compiles for the GPU of the machine that builds" in said(facts)
    assert entry(source(**files, **{"setup.py": setup}))["env"] == {"FORCE_CUDA": "1", **named}


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (MIT, {"licence": "MIT"}),
        (
            "Mozilla Public License Version 2.0\nor the GNU Affero General Public License, Version 3.0",
            {"licence": "MPL-2.0"},
        ),
        ("GNU Affero General Public License\nVersion 3", {"licence": "AGPL-3.0-only"}),
        ("Attribution-NonCommercial 4.0 International", {"licence": "CC-BY-NC-4.0", "redistributable": False}),
        ("for non-commercial research only", {"licence": "LicenseRef-NonCommercial", "redistributable": False}),
        ("all rights reserved", {"redistributable": False}),
    ],
)
def test_a_licence_says_whether_others_may_be_given_wheels(text: str, keys: dict[str, object], source: Source) -> None:
    found = entry(source(**{"setup.py": CUDA_SETUP, "csrc/ops.cu": KERNEL, "LICENSE": text}))
    assert {key: found[key] for key in ("licence", "redistributable") if key in found} == keys


@pytest.mark.parametrize(
    ("files", "quoted"),
    [
        ({"LICENSE": "Demo Licence\nall rights reserved"}, "LICENSE:1: says 'Demo Licence', which is no one licence"),
        ({"pyproject.toml": CLASSIFIED.format("OSI Approved :: BSD")}, "says 'License :: OSI Approved :: BSD License'"),
        ({"pyproject.toml": CLASSIFIED.format("Other/Proprietary")}, "says 'License :: Other/Proprietary License'"),
        ({"pyproject.toml": CLASSIFIED.format("OSI Approved :: MIT")}, None),
        ({}, "no licence is declared"),
    ],
)
def test_a_licence_that_is_not_known_is_quoted(files: dict[str, str], quoted: str | None, source: Source) -> None:
    facts = source(**{"setup.py": CUDA_SETUP, "csrc/ops.cu": KERNEL, **files})
    assert ("redistributable" in entry(facts)) is (quoted is not None)
    assert quoted is None or any(quoted in line for line in said(facts))


def test_a_build_for_one_processor_is_quoted(source: Source) -> None:
    setup = CUDA_SETUP.replace('["csrc/ops.cu"]', '["csrc/ops.cu"], extra_compile_args=["-march=native"]')
    (line,) = [line for line in said(source(**{"setup.py": setup, "csrc/ops.cu": KERNEL})) if "native" in line]
    assert line.startswith("setup.py:8: ")
    assert not [line for line in said(source(**{"setup.py": CUDA_SETUP})) if "native" in line]


def test_a_c_standard_is_quoted_where_torch_raises_it(source: Source) -> None:
    setup = "from setuptools import setup, Extension\nsetup(ext_modules=[Extension('demo', ['a.cu'], ['-std=c++14'])])"
    assert not [line for line in said(source(**{"setup.py": setup, "a.cu": ""})) if "-std=" in line]
    facts = source(**{"setup.py": f"import torch\n{setup}"})
    assert any(line.startswith("setup.py:3: asks for -std=c++14") for line in said(facts))


def test_a_build_that_asks_for_a_gpu_is_named_unless_a_variable_decides(source: Source) -> None:
    asking = CUDA_SETUP.replace("setup(", "import torch\nHAS = torch.cuda.is_available()\nsetup(", 1)
    files = {"setup.py": asking, "csrc/ops.cu": KERNEL}
    assert [line for line in said(source(**files)) if "asks torch for a GPU" in line]
    switched = asking.replace("HAS = ", "import os\nHAS = os.getenv('FORCE_CUDA', '0') == '1' or ", 1)
    facts = source(**{"setup.py": switched, "csrc/ops.cu": KERNEL})
    assert entry(facts)["env"] == {"FORCE_CUDA": "1"}
    assert not [line for line in said(facts) if "asks torch for a GPU" in line]


def test_of_many_extensions_those_for_cuda_are_imported(source: Source) -> None:
    calls = [f'CppExtension("demo.cpu_{number}", ["csrc/cpu.cpp"])' for number in range(6)]
    setup = (
        "from setuptools import setup\nfrom torch.utils.cpp_extension import CppExtension, CUDAExtension\n"
        f'setup(name="demo", ext_modules=[{", ".join(calls)}, CUDAExtension("demo.gpu", ["csrc/ops.cu"])])\n'
    )
    tests = entry(source(**{"setup.py": setup, "csrc/ops.cu": KERNEL, "csrc/cpu.cpp": ""}))["test_import"]
    assert tests[:3] == ["torch", "demo.gpu", "demo.cpu_0"]


def test_extensions_of_another_mode_are_not_imported(source: Source) -> None:
    setup = (
        "import os\nfrom setuptools import setup\nfrom torch.utils.cpp_extension import CUDAExtension\n"
        'def usual():\n    return [CUDAExtension("demo._C", ["csrc/ops.cu"])]\n'
        'def stable():\n    return [CUDAExtension("demo._C_cuda", ["csrc/ops.cu"])]\n'
        'setup(name="demo", ext_modules=stable() if os.getenv("STABLE") else usual())\n'
    )
    assert entry(source(**{"setup.py": setup, "csrc/ops.cu": KERNEL}))["test_import"] == ["torch", "demo._C"]


def test_libraries_to_link_are_components_or_named(source: Source) -> None:
    setup = CUDA_SETUP.replace('["csrc/ops.cu"]', '["csrc/ops.cu"], libraries=["nvjpeg", "cublas", "cudart", "metis"]')
    facts = source(**{"setup.py": setup, "csrc/ops.cu": KERNEL})
    assert entry(facts)["toolkit"] == ["nvjpeg"]
    assert [line.partition(":see")[0] for line in said(facts) if " link to " in line] == [
        "setup.py:8: may link to metis: see system_packages if no source has it"
    ]


def test_an_option_of_cmake_that_is_off_is_named(source: Source) -> None:
    cmake = (
        "project(demo LANGUAGES CXX CUDA)\n"
        'option(WITH_CUDA "use CUDA" OFF)\noption(WITH_NO_CUDA "" OFF)\noption(USE_CUDA "use it" ON)\n'
    )
    facts = source(**{"pyproject.toml": SCIKIT, "CMakeLists.txt": cmake, "a.cu": ""})
    (line,) = [line for line in said(facts) if "CMAKE_ARGS" in line]
    assert line.startswith("CMakeLists.txt:2: has an option WITH_CUDA ")


def test_what_a_condition_imports_is_named_and_not_required(source: Source) -> None:
    setup = f"if DEVICE:\n    import parrots, nvidia\nif __name__ == '__main__':\n    import packaging\n{CUDA_SETUP}"
    facts = source(**{"setup.py": setup, "csrc/ops.cu": KERNEL})
    assert entry(facts)["extra_deps"] == ["packaging", "setuptools", "ninja", "wheel", "torch"]
    assert [line for line in said(facts) if "may import" in line] == [
        "setup.py:2: may import parrots: add it to extra_deps if it does"
    ]


def test_helpers_of_the_build_are_neither_requirements_nor_modules(source: Source) -> None:
    setup = f"import helpers, inner\n{CUDA_SETUP.replace('demo._C', '_')}".replace('"_"', "NAME")
    files = {"helpers/__init__.py": "", "install/inner/__init__.py": "", "csrc/ops.cu": KERNEL}
    found = entry(source(**{"setup.py": setup, **files}))
    assert (found["extra_deps"], found["test_import"]) == (["setuptools", "ninja", "wheel", "torch"], ["torch", "demo"])


def test_modules_for_other_gpus_are_not_imported(source: Source) -> None:
    others = "".join(f'Extension("demo._{name}_C", ["a.cu"]), ' for name in ("rocm", "opencl", "sycl"))
    facts = source(**{"setup.py": CUDA_SETUP.replace("ext_modules=[", f"ext_modules=[{others}"), "csrc/ops.cu": KERNEL})
    assert entry(facts)["test_import"] == ["torch", "demo._C"]


def test_a_build_in_a_subdirectory_is_described_from_there_if_it_is_there(source: Source) -> None:
    facts = source("hopper", **{"hopper/setup.py": CUDA_SETUP, "hopper/csrc/ops.cu": KERNEL, "setup.py": "x ="})
    assert entry(facts)["test_import"] == ["torch", "demo._C"]
    assert "hopper/setup.py:1: imports torch: the target says which one" in said(facts)
    assert not any("other" in text for text in said(source("hopper", **{"other/ops.cu": "#include <nvml.h>\n"})))
    beside = {"python/setup.py": CUDA_SETUP.replace("csrc", "../src"), "src/ops.cu": "#include <nvml.h>\n"}
    assert entry(source("python", **beside))["toolkit"] == ["nvml"]  # its kernels are beside it
    with pytest.raises(UsageError, check=coded("source-incomplete", "lost")):
        source("lost", **{"setup.py": CUDA_SETUP})


PLAIN = "from setuptools import setup\nsetup(name='demo')\n"


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
        ({"setup.py": PLAIN, "demo/__init__.py": "", "skills/a.py": "import triton\n"}, "setup.py:2"),
        ({"setup.py": PLAIN, "demo/libdemo.so": ""}, "demo/libdemo.so"),
        ({"setup.py": "CppExtension('demo._C', ['a.cpp'])", "a.cpp": ""}, "no GPU code; setup.py:1"),
        ({"pyproject.toml": SCIKIT, "CMakeLists.txt": "\nproject(x LANGUAGES CXX)\n"}, "CMakeLists.txt:2"),
    ],
)
def test_a_source_that_needs_no_build_is_refused(files: dict[str, str], why: str, source: Source) -> None:
    with pytest.raises(UsageError, check=coded("no-build-needed", "demo", why)):
        check_needs_build("demo", source(**files))


def test_sources_that_the_source_distribution_lacks_are_named(source: Source) -> None:
    facts = source(**{"setup.py": CUDA_SETUP.replace("name=", 'url="https://host.example/demo", name=')})
    command = "wheelmill config add https://host.example/demo.git"
    with pytest.raises(UsageError, check=coded("source-incomplete", "csrc/ops.cu", "setup.py:8", command)):
        check_needs_build("demo", facts)
    with pytest.raises(UsageError, check=coded("source-incomplete", "csrc/ops.cu")):
        check_needs_build("demo", source(**{"csrc/debug.cuh": ""}))
    check_needs_build("demo", source(**{"csrc/made_by_the_build.cu": ""}))


def test_the_folder_of_a_project_that_is_not_at_the_top_is_named(source: Source) -> None:
    with pytest.raises(UsageError, check=coded("source-incomplete", "demo")):
        check_needs_build("demo", source(README="nothing to build"))
    facts = source(**{"python/setup.py": CUDA_SETUP, "csrc/ops.cu": ""})
    with pytest.raises(UsageError, check=coded("source-incomplete", "--subdirectory python")):
        check_needs_build("demo", facts)
    check_needs_build("demo", source("python", **{"python/csrc/ops.cu": ""}))


def test_an_extension_that_is_not_understood_is_one(source: Source) -> None:
    setup = "kind, name = choose()\nsetup(ext_modules=[kind(name, ['a.cu'])])"
    check_needs_build("demo", source(**{"setup.py": setup, "a.cu": ""}))
    with pytest.raises(UsageError, check=coded("no-build-needed", "setup.py:2")):
        check_needs_build("demo", source(**{"setup.py": "none = []\nsetup(ext_modules=none)"}))


def test_extensions_may_be_among_arguments_that_are_collected(source: Source) -> None:
    setup = "arguments['ext_modules'] = made_elsewhere()\nsetup(**arguments)\n"
    check_needs_build("demo", source(**{"setup.py": setup, "demo.cu": ""}))


def test_gpu_code_that_no_extension_compiles_is_named(source: Source) -> None:
    facts = source(**{"setup.py": PLAIN, "demo.cu": "", "demo/a.py": "# cpp_extension.load(name='demo')\n"})
    with pytest.raises(UsageError, check=coded("no-build-needed", "setup.py:2 declares no extension")) as refused:
        check_needs_build("demo", facts)
    assert "demo.cu" in (refused.value.hint or "")


def test_gpu_code_may_be_in_a_submodule(source: Source) -> None:
    cmake = "project(demo LANGUAGES CXX)\nadd_subdirectory(vendor/demo)\n"
    check_needs_build("demo", source(**{"pyproject.toml": SCIKIT, "CMakeLists.txt": cmake, ".gitmodules": ""}))


def test_what_a_submodule_may_bring_is_not_lacking(source: Source) -> None:
    check_needs_build("demo", source(**{"setup.py": CUDA_SETUP, ".gitmodules": ""}))
