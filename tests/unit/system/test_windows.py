"""Locks, files and programs on Windows; elsewhere tests/real/test_windows.py runs this file under Wine."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from wheelmill.errors import ProcessError
from wheelmill.system import process
from wheelmill.system.files import atomic_write
from wheelmill.system.folders import sweep, temporary_folder
from wheelmill.system.locks import hold

pytestmark = pytest.mark.skipif(sys.platform != "win32", reason="Windows alone has these calls")

HOLDER = """
import sys, time
from pathlib import Path
from wheelmill.system.folders import temporary_folder
from wheelmill.system.locks import hold

with hold(Path(sys.argv[1], "lock"), wait=None), temporary_folder(Path(sys.argv[1])) as folder:
    (folder / "file").write_bytes(b"12345678")
    print("held", flush=True)
    time.sleep(300)
"""
WRITER = """
import sys
from pathlib import Path
from wheelmill.system.files import write_bytes

for _ in range(20):
    write_bytes(Path(sys.argv[1]), sys.argv[2].encode() * 100_000)
"""
TICKS = """
import sys, time
while True:
    with open(sys.argv[1], "ab") as file:
        file.write(b"x")
    time.sleep(0.1)
"""
STARTS = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', *sys.argv[1:]]); print('started')"


def holder(folder: Path) -> subprocess.Popen[bytes]:
    """A process that has a lock in a folder, and a temporary folder."""
    child = subprocess.Popen([sys.executable, "-c", HOLDER, str(folder)], stdout=subprocess.PIPE)
    assert child.stdout
    assert child.stdout.readline().strip() == b"held"
    return child


def test_who_has_a_lock_is_told_and_waited_for(tmp_path: Path) -> None:
    told: list[str] = []
    with holder(tmp_path) as child:
        with pytest.raises(BlockingIOError), hold(tmp_path / "lock", wait=None):
            pass

        def tell(who: str) -> None:
            told.append(who)
            child.kill()

        with hold(tmp_path / "lock", wait=tell):
            pass
    assert told[0].startswith(f"process {child.pid} (")
    assert not (tmp_path / "lock").exists()


def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    with holder(tmp_path) as child:
        assert sweep(tmp_path) == 0
        child.kill()
    assert sweep(tmp_path) == 8
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_a_file_that_many_write_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), letter]) for letter in "abc"]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert path.read_bytes() in [letter * 100_000 for letter in (b"a", b"b", b"c")]
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_a_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    with pytest.raises(ValueError, match="whence"), atomic_write(path) as file:
        file.seek(-1, 9)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"file": b"before"}


def test_a_temporary_folder_is_gone_afterwards(tmp_path: Path) -> None:
    with temporary_folder(tmp_path) as folder:
        (folder / "file").touch()
    assert list(tmp_path.iterdir()) == []


def test_what_a_program_prints_is_returned() -> None:
    code = "import sys; print('x' * 1_000_000); print('y', file=sys.stderr); sys.stdout.flush()"
    assert sorted(process.run([sys.executable, "-c", code]).split(), key=len) == ["y", "x" * 1_000_000]


def test_a_program_that_takes_too_long_is_ended() -> None:
    with pytest.raises(ProcessError, match="after its 2 s were over"):
        process.run([sys.executable, "-c", "import time; time.sleep(300)"], timeout=2)


def test_a_failure_has_its_exit_code() -> None:
    with pytest.raises(ProcessError) as failed:
        process.run([sys.executable, "-c", "raise SystemExit(7)"])
    assert failed.value.returncode == 7


def test_what_a_program_leaves_running_ends_with_it(tmp_path: Path) -> None:
    ticks = tmp_path / "ticks"
    assert process.run([sys.executable, "-c", STARTS, TICKS, str(ticks)]).strip() == "started"
    size = ticks.stat().st_size
    time.sleep(1)
    assert size == ticks.stat().st_size > 0
