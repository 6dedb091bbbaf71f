"""What help looks like, and how commands end that nobody listens to."""

import io
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pytest
from typer.testing import CliRunner

from wheelmill.cli import COMMANDS, application, main
from wheelmill.cli.shared.terminal import STDOUT

DESCRIBED = ("environment", "--python", "3.12", "--torch", "2.8", "--cuda", "12.8", "--platform", "linux_x86_64")


def sections(*words: str) -> dict[str, list[str]]:
    """The first word of each row of help, by its heading."""
    found: dict[str, list[str]] = {}
    for line in CliRunner().invoke(application(words), words, catch_exceptions=False).output.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            found[line.removesuffix(":")] = []
        elif line.startswith("  ") and line[2] != " " and found:
            found[list(found)[-1]].append(line.split()[0])
    return found


def test_those_who_use_wheels_see_their_commands_first() -> None:
    shown = sections("--help")
    assert list(shown) == ["Options", "Use wheels", "Make wheels"]
    assert {"resolve", "add", "doctor"} <= set(shown["Use wheels"])
    assert {"plan", "build", "run"} <= set(shown["Make wheels"])
    assert sorted(shown["Use wheels"] + shown["Make wheels"]) == sorted(COMMANDS)


def test_what_a_command_alone_has_stands_before_what_many_have() -> None:
    shown = sections("resolve", "--help")
    assert list(shown) == [
        *("Arguments", "Options", "Target, detected where not given", "Where wheels are looked for"),
    ]
    assert "-h," in shown["Options"]
    assert "--torch" in shown["Target, detected where not given"]


@pytest.mark.parametrize(("typed", "offered"), [("wheelmill res", "resolve"), ("wheelmill resolve --tor", "--torch")])
def test_a_shell_completes_commands_and_their_options(
    typed: str, offered: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = typed.split()
    variables = {"_WHEELMILL_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit, match=r"^0$"):
        main()
    assert capsys.readouterr().out.split() == [offered]


@pytest.mark.parametrize(
    ("words", "unheard"), [(("--help",), "stdout"), (DESCRIBED, "stdout"), (("no-such-command",), "stderr")]
)
def test_a_reader_that_leaves_ends_a_command_quietly(words: Sequence[str], unheard: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    stdout, stderr = (writer if stream == unheard else subprocess.PIPE for stream in ("stdout", "stderr"))
    argv = [sys.executable, "-m", "wheelmill", *words]
    done = subprocess.run(argv, check=False, stdout=stdout, stderr=stderr)
    os.close(writer)
    assert done.returncode == 128 + signal.SIGPIPE
    assert (done.stdout or b"", done.stderr or b"") == (b"", b"")


def test_a_table_without_a_reader_ends_a_command_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pipe(io.StringIO):
        def write(self, text: str) -> NoReturn:
            raise BrokenPipeError(text)

    monkeypatch.setattr(sys, "stdout", Pipe())
    with pytest.raises(BrokenPipeError):
        STDOUT.print("a row")


def test_what_a_full_disk_does_not_take_is_told() -> None:
    with Path("/dev/full").open("wb") as full:
        argv = [sys.executable, "-m", "wheelmill", "--help"]
        done = subprocess.run(argv, check=False, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "error: No space left on device\n")
