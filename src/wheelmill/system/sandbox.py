"""Sandbox for foreign code on this machine: namespaces of its own, made by bubblewrap from an empty root.

Only what is named exists in it: the system's programs and libraries, a few files of ``/etc``, an empty home, and the
folders that it is given, read-only unless writable. Foreign code sees its own processes alone. When its parent dies, in
whatever way, all of it ends; see `guard`. https://github.com/containers/bubblewrap

Foreign code is never root. The namespaces of an ordinary user map that user alone. For root, bubblewrap makes them
without a user namespace, since root's folders may be closed to all others; then setpriv becomes an unused user.
Meanwhile that user owns the writable folders, except files with several names, which installers link to their cache.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import socket
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wheelmill.errors import ProcessError, UsageError
from wheelmill.system import process, sandbox_probe
from wheelmill.system.progress import Warn

if sys.platform != "win32":
    import grp
    import pwd
    import resource

ALLOW_VARIABLE: Final = "WHEELMILL_ALLOW_UNCONFINED"
"""Set, it lets foreign code run unconfined on GitHub's runners, too."""

_HOME: Final = Path("/tmp/home")  # noqa: S108 - inside the namespace, where it is empty
_SYSTEM: Final = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")))
_SETTINGS: Final = tuple(
    Path("/etc", name)
    for name in (
        *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "os-release", "mime.types"),
        *("passwd", "group", "nsswitch.conf", "resolv.conf", "hosts", "host.conf", "gai.conf", "protocols", "services"),
        *("ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "ca-certificates", "pki/ca-trust", "crypto-policies"),
        *("pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf"),
    )
)
"""For the dynamic loader, compilers, lookups of names, and certificates; no folder of private keys."""
_TEMPORARY: Final = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - inside the namespace, where they are empty
_SECRETS: Final = ("WHEELMILL_CREDENTIALS", "NETRC", "PIP_CONFIG_FILE", "UV_CONFIG_FILE", "GIT_CONFIG_GLOBAL")
"""Variables that name files with passwords, which are covered in readable folders."""
_NOT_INSTALLED: Final = "there is no bubblewrap"
_ISOLATED: Final = (
    *("--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
)
_MAY_BECOME: Final = tuple(
    word for right in ("SETUID", "SETGID", "SETPCAP", "DAC_READ_SEARCH") for word in ("--cap-add", f"CAP_{right}")
)
"""Until setpriv becomes the user, whose folders bubblewrap changes to."""
_USERS: Final = range(61184, 65520)
"""Users without a name, which systemd takes for services; mapped in containers too. https://systemd.io/UIDS-GIDS/"""
_LIMITS: Final = {"core": 0, "fsize": 64 << 30, "nproc": 16384}
"""Most bytes of a core dump and of a file, and most threads; many times what compilers of a large machine take."""
_MAX_MEMORY: Final = 256 << 30
"""Bytes of address space of one process, of which more is reserved than used; CUDA reserves the memory of all GPUs."""


@dataclass(frozen=True, kw_only=True)
class Sandbox:
    """Access of foreign code beyond the system itself, which it can read."""

    writable: Mapping[Path, Path]
    """Folders of this machine, and where foreign code finds them."""
    readable: Sequence[Path] = ()
    """Folders and files that it may read where they are, or where it finds the writable folder that they are in."""
    network: bool = False
    """True if it reaches the network of this machine."""
    devices: Sequence[Path] = ()

    def run(
        self,
        argv: Sequence[str | Path],
        *,
        cwd: Path,
        env: Mapping[str, str],
        timeout: float | None = None,
        log: Path | None = None,
        on_line: Callable[[str], None] | None = None,
        on_end: Callable[[int], None] | None = None,
    ) -> str:
        """Run a program like `process.run`, in the sandbox where there is one; all paths are those of this machine."""
        with self._lent() if (confined := why_unconfined() is None) else nullcontext():
            if confined:
                argv, env = self._confined(argv, cwd, env)
            return process.run(
                argv, cwd=cwd, env=env, timeout=timeout, log=log, on_line=on_line, on_end=on_end, guard=True
            )

    def inside(self, text: str) -> str:
        """Replace this machine's paths in a text by those that foreign code sees."""
        return self._mapped(text) if why_unconfined() is None else text

    def _mapped(self, text: str) -> str:
        for outside, inside in self.writable.items():
            text = text.replace(str(outside), str(inside))
        return text

    def _confined(
        self, argv: Sequence[str | Path], cwd: Path, env: Mapping[str, str]
    ) -> tuple[list[str | Path], dict[str, str]]:
        """Command that runs a program in the sandbox, and its environment."""
        words = [
            *(_program("bwrap"), *self._options(), "--chdir", self._mapped(str(cwd)), "--"),
            *(*_as_user(_unused_user()), *self._limits()),
            *(self._mapped(str(word)) for word in argv),
        ]
        own = {"HOME": str(_HOME), "USER": "wheelmill", "LOGNAME": "wheelmill"}
        return words, {name: self._mapped(value) for name, value in env.items()} | own

    def _options(self) -> list[str | Path]:
        binds = dict(sorted(self._binds().items()))  # a folder before those in it
        around = dict.fromkeys(folder for place in binds for folder in reversed(place.parents[:-1]))
        return [
            *("--dev", "/dev", "--proc", "/proc"),
            *(word for folder in _TEMPORARY for word in ("--perms", "1777", "--tmpfs", folder)),
            *("--perms", "1777", "--dir", _HOME),
            *(word for path in _SYSTEM if path.is_symlink() for word in ("--symlink", path.readlink(), path)),
            *(word for folder in around for word in ("--dir", folder)),  # else closed to all but their owner
            *(word for place, (option, path) in binds.items() for word in (option, path, place)),
            *(word for device in self.devices for word in ("--dev-bind", device, device)),
            *(word for path in _secrets_in(binds) for word in ("--ro-bind", os.devnull, path)),
            *("--remount-ro", "/dev", "--remount-ro", "/", *_ISOLATED),
            *(("--unshare-user-try",) if _unused_user() is None else _MAY_BECOME),
            *([] if self.network else ["--unshare-net"]),
        ]

    def _binds(self) -> dict[Path, tuple[str, Path]]:
        """Options for the places of foreign code: each with the path on this machine."""
        system = [path for path in _SYSTEM if path.is_dir() and not path.is_symlink()]
        hardware = [Path("/sys")] if self.devices else []
        given = (path for place in self.readable for path in (place.absolute(), place.resolve()))
        paths = [*system, *filter(Path.exists, _SETTINGS), *hardware, *filter(_can_be_given, given)]
        readable = {Path(self._mapped(str(path))): ("--ro-bind", path) for path in paths}
        writable = {inside: ("--bind", outside) for outside, inside in self.writable.items()}
        places = readable | writable
        return {
            place: bind
            for place, bind in places.items()
            if place in writable or next((around for around in place.parents if around in places), None) not in readable
        }

    def _limits(self) -> list[str]:
        """Command that runs another one within limits, or lower ones of this process."""
        assert sys.platform != "win32"  # noqa: S101 - it has no bubblewrap
        limits = _LIMITS if self.devices else _LIMITS | {"as": _MAX_MEMORY}
        most = {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))[1] for name in limits}
        amounts = {name: min(limit, most[name]) if most[name] >= 0 else limit for name, limit in limits.items()}
        return [_program("prlimit"), *(f"--{name}={amount}" for name, amount in amounts.items())]

    @contextmanager
    def _lent(self) -> Iterator[None]:
        """Give root's writable folders to the user of foreign code, and back."""
        user = _unused_user()
        kept = {str(place) for place in self.readable}

        def give(to: int) -> None:
            assert sys.platform != "win32"  # noqa: S101 - it has no such user
            for parent, folders, files, at in (entry for folder in self.writable for entry in os.fwalk(folder)):
                folders[:] = [name for name in folders if f"{parent}/{name}" not in kept]
                for name in (".", *folders, *files):
                    status = os.stat(name, dir_fd=at, follow_symlinks=False)
                    is_single = stat.S_ISDIR(status.st_mode) or status.st_nlink == 1 or status.st_uid == user
                    if status.st_uid != to and is_single:
                        os.chown(name, to, to, dir_fd=at, follow_symlinks=False)

        try:
            if user is not None:
                give(user)
            yield
        finally:
            if user is not None:
                give(0)


