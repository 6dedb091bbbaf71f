"""uv and pip as programs: their paths, settings and credentials, and the versions that uv resolves.

https://docs.astral.sh/uv/concepts/authentication/cli/
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from wheelmill.errors import InstallError, IntegrityError, NetworkError, ProcessError, UsageError, WheelmillError
from wheelmill.installers.index_settings import (
    UV_CONFIG_FILE,
    configured_index,
    index_only_variables,
    uv_index_settings,
)
from wheelmill.system import process
from wheelmill.system.folders import temporary_folder
from wheelmill.system.process import find_program
from wheelmill.system.progress import Progress
from wheelmill.web.credentials import (
    Credential,
    Origin,
    credential_for,
    keep_credential,
    known_credentials,
    without_credentials,
)

TORCH_INDEX: Final = "WHEELMILL_TORCH_INDEX"
"""Variable that names a mirror of torch's own indexes."""
CREDENTIALS_FOLDER: Final = "UV_CREDENTIALS_DIR"
"""Variable that names the folder of uv's ``credentials.toml``."""

_NAME: Final = "credentials.toml"
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
"""Servers for which uv takes credentials without https."""


def _entry(origin: Origin, credential: Credential) -> dict[str, str]:
    if credential.username is None:
        return {"service": str(origin), "scheme": "bearer", "token": credential.secret}
    basic = {"service": str(origin), "scheme": "basic"}
    return basic | {"username": credential.username, "password": credential.secret}


PYLOCK: Final = "pylock.toml"
"""The name under which uv writes a lock of PEP 751."""

_HASH_REFUSALS: Final = ("Hash mismatch", "Bad CRC", "Failed to extract archive", "DO NOT MATCH THE HASHES")
"""Words of uv and pip for a hash that does not match. uv unpacks while it downloads, so that an archive may break
before its hash is known."""

_NETWORK: Final = re.compile(
    r"error sending request|dns error|operation timed out|HTTP status (client|server) error"  # uv
    r"|NewConnectionError|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|ProxyError|SSLError"  # pip
    r"|HTTP error \d{3} while getting"
)
"""Words of uv and pip for a server that does not answer, or lacks a file that an index named. A file that no index
lists is another case: the requirement cannot be met."""


def own_uv() -> Path:
    """Return the path of the uv that the factory extra installs."""
    from uv import find_uv_bin  # part of the factory extra

    return Path(find_uv_bin())


def find_uv() -> Path | None:
    """Return uv on PATH, else the one installed with this program; None if there is neither."""
    if program := find_program("uv"):
        return Path(program)
    try:
        return own_uv()
    except (ImportError, FileNotFoundError):
        return None


def torch_options(place: str | None) -> list[str]:
    """Return uv's options for an index of torch: the mirror's or its own for ``cu128``, or a URL; none for None."""
    if place is None:
        return []
    index = place if "://" in place else torch_mirror(place)
    return ["--index", index] if index else ["--torch-backend", place]


def torch_mirror(backend: str) -> str | None:
    """Return the index for a CUDA of the mirror in ``WHEELMILL_TORCH_INDEX``; None without one."""
    template = os.environ.get(TORCH_INDEX)
    return torch_index(template, backend, TORCH_INDEX) if template and backend.startswith("cu") else None


def torch_index(template: str, backend: str, origin: str) -> str:
    """Fill ``{cuda}`` in the URL of torch's indexes, keeping its credential; `origin` names the URL in the error."""
    try:
        Origin.of(template)
    except ValueError as error:
        hint = "an example: https://mirror.example/cu{cuda}"
        raise UsageError("torch-index-invalid", f"{origin}: {error}", hint=hint) from None
    return keep_credential(template).replace("{cuda}", backend.removeprefix("cu"))


def index_variables() -> dict[str, str]:
    """Return variables that make both installers use one index, with the user and password that it needs."""
    index = configured_index()
    if index is None:
        return {}
    with suppress(ValueError):  # an index may be a folder
        if credential := credential_for(index):
            index = credential.put_into(index)
    return {"UV_DEFAULT_INDEX": index, "PIP_INDEX_URL": index}


@contextmanager
def installer_environment() -> Iterator[dict[str, str]]:
    """Yield the variables for uv and pip: one index, and for uv wheelmill's credentials in a private folder."""
    with _credentials() as credentials:
        yield {**os.environ, **index_variables(), **credentials}


