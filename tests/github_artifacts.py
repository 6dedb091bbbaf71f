"""The artifacts of runs: https://docs.github.com/en/rest/actions/artifacts"""

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

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
    folder: Path | None = None
    """Has those of the stand-ins for actions, where there are any: a folder of artifacts for each run."""

    def keep(self, run: int, name: str, files: Mapping[str, bytes]) -> Artifact:
        """Keep files as upload-artifact does."""
        self.kept.append(artifact := Artifact(id=len(self.kept) + 1, run=run, name=name, content=packed(files)))
        return artifact

    def answer(self, path: list[str], query: Mapping[str, str], storage: str) -> Answer | None:
        """Answer a call below ``/repos/OWNER/REPO/actions/``; None if there is no such thing."""
        if self.folder:
            self.kept = []
            for number, name, files in _in_folders(self.folder):
                self.keep(number, name, files)
        match path:
            case ["runs", run, "artifacts"]:
                found = [
                    each for each in self.kept if each.run == int(run) and query.get("name", each.name) == each.name
                ]
                size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
                shown = [_shown(each) for each in found[(page - 1) * size : page * size]]
                return 200, {}, {"total_count": len(found), "artifacts": shown}
            case ["artifacts", id_, *rest] if any(each.id == int(id_) and not each.expired for each in self.kept):
                return (302, {"Location": f"{storage}/blobs/{id_}"}, "") if rest else (200, {}, {"id": int(id_)})
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


def _in_folders(runs: Path) -> Iterator[tuple[int, str, dict[str, bytes]]]:
    """What the stand-ins for actions kept: by run and name, the files of a folder."""
    for folder in sorted(path for path in runs.glob("*/*") if path.is_dir() and not path.name.startswith(".")):
        files = (path for path in folder.rglob("*") if path.is_file())
        yield (
            int(folder.parent.name),
            folder.name,
            {path.relative_to(folder).as_posix(): path.read_bytes() for path in files},
        )


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
