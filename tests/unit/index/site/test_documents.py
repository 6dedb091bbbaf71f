"""The documents in a site: files that Sphinx has rendered."""

from pathlib import Path

import pytest

from tests.refusals import coded
from tests.unit.index.conftest import EVERY_KIND, Release
from wheelmill.errors import SiteError
from wheelmill.index.collect import site_of_releases
from wheelmill.index.site.documents import pages_of_documents
from wheelmill.index.site.pages import site_pages


@pytest.fixture
def rendered_documents(tmp_path: Path) -> Path:
    """As Sphinx leaves them, with its notes."""
    for name in ("index.html", "objects.inv", "_static/furo.css", ".buildinfo", ".doctrees/a.doctree"):
        (tmp_path / "out" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / name).write_text(name)
    return tmp_path / "out"


def test_what_is_hidden_is_not_published(rendered_documents: Path) -> None:
    assert list(pages_of_documents(rendered_documents)) == [
        ("docs/_static/furo.css", [b"_static/furo.css"]),
        ("docs/index.html", [b"index.html"]),
        ("docs/objects.inv", [b"objects.inv"]),
    ]


@pytest.mark.parametrize("missing", ["index.html", "objects.inv"])
def test_a_folder_that_sphinx_did_not_write_is_refused(rendered_documents: Path, missing: str) -> None:
    (rendered_documents / missing).unlink()
    with pytest.raises(SiteError, check=coded("documents-incomplete", "out", missing)) as caught:
        list(pages_of_documents(rendered_documents))
    assert caught.value.hint == f"render the documents: sphinx-build docs {rendered_documents}"


def test_every_page_leads_to_the_documents_where_there_are_some(release: Release, rendered_documents: Path) -> None:
    site = site_of_releases(release(*EVERY_KIND), "")
    with_them = {path: b"".join(pieces) for path, pieces in site_pages(site, documents=rendered_documents)}
    assert b'<a href="./docs/">Docs</a>' in with_them["index.html"]
    assert b'<a href="../../docs/">Docs</a>' in with_them["packages/demo/index.html"]
    assert with_them["docs/index.html"] == b"index.html"
    without = {path: b"".join(pieces) for path, pieces in site_pages(site)}
    assert [path for path, content in without.items() if b"docs/" in content or path.startswith("docs/")] == []
