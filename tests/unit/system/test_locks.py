"""Locks that say who has them, and that children inherit."""

import errno
import fcntl
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from wheelmill.system.files import write_bytes
from wheelmill.system.folders import temporary_folder
from wheelmill.system.locks import hold

HOLD = """
import pathlib, sys
from wheelmill.system import process
from wheelmill.system.files import write_bytes
from wheelmill.system.folders import temporary_folder
from wheelmill.system.locks import hold
with hold(pathlib.Path(sys.argv[1]), wait=None, inherited=sys.argv[2] == "inherited"):
    process.run(["sh", "-c", "echo $$; exec sleep 60"], on_line=lambda line: print(line, flush=True))
"""


@contextmanager
def killed_holder(lock: Path, kind: str) -> Iterator[int]:
    """A process that was killed while a program of its own ran, and the number of that program, which still runs."""
    argv = [sys.executable, "-c", HOLD, str(lock), kind]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        program = int(holder.stdout.readline())
        holder.kill()
    try:
        yield program
    finally:
        os.kill(program, signal.SIGKILL)


def test_who_has_a_lock_is_told_and_then_it_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/opt/bin/wheelmill", "run", "demo", "--store", "https://me:secret@host.example"])
    lock, told, entered = tmp_path / "lock", threading.Event(), threading.Event()
    holders: list[str] = []

    def wait(holder: str) -> None:
        holders.append(holder)
        told.set()

    def second() -> None:
        with hold(lock, wait=wait):
            entered.set()

    thread = threading.Thread(target=second)
    with hold(lock, wait=None):
        thread.start()
        assert told.wait(10)
        assert not entered.is_set()
    thread.join(10)
    assert entered.is_set()
    (holder,) = holders
    date = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
    assert re.fullmatch(rf"process {os.getpid()} \(wheelmill run demo\), since {date}", holder)


def test_nothing_is_left_of_a_lock(tmp_path: Path) -> None:
    with hold(tmp_path / "lock", wait=None):
        pass
    assert list(tmp_path.iterdir()) == []


def test_many_at_once_hold_it_one_after_the_other(tmp_path: Path) -> None:
    inside, most = [0], [0]

    def use() -> None:
        for _ in range(20):
            with hold(tmp_path / "lock", wait=lambda _holder: None):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=use) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]


def test_a_program_that_outlives_a_killed_command_holds_its_lock(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with killed_holder(lock, "inherited"), pytest.raises(BlockingIOError), hold(lock, wait=None):
        pytest.fail("two have it")
    with hold(lock, wait=lambda _holder: None):
        assert lock.exists()


def test_a_lock_that_is_not_for_programs_ends_with_its_holder(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with killed_holder(lock, "own"), hold(lock, wait=None):
        assert lock.exists()


def test_without_locks_files_are_written_and_nothing_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(_descriptor: int, _operation: int) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    write_bytes(tmp_path / "file", b"content")
    with temporary_folder(tmp_path) as first, temporary_folder(tmp_path) as second:
        assert first.exists()
        assert second.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("content")
    (tmp_path / "lock").symlink_to(tmp_path / "file")
    with pytest.raises(OSError, match="symbolic links"), hold(tmp_path / "lock", wait=None):
        pytest.fail("it was followed")
    assert (tmp_path / "file").read_text() == "content"
