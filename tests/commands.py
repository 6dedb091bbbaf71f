"""Commands in a process forked from one that imported wheelmill; ``--real`` starts an interpreter for the first."""

import atexit
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NoReturn, Protocol
from unittest.mock import patch

import typer
from botocore.loaders import create_loader
from botocore.session import get_session

import wheelmill
from wheelmill import cli
from wheelmill.config.load import load_config
from wheelmill.errors import WheelmillError
from wheelmill.index.site.templates import templates_for
from wheelmill.system import own_installation
from wheelmill.web.client import ATTENDED, Web

ROOT = Path(__file__).parents[1]
_MAX_MESSAGE = 1 << 17
"""Bytes, for the words and the environment of a command."""


class Done(subprocess.CompletedProcess[str]):
    """A process that has ended, and the code of the error that it ended with."""

    code: str | None = None
    """None without an error, and of a new interpreter, which keeps it to itself."""

    def check_refused(self, code: str, *facts: object) -> None:
        """Check the error: its code, where it is known, and the facts that it names, in whatever words."""
        assert self.returncode > 0
        assert self.code in (code, None), self.stderr
        assert [fact for fact in map(str, facts) if fact not in self.stderr] == [], self.stderr


class Start(Protocol):
    """Runs Python with these words after its name, as in ``-m wheelmill plan`` or ``scripts/x.py``, to its end."""

    def __call__(self, words: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Done: ...


def start_anew(words: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Done:
    """Start a new interpreter."""
    done = subprocess.run([sys.executable, *words], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    return Done(done.args, done.returncode, done.stdout, done.stderr)


def anew_at_first(fork: Start) -> Start:
    """Start a new interpreter for the first of each command, as nothing that another imported helps a person's."""
    started: set[tuple[str, ...]] = set()

    def start(words: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Done:
        command = tuple(words[:4])  # as in -m wheelmill config check
        first = command not in started
        started.add(command)
        return (start_anew if first else fork)(words, cwd=cwd, env=env)

    return start


@contextmanager
def forks() -> Iterator[Start]:
    """Keep the process that is forked for each command until the context is left."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    argv = [sys.executable, "-m", "tests.commands", str(theirs.fileno())]

    def fork(words: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Done:
        file = tempfile.TemporaryFile
        with file() as stdout, file() as stderr, file() as code:
            told, tells = os.pipe()
            message = json.dumps([[*words], str(cwd), {**env}]).encode()
            socket.send_fds(ours, [message], [stdout.fileno(), stderr.fileno(), code.fileno(), tells])
            os.close(tells)
            with os.fdopen(told) as status:
                done = Done([*words], int(status.read()), _text(stdout), _text(stderr))
            done.code = _text(code) or None
            return done

    with subprocess.Popen(argv, cwd=ROOT, pass_fds=[theirs.fileno()]), theirs, ours:
        theirs.close()
        yield fork


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _command_of_fork(ours: socket.socket) -> list[str]:
    """Fork for every command that is asked for, and tell how it ended; returns its words, in the forks alone."""
    running: dict[int, tuple[int, int]] = {}  # by a file that is readable at its end: the process, and where to tell
    events = select.poll()
    events.register(ours, select.POLLIN)
    while True:
        for ready, _ in events.poll():
            if ready in running:
                child, tells = running.pop(ready)
                _, status = os.waitpid(child, 0)
                os.write(tells, str(os.waitstatus_to_exitcode(status)).encode())
                events.unregister(ready)
                _close(ready, tells)
                continue
            message, given, _, _ = socket.recv_fds(ours, _MAX_MESSAGE, 4)
            if not message:
                sys.exit()
            *files, tells = given
            if (child := os.fork()) == 0:
                _close(ours.detach(), tells, *running, *(told for _, told in running.values()))
                return _command_of(message, *files)
            end = os.pidfd_open(child)
            running[end] = (child, tells)
            events.register(end, select.POLLIN)
            _close(*files)


def _close(*files: int) -> None:
    for file in files:
        os.close(file)


def _command_of(message: bytes, stdout: int, stderr: int, code: int) -> list[str]:
    """Become the process of a command; returns its words."""
    words: list[str]
    words, cwd, environment = json.loads(message)
    os.dup2(stdout, sys.stdout.fileno())
    os.dup2(stderr, sys.stderr.fileno())
    _close(stdout, stderr)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    patch.object(cli, "_exit", functools.partial(_exit_with_code, cli._exit, code)).start()  # noqa: SLF001
    return words


def _exit_with_code(exit_with: Callable[[WheelmillError], NoReturn], code: int, error: WheelmillError) -> NoReturn:
    """Write the code of the error beside what the command prints."""
    os.write(code, error.code.encode())
    exit_with(error)


def _run(words: list[str]) -> None:
    """Do what an interpreter with these words does."""
    program, *arguments = words[1:] if words[0] == "-m" else words
    sys.argv = [program, *arguments]
    if words[0] == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(program, run_name="__main__")


def _end(code: int) -> NoReturn:
    """End as an interpreter does, but leave the memory to the system."""
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
    atexit._run_exitfuncs()  # noqa: SLF001
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


_LATE = (
    *("sigstore.verify", "cryptography.hazmat.backends.openssl.backend", "httpcore", "h11", "anyio", "uv"),
    *("rich._emoji_codes", "typer._click.decorators", "encodings.cp437", "encodings.utf_16_be"),
)
"""What wheelmill and its libraries import no sooner than they need it, some of it for a second."""


def _prepare() -> None:
    """Do once what every command would do again: import, describe options, and read what ships."""
    for module in pkgutil.walk_packages(wheelmill.__path__, "wheelmill."):
        if not module.name.endswith(("__main__", ".windows")):
            importlib.import_module(module.name)
    for name in _LATE:
        importlib.import_module(name)
    for place in ("typer.main.get_params_from_function", "wheelmill.config.yaml.parse_document"):
        patch(place, functools.cache(pkgutil.resolve_name(place))).start()  # of the same, they make the same
    for command in cli.COMMANDS:
        typer.main.get_command(cli.application([command]))
    patch("botocore.session.create_loader", functools.cache(create_loader)).start()
    get_session().create_client("s3", "any", aws_access_key_id="any", aws_secret_access_key="any").close()  # noqa: S106
    load_config(own_installation.CONFIG)
    for template in (templates := templates_for({}, ())).list_templates():
        templates.get_template(template)
    Web(retries=ATTENDED).close()  # reads the authorities of this machine
    patch.object(ATTENDED, "_sleep").start()  # what fails on this machine fails a second later, too
    gc.freeze()  # what is here for good is not looked through, and so copied, in each fork


if __name__ == "__main__":
    _prepare()
    try:
        _run(_command_of_fork(socket.socket(fileno=int(sys.argv[1]))))
    except SystemExit as told:
        if isinstance(told.code, int):
            _end(told.code)
        raise
