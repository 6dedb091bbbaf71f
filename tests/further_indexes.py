"""More ways to break the rules, each a small index: not what a rule's own fault does, but what else it stands for."""

import gzip
import io
import zipfile
from dataclasses import dataclass
from typing import Any

from tests.broken_indexes import (
    DIST_INFO,
    METADATA,
    Spoil,
    after,
    dist_info_called,
    in_entry,
    in_json,
    lacking,
    metadata,
    null,
    only_file,
    only_in,
    versioned,
    wheel_bytes,
    wheel_members,
)
from tests.good_index import LIST, PAGE, WHEEL, Index, provenance, sha256
from tests.simple_server import JSON, Answer, Server


@dataclass(frozen=True)
class Fault:
    """What is wrong with an index, and what was seen of it."""

    spoil: Spoil
    rules: tuple[str, ...]
    """The numbers of all that it breaks."""
    pip_fails: bool
    uv_fails: bool


def fails(spoil: Spoil, *rules: str) -> Fault:
    """A fault with which neither pip nor uv installs."""
    return Fault(spoil, rules, pip_fails=True, uv_fails=True)


def installs(spoil: Spoil, *rules: str) -> Fault:
    """A fault with which both install."""
    return Fault(spoil, rules, pip_fails=False, uv_fails=False)


def pip_fails(spoil: Spoil, *rules: str) -> Fault:
    """A fault with which uv installs alone."""
    return Fault(spoil, rules, pip_fails=True, uv_fails=False)


def uv_fails(spoil: Spoil, *rules: str) -> Fault:
    """A fault with which pip installs alone."""
    return Fault(spoil, rules, pip_fails=False, uv_fails=True)


def _json_only(**changes: Any) -> Spoil:
    return only_in("json", in_entry(**changes))


def _text(content: bytes) -> Spoil:
    """Have this in the place of the project's page in JSON."""
    return only_in("json", after(lambda server: setattr(server.json[PAGE], "content", content)))


def _list(server: Server, projects: bytes) -> None:
    """Have these projects in the list in JSON."""
    server.json[LIST].content = b'{"meta": {"api-version": "1.4"}, "projects": [%s]}' % projects


def _recoded(encoding: str) -> Spoil:
    def recode(server: Server) -> None:
        server.json[PAGE].content = server.json[PAGE].content.decode().encode(encoding)

    return only_in("json", after(recode))


def _file_answers(answer: Answer) -> Spoil:
    return after(lambda server: server.html.update({f"/files/{WHEEL}": answer}))


def _with_comment(wheel: bytes) -> bytes:
    file = io.BytesIO(wheel)
    with zipfile.ZipFile(file, "a") as archive:
        archive.comment = b"made by hand"
    return file.getvalue()


def _with_other_checksum(wheel: bytes) -> bytes:
    """Say another checksum of METADATA, wherever the zip says it."""
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        checksum = archive.getinfo(f"{DIST_INFO}/METADATA").CRC.to_bytes(4, "little")
    return wheel.replace(checksum, b"\1\2\3\4")


def _by_lzma(wheel: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(wheel)) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return file.getvalue()


def _with_gap(wheel: bytes) -> bytes:
    """Have bytes that belong to no member, and the end of the zip say so."""
    start, end, gap = wheel.index(b"PK\1\2"), wheel.rindex(b"PK\5\6"), bytes(50)
    moved = (start + len(gap)).to_bytes(4, "little")
    return wheel[:start] + gap + wheel[start : end + 16] + moved + wheel[end + 20 :]


def _html_as_json(index: Index) -> None:
    index.forms = ("html",)
    index.after = lambda server: setattr(server.html[PAGE], "content_type", JSON)


def _reason(index: Index) -> None:
    """Say in HTML only why the project has its status."""
    index.head += '<meta name="pypi:project-status" content="active">'
    index.head += '<meta name="pypi:project-status-reason" content="it is kept">'


def _bundle_without_attestations(index: Index) -> None:
    bundle = b'{"publisher": {"kind": "GitHub"}, "attestations": []}'
    index.files[f"{WHEEL}.provenance"] = b'{"version": 1, "attestation_bundles": [%s]}' % bundle


