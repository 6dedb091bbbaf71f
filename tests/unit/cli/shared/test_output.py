"""What commands say on stderr."""

import json
import sys
import time

import pytest

from wheelmill.cli.shared.output import Waiting, print_json, say


def test_foreign_text_moves_no_cursor_and_gives_a_runner_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    say("refused: \x1b[2Jdemo\r.whl\n::add-mask::x\n  [red]one[/red] :bug:")
    printed = capsys.readouterr()
    assert printed.err == "refused: \\x1b[2Jdemo\\r.whl\n: :add-mask::x\n  [red]one[/red] :bug:\n"
    assert printed.out == ""


def test_foreign_text_in_json_is_whole_and_gives_a_runner_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"schema": "wheelmill.any/1", "text": "###[add-mask]e::x\n::add-mask::e"})
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"schema": "wheelmill.any/1", "text": "###[add-mask]e::x\n::add-mask::e"}
    assert "##[" not in printed
    assert not any(line.strip().startswith("::") for line in printed.splitlines())


def test_what_is_waited_for_is_said_at_once_and_then_now_and_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = iter([0.0, 0.0, 0.0, 1.0, 11.0, 11.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(seconds))
    waiting = Waiting()
    for text in ("one", "two", "three", ""):
        waiting.line(text)
    assert capsys.readouterr().err == "one\nthree\n"


def test_on_a_terminal_it_is_said_in_place_and_taken_away(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "9")
    for text in ("a long text", ""):
        Waiting().line(text)
    assert capsys.readouterr().err == f"\ra long t\r{' ' * 8}\r"
