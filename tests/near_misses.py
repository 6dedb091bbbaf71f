"""Indexes that nearly break a rule and keep it: what each rule allows, next to what it forbids."""

import hashlib
import io
import json
import zipfile
from functools import partial

from tests.broken_indexes import (
    DIST_INFO,
    METADATA,
    VARIANT,
    Spoil,
    after,
    another,
    dist_info_called,
    in_entry,
    in_html,
    in_json,
    in_link,
    metadata,
    null,
    only_file,
    only_in,
    status,
    variants_beside_plain_wheels,
    versioned,
    wheel_members,
)
from tests.good_index import LIST, PAGE, WHEEL, Index, provenance, sha256
from tests.simple_server import JSON, Answer, Server
from tests.wheels import write_wheel


def _both(first: Spoil, second: Spoil) -> Spoil:
    def spoil(index: Index) -> None:
        first(index)
        second(index)

    return spoil


def _moved(*paths: str) -> Spoil:
    """Have what lies at these paths elsewhere, and lead there."""

    def move(server: Server) -> None:
        for answers in (server.html, server.json):
            for path in answers.keys() & {*paths}:
                moved = f"/moved/{path.split('/', 2)[2]}"
                answers[moved] = answers[path]
                answers[path] = Answer(status=302, headers={"Location": moved})

    return after(move)


def _hashed_by(*functions: str) -> Spoil:
    def spoil(index: Index) -> None:
        content = index.files[WHEEL]
        in_entry(hashes={name: hashlib.new(name, content).hexdigest() for name in functions})(index)

    return spoil


def _in_upper_case(index: Index) -> None:
    """Write the hashes of the newer wheel and of its METADATA in upper case."""
    digests = {key: {"sha256": index.entry()[key]["sha256"].upper()} for key in ("hashes", "core-metadata")}
    index.entry().update(digests)
    del index.entry()["provenance"]  # which has it in lower case


def _beside(name: str, said: str = METADATA) -> Spoil:
    """List one more wheel of the newer version, with this METADATA."""
    return lambda index: another(name, write_wheel(index.folder / name, metadata=said).read_bytes())(index)


def _zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("inner.py", b"")
    return file.getvalue()


def _signed(index: Index) -> None:
    index.files[f"{WHEEL}.asc"] = b"signature"
    in_link(data_gpg_sig="true")(index)


def _listed_as_demo(index: Index) -> None:
    """Spell the project's name otherwise in the list, where its link is absolute."""
    index.listed = [("DEMO", "/simple/demo/")]


def _listed_otherwise_in_json(server: Server) -> None:
    server.json[LIST].content = server.json[LIST].content.replace(b'"demo"', b'"Demo"')


def _without_files(index: Index) -> None:
    """Have a quarantined project, which offers nothing."""
    index.entries = []
    index.detail["versions"] = []
    status("quarantined")(index)


def _of_an_older_api(index: Index) -> None:
    """Have a page in JSON of API version 1.0: without versions, sizes and a status."""
    index.forms = ("json",)
    index.detail = {"name": "demo"}
    for entry in index.entries:
        del entry["size"]
    index.after = lambda server: _replace(server.json[PAGE], b'"1.4"', b'"1.0"')


def _replace(answer: Answer, old: bytes, new: bytes) -> None:
    assert old in answer.content
    answer.content = answer.content.replace(old, new)


def _without_status(index: Index) -> None:
    """Have a page of API version 1.3, which says no status."""
    del index.detail["project-status"]
    index.after = lambda server: _replace(server.json[PAGE], b'"1.4"', b'"1.3"')


def _with_reason(index: Index) -> None:
    """Say in both forms that a project is archived, and why."""
    index.detail["project-status"] = {"status": "archived", "reason": "it is done"}
    for name, text in (("status", "archived"), ("status-reason", "it is done")):
        index.head += f'<meta name="pypi:project-{name}" content="{text}">'


def _attested_at_a_query(index: Index) -> None:
    index.files[f"{WHEEL}.provenance?form=1"] = index.files[f"{WHEEL}.provenance"]
    index.entry()["provenance"] += "?form=1"


def _attested(*, name: str = WHEEL, bundles: int = 1, **more: object) -> Spoil:
    """Attest the newer wheel by this name, in so many bundles."""

    def spoil(index: Index) -> None:
        content = json.loads(provenance(name, sha256(index.files[WHEEL])))
        content["attestation_bundles"] *= bundles
        index.files[f"{WHEEL}.provenance"] = json.dumps(content | more).encode()

    return spoil


