"""uv and pip as programs: where they are, their settings and credentials, and what uv resolves.

https://docs.astral.sh/uv/concepts/authentication/cli/
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from wheelmill.errors import InstallError, IntegrityError, NetworkError, ProcessError, WheelmillError
from wheelmill.installers.package_index import UV_CONFIG_FILE, configured_index, index_only_variables, uv_index_settings
from wheelmill.system import process
from wheelmill.system.folders import temporary_folder
from wheelmill.system.progress import Progress
from wheelmill.web.credentials import Credential, Origin, credential_for, known_credentials, without_credentials

CREDENTIALS_FOLDER: Final = "UV_CREDENTIALS_DIR"
"""Names the folder of the file."""

_NAME: Final = "credentials.toml"
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
"""Servers for which uv takes credentials without https."""


def write_credentials(folder: Path, known: Mapping[Origin, Credential], own: Path | None) -> None:
    """Write the file of a run of uv.

    Args:
        folder: gets the file; nobody else may read what is in it.
        known: the credentials that are added to those of the person.
        own: the folder in which uv keeps what the person told it.
    """
    import tomlkit  # noqa: PLC0415 - only where there are credentials

    kept = own / _NAME if own else None
    text = kept.read_text(encoding="utf-8") if kept and kept.exists() else ""
    entries = [
        _entry(origin, credential)
        for origin, credential in known.items()
        if origin.is_secure or origin.host in _LOOPBACK
    ]
    (folder / _NAME).write_text(f"{text}\n{tomlkit.dumps({'credential': entries})}", encoding="utf-8")


def _entry(origin: Origin, credential: Credential) -> dict[str, str]:
    if credential.username is None:
        return {"service": str(origin), "scheme": "bearer", "token": credential.secret}
    shown = {"username": credential.username, "password": credential.secret}
    return {"service": str(origin), "scheme": "basic", **shown}


PYLOCK: Final = "pylock.toml"
"""The name under which uv writes a lock of PEP 751."""

_HASH_REFUSALS: Final = ("Hash mismatch", "Bad CRC", "Failed to extract archive", "DO NOT MATCH THE HASHES")
"""How uv and pip report that a hash does not match. uv unpacks while it downloads, so that an archive may break before
its hash is known."""

_NETWORK: Final = re.compile(
    r"error sending request|dns error|operation timed out|HTTP status (client|server) error"  # uv
    r"|NewConnectionError|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|ProxyError|SSLError"  # pip
    r"|HTTP error \d{3} while getting"
)
"""How uv and pip say that a server does not answer, or does not have a file that an index named. What an index does not
list is no such case: then the requirement cannot be met."""


def own_uv() -> Path:
    """The uv that came with the factory extra."""
    from uv import find_uv_bin  # noqa: PLC0415 - part of the factory extra

    return Path(find_uv_bin())


def find_uv() -> Path | None:
    """uv on PATH, else the one that is installed beside this program; None when there is neither."""
    if program := shutil.which("uv"):
        return Path(program)
    try:
        return own_uv()
    except (ImportError, FileNotFoundError):
        return None


def torch_options(place: str | None) -> list[str]:
    """The options that tell uv where torch is.

    Args:
        place: ``cu128`` for the index that uv knows for that CUDA, or the URL of an index that is asked before the
            usual one; None for the usual one alone.
    """
    return [] if place is None else ["--index" if "://" in place else "--torch-backend", place]


def index_variables() -> dict[str, str]:
    """Each installer reads its own configuration; where only one of them was told the index, both use it.

    Where the index wants a user and a password, they are in its URL.
    """
    index = configured_index()
    if index is None:
        return {}
    with suppress(ValueError):  # an index may be a folder
        if credential := credential_for(index):
            index = credential.put_into(index)
    return {"UV_DEFAULT_INDEX": index, "PIP_INDEX_URL": index}


@contextmanager
def installer_environment() -> Iterator[dict[str, str]]:
    """The variables that uv and pip run with while the context is open.

    Both use one index. uv shows servers what we would show them, which it reads from a private folder; pip knows what
    is in the URL of the index, and what netrc has.
    """
    with _credentials() as credentials:
        yield {**os.environ, **index_variables(), **credentials}


@contextmanager
def index_only_environment() -> Iterator[dict[str, str]]:
    """The variables that uv and pip run with for a build, a test or a lock, while the context is open.

    As `installer_environment`, but no constraint of this machine chooses a version; see `index_settings`.
    """
    import tomlkit  # noqa: PLC0415 - slow, and commands that run no installer import this module

    with _credentials() as credentials, temporary_folder() as folder:
        settings = folder / "uv.toml"
        settings.write_text(tomlkit.dumps(uv_index_settings()), encoding="utf-8")
        yield {**index_only_variables(), **index_variables(), **credentials, UV_CONFIG_FILE: str(settings)}


@contextmanager
def _credentials() -> Iterator[dict[str, str]]:
    """The variable that names a folder with our credentials for uv, while the context is open; none without any."""
    known = known_credentials()
    if not known:
        yield {}
        return
    with temporary_folder() as folder:
        write_credentials(folder, known, _credentials_folder())
        yield {CREDENTIALS_FOLDER: str(folder)}


def _credentials_folder() -> Path | None:
    """Where uv keeps the credentials of ``uv auth login``; None for a uv without that command."""
    uv = find_uv()
    try:
        return Path(process.run([uv, "auth", "dir", "--color", "never"]).strip()) if uv else None
    except ProcessError:
        return None


def run_installer(argv: Sequence[str | Path], progress: Progress, *, cwd: Path | None = None) -> str:
    """Run uv or pip for a person, who sees what it prints.

    Raises:
        InstallError: it failed; with the last lines it printed.
        IntegrityError: it refused bytes for their hash.
        NetworkError: a server did not answer it.
    """
    try:
        with installer_environment() as variables:
            return process.run(argv, cwd=cwd, env=variables, on_line=progress.line)
    except ProcessError as error:
        raise failure_of(
            error, otherwise=InstallError("install-failed", f"{error}:\n{without_credentials(error.tail)}")
        ) from None


def failure_of(error: ProcessError, *, otherwise: WheelmillError) -> WheelmillError:
    """Turn a failure of uv or pip into the error that its output points to.

    Args:
        error: with the last lines that the program printed.
        otherwise: what it is when neither was.
    """
    if any(words in error.tail for words in _HASH_REFUSALS):
        return IntegrityError("hash-differs", str(otherwise))
    return NetworkError("download-failed", str(otherwise)) if _NETWORK.search(error.tail) else otherwise


def run_own_uv(arguments: Sequence[str | Path], folder: Path) -> str:
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
    """Find versions of wheels that fit together (https://docs.astral.sh/uv/pip/compile/); only metadata is downloaded.

    Args:
        requirements: the requirements, in the form of PEP 508.
        options: of ``uv pip compile``, such as what the wheels are for.
        output: the name of the file that uv writes, which says its format.
        kept: an earlier content of that file, whose versions stay where they still fit.
        without: projects that are left out with all they need, whatever depends on them.
        run: runs uv with arguments in a folder; it says with its errors that they do not fit, or that the package
            index does not answer.

    Returns:
        What uv wrote.
    """
    with temporary_folder() as folder:  # a pyproject.toml in any other one may hold settings of uv
        wanted, excluded, compiled = folder / "requirements.in", folder / "excluded.txt", folder / output
        wanted.write_text("".join(f"{line}\n" for line in requirements), encoding="utf-8")
        excluded.write_text("".join(f"{project}\n" for project in without), encoding="utf-8")
        if kept is not None:
            compiled.write_text(kept, encoding="utf-8")
        common = ("--quiet", "--no-header", "--only-binary", ":all:", "--excludes", excluded)
        run(["pip", "compile", wanted, *common, *options, "--output-file", compiled], folder)
        return compiled.read_text(encoding="utf-8")
