import os
import signal
import sys
import time
from pathlib import Path

import pytest

from wheelmill.errors import ProcessError, UsageError
from wheelmill.system import process
from wheelmill.system.sandbox import Sandbox


def test_what_a_program_prints_is_returned_from_both_streams() -> None:
    assert process.run(["sh", "-c", "echo out; echo err >&2; printf end"]) == "out\nerr\nend"


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert process.run(["printf", r"\377x"]) == "\N{REPLACEMENT CHARACTER}x"


def test_a_program_cannot_wait_for_input() -> None:
    assert process.run(["cat"]) == ""


def test_no_shell_stands_between() -> None:
    assert process.run(["echo", "$HOME", "*", "; ls", ""]) == "$HOME * ; ls \n"


def test_a_program_runs_where_and_as_it_is_told(tmp_path: Path) -> None:
    printed = process.run(
        [Path("/bin/sh"), "-c", "pwd; echo $WORD $PATH"], cwd=tmp_path, env={"WORD": "a", "PATH": "b"}
    )
    assert printed == f"{tmp_path.resolve()}\na b\n"


def test_lines_are_handed_on_as_they_come() -> None:
    lines: list[str] = []
    process.run(["printf", r"one \ntwo\r\nthree"], on_line=lines.append)
    assert lines == ["one", "two", "three"]


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
    with pytest.raises(ProcessError, match="exited with 3") as caught:
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


def test_a_failure_names_the_command_in_short() -> None:
    with pytest.raises(ProcessError, match=r"^false 1 2 3 4 5 \.\.\. exited with 1$"):
        process.run(["false", *"123456"])


def test_a_program_that_a_signal_ended_has_failed() -> None:
    with pytest.raises(ProcessError) as caught:
        process.run(["sh", "-c", "kill -9 $$"])
    assert caught.value.returncode == -9


def test_a_missing_program_is_named() -> None:
    with pytest.raises(UsageError, match="cannot start 'no-such-program': No such file"):
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


@pytest.mark.parametrize("end", ["", 'trap "exit 0" TERM; '], ids=["ended", "calls it success"])
def test_a_program_that_takes_too_long_has_failed_and_its_error_says_so(end: str) -> None:
    with pytest.raises(ProcessError, match=r"after its 1 s were over"):
        process.run(["sh", "-c", f"{end}sleep 60 & wait"], timeout=1)


def test_a_daemon_that_keeps_the_pipe_open_does_not_hold_up_the_deadline() -> None:
    daemons: list[int] = []
    daemon = "setsid sh -c 'echo $$; exec sleep 600'"
    with pytest.raises(ProcessError) as late:
        process.run(["sh", "-c", f"{daemon} & sleep 600"], timeout=1, on_line=lambda line: daemons.append(int(line)))
    assert "after its 1 s were over" in str(late.value)
    assert is_running(daemons[0])
    os.kill(daemons[0], signal.SIGKILL)


def test_what_a_program_leaves_running_ends_with_it() -> None:
    left = int(process.run(["sh", "-c", "sleep 600 & echo $!"]))
    assert has_ended(left)


def test_a_program_that_closes_its_output_and_goes_on_is_waited_for(tmp_path: Path) -> None:
    process.run(["sh", "-c", f"exec >&- 2>&-; sleep 0.3; touch {tmp_path}/done"])
    assert (tmp_path / "done").exists()


def test_a_program_that_closes_its_output_and_goes_on_has_a_deadline_too() -> None:
    with pytest.raises(ProcessError, match="after its 1 s were over"):
        process.run(["sh", "-c", "exec >&- 2>&-; sleep 20"], timeout=1)


def test_a_program_that_fails_in_time_is_not_called_late() -> None:
    with pytest.raises(ProcessError, match=r"exited with 1$"):
        process.run(["false"], timeout=60)


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
