"""Name tests that pass when ``--reruns`` runs them again, and fail the run if there are more than two."""

import os
import socket
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest

MAX_FLAKY: Final = 2
"""More are no accident of a busy machine."""


def flaky_tests(stats: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """The tests that failed first and passed then, each with how it failed, from pytest's reports by outcome."""
    again = {report.nodeid: _message(report) for report in stats.get("rerun", ())}
    failed = {report.nodeid for outcome in ("failed", "error") for report in stats.get(outcome, ())}
    return {test: message for test, message in sorted(again.items()) if test not in failed}


def _message(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = (crash.message if crash else report.longreprtext).splitlines()
    return lines[0] if lines else ""


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    # A worker of the plugin sends two small messages for each test and reads an answer to the second alone, so that
    # Nagle's algorithm holds the second back for 40 ms: two minutes of a run.
    connection = getattr(getattr(config, "failures_db", None), "sock", None)
    if connection and hasattr(config, "workerinput"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")  # the controller of xdist has one
    if reporter and session.exitstatus == pytest.ExitCode.OK and len(flaky_tests(reporter.stats)) > MAX_FLAKY:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    flaky = flaky_tests(terminalreporter.stats)
    for test, message in flaky.items():
        terminalreporter.write_line(f"flaky: {test}: {message}", yellow=True)
        if os.environ.get("GITHUB_ACTIONS"):
            terminalreporter.write_line(f"::warning title=A flaky test::{test}: {message}")
    if len(flaky) > MAX_FLAKY:
        terminalreporter.write_line(f"more than {MAX_FLAKY} tests are flaky, so this run has failed", red=True)
