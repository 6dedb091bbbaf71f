"""Foreign code in the sandbox: each test is an attack, and what came of it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs import install_line
from tests.refusals import coded
from wheelmill.errors import UsageError
from wheelmill.system import sandbox
from wheelmill.system.sandbox import Sandbox, check_confinement, why_unconfined

confined = pytest.mark.skipif(
    why_unconfined() is not None,
    reason=f"this machine confines nothing: {why_unconfined()}: {install_line('bubblewrap')}",
)
INSIDE = Path("/tmp/wheelmill")
INTERPRETERS = [Path(sys.prefix), Path(sys.base_prefix)]
SECONDS = f"62.{os.getpid()}"
"""How long processes of these tests sleep, by which they are told from those of other runs on this machine."""


def run(folder: Path, code: str, *, network: bool = False) -> str:
    given = Sandbox(writable={folder: INSIDE}, readable=INTERPRETERS, network=network)
    return given.run([sys.executable, "-c", code], cwd=folder, env={"PATH": os.environ["PATH"]}, timeout=30)


@confined
def test_a_home_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".netrc").write_text("secret")
    monkeypatch.setenv("HOME", str(home))
    (tmp_path / "work").mkdir()
    code = f"import os, pathlib; print(os.path.exists({str(home / '.netrc')!r}), os.listdir(pathlib.Path.home()))"
    assert run(tmp_path / "work", code) == "False []\n"


@confined
def test_files_with_passwords_are_covered_wherever_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A source's setup.py reads the files that variables of its parent name."""
    settings, work = tmp_path / "settings", tmp_path / "work"
    variables = ("WHEELMILL_CREDENTIALS", "NETRC", "PIP_CONFIG_FILE", "UV_CONFIG_FILE", "GIT_CONFIG_GLOBAL")
    for folder in (settings, work):
        folder.mkdir()
    for name in variables:
        (settings / name).write_text("very-secret")
    given = Sandbox(writable={work: INSIDE}, readable=[*INTERPRETERS, settings])

    def read() -> str:
        argv = ["sh", "-c", f"cat {settings}/*; true"]
        return given.run(argv, cwd=work, env={"PATH": os.environ["PATH"]}, timeout=30)

    assert read().count("very-secret") == len(variables)
    for name in variables:
        monkeypatch.setenv(name, str(settings / name))
    assert "very-secret" not in read()


@confined
def test_the_environment_of_the_parent_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "very-secret")
    code = (
        "import pathlib, os\n"
        "for each in pathlib.Path('/proc').glob('[0-9]*/environ'):\n"
        "    print(each.read_bytes())\n"
        "print(os.listdir('/proc'))"
    )
    printed = run(tmp_path, code)
    assert "very-secret" not in printed
    assert str(os.getpid()) not in printed.split("[")[-1].replace("'", "").split(", ")


@confined
def test_nothing_outside_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    places = ["/etc/own", "/usr/own", str(tmp_path / "own"), str(Path(sys.prefix) / "own")]
    code = f"""
for place in {places!r}:
    try:
        open(place, "w")
    except OSError as error:
        print(place, flush=True)
open("own", "w").write("x")
"""
    assert run(tmp_path / "given", code).splitlines() == places
    assert not any(Path(place).exists() for place in places)
    assert (tmp_path / "given" / "own").read_text() == "x"


@confined
@pytest.mark.parametrize("network", [False, True])
def test_the_network_is_there_only_when_it_is_given(tmp_path: Path, *, network: bool) -> None:
    code = "import socket; print([name for _, name in socket.if_nameindex()])"
    assert (len(run(tmp_path, code, network=network).split(",")) > 1) is network


@confined
def test_names_can_be_looked_up_where_the_resolvers_file_is_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "resolv.conf").write_text("nameserver 192.0.2.1\n")
    (tmp_path / "resolv.conf").symlink_to(tmp_path / "run" / "resolv.conf")
    monkeypatch.setattr(sandbox, "_RESOLVER", tmp_path / "resolv.conf")
    (tmp_path / "given").mkdir()
    code = f"import os; print(os.path.exists({str(tmp_path / 'run' / 'resolv.conf')!r}))"
    assert run(tmp_path / "given", code, network=True) == "True\n"
    assert run(tmp_path / "given", code) == "False\n"


