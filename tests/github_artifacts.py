"""The artifacts of runs, as GitHub's REST API shows them: a page of them, and where the bytes of one are.

https://docs.github.com/en/rest/actions/artifacts
"""

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.github_calls import Answer


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """What one job kept."""

    id: int
    run: int
    name: str
    content: bytes
    """A zip archive."""
    expired: bool = False


def packed(files: Mapping[str, bytes]) -> bytes:
    """What upload-artifact sends of files."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return written.getvalue()


@dataclass
class Artifacts:
    """All that jobs kept; two attempts of a job may have kept one under the same name."""

    kept: list[Artifact] = field(default_factory=list)

    def keep(self, run: int, name: str, files: Mapping[str, bytes]) -> Artifact:
        """Keep files as upload-artifact does."""
        self.kept.append(artifact := Artifact(id=len(self.kept) + 1, run=run, name=name, content=packed(files)))
        return artifact

    def answer(self, path: list[str], query: Mapping[str, str], origin: str) -> Answer | None:
        """Answer a call below ``/repos/OWNER/REPO/actions/``; None where there is no such thing."""
        match path:
            case ["runs", run, "artifacts"]:
                found = [
                    each for each in self.kept if each.run == int(run) and query.get("name", each.name) == each.name
                ]
                size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
                shown = [_shown(each) for each in found[(page - 1) * size : page * size]]
                return 200, {}, {"total_count": len(found), "artifacts": shown}
            case ["artifacts", id_, *rest] if any(each.id == int(id_) and not each.expired for each in self.kept):
                elsewhere = origin.replace("127.0.0.1", "localhost")  # which is another server for a client
                return (302, {"Location": f"{elsewhere}/blobs/{id_}"}, "") if rest else (200, {}, {"id": int(id_)})
            case _:
                return None

    def download(self, id_: int) -> Answer:
        """Answer who follows to the bytes, which are on another host."""
        return next((200, {"Content-Type": "zip"}, each.content) for each in self.kept if each.id == id_)


def _shown(artifact: Artifact) -> dict[str, Any]:
    return {
        "id": artifact.id,
        "name": artifact.name,
        "size_in_bytes": len(artifact.content),
        "expired": artifact.expired,
    }


def artifacts_in(runs: Path) -> Artifacts:
    """What the stand-ins for actions kept: a folder of artifacts for each run."""
    folders = sorted(path for path in runs.glob("*/*") if path.is_dir() and not path.name.startswith("."))
    kept = Artifacts()
    for folder in folders:
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        kept.keep(int(folder.parent.name), folder.name, files)
    return kept


def answer_in(runs: Path, path: str, query: Mapping[str, str], origin: str) -> Answer:
    """Answer a call of the API for artifacts, or who follows to the bytes of one."""
    kept = artifacts_in(runs)
    if path.startswith("/blobs/"):
        return kept.download(int(path.removeprefix("/blobs/")))
    found = kept.answer(path.partition("/actions/")[2].split("/"), query, origin)
    return found or (404, {}, {"message": "Not Found"})


@contextmanager
def serving_artifacts(runs: Path) -> Iterator[str]:
    """Serve the artifacts of runs while the context is open; gives the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            send(self, answer_in(runs, unquote(url.path), query, f"http://{self.headers['Host']}"))

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def send(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    """Send an answer."""
    status, headers, content = answer
    text = json.dumps(content).encode() if isinstance(content, dict | list) else content
    text = text.encode() if isinstance(text, str) else text
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(text)), **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(text)
