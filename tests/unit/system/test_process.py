"""Other programs: what they are given, and what they print within limits."""

import os
import resource
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.refusals import coded
from wheelmill.errors import ProcessError, UsageError
from wheelmill.system import process
from wheelmill.system.sandbox import Sandbox


@pytest.mark.parametrize(
    ("argv", "printed"),
    [
        pytest.param(["sh", "-c", "echo out; echo err >&2; printf end"], "out\nerr\nend", id="both streams"),
        pytest.param(["printf", r"\377x"], "\N{REPLACEMENT CHARACTER}x", id="bytes that are no text"),
        pytest.param(["cat"], "", id="no input"),
        pytest.param(["echo", "$HOME", "*", "; ls", ""], "$HOME * ; ls \n", id="no shell"),
    ],
)
def test_what_a_program_prints_is_returned(argv: list[str | Path], printed: str) -> None:
    assert process.run(argv) == printed


def test_a_program_runs_where_and_as_it_is_told(tmp_path: Path) -> None:
    printed = process.run(
        [Path("/bin/sh"), "-c", "pwd; echo $WORD $PATH"], cwd=tmp_path, env={"WORD": "a", "PATH": "b"}
    )
    assert printed == f"{tmp_path.resolve()}\na b\n"


def test_lines_are_handed_on_as_they_come() -> None:
    lines: list[str] = []
    process.run(["printf", r"one \ntwo\r\nthree"], on_line=lines.append)
    assert lines == ["one", "two", "three"]


def test_the_last_line_is_handed_on_again_while_a_program_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_SILENCE_S", 0.2)
    lines: list[str] = []
    process.run(["sh", "-c", "sleep 0.5; echo one; sleep 0.5; echo two"], on_line=lines.append)
    silent = ["", "one"]
    assert [line for line in lines if line not in silent] == ["two"]
    assert set(silent) <= set(lines[:-1])
    assert lines.count("one") >= 2, "it was printed once"


def test_a_program_that_prints_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_SILENCE_S", 5)
    lines: list[str] = []
    process.run(["sh", "-c", "for n in 1 2 3; do echo $n; sleep 0.2; done"], on_line=lines.append)
    assert lines == ["1", "2", "3"]


