"""What commands say on stderr."""

import pytest

from wheelmill.cli.shared.output import say


def test_foreign_text_moves_no_cursor_and_gives_a_runner_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    say("refused: \x1b[2Jdemo\r.whl\n::add-mask::x\n  [red]one[/red] :bug:")
    printed = capsys.readouterr()
    assert printed.err == "refused: \\x1b[2Jdemo\\x0d.whl\n: :add-mask: :x\n  [red]one[/red] :bug:\n"
    assert printed.out == ""
