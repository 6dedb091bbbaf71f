"""This installation of wheelmill: its origin (PEP 610), and its files, in the package or in a checkout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, NamedTuple


class Checkout(NamedTuple):
    """Commit of a repository."""

    url: str
    commit: str


def installed_from() -> Checkout | None:
    """Commit that wheelmill was installed from; None if it came from an index or a folder."""
    from importlib.metadata import distribution

    record = json.loads(distribution("wheelmill").read_text("direct_url.json") or "{}")
    commit = record.get("vcs_info", {}).get("commit_id")
    return Checkout(str(record.get("url", "")), str(commit)) if commit else None


def own_origin() -> str:
    """Suffix of a requirement for the origin of this wheelmill: the index might have none, or a foreign one."""
    checkout = installed_from()
    return f" @ git+{checkout.url}@{checkout.commit}" if checkout else ""


def own_document(path: str) -> str | None:
    """GitHub URL, at the installed commit, or path of a repository document; None outside a checkout, without both."""
    checkout = installed_from()
    if checkout and checkout.url.startswith("https://"):
        return f"{checkout.url.removesuffix('.git')}/blob/{checkout.commit}/{path}"
    return str(ROOT / path) if (ROOT / path).is_file() else None


_PACKAGED: Final = Path(__file__).parents[1] / "_resources"
ROOT: Final[Path] = _PACKAGED if _PACKAGED.is_dir() else Path(__file__).parents[3]

CONFIG: Final[Path] = ROOT / "config"
INDEX: Final[Path] = ROOT / "index"
DOCKER: Final[Path] = ROOT / "docker"
