"""Whose fault a failed build is, by what it printed."""

from pathlib import Path

import pytest

from wheelmill.build.compiler_errors import explain_failure
from wheelmill.errors import CompileError

REFUSED = "/work/source/demo/kernel.cpp:3:5: error: 'x' was not declared in this scope"


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
    (tmp_path / "log").write_text(f"+ compile\n{printed}\nerror: command 'g++' failed with exit code 1\n")
    error = explain_failure("it does not build", tmp_path / "log", source="/work/source")
    assert isinstance(error, CompileError)
    assert (str(error), error.line) == ("it does not build", line)


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
        "",
    ],
)
def test_what_may_be_the_machines_fault_is_not_the_sources(printed: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(f"{printed}\n")
    error = explain_failure("it does not build", tmp_path / "log", source="/work/source")
    assert not isinstance(error, CompileError)
    assert error.exit_code == 4


def test_a_build_that_printed_nothing_has_no_log(tmp_path: Path) -> None:
    assert not isinstance(explain_failure("it does not build", tmp_path / "log", source="/"), CompileError)


def test_a_python_that_is_too_old_for_a_stable_abi_is_no_fault_of_the_source(tmp_path: Path) -> None:
    said = "AssertionError: would build wheel with unsupported tag ('cp310', 'abi3', 'linux_x86_64')"
    (tmp_path / "log").write_text(f"a.cpp:1:2: error: tried by its configure step\n  {said}\n")
    error = explain_failure("it does not build", tmp_path / "log", source="/work/source")
    assert not isinstance(error, CompileError)
    assert error.hint == 'its wheels are for Python 3.10 and newer: python: ">=3.10" in its entry of packages.yml'


def test_a_python_of_thousands_of_digits_does_not_end_the_run(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(f"would build wheel with unsupported tag ('cp3{'9' * 5000}', 'abi3', 'any')\n")
    assert explain_failure("it does not build", tmp_path / "log", source="/work/source").hint is None
