"""The documents of wheelmill in a site: files that Sphinx has rendered, taken as they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wheelmill.errors import SiteError
from wheelmill.index.render import Page
from wheelmill.index.tree import DOCUMENTS, INVENTORY


def pages_of_documents(folder: Path) -> Iterator[Page]:
    """Pass the rendered files on, one at a time; what is hidden are Sphinx's own notes.

    Args:
        folder: what ``sphinx-build docs FOLDER`` has written.

    Raises:
        SiteError: the folder has not what Sphinx writes.
    """
    if missing := [name for name in ("index.html", INVENTORY) if not (folder / name).is_file()]:
        raise SiteError(
            "documents-incomplete",
            f"{folder} has no {missing[0]}",
            hint=f"render the documents: sphinx-build docs {folder}",
        )
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in name.parts):
            yield f"{DOCUMENTS}/{name.as_posix()}", [path.read_bytes()]
