"""Serving a folder on this machine only, to try an index out."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Final

from wheelmill.errors import SiteError, UsageError
from wheelmill.index.host import Files, Forms
from wheelmill.index.tree import WHEELS_JSON

_INTERVAL: Final = 0.05
"""Seconds between checks whether to stop."""


class _Server(ThreadingHTTPServer):
    """Lets as many connections wait as uv opens at once: one that finds no room tries again after a second."""

    request_queue_size = 128


def project_lists_below(directory: Path) -> list[Path]:
    """The folders of all project lists in a folder.

    Raises:
        SiteError: there is none.
    """
    if is_project_list(directory):
        return [directory]
    found = (page.parent for page in directory.glob("**/simple/index.html"))
    lists = sorted(each for each in found if _has_list_page(each) and not _is_of_a_project(each, directory))
    if not lists:
        raise SiteError("not-a-site", f"{directory} holds no simple index")
    return lists


def is_project_list(directory: Path) -> bool:
    """Check whether a folder is that of a project list itself."""
    return directory.resolve().name == "simple" and _has_list_page(directory)


def _has_list_page(folder: Path) -> bool:
    """Check whether a folder called ``simple`` has a project list: a site of that name has a page for people."""
    return (folder / "index.html").is_file() and not (folder / WHEELS_JSON).is_file()


def _is_of_a_project(folder: Path, directory: Path) -> bool:
    """Whether a folder called ``simple`` is a project's of this name: in a project list, or among pages for people."""
    *above, outer, _ = ("", *folder.relative_to(directory).parts)
    if outer == "simple":
        return _has_list_page(folder.parent)
    return outer == "packages" and directory.joinpath(*above, WHEELS_JSON).is_file()


def root_of(directory: Path) -> Path:
    """The folder to serve: a site that was made beside its releases links to them above its own root."""
    beside = (directory / "simple").is_dir() and (directory.parent / "releases").is_dir()
    return directory.parent if beside else directory


@contextmanager
def serve_folder(directory: Path, port: int = 0, *, negotiate: bool = False) -> Iterator[str]:
    """Serve a folder on 127.0.0.1 while the context is open.

    Args:
        directory: the folder whose files are served.
        port: the port on 127.0.0.1; 0 takes a free one.
        negotiate: whether clients get pages in the form that they want, as from hosts with the rules in
            ``index/hosts``; without it they get HTML, as from GitHub Pages.

    Yields:
        The URL of the folder, with a slash at its end.

    Raises:
        UsageError: the port is taken.
    """
    answers = partial(Forms if negotiate else Files, directory=str(directory))
    try:
        listening = _Server(("127.0.0.1", port), answers)
    except OSError as error:
        hint = "give another port; 0 takes a free one"
        raise UsageError("port-unusable", f"cannot serve at 127.0.0.1:{port}: {error.strerror}", hint=hint) from None
    with listening as server:
        thread = threading.Thread(target=server.serve_forever, args=(_INTERVAL,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
