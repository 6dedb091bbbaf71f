"""Credentials as uv reads them: a file that says what each server is shown.

https://docs.astral.sh/uv/concepts/authentication/cli/
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from wheelmill.web.credentials import Credential, Origin

VARIABLE: Final = "UV_CREDENTIALS_DIR"
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