def _can_be_given(path: Path) -> bool:
    """False for parts of the system, and for a folder with the home in it, such as the prefix of /bin/python3."""
    home = Path("~").expanduser()
    is_apart = path not in (Path("/"), home, *home.parents) and set(_SYSTEM).isdisjoint((path, *path.parents))
    return is_apart and os.path.exists(path)  # noqa: PTH110 - False in a closed folder


def _secrets_in(binds: Mapping[Path, object]) -> list[Path]:
    named = [path for name in _SECRETS if (path := os.environ.get(name))]
    named += [os.path.join(sys.prefix, "pip.conf")]  # noqa: PTH118
    paths = (path for name in named for path in (Path(name).absolute(), Path(name).resolve()))
    return [path for path in paths if os.path.isfile(path) and not binds.keys().isdisjoint(path.parents)]  # noqa: PTH113


@functools.cache
def _unused_user() -> int | None:
    """Number of a user and a group that foreign code of root runs as; None if this process is not root's."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return None
    taken = {user.pw_uid for user in pwd.getpwall()} | {group.gr_gid for group in grp.getgrall()}
    return next(number for number in _USERS if number not in taken)


def _as_user(user: int | None) -> list[str]:
    """Command that runs another one as a user, without a right to become root again."""
    rights = (f"--reuid={user}", f"--regid={user}", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "--")
    return [] if user is None else [_program("setpriv"), *rights]


def _program(name: str) -> str:
    """Find a program on our own PATH: the build's has folders that foreign code may write to."""
    return shutil.which(name) or name


