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


def fault(spoil: Spoil, *rules: str, pip: str, uv: str) -> Fault:
    """A fault as it is declared; of pip and uv either "fails" or "installs"."""
    return Fault(spoil, rules, pip == "fails", uv == "fails")


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
    "a wheel that is cut short": fault(wheel_bytes(lambda it: it[:400]), "427.1", pip="fails", uv="fails"),
    "a wheel of no bytes": fault(wheel_bytes(lambda _it: b""), "427.1", pip="fails", uv="fails"),
    "a wheel that is packed by gzip": fault(wheel_bytes(gzip.compress), "427.1", pip="fails", uv="fails"),
    "bytes behind the zip": fault(wheel_bytes(lambda it: it + bytes(70_000)), "427.1", pip="fails", uv="fails"),
    "a script before the zip": fault(wheel_bytes(lambda it: b"#!/bin/sh\n" + it), "427.1", pip="installs", uv="fails"),
    "a comment behind the zip": fault(wheel_bytes(_with_comment), "427.1", pip="installs", uv="installs"),
    "a member with another checksum": fault(wheel_bytes(_with_other_checksum), "427.4", pip="fails", uv="fails"),
    "bytes between the members and their list": fault(wheel_bytes(_with_gap), "427.4", pip="installs", uv="fails"),
    "a wheel that is packed by LZMA": fault(wheel_bytes(_by_lzma), "427.4", pip="installs", uv="fails"),
    "a member that leads out of its folder": fault(
        wheel_members(lambda members: {"../evil.py": b"", **members}), "427.4", pip="fails", uv="installs"
    ),
    "two .dist-info folders": fault(
        wheel_members(lambda members: members | {"other-1.0.dist-info/METADATA": b""}), "427.2", pip="fails", uv="fails"
    ),
    "no METADATA in the wheel": fault(lacking("METADATA"), "427.2", pip="fails", uv="fails"),
    "no WHEEL in the wheel": fault(lacking("WHEEL"), "427.2", pip="fails", uv="fails"),
    "no RECORD in the wheel": fault(lacking("RECORD"), "427.2", pip="fails", uv="fails"),
    "a .dist-info of another version": fault(
        dist_info_called("demo-1.1.dist-info"), "427.3", pip="installs", uv="installs"
    ),
    # METADATA
    "METADATA without Name": fault(metadata(METADATA.replace("Name: demo\n", "")), "345.1", pip="fails", uv="fails"),
    "METADATA without Metadata-Version": fault(
        metadata(METADATA.partition("\n")[2]), "345.1", pip="installs", uv="installs"
    ),
    "METADATA with two Versions": fault(metadata(f"{METADATA}Version: 2.0\n"), "345.1", pip="installs", uv="installs"),
    "empty METADATA": fault(metadata(""), "345.1", pip="fails", uv="fails"),
    "METADATA that begins with an empty line": fault(metadata(f"\n{METADATA}"), "345.1", pip="fails", uv="fails"),
    "METADATA with a version that is none": fault(
        metadata(METADATA.replace("1.0", "one")), "345.2", pip="fails", uv="fails"
    ),
    "METADATA with a Requires-Python that is none": fault(
        metadata(METADATA.replace(">=3.8", "three")), "345.2", pip="installs", uv="fails"
    ),
    "METADATA in Latin-1": fault(
        metadata(f"{METADATA}Author: Andr\xe9\n".encode("latin-1")), "345.2", pip="fails", uv="installs"
    ),
    "a page that asks for a newer Python than METADATA": fault(
        in_entry(requires_python=">=3.99"), "503.17", pip="fails", uv="fails"
    ),
    # names and URLs
    "a version with a v": fault(versioned("v1.0"), "440.1", pip="installs", uv="installs"),
    "a version with a zero before it": fault(versioned("01.0"), "440.1", pip="installs", uv="installs"),
    "a version with an implicit number": fault(versioned("1.0.post"), "440.1", pip="installs", uv="installs"),
    "a space in a file name": fault(only_file("demo 1.0-py3-none-any.whl"), "503.15", pip="fails", uv="fails"),
    "a file name with two tags": fault(only_file("demo-1.0-py3-none.whl"), "503.15", pip="fails", uv="fails"),
    "a URL that is none": fault(_json_only(url="http://["), "503.9", "658.2", pip="fails", uv="fails"),
    "a file that redirects to itself": fault(
        _file_answers(Answer(status=302, headers={"Location": f"/files/{WHEEL}"})), "503.9", pip="fails", uv="fails"
    ),
    "a page of a head alone": fault(only_in("html", after(_nothing_but_its_head)), "503.19", pip="fails", uv="fails"),
    # JSON
    "JSON with Infinity": fault(in_json(b'"meta"', b'"_x": -Infinity, "meta"'), "691.7", pip="installs", uv="fails"),
    "JSON with a byte order mark": fault(_recoded("utf-8-sig"), "691.7", pip="installs", uv="fails"),
    "JSON in UTF-16": fault(_recoded("utf-16"), "691.7", pip="installs", uv="fails"),
    "JSON with files twice": fault(in_json(b'"meta"', b'"files": [], "meta"'), "691.7", pip="installs", uv="fails"),
    "JSON in Latin-1": fault(in_json(b'"meta"', b'"_x": "\xe9", "meta"'), "691.6", pip="fails", uv="installs"),
    "JSON that nests 200,000 deep": fault(  # 5,000 are too many before Python 3.13 alone
        in_json(b'"meta"', b'"_x": %s%s, "meta"' % (b"[" * 200_000, b"]" * 200_000)),
        "691.6",
        pip="fails",
        uv="installs",
    ),
    "JSON with a line break in a text": fault(in_json(b'"broken"', b'"bro\nken"'), "691.6", pip="fails", uv="fails"),
    "JSON with a comment": fault(in_json(b'{"meta"', b'/* simple */ {"meta"'), "691.6", pip="fails", uv="fails"),
    "JSON that is cut short": fault(_text(b'{"meta": {"api-version'), "691.6", pip="fails", uv="fails"),
    "JSON of no bytes": fault(_text(b""), "691.6", pip="fails", uv="fails"),
    "HTML that is said to be JSON": fault(_html_as_json, "691.6", pip="fails", uv="fails"),
    "a list in JSON of what is no project": fault(
        only_in("json", after(lambda server: _list(server, b'{"name": "demo"}, {"name": "a project"}'))),
        "503.4",
        pip="installs",
        uv="installs",
    ),
    "JSON that is a list": fault(_text(b"[]"), "691.2", pip="fails", uv="fails"),
    "JSON with half of a character": fault(in_json(b'"broken"', rb'"\ud800"'), "691.2", pip="installs", uv="fails"),
    "a url that is a number": fault(_json_only(url=5), "691.2", pip="fails", uv="fails"),
    "a file without filename": fault(_json_only(filename=None), "691.2", pip="installs", uv="fails"),
    "a requires-python that is a number": fault(_json_only(requires_python=3.8), "691.2", pip="fails", uv="fails"),
    "a core-metadata that is a number": fault(_json_only(core_metadata=1), "691.2", pip="installs", uv="fails"),
    "a project-status that is a text": fault(
        only_in("json", lambda index: index.detail.update({"project-status": "active"})),
        "691.2",
        pip="installs",
        uv="fails",
    ),
    "a project-status that is null": fault(
        only_in("json", lambda index: index.detail.update({"project-status": None})),
        "691.8",
        pip="installs",
        uv="fails",
    ),
    "a yanked that is null": fault(null("yanked"), "691.8", pip="installs", uv="fails"),
    "a yanked that is a number": fault(_json_only(yanked=1), "592.1", pip="fails", uv="fails"),
    "a hash that is a number": fault(
        _json_only(hashes={"sha256": 5}, provenance=None), "503.8", pip="fails", uv="fails"
    ),
    "a hash of a function that nobody has": fault(
        _json_only(hashes={"crc32": "00"}), "503.8", pip="fails", uv="installs"
    ),
    # sizes and times
    "a size below zero": fault(_json_only(size=-1), "700.5", pip="installs", uv="fails"),
    "a size with a fraction": fault(_json_only(size=5.5), "700.5", pip="installs", uv="fails"),
    "a size that is a text": fault(_json_only(size="5"), "700.5", pip="installs", uv="fails"),
    "a data-size with a unit": fault(only_in("html", in_entry(size="5 kB")), "700.5", pip="installs", uv="installs"),
    "an upload time without a zone": fault(
        _json_only(upload_time="2026-11-21T12:30:15"), "700.4", pip="installs", uv="fails"
    ),
    "an upload time of another zone": fault(
        _json_only(upload_time="2026-11-21T12:30:15+05:30"), "700.4", pip="installs", uv="installs"
    ),
    "an upload time of the 30th of February": fault(
        _json_only(upload_time="2026-02-30T00:00:00Z"), "700.4", pip="fails", uv="fails"
    ),
    "an upload time of the year 0": fault(
        _json_only(upload_time="0000-01-01T00:00:00Z"), "700.4", pip="fails", uv="installs"
    ),
    "an upload time that is a number": fault(_json_only(upload_time=1_763_728_215), "700.4", pip="fails", uv="fails"),
    # attestations, status, compression
    "a bundle without attestations": fault(_bundle_without_attestations, "740.4", pip="installs", uv="installs"),
    "an attestation of another file": fault(_of_another_file, "740.3", pip="installs", uv="installs"),
    "a status that is a number": fault(
        only_in("json", lambda index: index.detail.update({"project-status": {"status": 5}})),
        "792.4",
        pip="installs",
        uv="fails",
    ),
    "a reason in HTML alone": fault(_reason, "792.5", pip="installs", uv="installs"),
    "a page that is not packed as it says": fault(
        only_in("html", after(lambda server: server.html[PAGE].headers.update({"Content-Encoding": "gzip"}))),
        "503.2",
        pip="fails",
        uv="fails",
    ),
    "a page in a type of its own": fault(
        only_in("html", after(lambda server: setattr(server.html[PAGE], "content_type", "text/plain"))),
        "691.1",
        pip="fails",
        uv="fails",
    ),
}
"""By what is wrong."""
