"""Where this wheelmill was installed from."""

import json
from importlib import metadata
from pathlib import Path

import pytest

from wheelmill.system import own_installation
from wheelmill.system.own_installation import own_document, own_origin

URL = "https://host.example/owner/wheelmill"
COMMIT = "0" * 40


def installed_with(record: object, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a folder be what is installed of wheelmill."""
    (folder / "METADATA").touch()
    if record:
        (folder / "direct_url.json").write_text(json.dumps(record))
    monkeypatch.setattr(metadata, "distribution", lambda _name: metadata.PathDistribution(folder))


@pytest.mark.parametrize(
    ("record", "origin"),
    [
        ({"url": URL, "vcs_info": {"vcs": "git", "commit_id": COMMIT}}, f" @ git+{URL}@{COMMIT}"),
        ({"url": "file:///home/you/wheelmill", "dir_info": {"editable": True}}, ""),
        (None, ""),
    ],
    ids=["repository", "folder", "index"],
)
def test_an_extras_origin_is_ours(record: object, origin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed_with(record, tmp_path, monkeypatch)
    assert own_origin() == origin


@pytest.mark.parametrize(
    ("url", "place"),
    [
        (URL, f"{URL}/blob/{COMMIT}/docs/page.md"),
        (f"{URL}.git", f"{URL}/blob/{COMMIT}/docs/page.md"),
        ("ssh://git@host.example/owner/wheelmill", None),
        (None, None),
    ],
)
def test_a_document_is_read_at_the_commit_that_this_wheelmill_came_from(
    url: str | None, place: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = {"url": url, "vcs_info": {"vcs": "git", "commit_id": COMMIT}} if url else None
    installed_with(record, tmp_path, monkeypatch)
    monkeypatch.setattr(own_installation, "ROOT", tmp_path)
    assert own_document("docs/page.md") == place
    (tmp_path / "README.md").touch()
    assert url in (URL, f"{URL}.git") or own_document("README.md") == str(tmp_path / "README.md")