def _of_another_file(index: Index) -> None:
    index.files[f"{WHEEL}.provenance"] = provenance("other-1.0-py3-none-any.whl", sha256(index.files[WHEEL]))


def _nothing_but_its_head(server: Server) -> None:
    """Have a page in HTML that is nothing but its head."""
    server.html[PAGE].content = b'<!DOCTYPE html><meta name="pypi:repository-version" content="1.4">'


FURTHER: dict[str, Fault] = {
    # the wheel
    "a wheel that is cut short": fails(wheel_bytes(lambda it: it[:400]), "427.1"),
    "a wheel of no bytes": fails(wheel_bytes(lambda _it: b""), "427.1"),
    "a wheel that is packed by gzip": fails(wheel_bytes(gzip.compress), "427.1"),
    "bytes behind the zip": fails(wheel_bytes(lambda it: it + bytes(70_000)), "427.1"),
    "a script before the zip": uv_fails(wheel_bytes(lambda it: b"#!/bin/sh\n" + it), "427.1"),
    "a comment behind the zip": installs(wheel_bytes(_with_comment), "427.1"),
    "a member with another checksum": fails(wheel_bytes(_with_other_checksum), "427.4"),
    "bytes between the members and their list": uv_fails(wheel_bytes(_with_gap), "427.4"),
    "a wheel that is packed by LZMA": uv_fails(wheel_bytes(_by_lzma), "427.4"),
    "a member that leads out of its folder": pip_fails(
        wheel_members(lambda members: {"../evil.py": b"", **members}), "427.4"
    ),
    "two .dist-info folders": fails(
        wheel_members(lambda members: members | {"other-1.0.dist-info/METADATA": b""}), "427.2"
    ),
    "no METADATA in the wheel": fails(lacking("METADATA"), "427.2"),
    "no WHEEL in the wheel": fails(lacking("WHEEL"), "427.2"),
    "no RECORD in the wheel": fails(lacking("RECORD"), "427.2"),
    "a .dist-info of another version": installs(dist_info_called("demo-1.1.dist-info"), "427.3"),
    # METADATA
    "METADATA without Name": fails(metadata(METADATA.replace("Name: demo\n", "")), "345.1"),
    "METADATA without Metadata-Version": installs(metadata(METADATA.partition("\n")[2]), "345.1"),
    "METADATA with two Versions": installs(metadata(f"{METADATA}Version: 2.0\n"), "345.1"),
    "empty METADATA": fails(metadata(""), "345.1"),
    "METADATA that begins with an empty line": fails(metadata(f"\n{METADATA}"), "345.1"),
    "METADATA with a version that is none": fails(metadata(METADATA.replace("1.0", "one")), "345.2"),
    "METADATA with a Requires-Python that is none": uv_fails(metadata(METADATA.replace(">=3.8", "three")), "345.2"),
    "METADATA in Latin-1": pip_fails(metadata(f"{METADATA}Author: Andr\xe9\n".encode("latin-1")), "345.2"),
    "a page that asks for a newer Python than METADATA": fails(in_entry(requires_python=">=3.99"), "503.17"),
    # names and URLs
    "a version with a v": installs(versioned("v1.0"), "440.1"),
    "a version with a zero before it": installs(versioned("01.0"), "440.1"),
    "a version with an implicit number": installs(versioned("1.0.post"), "440.1"),
    "a space in a file name": fails(only_file("demo 1.0-py3-none-any.whl"), "503.15"),
    "a file name with two tags": fails(only_file("demo-1.0-py3-none.whl"), "503.15"),
    "a URL that is none": fails(_json_only(url="http://["), "503.9", "658.2"),
    "a file that redirects to itself": fails(
        _file_answers(Answer(status=302, headers={"Location": f"/files/{WHEEL}"})), "503.9"
    ),
    "a page of a head alone": fails(only_in("html", after(_nothing_but_its_head)), "503.19"),
    # JSON
    "JSON with Infinity": uv_fails(in_json(b'"meta"', b'"_x": -Infinity, "meta"'), "691.7"),
    "JSON with a byte order mark": uv_fails(_recoded("utf-8-sig"), "691.7"),
    "JSON in UTF-16": uv_fails(_recoded("utf-16"), "691.7"),
    "JSON with files twice": uv_fails(in_json(b'"meta"', b'"files": [], "meta"'), "691.7"),
    "JSON in Latin-1": pip_fails(in_json(b'"meta"', b'"_x": "\xe9", "meta"'), "691.6"),
    "JSON that nests 200,000 deep": pip_fails(  # 5,000 are too many before Python 3.13 alone
        in_json(b'"meta"', b'"_x": %s%s, "meta"' % (b"[" * 200_000, b"]" * 200_000)),
        "691.6",
    ),
    "JSON with a line break in a text": fails(in_json(b'"broken"', b'"bro\nken"'), "691.6"),
    "JSON with a comment": fails(in_json(b'{"meta"', b'/* simple */ {"meta"'), "691.6"),
    "JSON that is cut short": fails(_text(b'{"meta": {"api-version'), "691.6"),
    "JSON of no bytes": fails(_text(b""), "691.6"),
    "HTML that is said to be JSON": fails(_html_as_json, "691.6"),
    "a list in JSON of what is no project": installs(
        only_in("json", after(lambda server: _list(server, b'{"name": "demo"}, {"name": "a project"}'))), "503.4"
    ),
    "JSON that is a list": fails(_text(b"[]"), "691.2"),
    "JSON with half of a character": uv_fails(in_json(b'"broken"', rb'"\ud800"'), "691.2"),
    "a url that is a number": fails(_json_only(url=5), "691.2"),
    "a file without filename": uv_fails(_json_only(filename=None), "691.2"),
    "a requires-python that is a number": fails(_json_only(requires_python=3.8), "691.2"),
    "a core-metadata that is a number": uv_fails(_json_only(core_metadata=1), "691.2"),
    "a project-status that is a text": uv_fails(
        only_in("json", lambda index: index.detail.update({"project-status": "active"})), "691.2"
    ),
    "a project-status that is null": uv_fails(
        only_in("json", lambda index: index.detail.update({"project-status": None})), "691.8"
    ),
    "a yanked that is null": uv_fails(null("yanked"), "691.8"),
    "a yanked that is a number": fails(_json_only(yanked=1), "592.1"),
    "a hash that is a number": fails(_json_only(hashes={"sha256": 5}, provenance=None), "503.8"),
    "a hash of a function that nobody has": pip_fails(_json_only(hashes={"crc32": "00"}), "503.8"),
    # sizes and times
    "a size below zero": uv_fails(_json_only(size=-1), "700.5"),
    "a size with a fraction": uv_fails(_json_only(size=5.5), "700.5"),
    "a size that is a text": uv_fails(_json_only(size="5"), "700.5"),
    "a data-size with a unit": installs(only_in("html", in_entry(size="5 kB")), "700.5"),
    "an upload time without a zone": uv_fails(_json_only(upload_time="2026-11-21T12:30:15"), "700.4"),
    "an upload time of another zone": installs(_json_only(upload_time="2026-11-21T12:30:15+05:30"), "700.4"),
    "an upload time of the 30th of February": fails(_json_only(upload_time="2026-02-30T00:00:00Z"), "700.4"),
    "an upload time of the year 0": pip_fails(_json_only(upload_time="0000-01-01T00:00:00Z"), "700.4"),
    "an upload time that is a number": fails(_json_only(upload_time=1_763_728_215), "700.4"),
    # attestations, status, compression
    "a bundle without attestations": installs(_bundle_without_attestations, "740.4"),
    "an attestation of another file": installs(_of_another_file, "740.3"),
    "a status that is a number": uv_fails(
        only_in("json", lambda index: index.detail.update({"project-status": {"status": 5}})), "792.4"
    ),
    "a reason in HTML alone": installs(_reason, "792.5"),
    "a page that is not packed as it says": fails(
        only_in("html", after(lambda server: server.html[PAGE].headers.update({"Content-Encoding": "gzip"}))), "503.2"
    ),
    "a page in a type of its own": fails(
        only_in("html", after(lambda server: setattr(server.html[PAGE], "content_type", "text/plain"))), "691.1"
    ),
}
"""By what is wrong."""
