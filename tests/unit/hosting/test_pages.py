"""The site that a new index keeps the promises of, found by asking GitHub."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.github_server import REPOSITORY
from tests.hosted import Hosted
from wheelmill.cli.factory.index import _deployed_at, _place_of
from wheelmill.index.serve import serve_folder

SHA256 = "0" * 64


def deployed() -> Mapping[str, str]:
    return _deployed_at(_place_of(f"github:{REPOSITORY}"), may_be_new=True)(()).hashes


@pytest.fixture(autouse=True)
def asked(repository: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands ask the server of the tests."""
    for name, value in repository.environment.items():
        monkeypatch.setenv(name, value)


def test_the_site_that_is_deployed_is_found_by_itself(repository: Hosted, tmp_path: Path) -> None:
    wheels = {"schema": "wheelmill.wheels/1", "wheels": [{"filename": "demo.whl", "sha256": SHA256}]}
    (tmp_path / "wheels.json").write_text(json.dumps(wheels))
    with serve_folder(tmp_path) as url:
        repository.answers["/pages"]["html_url"] = url  # of the owner's own domain, if there is one
        assert deployed() == {"demo.whl": SHA256}


def test_a_first_deployment_has_none(repository: Hosted, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serve_folder(tmp_path) as url:
        repository.answers["/pages"]["html_url"] = url
        assert deployed() == {}
        assert f"{url} has no index yet" in capsys.readouterr().err


def test_a_repository_without_pages_has_none(repository: Hosted, capsys: pytest.CaptureFixture[str]) -> None:
    del repository.answers["/pages"]
    assert deployed() == {}
    assert "has no site on GitHub Pages yet" in capsys.readouterr().err
