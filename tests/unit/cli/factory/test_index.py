"""Which sites are refused, and when: those too large for GitHub Pages, and those whose documents are none."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.refusals import coded
from tests.releases import store_in
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.cli.factory.index import app
from wheelmill.errors import SiteError
from wheelmill.index import write
from wheelmill.pipeline import site
from wheelmill.release.publish import publish


@pytest.mark.parametrize(
    ("site_url", "error"),
    [("https://octo.github.io/wheels/", SiteError), ("https://wheels.example/", type(None)), (None, type(None))],
)
def test_a_site_is_refused_by_its_size_where_github_pages_publishes_it(
    site_url: str | None, error: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "MAX_BYTES", 1000)
    publish(store_in(tmp_path / "releases"), [certified_wheel(tmp_path / "demo-1.0-py3-none-any.whl")], now=NOW)
    (tmp_path / "config").mkdir()
    words = ["build", "--store", f"dir:{tmp_path / 'releases'}", "--output", str(tmp_path / "site")]
    words += ["--config", str(tmp_path / "config"), *(("--site-url", site_url) if site_url else ())]
    result = CliRunner().invoke(app, words)
    assert type(result.exception) is error
    assert (tmp_path / "site" / "simple").exists() == (error is not SiteError)


@pytest.mark.parametrize(
    "option", ["--site-url=http://[::1", "--site-url=ftp://h", "--site-url=h", "--previous=http://[::1"]
)
def test_an_address_that_is_none_is_refused(option: str, tmp_path: Path) -> None:
    words = ["build", "--store", f"dir:{tmp_path}", "--output", str(tmp_path / "site"), option]
    error = CliRunner().invoke(app, words).exception
    assert coded("site-url-invalid", option.partition("=")[0])(error or ValueError())


@pytest.mark.parametrize("documents", ["nowhere", "releases"])
def test_no_documents_is_told_before_the_pages(documents: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def build_index(*_: object, **__: object) -> None:
        pytest.fail("pages were made")

    monkeypatch.setattr(site, "build_index", build_index)
    (tmp_path / "releases").mkdir()
    words = ["build", "--store", f"dir:{tmp_path / 'releases'}", "--output", str(tmp_path / "site")]
    result = CliRunner().invoke(app, [*words, "--docs", str(tmp_path / documents)])
    assert isinstance(result.exception, SiteError), result.output
    assert str(result.exception) == f"{tmp_path / documents} has no index.html"
    assert [path.name for path in tmp_path.iterdir()] == ["releases"]
