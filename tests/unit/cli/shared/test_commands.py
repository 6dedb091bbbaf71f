"""What help looks like, and how commands end that nobody listens to. What commands say on stderr."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pytest
import typer
from typer.main import get_command
from typer.models import TyperPath
from typer.testing import CliRunner

from wheelmill.cli import COMMANDS, application, main
from wheelmill.cli.shared.commands import Waiting, print_json, say
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
    assert list(shown) == [*("Arguments", "Options", "Target, detected where not given", "Sources of wheels")]
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
        type(STDOUT)().print("a row")  # STDOUT itself would print it before what the next test prints


def test_what_a_full_disk_does_not_take_is_told() -> None:
    with Path("/dev/full").open("wb") as full:
        argv = [sys.executable, "-m", "wheelmill", "--help"]
        done = subprocess.run(argv, check=False, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "error: No space left on device\n")


def test_modules_in_the_folder_are_not_run(tmp_path: Path) -> None:
    for name in ("pathlib", "fnmatch", "json"):
        (tmp_path / f"{name}.py").write_text("open('it-was-run', 'w')\n")
    subprocess.run([sys.executable, "-m", "wheelmill", "--help"], check=True, cwd=tmp_path, stdout=subprocess.DEVNULL)
    assert not (tmp_path / "it-was-run").exists()


def test_streams_that_are_closed_are_missed_by_nobody(tmp_path: Path) -> None:
    """Who waits for a page asks whether stderr is a terminal; who asks a person, whether stdin is one."""
    explain = ("explain", "demo", *DESCRIBED[1:], "--source", "http://127.0.0.1:9/simple/", "--no-cache")
    lines = [f"{sys.executable} -m wheelmill {' '.join(each)} <&- >&- 2>&-" for each in (explain, ("doctor", "--fix"))]
    own = {"no_proxy": "*", "XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_STATE_HOME": str(tmp_path / "state")}
    env = os.environ | own
    codes = [subprocess.run(["sh", "-c", line], cwd=tmp_path, env=env, check=False).returncode for line in lines]
    assert codes == [10, 2]


@pytest.mark.parametrize("number", ["nan", "inf", "1e300"])
@pytest.mark.parametrize("words", ["run demo --memory", "run demo --time-limit", "index check . --rate"])
def test_a_number_that_no_machine_counts_up_to_is_refused(words: str, number: str) -> None:
    asked = [*words.split(), number]
    done = CliRunner().invoke(application(asked), asked)
    assert done.exit_code == 2
    assert f"expected a number up to 1,000,000, not {float(number)}." in done.stderr


@pytest.mark.parametrize(
    ("words", "faults"),
    [
        ("index build", ["Missing option '--store' (env var: 'WHEELMILL_STORE').", "Missing option '--output'."]),
        (
            "index serve gone --port none",
            [
                "Invalid value for 'DIR': Path 'gone' does not exist.",
                "Invalid value for '--port': 'none' is not a valid",
            ],
        ),
        ("smoke", ["Missing argument 'WHEEL...'."]),
        ("index build --store=dir:x --output=", ["Invalid value for '--output': expected a path, not ''."]),
    ],
)
def test_everything_that_is_wrong_with_the_words_is_told_at_once(words: str, faults: Sequence[str]) -> None:
    asked = words.split()
    done = CliRunner().invoke(application(asked), asked, env={"WHEELMILL_STORE": ""})
    said = [line.removeprefix("Error: ") for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert done.exit_code == 2
    assert [line[: len(fault)] for line, fault in zip(said, faults, strict=True)] == faults


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


def test_much_json_is_printed_as_it_would_be_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"text": "#" * (number % 4) + "[", "empty": [], "numbers": [number, None]} for number in range(4_000)]
    content = {"schema": "wheelmill.any/1", "rows": rows, "none": {}}
    print_json(content)
    assert capsys.readouterr().out == json.dumps(content, indent=2).replace("##[", r"\u0023#[") + "\n"


def test_a_wait_is_announced_repeatedly(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([0.0, 0.0, 0.0, 1.0, 11.0, 11.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(seconds))
    waiting = Waiting()
    for text in ("one", "two", "three", ""):
        waiting.line(text)
    assert capsys.readouterr().err == "one\nthree\n"


def test_on_a_terminal_it_is_erased(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "9")
    for text in ("a long text", ""):
        Waiting().line(text)
    assert capsys.readouterr().err == f"\ra long t\r{' ' * 8}\r"


def test_an_empty_path_is_not_the_current_folder() -> None:
    paths = 0
    for name in COMMANDS:
        command = get_command(application([name])).commands[name]  # type: ignore[attr-defined]
        for own in getattr(command, "commands", {"": command}).values():
            for parameter in [each for each in own.params if isinstance(each.type, TyperPath)]:
                paths += 1
                with pytest.raises(typer.BadParameter, match="expected a path, not ''"):
                    parameter.type.convert("", parameter, None)
                assert parameter.type.exists or Path(parameter.type.convert("gone", parameter, None)) == Path("gone")
    assert paths > 20


@pytest.mark.parametrize("words", [("smoke",), ("export", "kernels", "--output", "out")])
def test_a_wheel_that_is_a_pipe_is_refused_and_never_opened(words: Sequence[str], tmp_path: Path) -> None:
    os.mkfifo(wheel := tmp_path / "demo-1.0-py3-none-any.whl")
    done = CliRunner().invoke(application(words), [*words, str(wheel)])
    assert done.exit_code == 2
    assert "is no regular file" in done.stderr