@confined
def test_a_folder_of_a_person_has_the_same_path_for_everybody(tmp_path: Path) -> None:
    given = Sandbox(writable={tmp_path: INSIDE}, readable=INTERPRETERS)
    argv: list[str | Path] = [
        sys.executable,
        "-c",
        "import os, sys; print(os.getcwd(), sys.argv[1], os.environ['WHERE'])",
        tmp_path,
    ]
    (tmp_path / "source").mkdir()
    printed = given.run(argv, cwd=tmp_path / "source", env={"WHERE": f"{tmp_path}/a:/usr"})
    assert printed == "/tmp/wheelmill/source /tmp/wheelmill /tmp/wheelmill/a:/usr\n"


@confined
def test_a_daemon_that_left_its_session_ends_with_its_parent(tmp_path: Path) -> None:
    code = f"import subprocess; subprocess.Popen(['sleep', {SECONDS!r}], start_new_session=True)"
    run(tmp_path, code)
    assert eventually_gone(SECONDS.encode())


@confined
def test_a_program_of_the_build_does_not_take_the_place_of_the_sandbox(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "bwrap"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/outside\n")
    program.chmod(0o755)
    given = Sandbox(writable={tmp_path / "bin": tmp_path / "bin"})
    env = {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
    assert given.run(["pwd"], cwd=program.parent, env=env) == f"{program.parent}\n"
    assert not (tmp_path / "outside").exists()


@confined
def test_kill_9_leaves_no_foreign_process(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from wheelmill.system.sandbox import Sandbox\n"
        f"Sandbox(writable={{}}).run(['sleep', {SECONDS!r}], cwd=Path('/usr'), env={{'PATH': os.environ['PATH']}})"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path) as parent:
        while not running(SECONDS.encode()):
            time.sleep(0.05)
        parent.send_signal(signal.SIGKILL)
    assert eventually_gone(SECONDS.encode())


@pytest.fixture
def without_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    why_unconfined.cache_clear()
    check_confinement.cache_clear()
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv(sandbox.ALLOW_VARIABLE, raising=False)
    yield
    why_unconfined.cache_clear()
    check_confinement.cache_clear()


@pytest.mark.usefixtures("without_bubblewrap")
def test_unconfined_code_is_told_once_in_one_plain_line(tmp_path: Path) -> None:
    told: list[str] = []
    for _ in range(2):
        check_confinement(told.append)
    (line,) = told
    assert line.startswith("foreign code runs as you (there is no bubblewrap); sudo apt-get install bubblewrap")
    assert run(tmp_path, "import os; print(os.getcwd())") == f"{tmp_path}\n"


@pytest.mark.usefixtures("without_bubblewrap")
def test_nobody_is_told_to_install_a_bubblewrap_that_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a container it is often there, and may not make namespaces."""
    bwrap = tmp_path / "bwrap"
    bwrap.write_text('#!/bin/sh\necho "bwrap: Can\'t mount proc" >&2\nexit 1\n')
    bwrap.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _name: str(bwrap))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    told: list[str] = []
    check_confinement(told.append)
    (line,) = told
    assert line.startswith("foreign code runs as you (bwrap: Can't mount proc); let bubblewrap make namespaces")


@pytest.mark.usefixtures("without_bubblewrap")
def test_unconfined_code_is_refused_on_githubs_runners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    with pytest.raises(UsageError, check=coded("unconfined")):
        check_confinement(print)
    monkeypatch.setenv(sandbox.ALLOW_VARIABLE, "1")
    check_confinement(print)


def running(argument: bytes) -> bool:
    """Whether some process of this machine was started with an argument."""
    return any(argument in commands_of(path) for path in Path("/proc").glob("[0-9]*/cmdline"))


def commands_of(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().split(b"\0")
    except OSError:  # the process has ended meanwhile
        return []


def eventually_gone(argument: bytes) -> bool:
    for _ in range(100):
        if not running(argument):
            return True
        time.sleep(0.05)
    return False
