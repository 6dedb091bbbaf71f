"""Fail tests with a skip that expected_skips.toml does not expect, or without one that it does, where they run."""

import ctypes.util
import os
import platform
import subprocess
import sys
import tomllib
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.programs import is_of_a_missing_program

LONGER = {
    "real": "compiles, downloads or installs for real: run scripts/test --real",
    "nightly": "all of what is sampled otherwise: run scripts/test --nightly",
}
"""Markers of tests that run only when an option of that name is given, and why they are skipped."""
LIST = Path(__file__).with_name("expected_skips.toml")


_Report = TypeVar("_Report", pytest.TestReport, pytest.CollectReport)


@dataclass(frozen=True, kw_only=True)
class ExpectedSkip:
    """An entry of the list."""

    where: str
    reason: str
    tests: tuple[str, ...] = ()

    def covers(self, test: str) -> bool:
        """Whether a test is one of those that are named."""
        return any(test == name or test.startswith(f"{name}::") for name in self.tests)


_VARIABLES = dict(os.environ)
"""Those of the run; a test may have put a stand-in first on PATH."""


@cache
def _succeeds(*argv: str) -> bool:
    try:
        return subprocess.run(argv, capture_output=True, check=False, env=_VARIABLES).returncode == 0
    except FileNotFoundError:
        return False


@cache
def _confines_nothing() -> bool:
    from wheelmill.system.sandbox import why_unconfined  # noqa: PLC0415 - few runs ask

    return why_unconfined() is not None


KINDS: Mapping[str, Callable[[], bool]] = {
    "not Windows": lambda: sys.platform != "win32",
    "not Linux": lambda: sys.platform != "linux",
    "not Linux on x86-64": lambda: sys.platform != "linux" or platform.machine() != "x86_64",
    "nothing is confined": _confines_nothing,
    "a driver": lambda: Path("/dev/nvidiactl").exists() or ctypes.util.find_library("cuda") is not None,
    "not root": lambda: sys.platform == "win32" or os.geteuid() != 0,
    "no Docker": lambda: not _succeeds("docker", "version"),
    "no buildx": lambda: not _succeeds("docker", "buildx", "version"),
    "no GitHub": lambda: (
        not _succeeds("timeout", "30", "git", "ls-remote", "https://github.com/actions/checkout", "HEAD")
    ),
}
"""Kinds of machines, and how each is recognised."""


@cache
def expected_skips() -> tuple[ExpectedSkip, ...]:
    """The whole list."""
    entries = tomllib.loads(LIST.read_text(encoding="utf-8"))["skip"]
    return tuple(ExpectedSkip(**entry | {"tests": tuple(entry.get("tests", ()))}) for entry in entries)


def fault_of_skip(test: str, reason: str) -> str | None:
    """Why a skip is a failure; None if it is expected on this machine."""
    if is_of_a_missing_program(reason):
        return None
    entries = [entry for entry in expected_skips() if reason.startswith(entry.reason)]
    if any((not entry.tests or entry.covers(test)) and KINDS[entry.where]() for entry in entries):
        return None
    return f"skipped, which {LIST.name} does not expect on this machine: {reason}"


def fault_of_run(test: str) -> str | None:
    """Why it is a failure that a test ran; None if no skip is expected on this machine."""
    entries = [entry for entry in expected_skips() if entry.covers(test) and KINDS[entry.where]()]
    return f"it ran, and {LIST.name} expects a skip where there is: {entries[0].where}" if entries else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--real", action="store_true", help="also run what compiles, downloads and installs")
    parser.addoption("--nightly", action="store_true", help="also run what is sampled otherwise, all of it")


def _left_out(item: pytest.Item) -> str | None:
    """The marker for which a test does not run, as long as its option is not given."""
    markers = (marker for marker in LONGER if item.get_closest_marker(marker))  # keywords have names of folders, too
    return next((marker for marker in markers if not item.config.getoption(f"--{marker}")), None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if marker := _left_out(item):
            item.add_marker(pytest.mark.skip(reason=LONGER[marker]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    fault, test = None, item.nodeid.partition("[")[0]
    if report.skipped and not hasattr(report, "wasxfail") and not _left_out(item):
        fault = fault_of_skip(test, _reason_of(report))
    elif report.passed and report.when == "call":
        fault = fault_of_run(test)
    return _failed(report, fault)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    fault = fault_of_skip(collector.nodeid, _reason_of(report)) if report.skipped else None
    return _failed(report, fault)


def _reason_of(report: Any) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return str(text).removeprefix("Skipped: ")


def _failed(report: _Report, fault: str | None) -> _Report:
    if fault:
        report.outcome, report.longrepr = "failed", fault
    return report
