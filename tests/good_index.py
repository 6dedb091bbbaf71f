"""A small index that keeps every rule, in parts that can be spoilt."""

import base64
import hashlib
import html
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.simple_server import HTML, JSON, Answer, Server
from tests.wheels import write_wheel

WHEEL = "demo-1.0-py3-none-any.whl"
OLDER = "demo-0.9-py3-none-any.whl"
PAGE = "/simple/demo/"
LIST = "/simple/"


@dataclass
class Index:
    """The parts of an index, each to be spoilt before it is put on a server."""

    folder: Path
    """Where more wheels can be made."""
    files: dict[str, bytes]
    """By name, sidecars and the like too."""
    entries: list[dict[str, Any]]
    """``files`` of the JSON page; the HTML page is made of the same."""
    attributes: dict[str, dict[str, str]]
    """Of links in HTML, by file name: what they have beyond the entry, or instead."""
    detail: dict[str, Any]
    """The other keys of the JSON page."""
    listed: list[tuple[str, str]]
    """Text and href of the links in the project list."""
    head: str = '<meta name="pypi:repository-version" content="1.4">'
    names: dict[str, str] | None = None
    """Other texts for links, by file name."""
    forms: tuple[str, ...] = ("html", "json")
    after: Callable[[Server], object] = lambda _server: None
    """Spoils the finished server."""

    def entry(self, name: str = WHEEL) -> dict[str, Any]:
        return next(entry for entry in self.entries if entry["filename"] == name)

    def put_on(self, server: Server) -> None:
        """Make the pages."""
        for name, file in self.files.items():
            server.html[f"/files/{name}"] = Answer(file)
        if "html" in self.forms:
            links = "\n".join(self._link(entry) for entry in self.entries)
            listed = "\n".join(f'<a href="{href}">{text}</a>' for text, href in self.listed)
            for path, body in ((PAGE, links), (LIST, listed)):
                head = f"{self.head}<title>demo</title>"
                page = f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>"
                server.html[path] = Answer(page.encode(), HTML)
        if "json" in self.forms:
            meta = {"api-version": "1.4"}
            listed_json = {"meta": meta, "projects": [{"name": text} for text, _ in self.listed]}
            contents: tuple[tuple[str, dict[str, Any]], ...] = (
                (PAGE, {"meta": meta, **self.detail, "files": self.entries}),
                (LIST, listed_json),
            )
            for path, content in contents:
                server.json[path] = Answer(json.dumps(content).encode(), JSON)
        self.after(server)

    def _link(self, entry: dict[str, Any]) -> str:
        name = entry["filename"]
        url = entry["url"] + "".join(f"#{key}={value}" for key, value in entry["hashes"].items())
        attributes: dict[str, str] = {}
        if value := entry.get("core-metadata"):
            metadata = "true" if value is True else "".join(f"{key}={digest}" for key, digest in value.items())
            attributes |= {"data-core-metadata": metadata, "data-dist-info-metadata": metadata}
        for key in ("requires-python", "provenance"):
            if key in entry:
                attributes[f"data-{key}"] = entry[key]
        if reason := entry.get("yanked"):
            attributes["data-yanked"] = "" if reason is True else reason
        attributes |= {"data-size": str(entry.get("size", "")), "data-upload-time": entry.get("upload-time", "")}
        attributes = {key: value for key, value in attributes.items() if value or key == "data-yanked"}
        attributes |= self.attributes.get(name, {})
        written = " ".join(f'{key}="{html.escape(value)}"' for key, value in attributes.items())
        return f'<a href="{html.escape(url)}" {written}>{(self.names or {}).get(name, name)}</a><br>'


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def good_index(folder: Path, url: str = "http://127.0.0.1") -> Index:
    """An index of two wheels, one of them yanked and one attested, that breaks no rule."""
    files: dict[str, bytes] = {}
    entries = []
    for name in (OLDER, WHEEL):
        content, metadata = _wheel(name)
        files |= {name: content, f"{name}.metadata": metadata}
        entries.append(
            {
                "filename": name,
                "url": f"../../files/{name}",
                "hashes": {"sha256": sha256(content)},
                "requires-python": ">=3.8",
                "core-metadata": {"sha256": sha256(metadata)},
                "size": len(content),
                "upload-time": "2026-11-21T12:30:15Z",
                "yanked": "broken" if name == OLDER else False,
            }
        )
    entries[1]["provenance"] = f"{url}/files/{WHEEL}.provenance"
    files[f"{WHEEL}.provenance"] = provenance(WHEEL, sha256(files[WHEEL]))
    return Index(
        folder=folder,
        files=files,
        entries=entries,
        attributes={},
        detail={"name": "demo", "versions": ["0.9", "1.0"], "project-status": {"status": "active"}},
        listed=[("demo", "demo/")],
    )


@cache
def _wheel(name: str) -> tuple[bytes, bytes]:
    """A wheel, and its METADATA."""
    version = name.split("-")[1]
    metadata = f"Metadata-Version: 2.1\nName: demo\nVersion: {version}\nRequires-Python: >=3.8\n"
    with TemporaryDirectory() as folder:
        wheel = write_wheel(Path(folder) / name, metadata=metadata, files={"demo/__init__.py": b""})
        return wheel.read_bytes(), metadata.encode()


def provenance(name: str, digest: str) -> bytes:
    """A provenance object about a file (PEP 740)."""
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}}],
        "predicateType": "https://example.org/attestations/publish/v1",
    }
    attestation = {
        "version": 1,
        "verification_material": {"certificate": "", "transparency_entries": [{}]},
        "envelope": {"statement": base64.b64encode(json.dumps(statement).encode()).decode(), "signature": ""},
    }
    bundle = {"publisher": {"kind": "GitHub"}, "attestations": [attestation]}
    return json.dumps({"version": 1, "attestation_bundles": [bundle]}).encode()
