"""The artifacts of runs, as GitHub's REST API shows them: a page of them, and where the bytes of one are.

https://docs.github.com/en/rest/actions/artifacts
"""

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.github_git import Answer


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """What one job kept."""

    id: int
    run: int
    name: str
    content: bytes
    """A zip archive."""
    expired: bool = False


@dataclass
class Artifacts:
    """All that jobs kept; two attempts of a job may have kept one under the same name."""

    kept: list[Artifact] = field(default_factory=list)

    def keep(self, run: int, name: str, files: Mapping[str, bytes]) -> Artifact:
        """Keep files as upload-artifact does."""
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, content in files.items():
                archive.writestr(path, content)
        self.kept.append(artifact := Artifact(id=len(self.kept) + 1, run=run, name=name, content=written.getvalue()))
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
            case ["artifacts", id_, "zip"] if any(each.id == int(id_) and not each.expired for each in self.kept):
                return 302, {"Location": f"{origin}/blobs/{id_}"}, ""
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
