"""Foreign code in the sandbox: each test is an attack, and what came of it."""

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import packaging
import platformdirs
import pytest

import wheelmill
from tests.programs import install_line
from tests.refusals import coded
from wheelmill.errors import UsageError
from wheelmill.system import sandbox, sandbox_probe
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
    code = """
import contextlib, os, pathlib
for path in pathlib.Path('/proc').glob('[0-9]*/environ'):
    with contextlib.suppress(PermissionError):
        print(path.read_bytes())
print(os.listdir('/proc'))
"""
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
def test_names_are_resolved_though_resolv_conf_is_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "resolv.conf").write_text("nameserver 192.0.2.1\n")
    link = tmp_path / "resolv.conf"
    link.symlink_to(tmp_path / "run" / "resolv.conf")
    monkeypatch.setattr(sandbox, "_SETTINGS", (link,))
    (tmp_path / "given").mkdir()
    assert run(tmp_path / "given", f"print(open({str(link)!r}).read(), end='')") == "nameserver 192.0.2.1\n"


ATTEMPTS = """
import json, os, socket, sys

def opened(path, flags):
    os.close(os.open(path, flags))

def connected(family, address):
    with socket.socket(family) as client:
        client.connect(address)

folder, port = sys.argv[1:]
read = [f"{folder}/secret", "/etc/shadow", "/etc/passwd", "/usr/bin/env", "/proc/kcore", "/dev/mem", "/dev/tty"]
write = [f"{folder}/secret", f"{folder}/new", "/new", "/usr/new", "/etc/new", "/dev/new", "given", "/tmp/new"]
write += ["/dev/shm/new", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger"]
connect = {
    "socket": (socket.AF_UNIX, f"{folder}/socket"),
    "abstract": (socket.AF_UNIX, "\\0" + folder),
    "port": (socket.AF_INET, ("127.0.0.1", int(port))),
}
attempts = {f"read {path}": (opened, path, os.O_RDONLY) for path in read}
flags = {path: os.O_WRONLY | os.O_CREAT * (not path.startswith("/proc")) for path in write}
attempts |= {f"write {path}": (opened, path, flags[path]) for path in write}
attempts |= {f"connect {name}": (connected, *where) for name, where in connect.items()}
attempts["kill"] = (os.kill, os.getppid() if os.getppid() > 1 else 1 << 22, 0)
attempts["become root"] = (os.setuid, 0)
attempts["keep rights"] = (lambda: 1 / int(open("/proc/self/status").read().split("CapEff:")[1].split()[0], 16),)
done = []
for name, (act, *arguments) in attempts.items():
    try:
        act(*arguments)
    except (OSError, ZeroDivisionError):
        continue
    done.append(name)
print(json.dumps(done))
"""
ALLOWED = ["read /etc/passwd", "read /usr/bin/env", "write given", "write /tmp/new", "write /dev/shm/new"]


@contextmanager
def planted() -> Iterator[tuple[Path, int]]:
    """A folder that everybody may enter, with a secret and a socket, and a port that listens."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o777)
        (folder / "secret").write_text("very-secret")
        port = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        for address in (f"{folder}/socket", f"\0{folder}"):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(address)
            listener.listen()
        (folder / "socket").chmod(0o777)
        yield folder, port.getsockname()[1]


@confined
def test_what_can_be_read_written_and_connected_to_is_what_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As root, or as the user that runs the tests."""
    with planted() as (folder, port):
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(folder / "secret"))
        (folder / "given").mkdir()
        given = Sandbox(writable={folder / "given": INSIDE}, readable=INTERPRETERS)
        words = [sys.executable, "-c", ATTEMPTS, str(folder), str(port)]
        done = json.loads(given.run(words, cwd=folder / "given", env={"PATH": os.environ["PATH"]}))
        assert done == ALLOWED
        assert sorted(path.name for path in folder.iterdir()) == ["given", "secret", "socket"]
        assert [path.owner() for path in (folder / "given").iterdir()] == [folder.owner()]


