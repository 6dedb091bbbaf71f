"""Sandbox for foreign code on this machine: namespaces of its own, made by bubblewrap.

Foreign code sees the system read-only, only its own processes, an empty home, and only those writable folders that it
is given. When its parent dies, in whatever way, all of it ends; see `guard`.
https://github.com/containers/bubblewrap
"""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wheelmill.errors import ProcessError, UsageError
from wheelmill.system import process

ALLOW_VARIABLE: Final = "WHEELMILL_ALLOW_UNCONFINED"
"""Set, it lets foreign code run unconfined on GitHub's runners, too."""

_HOME: Final = Path("/tmp/home")  # noqa: S108 - inside the namespace, where it is empty
_HIDDEN: Final = ("/home", "/root", "/tmp", "/var/tmp", "/run", "/mnt", "/media")  # noqa: S108 - made empty
_SECRETS: Final = ("WHEELMILL_CREDENTIALS", "NETRC", "PIP_CONFIG_FILE", "UV_CONFIG_FILE", "GIT_CONFIG_GLOBAL")
"""Variables that name files with passwords, which are covered; their usual places are below a home."""
_NOT_INSTALLED: Final = "there is no bubblewrap"
_RESOLVER: Final = Path("/etc/resolv.conf")
"""Often a link to a folder below ``/run``."""
_ISOLATED: Final = (
    *("--unshare-user-try", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
)


@dataclass(frozen=True, kw_only=True)
class Sandbox:
    """Access of foreign code beyond the system itself, which it can read."""

    writable: Mapping[Path, Path]
    """Folders of this machine, and where foreign code finds them."""
    readable: Sequence[Path] = ()
    """Folders and files that it may read where they are, even below a home."""
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
        """Run a program like `process.run`, in the sandbox where this machine has one; raises as that does.

        Paths in `argv` and `env` are those of this machine; `cwd` is a folder of `writable` or `readable`, or in one.
        """
        if why_unconfined() is None:
            # Resolved on our own PATH: the build's has folders that foreign code may write to.
            program = shutil.which("bwrap") or "bwrap"
            words = [program, *self._options(), "--chdir", self.inside(str(cwd)), "--"]
            argv = [*words, *(self.inside(str(word)) for word in argv)]
            env = {name: self.inside(value) for name, value in env.items()} | {"HOME": str(_HOME)}
        return process.run(argv, cwd=cwd, env=env, timeout=timeout, log=log, on_line=on_line, on_end=on_end, guard=True)

    def inside(self, text: str) -> str:
        """Replace this machine's paths in a text by those that foreign code sees."""
        if why_unconfined() is None:
            for outside, inside in self.writable.items():
                text = text.replace(str(outside), str(inside))
        return text

    def _options(self) -> list[str | Path]:
        named = (os.environ.get(name) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "UV_CREDENTIALS_DIR"))
        hidden = [*_HIDDEN, *filter(None, named)]
        secrets = [path for name in _SECRETS if (path := os.environ.get(name)) and Path(path).is_file()]
        readable = [*self.readable, *([_RESOLVER.resolve()] if self.network and _RESOLVER.exists() else [])]
        places = {str(place.absolute()): str(place.absolute()) for place in readable}
        return [
            *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
            *(word for folder in hidden if Path(folder).is_dir() for word in ("--tmpfs", folder)),
            *("--dir", _HOME),
            *(word for pair in places.items() for word in ("--ro-bind", *pair)),
            *(word for outside, inside in self.writable.items() for word in ("--bind", outside, inside)),
            *(word for device in self.devices for word in ("--dev-bind", device, device)),
            *(word for path in secrets for word in ("--ro-bind", os.devnull, path)),
            *_ISOLATED,
            *([] if self.network else ["--unshare-net"]),
        ]


def certificates() -> list[Path]:
    """Certificate files and folders that variables name as trusted."""
    named = (os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "PIP_CERT"))
    return [Path(name) for name in named if name and Path(name).exists()]


@functools.cache
def why_unconfined() -> str | None:
    """Reason why foreign code cannot be confined; None if it can be."""
    if shutil.which("bwrap") is None:
        return _NOT_INSTALLED
    try:
        process.run(["bwrap", *Sandbox(writable={})._options(), "--", "true"])  # noqa: SLF001 - of this module
    except (ProcessError, UsageError) as error:
        return error.tail if isinstance(error, ProcessError) else str(error)
    return None


@functools.cache  # warns once
def check_confinement(warn: Callable[[str], None]) -> None:
    """Call `warn` with a line if foreign code will run unconfined, as the current user.

    Raises UsageError on a GitHub runner, whose tokens any of its processes can read.
    """
    reason = why_unconfined()
    if reason is None:
        return
    hint = "sudo apt-get install bubblewrap, or use --sandbox docker"
    if reason != _NOT_INSTALLED:
        hint = "let bubblewrap make namespaces on this machine, or use --sandbox docker"
    if os.environ.get("GITHUB_ACTIONS") == "true" and not os.environ.get(ALLOW_VARIABLE):
        raise UsageError("unconfined", f"foreign code would run unconfined on a GitHub runner: {reason}", hint=hint)
    warn(f"foreign code runs as you ({reason}); {hint}")
