"""What makes the wheels of a version large, as a table; written by hand, as the tables of coverage are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from markupsafe import Markup

from wheelmill.index.rows import escape
from wheelmill.index.site.addresses import in_url, wheels_folder
from wheelmill.index.site.coverage import platform_order, platform_title
from wheelmill.index.site.wheels import Kind, WheelGroup
from wheelmill.release.manifest import ListedSizes
from wheelmill.system.progress import size

MAX_ROWS: Final = 60
"""Of one table, which has seven elements in each."""


def size_rows(groups: Iterable[WheelGroup]) -> Markup:
    """The rows of a version: Linux, and of it the newest torch, first; nothing where no certificate has sizes."""
    listed = sorted(groups, key=lambda group: platform_order(group.kind.platform))
    rows = (_size_row(group.kind, *largest) for group in listed if (largest := max(_known(group), default=None, key=_first)))
    return Markup("\n".join(islice(rows, MAX_ROWS)))  # noqa: S704 - escaped


def _known(group: WheelGroup) -> Iterator[tuple[int, ListedSizes]]:
    for wheel in group.wheels:
        if (certificate := wheel.file.certificate) and certificate.sizes:
            yield wheel.file.size, certificate.sizes


def _first(known: tuple[int, ListedSizes]) -> int:
    return known[0]


def _size_row(kind: Kind, packed: int, sizes: ListedSizes) -> str:
    folder = wheels_folder(kind.version, kind.exact_version)
    code = ", ".join([f"{escape(name)} {size(number)}" for name, number in sizes.gpu_code.items()])
    return (
        f'<tr><th scope="row"><a href="{escape(in_url(folder))}">{escape(folder.removesuffix("/"))}</a>'
        f"<td>{escape(platform_title(kind.platform))}<td>{size(packed)}<td>{code or 'none'}<td>{size(sizes.host_code)}"
    )