AS_USER = """
import os, sys; from pathlib import Path; from wheelmill.system.sandbox import Sandbox, why_unconfined
assert os.getuid() and why_unconfined() is None, why_unconfined()
given = Path(sys.argv[2], "of a user"); given.mkdir()
words = ["python3", "-c", *sys.argv[1:]]
print(Sandbox(writable={given: Path("/tmp/wheelmill")}).run(words, cwd=given, env=os.environ))
"""


@confined
@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests run as an ordinary user")
def test_what_an_ordinary_user_allows_is_the_same() -> None:
    with planted() as (folder, port):
        code = folder / "code"
        for module in (wheelmill, packaging, platformdirs):
            shutil.copytree(module.__path__[0], code / module.__name__)
        user = ("setpriv", "--reuid=61500", "--regid=61500", "--clear-groups")
        words = [*user, "python3", "-c", AS_USER, ATTEMPTS, str(folder), str(port)]
        environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(code), "HOME": str(folder)}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        assert json.loads(done.stdout or "0") == ALLOWED, done.stderr


@pytest.fixture
def first_look() -> Iterator[None]:
    """The sandbox is tested again, and once more afterwards."""
    why_unconfined.cache_clear()
    yield
    why_unconfined.cache_clear()


@confined
@pytest.mark.usefixtures("first_look")
def test_a_sandbox_with_a_hole_runs_no_foreign_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another bubblewrap on PATH, or one whose namespaces are those of the machine."""
    bwrap = tmp_path / "bwrap"
    bwrap.write_text('#!/bin/sh\nwhile [ "${1##*/}" != prlimit ]; do shift; done\nexec "$@"\n')
    bwrap.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(UsageError, check=coded("sandbox-leaks", "connect to other ports")):
        run(tmp_path, "open('own', 'w')")
    assert not (tmp_path / "own").exists()


@confined
def test_a_fork_bomb_a_full_disk_and_a_core_dump_have_limits(tmp_path: Path) -> None:
    code = "import resource as r; print([r.getrlimit(n)[0] for n in (r.RLIMIT_NPROC, r.RLIMIT_FSIZE, r.RLIMIT_CORE)])"
    processes, size, core = json.loads(run(tmp_path, code))
    assert 0 < processes <= 16384
    assert 0 < size <= 64 << 30
    assert core == 0


@confined
def test_a_lower_limit_of_the_user_is_kept(tmp_path: Path) -> None:
    code = """
import os, resource; from pathlib import Path; from wheelmill.system.sandbox import Sandbox
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
print(Sandbox(writable={}).run(["prlimit", "--fsize", "--raw"], cwd=Path("/usr"), env=os.environ))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert str(1 << 20) in done.stdout


KEYRING = """
import ctypes; from pathlib import Path; from wheelmill.system.sandbox import Sandbox, own_interpreter
libc = ctypes.CDLL(None)
libc.syscall({keyctl}, 1, None)  # a session of its own
key = libc.syscall({add_key}, b"user", b"ticket", b"very-secret", 11, -3)
assert key > 0 and libc.syscall({keyctl}, 11, key, ctypes.create_string_buffer(99), 99) == 11
read = f"import ctypes; b = ctypes.create_string_buffer(99); ctypes.CDLL(None)"
read += f".syscall({keyctl}, 11, {{key}}, b, 99); print(b.value)"
import sys; words = [sys.executable, "-c", read]
print(Sandbox(writable={{}}, readable=own_interpreter()).run(words, cwd=Path("/usr"), env={{}}))
"""


@confined
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="no Linux with such a processor")
def test_a_password_in_the_kernels_keyring_is_not_inherited(tmp_path: Path) -> None:
    code = KEYRING.format(keyctl=250, add_key=248)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout == "b''\n\n", done.stderr


