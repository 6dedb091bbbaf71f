"""Programs under a guard: all that they start ends with them, and with whoever started them."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.refusals import coded
from tests.unit.system.test_process import has_ended
from wheelmill.errors import ProcessError
from wheelmill.system import process
from wheelmill.system.locks import hold

LEAVES_THE_SESSION = ["sh", "-c", "setsid sh -c 'setsid sleep 60 & echo $!; wait' & wait"]

STARTED = f"""
import pathlib, sys
from wheelmill.system import process
from wheelmill.system.locks import hold
with hold(pathlib.Path(sys.argv[1]), wait=None, inherited=True):
    process.run({LEAVES_THE_SESSION!r}, guard=True, on_line=lambda line: print(line, flush=True))
"""


def test_a_program_prints_and_ends_as_without_a_guard(tmp_path: Path) -> None:
    words = ["sh", "-c", "pwd; echo $WORD"]
    assert process.run(words, guard=True, cwd=tmp_path, env={"WORD": "a"}) == f"{tmp_path}\na\n"
    for code, expected in (("exit 3", 3), ("kill -9 $$", -9), ("kill -TERM $$", -15)):
        with pytest.raises(ProcessError) as failure:
            process.run(["sh", "-c", code], guard=True)
        assert failure.value.returncode == expected


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(ProcessError, check=coded("program-failed", "no-such-program", "127")) as failure:
        process.run(["no-such-program"], guard=True)
    assert failure.value.tail == "cannot start 'no-such-program': No such file or directory"


def test_what_left_the_session_ends_with_the_program() -> None:
    left = int(process.run(["sh", "-c", "setsid sleep 60 >&- 2>&- & echo $!"], guard=True))
    assert has_ended(left)


def test_what_left_the_session_ends_when_the_time_is_over() -> None:
    started: list[int] = []
    with pytest.raises(ProcessError, check=coded("program-failed", "1 s")):
        process.run(LEAVES_THE_SESSION, guard=True, timeout=1, on_line=lambda line: started.append(int(line)))
    assert has_ended(started[0])


def test_all_of_it_ends_with_a_command_that_is_killed_and_the_lock_is_held_until_then(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", STARTED, str(tmp_path / "lock")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None
        started = int(command.stdout.readline())
        command.send_signal(signal.SIGKILL)
    with hold(tmp_path / "lock", wait=lambda _holder: None):
        assert not Path(f"/proc/{started}").exists()


def test_foreign_code_cannot_let_go_of_a_lock_of_ours(tmp_path: Path) -> None:
    with hold(tmp_path / "lock", wait=None, inherited=True):
        assert str(tmp_path) not in process.run(["ls", "-l", "/proc/self/fd"], guard=True)