def test_a_log_keeps_every_command_and_all_it_printed(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    process.run(["seq", "100"], log=log)
    with pytest.raises(ProcessError):
        process.run(["sh", "-c", "echo größe; exit 1"], log=log)
    numbers = [str(number) for number in range(1, 101)]
    assert log.read_text(encoding="utf-8").splitlines() == [
        "+ seq 100",
        *numbers,
        "+ sh -c 'echo größe; exit 1'",
        "größe",
    ]


@pytest.mark.parametrize("with_log", [False, True])
def test_a_failure_carries_the_last_lines_and_the_exit_code(tmp_path: Path, *, with_log: bool) -> None:
    with pytest.raises(ProcessError, check=coded("program-failed", "exit 3")) as caught:
        process.run(["sh", "-c", "seq 100; exit 3"], log=tmp_path / "log.txt" if with_log else None)
    assert caught.value.returncode == 3
    assert caught.value.tail.splitlines() == [str(number) for number in range(61, 101)]


def test_the_memory_of_the_largest_process_is_told_whoever_started_it() -> None:
    memory: list[int] = []
    process.run(["true"], on_end=memory.append)  # a process begins with the memory of the one that starts it
    more = (memory[0] >> 20) + 100
    large = f"dd if=/dev/zero of=/dev/null bs={more}M count=1"
    Sandbox(writable={}).run(
        ["sh", "-c", f"sh -c '{large}; true'; true"], cwd=Path("/"), env={"PATH": os.defpath}, on_end=memory.append
    )
    assert more << 20 <= memory[1] < (more + 100) << 20


@pytest.mark.parametrize(
    ("line", "returncode", "timeout"),
    [
        pytest.param("exit 1", 1, 60, id="in time"),
        pytest.param("kill -9 $$", -9, None, id="by a signal"),
        pytest.param("sleep 600 & wait", -15, 1, id="late"),
        pytest.param('trap "exit 0" TERM; sleep 600 & wait', 0, 1, id="late, and calls it success"),
        pytest.param("exec >&- 2>&-; sleep 600", -15, 1, id="late, without output"),
    ],
)
def test_a_program_that_fails_or_hangs_is_a_named_error(line: str, returncode: int, timeout: float | None) -> None:
    late = ["1 s"] * (timeout == 1)
    with pytest.raises(ProcessError, check=coded("program-failed", " 1 2 3 ... ", returncode, *late)) as failure:
        process.run(["sh", "-c", line, *"12345"], timeout=timeout)
    assert failure.value.returncode == returncode


def test_a_missing_program_is_named() -> None:
    with pytest.raises(UsageError, check=coded("program-not-started", "no-such-program")):
        process.run(["no-such-program"])


@pytest.mark.parametrize("name", ["TMP", "USERPROFILE", "APPDATA"])
def test_what_windows_programs_need_is_not_seen_elsewhere(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "/scratch")
    assert name not in process.environment_for_foreign_code()


def test_foreign_code_sees_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = ("GITHUB_TOKEN", "GH_TOKEN", "PIP_INDEX_URL", "UV_DEFAULT_INDEX", "AWS_SECRET_ACCESS_KEY", "ANY_OTHER")
    for name in secrets:
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://me:secret@proxy.example:3128")
    monkeypatch.setenv("LANG", "C")
    environment = process.environment_for_foreign_code()
    assert environment["LANG"] == "C"
    assert "secret" not in process.run([sys.executable, "-c", "import os; print(os.environ)"], env=environment)


@pytest.mark.parametrize("habit", ["", 'trap "" TERM; '], ids=["willing", "deaf to SIGTERM"])
def test_an_interruption_ends_all_that_a_program_started(habit: str) -> None:
    started: list[int] = []

    def interrupt(line: str) -> None:
        started.append(int(line))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        process.run(["sh", "-c", f"sh -c '{habit}echo $$; exec sleep 60' & wait"], on_line=interrupt)
    assert has_ended(started[0])


def test_a_daemon_that_keeps_the_pipe_open_does_not_hold_up_the_deadline() -> None:
    daemons: list[int] = []
    daemon = "setsid sh -c 'echo $$; exec sleep 600'"
    with pytest.raises(ProcessError, check=coded("program-failed", "1 s")):
        process.run(["sh", "-c", f"{daemon} & sleep 600"], timeout=1, on_line=lambda line: daemons.append(int(line)))
    assert is_running(daemons[0])
    os.kill(daemons[0], signal.SIGKILL)


def test_what_a_program_leaves_running_ends_with_it() -> None:
    left = int(process.run(["sh", "-c", "sleep 600 & echo $!"]))
    assert has_ended(left)


def test_a_program_that_closes_its_output_and_goes_on_is_waited_for(tmp_path: Path) -> None:
    process.run(["sh", "-c", f"exec >&- 2>&-; sleep 0.3; touch {tmp_path}/done"])
    assert (tmp_path / "done").exists()


def has_ended(pid: int) -> bool:
    """Whether a process ends within five seconds: a signal takes a moment."""
    deadline = time.monotonic() + 5
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_running(pid)


def is_running(pid: int) -> bool:
    """Whether a process still works; one that ended may wait for its parent as a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


MIB = 1 << 20
ENDLESS_LINE = ["sh", "-c", "head -c 64M /dev/zero | tr '\\0' x"]


def test_one_endless_line_fills_neither_memory_nor_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MAX_LOGGED", 10 * MIB)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    process.run(ENDLESS_LINE, log=tmp_path / "log")
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert (tmp_path / "log").stat().st_size < 10 * MIB + 1000
    assert (tmp_path / "log").read_text().endswith(f"\n[{54 * MIB} more characters]\n")
    assert kilobytes < 10_000


def test_a_caller_is_given_no_more_than_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MAX_RETURNED", 2 * MIB)
    with pytest.raises(ProcessError, check=coded("output-too-large", "2 MiB")):
        process.run(ENDLESS_LINE)


def test_a_long_line_that_is_asked_for_is_whole() -> None:
    assert len(process.run(["sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x"])) == 100_000


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("\033[2Jgone", "\\x1b[2Jgone"),
        ("::set-output name=a::b", ": :set-output name=a::b"),
        ("  ::add-mask::x", "  : :add-mask::x"),
        ("\u3000\u200b::add-mask::x", "\u3000\\u200b::add-mask::x"),
        ("a\u202egnp.whl\u2028\U000e0041", "a\\u202egnp.whl\\u2028\\U000e0041"),
        (":::add-mask::x", ": ::add-mask::x"),
        ("a.cpp:1:2: error: 'std::vector' has no member", "a.cpp:1:2: error: 'std::vector' has no member"),
        ("##[group]x", "## [group]x"),
        ("a\tb größe «\u00a0日本\u00a0»", "a\tb größe «\u00a0日本\u00a0»"),
        ("bell\a \x9b31m", "bell\\x07 \\x9b31m"),
    ],
)
def test_foreign_lines_command_neither_terminals_nor_runners(printed: str, shown: str, tmp_path: Path) -> None:
    lines: list[str] = []
    (tmp_path / "printed").write_text(f"{printed}\n", encoding="utf-8")
    with pytest.raises(ProcessError) as caught:
        process.run(["sh", "-c", 'cat "$0"; exit 1', tmp_path / "printed"], on_line=lines.append)
    assert (lines, caught.value.tail) == ([shown], shown)


CAUSES = (
    process.Cause(code="first", pattern="no (?P<what>disk|room)", hint="{owner} needs more {what}"),
    process.Cause(code="second", pattern="killed", hint="{owner} was killed"),
)


@pytest.mark.parametrize(
    ("printed", "hint"),
    [
        ("KILLED, there is no DISK", "demo needs more DISK"),
        ("killed", "demo was killed"),
        ("no room" + " " * process.MAX_SEARCHED, None),
        ("", None),
    ],
)
def test_the_first_cause_in_the_end_of_a_text_counts(printed: str, hint: str | None) -> None:
    cause = process.find_cause(printed, CAUSES, owner="demo")
    assert (cause.hint if cause else None) == hint
