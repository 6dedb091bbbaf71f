"""This installation of wheelmill: its origin (PEP 610), and the files that ship with it.

The files are inside the installed package, or in a checkout.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple


class Checkout(NamedTuple):
    """A commit of a repository."""

    url: str
    commit: str


def installed_from() -> Checkout | None:
    """The repository that this wheelmill came from; None where it came from an index or a folder."""
    import json  # noqa: PLC0415 - most commands ask for files only
    from importlib.metadata import distribution  # noqa: PLC0415 - the same

    record = json.loads(distribution("wheelmill").read_text("direct_url.json") or "{}")
    commit = record.get("vcs_info", {}).get("commit_id")
    return Checkout(str(record.get("url", "")), str(commit)) if commit else None


def own_origin() -> str:
    """What follows the name where an installer is to take wheelmill from where this one came from.

    Without it, an installer asks its index, which might have no wheelmill, or somebody else's.
    """
    checkout = installed_from()
    return f" @ git+{checkout.url}@{checkout.commit}" if checkout else ""


def own_document(path: str) -> str:
    """Where a document can be read that is in wheelmill's repository and not in its wheel.

    Returns:
        Its URL at the commit that this wheelmill came from, as GitHub has it; else its path in the repository.
    """
    checkout = installed_from()
    if checkout is None or not checkout.url.startswith("https://"):
        return path
    return f"{checkout.url.removesuffix('.git')}/blob/{checkout.commit}/{path}"


_PACKAGED: Final = Path(__file__).parents[1] / "_resources"
ROOT: Final[Path] = _PACKAGED if _PACKAGED.is_dir() else Path(__file__).parents[3]

CONFIG: Final[Path] = ROOT / "config"
INDEX: Final[Path] = ROOT / "index"
DOCKER: Final[Path] = ROOT / "docker"
