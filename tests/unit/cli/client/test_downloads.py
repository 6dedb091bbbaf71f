"""What is said of downloads where there is no terminal."""

import sys
import time

import pytest

from wheelmill.cli.client.downloads import download_bars
from wheelmill.cli.shared.terminal import STDERR


def test_only_what_takes_long_is_said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    with download_bars() as shown:
        for clock[0], done in ((4.5, 1), (30.0, 5_000_000), (31.0, 6_000_000), (41.0, 7_000_000)):
            shown.show_download("a.whl", done, 10_000_000)
        shown.step("installing")
    assert capsys.readouterr().err == "a.whl: 5.0 MB of 10.0 MB\na.whl: 7.0 MB of 10.0 MB\ninstalling\n"


def test_without_bars_all_lines_are_whole(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """With TERM=dumb, which rich draws no bars on."""
    monkeypatch.setattr(STDERR, "is_interactive", False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "20")
    shown_line, no_line = f"\r{'a.whl: 5 bytes':<19}", f"\r{' ' * 19}\r"
    with download_bars() as shown:
        shown.show_download("a.whl", 5, None)
        shown.step("installing")
        shown.show_download("a.whl", 5, None)
    assert capsys.readouterr().err == f"{shown_line}{no_line}installing\n{shown_line}{no_line}"