@confined
def test_an_open_file_is_not_inherited(tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    with (tmp_path / "secret").open("w") as secret:
        os.set_inheritable(secret.fileno(), True)  # noqa: FBT003 - positional only
        code = "import os; print([os.path.realpath(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd')])"
        assert "secret" not in run(tmp_path / "given", code)


@confined
def test_a_setuid_program_that_is_left_behind_is_not_roots(tmp_path: Path) -> None:
    run(tmp_path, "import os, shutil; shutil.copy('/usr/bin/env', 'own'); os.chmod('own', 0o6755)")
    left = (tmp_path / "own").stat()
    assert left.st_uid == os.geteuid()
    assert os.geteuid() != 0 or not left.st_mode & (stat.S_ISUID | stat.S_ISGID)


@confined
def test_a_file_that_an_installers_cache_has_too_stays_as_it_is(tmp_path: Path) -> None:
    """Installers link wheels; who writes to the environment of a build would write to every other one."""
    cached, work = tmp_path / "cached.py", tmp_path / "work"
    (work / "packages").mkdir(parents=True)
    cached.write_text("sound")
    os.link(cached, work / "packages" / "module.py")
    given = Sandbox(writable={work: INSIDE}, readable=[work / "packages"])
    written = (
        "cd packages; echo evil > module.py; chmod 777 module.py; echo evil > new; cat module.py; echo made > ../made"
    )
    assert "sound" in given.run(["sh", "-c", written], cwd=work, env={"PATH": os.environ["PATH"]})
    assert cached.read_text() == "sound"
    assert {path.name for path in work.rglob("*")} == {"packages", "module.py", "made"}
    assert {path.stat().st_uid for path in work.rglob("*")} == {os.geteuid()}


@confined
@pytest.mark.parametrize("folder", ["/", "~"])
def test_a_folder_that_has_the_home_is_not_given(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The prefix of a Python that was started as /bin/python3, and a PATH with the home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "secret").touch()
    given = Sandbox(writable={}, readable=[Path(folder).expanduser()])
    listing = given.run(["sh", "-c", f"ls {tmp_path} /root; true"], cwd=Path("/usr"), env={"PATH": "/usr/bin"})
    assert listing.count("No such") == 2


@confined
def test_a_folder_of_a_person_has_the_same_path_for_everybody(tmp_path: Path) -> None:
    given = Sandbox(writable={tmp_path: INSIDE}, readable=INTERPRETERS)
    code = "import os, sys; print(os.getcwd(), sys.argv[1], os.environ['WHERE'])"
    argv: list[str | Path] = [sys.executable, "-c", code, tmp_path]
    (tmp_path / "source").mkdir()
    printed = given.run(argv, cwd=tmp_path / "source", env={"WHERE": f"{tmp_path}/a:/usr"})
    assert printed == "/tmp/wheelmill/source /tmp/wheelmill /tmp/wheelmill/a:/usr\n"


@confined
def test_a_daemon_that_left_its_session_ends_with_its_parent(tmp_path: Path) -> None:
    code = f"import subprocess; subprocess.Popen(['sleep', {SECONDS!r}], start_new_session=True)"
    run(tmp_path, code)
    assert eventually_gone(SECONDS.encode())


@confined
@pytest.mark.parametrize("name", ["bwrap", "setpriv", "prlimit"])
def test_a_program_of_the_build_does_not_take_the_place_of_the_sandbox(name: str, tmp_path: Path) -> None:
    program = tmp_path / "bin" / name
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


def test_a_process_with_the_number_of_the_parent_is_not_the_parent() -> None:
    """In a container with few processes, the parent's number is taken in the sandbox, too."""
    sandbox_probe._find(os.getpid(), sandbox_probe.start_of(os.getpid()))  # noqa: SLF001
    with pytest.raises(ProcessLookupError):
        sandbox_probe._find(os.getpid(), "1")  # noqa: SLF001