def own_interpreter() -> list[Path]:
    """Folders of the Python that runs wheelmill."""
    return [Path(sys.prefix), Path(sys.base_prefix)]


def certificates() -> list[Path]:
    """Certificate files and folders that variables name as trusted."""
    named = (os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "PIP_CERT"))
    return [Path(name) for name in named if name and Path(name).exists()]


@functools.cache
def why_unconfined() -> str | None:
    """Reason why foreign code cannot be confined; None if it can be. Raises UsageError if the sandbox leaks."""
    if shutil.which("bwrap") is None:
        return _NOT_INSTALLED
    try:
        leaks = _leaks()
    except (ProcessError, UsageError) as error:
        return error.tail if isinstance(error, ProcessError) else str(error)
    if leaks:
        message = f"the sandbox of this machine lets foreign code {', '.join(leaks)}"
        raise UsageError("sandbox-leaks", message, hint="use --sandbox docker")
    return None


def _leaks() -> list[str]:
    """Forbidden acts that succeed in a sandbox without a network; only the sandbox stands in their way."""
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as name,  # the path of a socket is short
        socket.socket(socket.AF_UNIX) as link,
        socket.create_server(("127.0.0.1", 0)) as port,
    ):
        given, probe = Path(name, "given"), Path(sandbox_probe.__file__)
        given.mkdir()
        Path(name, "secret").write_text("secret")
        link.bind(f"{name}/socket")
        for path, mode in ((name, 0o755), (f"{name}/secret", 0o666), (f"{name}/socket", 0o666)):
            Path(path).chmod(mode)
        link.listen()
        sandbox = Sandbox(writable={given: given}, readable=[*own_interpreter(), probe])
        parent = [str(os.getpid()), sandbox_probe.start_of(os.getpid())]
        words = [sys.executable, "-IS", str(probe), name, str(port.getsockname()[1]), *parent]
        argv, env = sandbox._confined(words, given, {})  # noqa: SLF001 - of this module
        return list(json.loads(process.run(argv, env=env, guard=True)))


@functools.cache  # warns once
def check_confinement(warn: Warn) -> None:
    """Warn if foreign code will run as this user; raises UsageError on GitHub's runners, whose tokens it could read."""
    reason = why_unconfined()
    if reason is None:
        return
    hint = "sudo apt-get install bubblewrap, or use --sandbox docker"
    if reason != _NOT_INSTALLED:
        hint = "let bubblewrap make namespaces on this machine, or use --sandbox docker"
    if os.environ.get("GITHUB_ACTIONS") == "true" and not os.environ.get(ALLOW_VARIABLE):
        raise UsageError("unconfined", f"foreign code would run unconfined on a GitHub runner: {reason}", hint=hint)
    warn(f"foreign code runs as you ({reason}); {hint}")
