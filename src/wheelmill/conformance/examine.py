"""Asking for a file and for everything that its link announces."""

from __future__ import annotations

import hashlib
import io
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Final

from wheelmill.conformance.fetch import Fetcher
from wheelmill.conformance.served import Document, ExaminedFile, Inside
from wheelmill.conformance.values import is_hash
from wheelmill.errors import UnreadableError, WheelmillError
from wheelmill.web.credentials import is_secure
from wheelmill.web.pages import SIDECAR_SUFFIX, Link
from wheelmill.web.ranges import RangeFile
from wheelmill.wheel.archive import check_archive, open_archive, read_member
from wheelmill.wheel.metadata import metadata_in
from wheelmill.wheel.name import VARIANTS_SUFFIX
from wheelmill.wheel.variant import MAX_VARIANT_METADATA, VARIANT_FILE

MAX_HASHED: Final = 32 << 20
"""Bytes. Of larger files METADATA is read and no hash computed, unless every byte is asked for."""


def examine(link: Link, page: str, url: str, fetcher: Fetcher, *, every_byte: bool) -> ExaminedFile:
    """Ask for a file, its METADATA, its signature and its provenance.

    Args:
        link: the file's entry on a project's page.
        page: URL of that page.
        url: absolute URL of the file.
        fetcher: the client that asks the servers.
        every_byte: whether the file is downloaded whatever its size.
    """
    answer = fetcher.first_byte(url)
    digests, inside = None, None
    if answer.ok and answer.size is not None:
        if every_byte or answer.size <= MAX_HASHED:
            digests, inside = _download(link, url, fetcher, answer.size)
        else:
            inside = _look_into(link, RangeFile(fetcher.web, answer.final_url, size=answer.size))
    return ExaminedFile(
        link=link,
        page=page,
        url=url,
        answer=answer,
        digests=digests,
        sidecar=_get(fetcher, url + SIDECAR_SUFFIX, wanted=link.core_metadata is not None),
        inside=inside,
        provenance=_get(fetcher, link.provenance or "", wanted=is_secure(link.provenance or "")),
        signature=_get(fetcher, f"{url}.asc", wanted=link.signature == "true"),
        variants=_get(fetcher, url, wanted=link.filename.endswith(VARIANTS_SUFFIX)),
    )


def _get(fetcher: Fetcher, url: str, *, wanted: bool) -> Document | None:
    return fetcher.get(url) if wanted else None


def _download(link: Link, url: str, fetcher: Fetcher, size: int) -> tuple[Mapping[str, str] | None, Inside | None]:
    """The hashes of a whole file, and what is in it."""
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "file").open("w+b") as file:
        if not fetcher.download(url, file, size):
            return None, None
        digests = {}
        for name, digest in link.hashes.items():
            if is_hash(name, digest):
                file.seek(0)
                digests[name] = hashlib.file_digest(file, name).hexdigest()
        inside = _look_into(link, file)
        if inside and not inside.broken:
            file.flush()
            inside = replace(inside, refused=tuple(finding.detail for finding in check_archive(Path(file.name))))
        return digests, inside


def _look_into(link: Link, file: IO[bytes] | io.RawIOBase) -> Inside | None:
    """What is in a wheel; None for another file, and where the server does not give the bytes."""
    if not link.filename.endswith(".whl"):
        return None
    try:
        with open_archive(file) as archive:
            names = frozenset(name for name in archive.namelist() if name.partition("/")[0].endswith(".dist-info"))
            folders = {name.partition("/")[0] for name in names}
            folder = next(iter(folders)) if len(folders) == 1 else None
            variant = f"{folder}/{VARIANT_FILE}"
            try:
                return Inside(
                    dist_info=names,
                    metadata=metadata_in(archive) if f"{folder}/METADATA" in names else None,
                    variant=read_member(archive, variant, MAX_VARIANT_METADATA) if variant in names else None,
                )
            except UnreadableError as error:
                return Inside(dist_info=names, refused=(str(error),))
    except UnreadableError as error:
        return Inside(broken=str(error))
    except (WheelmillError, OSError):
        return None