@contextmanager
def index_only_environment() -> Iterator[dict[str, str]]:
    """Yield the variables for a build, test or lock: as `installer_environment`, without this machine's constraints."""
    import tomlkit  # slow, and commands that run no installer import this module

    with _credentials() as credentials, temporary_folder() as folder:
        settings = folder / "uv.toml"
        settings.write_text(tomlkit.dumps(uv_index_settings()), encoding="utf-8")
        yield {**index_only_variables(), **index_variables(), **credentials, UV_CONFIG_FILE: str(settings)}


@contextmanager
def _credentials() -> Iterator[dict[str, str]]:
    """Yield the variable for a private folder with uv's and wheelmill's credentials; empty if wheelmill has none."""
    known = known_credentials()
    if not known:
        yield {}
        return
    import tomlkit  # slow, and not needed without credentials

    own = _credentials_folder()
    kept = own / _NAME if own else None
    text = kept.read_text(encoding="utf-8") if kept and kept.exists() else ""
    entries = [
        _entry(origin, credential)
        for origin, credential in known.items()
        if origin.is_secure or origin.host in _LOOPBACK
    ]
    with temporary_folder() as folder:
        (folder / _NAME).write_text(f"{text}\n{tomlkit.dumps({'credential': entries})}", encoding="utf-8")
        yield {CREDENTIALS_FOLDER: str(folder)}


def _credentials_folder() -> Path | None:
    """Return uv's folder for the credentials of ``uv auth login``; None if uv lacks that command."""
    uv = find_uv()
    try:
        return Path(process.run([uv, "auth", "dir", "--color", "never"]).strip()) if uv else None
    except ProcessError:
        return None


def run_installer(argv: Sequence[str | Path], progress: Progress, *, cwd: Path | None = None) -> str:
    """Run uv or pip for a user and show its output; raises InstallError, IntegrityError or NetworkError."""
    try:
        with installer_environment() as variables:
            return process.run(argv, cwd=cwd, env=variables, on_line=progress.line)
    except ProcessError as error:
        raise failure_of(
            error, otherwise=InstallError("install-failed", f"{error}:\n{without_credentials(error.tail)}")
        ) from None


def failure_of(error: ProcessError, *, otherwise: WheelmillError) -> WheelmillError:
    """Return the error that the last output lines of uv or pip indicate, integrity or network; else `otherwise`."""
    if any(words in error.tail for words in _HASH_REFUSALS):
        return IntegrityError("hash-differs", str(otherwise))
    return NetworkError("download-failed", str(otherwise)) if _NETWORK.search(error.tail) else otherwise


def run_own_uv(arguments: Sequence[str | Path], folder: Path | None = None) -> str:
    """Run the uv of the factory extra in a folder, with this machine's index and without its constraints."""
    with index_only_environment() as variables:
        return process.run([own_uv(), *arguments], cwd=folder, env=variables)


def compile_requirements(
    requirements: Iterable[str],
    *options: str | Path,
    output: str = PYLOCK,
    kept: str | None = None,
    without: Iterable[str] = (),
    run: Callable[[Sequence[str | Path], Path], str] = run_own_uv,
) -> str:
    """Resolve PEP 508 requirements to wheels that fit together and return the file that uv writes.

    `options` are those of ``uv pip compile``, which downloads metadata only; `output` is the name of the file, which
    determines its format. Versions in `kept`, its earlier content, stay if they still fit. Projects in `without` are
    excluded with all their dependencies, even if another project requires them. `run` runs uv in a folder.

    https://docs.astral.sh/uv/pip/compile/
    """
    with temporary_folder() as folder:  # elsewhere, a pyproject.toml could hold settings of uv
        wanted, excluded, compiled = folder / "requirements.in", folder / "excluded.txt", folder / output
        wanted.write_text("".join(f"{line}\n" for line in requirements), encoding="utf-8")
        excluded.write_text("".join(f"{project}\n" for project in without), encoding="utf-8")
        if kept is not None:
            compiled.write_text(kept, encoding="utf-8")
        common = ("--quiet", "--no-header", "--only-binary", ":all:", "--excludes", excluded)
        run(["pip", "compile", wanted, *common, *options, "--output-file", compiled], folder)
        return compiled.read_text(encoding="utf-8")
