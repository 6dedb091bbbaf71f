"""What people are told of a failed build, and whose fault it is; most logs are of real builds that failed."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.progress import RecordedProgress
from tests.unit.build.conftest import TARGET
from wheelmill.build.compiler_cache import CompilerCache
from wheelmill.build.compiler_output import BuildDisplay, explain_failure, unit_in
from wheelmill.errors import BuildError, CompileError, ProcessError

LOGS = Path(__file__).parents[2] / "data" / "build_logs"
REFUSED = "/work/source/demo/kernel.cpp:3:5: error: 'x' was not declared in this scope"
CUDA = """\
csrc/b.cu(2): error: identifier "undefined_thing" is undefined
  __attribute__((global)) void f(float *x) { x[0] = undefined_thing; }
                                                    ^

1 error detected in the compilation of "csrc/b.cu"."""
CPP = """\
{0}b.cpp: In function \u2018int f(std::vector<int>)\u2019:
{0}b.cpp:3:12: error: \u2018class std::vector<int>\u2019 has no member named \u2018push_front\u2019
    3 |   return v.push_front(1);
      |            ^~~~~~~~~~"""
MISSING_NINJA = (
    "ninja: error: 'csrc/kernel.cu', needed by 'build/temp.linux-x86_64-cpython-312/csrc/kernel.o', "
    "missing and no known rule to make it"
)


def explained(log: Path, tail: str = "the end of the log") -> BuildError:
    """Explain a failed build by what is in its log."""
    failure = ProcessError("program-failed", "the backend exited with 1", returncode=1, tail=tail)
    return explain_failure(failure, log, package=TARGET.package, source=log.parent, seen="/work/source")


def explained_text(printed: str, folder: Path) -> BuildError:
    """Explain a failed build by what it printed."""
    (folder / "log").write_text(printed)
    return explained(folder / "log")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("torch-ninja-nvcc", CUDA),
        ("torch-nvcc", CUDA),
        ("cmake-ninja-nvcc", CUDA.replace("csrc/b.cu", "a.cu")),
        ("pip-torch-ninja-g++", CPP.format("csrc/")),
        ("setuptools-g++", CPP.format("csrc/")),
        ("make", CPP.format("")),
        ("ptxas-unresolved", "ptxas fatal   : Unresolved extern function '_Z9elsewheref'"),
    ],
)
def test_the_first_error_of_a_compiler_is_shown_with_its_context(name: str, shown: str) -> None:
    error = explained(LOGS / f"{name}.log")
    assert isinstance(error, CompileError)
    assert (
        str(error)
        == f"{LOGS.name} does not build:\n{shown}\nthe backend exited with 1\n(the whole log: {LOGS / name}.log)"
    )
    assert error.line in shown.splitlines()


@pytest.mark.parametrize(
    ("name", "first", "hint"),
    [
        ("nvcc-fatal-architecture", "nvcc fatal   : Unsupported gpu architecture 'compute_35'", "gencode: replace"),
        ("header-of-the-system", "csrc/a.cpp:1:10: fatal error: sparsehash/dense_hash_map: No", "[sparsehash-devel]"),
        ("ld-library", "/usr/bin/ld: cannot find -lnothere: No such file or directory", "toolkit"),
        ("ninja-missing-file", MISSING_NINJA, "source: {git: URL, ref: REF}"),
        ("nvcc-missing-file", "cc1plus: fatal error: csrc/kernel.cu: No such file", "source: {git: URL, ref: REF}"),
        ("cmake-missing-file", "CMake Error at CMakeLists.txt:3 (add_library):", "source: {git: URL, ref: REF}"),
        ("cmake-missing-submodule", "CMake Error at CMakeLists.txt:3 (add_subdirectory):", "submodules: true"),
        ("cmake-package", "CMake Error at CMakeLists.txt:5 (find_package):", "extra_deps"),
        ("cmake-asks-for-a-gpu", "CMake Error at CMakeLists.txt:4 (message):", "looks for a GPU"),
        ("cmake-fetch", "fatal: unable to access 'https://github.example/fmtlib/fmt.git/'", "builds have no network"),
        ("git-clone", "fatal: unable to access 'https://github.example/NVIDIA/cutlass", "builds have no network"),
        ("curl", "curl: (6) Could not resolve host: github.example", "builds have no network"),
        ("pip-in-setup", "ERROR: Could not find a version that satisfies the requirement", "builds have no network"),
    ],
)
def test_what_a_tool_said_is_shown_and_what_helps_is_known(name: str, first: str, hint: str) -> None:
    error = explained(LOGS / f"{name}.log")
    assert str(error).splitlines()[1].startswith(first)
    assert hint in str(error.hint)
    assert not isinstance(error, CompileError)


@pytest.mark.parametrize(
    ("name", "raised", "hint"),
    [
        ("no-module", "ModuleNotFoundError: No module named 'einops'", "the build lacks einops"),
        (
            "pip-no-module",
            "ModuleNotFoundError: No module named 'psutil_not_there'",
            "the build lacks psutil_not_there",
        ),
        ("no-cpu-version", "NotImplementedError: CPU version is not implemented", 'FORCE_CUDA: "1"'),
        ("asks-for-a-capability", "RuntimeError: Found no NVIDIA driver on your system.", "looks for a GPU"),
        ("urlopen", "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in", "builds have no network"),
        ("no-readme", "FileNotFoundError: [Errno 2] No such file or directory: '../README.md'", "the source lacks"),
    ],
)
def test_a_traceback_is_shown_without_the_frames_of_the_backend(name: str, raised: str, hint: str) -> None:
    error = explained(LOGS / f"{name}.log")
    lines = str(error).splitlines()[1:-2]
    assert lines[0].startswith('  File "<string>", line ')
    assert lines[-1].startswith(raised)
    assert "setuptools" not in str(error)
    assert hint in str(error.hint)


def test_an_error_of_a_unit_that_failed_counts_more_than_one_of_a_mere_try(tmp_path: Path) -> None:
    tried = "/tmp/try.c:2:10: fatal error: cufile.h: No such file or directory\n"
    failed = "[1/2] nvcc -c a.cu\nFAILED: [code=2] a.o\nnvcc -c a.cu\na.cu(2): error: no\n"
    assert str(explained_text(tried + failed, tmp_path)).splitlines()[1] == "a.cu(2): error: no"


def test_a_version_that_git_is_asked_for_in_vain_is_no_error(tmp_path: Path) -> None:
    asked = "fatal: not a git repository (or any of the parent directories): .git\n"
    assert "not a git" not in str(explained_text(f"{asked}{REFUSED}\n", tmp_path))


def test_without_an_error_the_end_of_the_log_is_shown(tmp_path: Path) -> None:
    error = explained_text("compiling\n", tmp_path)
    assert str(error).splitlines()[1:3] == ["the end of the log", "the backend exited with 1"]


def test_what_is_shown_of_an_endless_error_stays_small(tmp_path: Path) -> None:
    error = explained_text(f"{REFUSED}{'x' * 100_000}\n" + f"{'y' * 100_000}\n" * 100, tmp_path)
    assert len(str(error)) < 6_000


def test_a_variable_that_stops_a_download_is_named_where_setup_py_has_it(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text('if not os.getenv("DEMO_FORCE_BUILD"): urlopen(URL)\n')
    (tmp_path / "log").write_text((LOGS / "urlopen.log").read_text())
    assert "DEMO_FORCE_BUILD: \"TRUE\" under 'env'" in str(explained(tmp_path / "log").hint)


TRACE = 'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\n'
NO_FILE = "No such file or directory"
LIBAIO = "{dnf: [libaio-devel], apt: [libaio-dev]} in the entry of demo"
TOO_OLD = "would build wheel with unsupported tag"


@pytest.mark.parametrize(
    ("printed", "hint"),
    [
        (f"a.cu:1:10: fatal error: cublas_v2.h: {NO_FILE}", "toolkit: [cublas] in the entry of demo"),
        ('a.cu(1): catastrophic error: cannot open source file "curand_kernel.h"', "toolkit: [curand] in the entry"),
        (f"a.cpp:1:10: fatal error: nvToolsExt.h: {NO_FILE}", "toolkit: [nvtx] in the entry of demo"),
        (f"a.cpp:1:10: fatal error: nvtx3/nvtx3.hpp: {NO_FILE}", "toolkit: [nvtx] in the entry of demo"),
        (f"a.cpp:1:10: fatal error: cuda_profiler_api.h: {NO_FILE}", "toolkit: [profiler-api] in the entry of demo"),
        (f"/usr/bin/ld: cannot find -lcublasLt: {NO_FILE}", "toolkit: [cublas] in the entry of demo"),
        (
            'CMake Error at CMakeLists.txt:5 (target_link_libraries):\n  Target "x" links to:\n\n    CUDA::cufft\n',
            "toolkit: [cufft] in the entry of demo",
        ),
        (f"{REFUSED}\nc++: fatal error: Killed signal terminated program cc1plus", "counted with 6 GB each"),
        ("nvcc error   : 'cicc' died due to signal 9 (Kill signal)", "counted with 6 GB each"),
        ("a.cpp:1:1: fatal error: libaio.h: No such file", LIBAIO),
        (f"a.cpp:1:1: fatal error: other.h: {NO_FILE}", "system_packages, extra_deps or toolkit of demo"),
        (f"{TRACE}ModuleNotFoundError: No module named 'pkg_resources'", '"setuptools<81"'),
        ("ATen.h:5:2: error: #error C++20 or later compatible compiler is required", "cxx_standard of demo"),
        ("a.cpp:1:2: error: 'x' is only available with '-std=c++20' or '-std=gnu++20'", "cxx_standard of demo"),
        ('a.cuh(174): error: namespace "cub" has no member "Max"', "a patch of demo"),
        (f"{TRACE}FileNotFoundError: [Errno 2] {NO_FILE}: 'cmake'", "the build lacks the program cmake"),
        (f"a.cpp:1:2: error: no\n  AssertionError: {TOO_OLD} ('cp310', 'abi3', 'x')", 'python: ">=3.10" in its entry'),
        (f"{TRACE}AssertionError: {TOO_OLD} ('cp316', 'abi3.abi3t', 'x')", 'python: ">=3.16" in its entry'),
        (
            f"{TRACE}ValueError: `Py_LIMITED_API` is currently incompatible with `Py_GIL_DISABLED`. See x",
            '"setuptools>=84.2" among the extra_deps of demo',
        ),
        ("a.c:2:30: error: 'PyModuleDef_HEAD_INIT' undeclared here (not in a function)", "abi: abi3 in the entry"),
        # What only looks like a known cause.
        (REFUSED, None),
        (f"{TOO_OLD} ('cp3{'9' * 5000}', 'abi3', 'any')", None),
        ("a.cu(1): fatal error: template instantiation depth exceeds maximum of 900", None),
        (f"FileNotFoundError: [Errno 2] {NO_FILE}: '/opt/else/version.txt'", None),
        ("nvcc error   : 'ptxas' died due to signal 11 (Core dumped)", None),
        (f"copying demo/killed_worker.py -> build\n{REFUSED}", None),
    ],
)
def test_a_cause_that_is_known_gets_a_hint(printed: str, hint: str | None, tmp_path: Path) -> None:
    said = explained_text(f"{printed}\n", tmp_path).hint
    assert hint in str(said) if hint else said is None


def test_the_memory_of_a_compiler_is_what_the_entry_says(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("g++: fatal error: Killed signal terminated program cc1plus\n")
    failure = ProcessError("program-failed", "it exited with 1", returncode=1, tail="")
    package = replace(TARGET.package, memory_per_job=9 << 30)
    error = explain_failure(failure, tmp_path / "log", package=package, source=tmp_path, seen="/work")
    assert "counted with 9 GB each" in str(error.hint)


@pytest.mark.parametrize(
    ("printed", "line"),
    [
        (REFUSED, "demo/kernel.cpp:3:5: error: 'x' was not declared in this scope"),
        (f"      \x1b[01m{REFUSED}\x1b[m", "demo/kernel.cpp:3:5: error: 'x' was not declared in this scope"),
        ('demo/k.cu(12): error: identifier "x" is undefined', 'demo/k.cu(12): error: identifier "x" is undefined'),
        ("demo/k.cu(12): error #20: no", "demo/k.cu(12): error #20: no"),
        ("ptxas fatal   : Unresolved extern function 'f'", "ptxas fatal   : Unresolved extern function 'f'"),
        ("ptxas /tmp/k.ptx, line 9; error   : no", "ptxas /tmp/k.ptx, line 9; error   : no"),
    ],
)
def test_a_compiler_that_refuses_the_source_is_quoted(printed: str, line: str, tmp_path: Path) -> None:
    error = explained_text(f"+ compile\n{printed}\nerror: command 'g++' failed with exit code 1\n", tmp_path)
    assert isinstance(error, CompileError)
    assert error.line == line


@pytest.mark.parametrize(
    "printed",
    [
        "error: command 'g++' failed with exit code 1",
        "kernel.cpp:1:10: fatal error: Python.h: No such file or directory",
        "k.cu(1): catastrophic error: cannot open source file",
        "kernel.cpp:9:1: internal compiler error: Segmentation fault",
        f"{REFUSED}\nc++: fatal error: Killed signal terminated program cc1plus",
        f"{REFUSED}\nnvcc error   : 'cicc' died due to signal 9 (Kill signal)",
        f"{REFUSED}\nurllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>",
        "collect2: error: ld returned 1 exit status",
        "/usr/bin/ld: cannot find -lcuda: No such file or directory",
        "CMake Error at CMakeLists.txt:3 (find_package):",
        "ptxas fatal   : Memory allocation failure",
        f"a.cpp:1:2: error: tried by its configure step\n  AssertionError: {TOO_OLD} ('cp310', 'abi3', 'linux_x86_64')",
        "",
        None,  # there is no log
    ],
)
def test_what_may_be_the_machines_fault_is_not_the_sources(printed: str | None, tmp_path: Path) -> None:
    error = explained(tmp_path / "log") if printed is None else explained_text(f"{printed}\n", tmp_path)
    assert not isinstance(error, CompileError)
    assert error.exit_code == 4


def test_a_traceback_without_an_end_takes_no_time(tmp_path: Path) -> None:
    frames = '  File "/x/setuptools/a.py", line 1, in f\n' * 20_000
    error = explained_text(f"Traceback (most recent call last):\n{frames}OSError: no\n" * 2, tmp_path)
    assert str(error).splitlines()[1] == "OSError: no"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            "[3/9] /usr/bin/nvcc -MD -MF b.o.d -I/x -c -c /work/source/csrc/b.cu -o b.o -std=c++17",
            "[3/9] /work/source/csrc/b.cu",
        ),
        ("  [3/9] c++ -c csrc/b.cpp -o b.o", "[3/9] csrc/b.cpp"),
        ("g++ -O3 -fPIC -c csrc/a.cpp -o build/a.o", "csrc/a.cpp"),
        ("[2/3] Building CXX object CMakeFiles/x.dir/b.cpp.o", "[2/3] Building CXX object CMakeFiles/x.dir/b.cpp.o"),
        ("running build_ext", "running build_ext"),
        ("", ""),
    ],
)
def test_the_unit_that_compiles_is_shown_instead_of_its_command(line: str, shown: str) -> None:
    assert unit_in(line) == shown


@pytest.fixture
def display(tmp_path: Path) -> BuildDisplay:
    """The display of a build of which two units compile, one for four minutes."""
    for name, age in (("unit.7.slow.cu", 240), ("unit.9.new.cu", 1)):
        (tmp_path / name).write_text("\n")
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    (tmp_path / "unit.8.done.cu").touch()
    return BuildDisplay(progress=RecordedProgress(), cache=CompilerCache(folder=tmp_path, compilers=tmp_path))


@pytest.mark.parametrize(
    ("line", "done"),
    [
        ("", "1 done"),
        ("running build_ext", "1 done"),
        ("[12/72] nvcc -c a.cu -o a.o", "12 of 72 done"),
        ("  [12/72] nvcc -c a.cu -o a.o", "12 of 72 done"),
        ("[x/72] nvcc", "1 done"),
    ],
)
def test_a_line_that_comes_again_gives_way_to_what_compiles(line: str, done: str, display: BuildDisplay) -> None:
    for _ in range(3):
        display.show(line)
    first = [unit_in(line)] if line else []
    shown = display.progress.lines[-2:]  # type: ignore[attr-defined]
    assert shown == [f"compiling slow.cu for 4 min and 1 more; {done}"] * 2
    assert display.progress.lines[:-2] == (first or shown[:1])  # type: ignore[attr-defined]


def test_a_line_that_comes_again_while_nothing_compiles_stays(display: BuildDisplay) -> None:
    display.cache.remove_marks()
    for line in ("[1/2] nvcc -c a.cu -o a.o", "linking", "linking"):
        display.show(line)
    assert display.progress.lines == ["[1/2] a.cu", "linking", "linking"]  # type: ignore[attr-defined]


def test_the_name_of_a_unit_commands_no_terminal_and_hides_nothing_after_it(display: BuildDisplay) -> None:
    display.cache.remove_marks()
    name = f"{'a' * 200}\x1b[2J_hdim64.cu"
    (display.cache.folder / f"unit.1.{name}").write_text("\n")
    display.show("")
    (shown,) = display.progress.lines  # type: ignore[attr-defined]
    assert "a\\x1b[2J_hdim64.cu for 0 s; 0 done" in shown
    assert len(shown) < 120