NEAR_MISSES: dict[str, Spoil] = {
    "345.1": metadata("Requires-Python: >=3.8\nVERSION: 1.0\nName: demo\nmetadata-version: 2.1\n"),
    "345.2": metadata(f"{METADATA}Requires-Dist: nowhere (>=1)\nAuthor: Andr\xe9\n"),
    "643.1": _both(
        metadata(f"{METADATA}Requires-Dist: here\nRequires-Dist: There>=1,<2\n"),
        _beside("demo-1.0-py3-none-win_amd64.whl", f"{METADATA}Requires-Dist: there <2,>=1\nRequires-Dist: here\n"),
    ),
    "427.1": wheel_members(lambda members: members | {"demo/inner.zip": _zip()}),
    "427.2": wheel_members(
        lambda members: members | {f"{DIST_INFO}/licenses/x.dist-info/METADATA": b"", "demo/x.dist-info/RECORD": b""}
    ),
    "427.3": dist_info_called("Demo-1.0.0.dist-info"),
    "427.4": wheel_members(lambda members: members | {"demo/part/__init__.py": members["demo/__init__.py"]}),
    "440.1": versioned("1.0rc1+cu128.torch2.8"),
    "503.1": after(lambda server: server.json.pop(LIST)),
    "503.2": _moved(PAGE),
    "503.3": in_html(b"<!DOCTYPE html>", b'<!doctype HTML SYSTEM "about:legacy-compat">'),
    "503.4": _listed_as_demo,
    "503.5": after(
        lambda server: server.html.update({PAGE.removesuffix("/"): Answer(status=308, headers={"Location": PAGE})})
    ),
    "503.6": only_in("html", lambda index: setattr(index, "names", {WHEEL: f"\n {WHEEL} "})),
    "503.7": _hashed_by("sha512"),
    "503.8": _in_upper_case,
    "503.9": _moved(f"/files/{WHEEL}"),
    "503.10": only_in("json", _hashed_by("md5", "sha256", "blake2b")),
    "503.11": in_entry(requires_python=">= 3.8"),
    "503.12": in_html(b'data-requires-python="&gt;=3.8"', b"data-requires-python='&#62;=3.8'"),
    "503.13": only_in("html", _beside("demo-1.0-1-py3-none-any.whl")),
    "503.14": only_file("Demo-1.0-py3-none-any.whl"),
    "503.15": only_file("demo-1.0-1x-py2.py3-none-any.whl"),
    "503.16": only_in("html", _signed),
    "503.17": _both(metadata(METADATA.replace(">=3.8", "<4,>= 3.8")), in_entry(requires_python=">=3.8, <4")),
    "503.18": versioned("1.0+cu128", escaped=False),
    "503.19": _without_files,
    "592.1": only_in("json", in_entry(yanked=True)),
    "629.1": in_html(b'name="pypi:repository-version" content="1.4"', b"CONTENT=1.4 NAME=pypi:repository-version"),
    "629.2": in_html(b'content="1.4"', b'content="1.10"'),
    "629.3": in_html(b'content="1.4"', b'content="1.99"'),
    "658.1": in_entry(core_metadata=True),
    "658.2": _moved(f"/files/{WHEEL}.metadata"),
    "658.3": _in_upper_case,
    "658.4": metadata(METADATA.replace("\n", "\r\n")),
    "658.5": metadata(METADATA.replace("demo", "Demo").replace("1.0", "1.0.0")),
    "714.1": in_entry(core_metadata=True),
    "714.2": only_in("html", in_html(b"data-dist-info-metadata", b"data-other")),
    "691.1": only_in(
        "json", after(lambda server: setattr(server.json[PAGE], "content_type", f"{JSON.title()}; charset=utf-8"))
    ),
    "691.2": in_json(b'"meta"', b'"_meta": [5], "meta"'),
    "691.3": _listed_as_demo,
    "691.4": after(_listed_otherwise_in_json),
    "691.5": in_html(b'"../../files/', b'"/files/'),
    "691.6": in_json(b"}]}", b"} ]\r\n }\n"),
    "691.7": in_json(b'"meta"', b'"_x": "NaN", "_y": [{"_x": 1}], "meta"'),
    "691.8": null("core-metadata"),
    "691.9": in_html(b"<body>", b"<body>{}"),
    "700.1": lambda index: index.detail.update(versions=["1.0.0", "0.9", "0.8"]),
    "700.2": _of_an_older_api,
    "700.3": after(lambda server: setattr(server, "ranges", False)),
    "700.4": in_entry(upload_time="2026-11-21T12:30:15.000001Z"),
    "700.5": another("demo-1.0.tar.gz", b""),
    "740.1": _attested_at_a_query,
    "740.2": _attested(note="nothing"),
    "740.3": _attested(name="Demo-1.0.0-py3-none-any.whl"),
    "740.4": _attested(bundles=2),
    "792.1": status("deprecated"),
    "792.2": _without_files,
    "792.3": _without_status,
    "792.4": _with_reason,
    "792.5": _with_reason,
    "825.1": variants_beside_plain_wheels,
    "825.2": partial(variants_beside_plain_wheels, listed=json.dumps(json.loads(VARIANT) | {"_x": 1}).encode()),
    "825.3": partial(variants_beside_plain_wheels, said=json.dumps(json.loads(VARIANT)).encode()),
    "wheelmill.1": only_in("html", in_html(b"</body>", b"<p>x</p>" * 100_000)),
}
"""How an index keeps a rule that it nearly breaks, by the rule's number."""
