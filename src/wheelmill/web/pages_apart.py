"""Reading a page that anybody may have written in a process apart, within limits that no list of wheels reaches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from wheelmill.errors import UnreadableError
from wheelmill.system.apart import Limits, call_apart
from wheelmill.web.pages import Fault, Form, Link, Page

LIMITS: Final = Limits(seconds=10, memory=1 << 30)
"""A list of 30,000 wheels takes a fiftieth of the time and an eighth of the memory."""


def read_apart(read: Callable[[bytes, str], Page], content: bytes, address: str) -> Page:
    """Read a page in a process apart.

    Args:
        read: makes a page of bytes and their URL; can be pickled.
        content: the bytes of the page.
        address: the URL that the page came from, after redirects.

    Raises:
        UnreadableError: it goes beyond the limits, or as `read` says.
    """
    (parts,) = call_apart([partial(_parts_of_page, read, content, address)], LIMITS)
    if isinstance(parts, UnreadableError):
        raise UnreadableError("page-invalid", f"the page {parts}")
    if isinstance(parts, str):
        raise UnreadableError("page-invalid", parts)
    parts["form"] = Form(parts["form"])
    parts["links"] = [Link(*link) for link in parts["links"]]
    parts["faults"] = [Fault(**fault) for fault in parts["faults"]]
    parts["versions"] = None if parts["versions"] is None else tuple(parts["versions"])
    return Page(**parts)


def _parts_of_page(read: Callable[[bytes, str], Page], content: bytes, address: str) -> dict[str, Any] | str:
    """Read a page; returns its fields as plain JSON values, or what is wrong with the whole page."""
    try:
        page = vars(read(content, address))
    except UnreadableError as error:
        return str(error)
    return page | {"faults": [*map(vars, page["faults"])]}
