import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pypi_simple import PYPI_SIMPLE_ENDPOINT

from tests.page_server import JSON, Answer, PageServer
from tests.refusals import coded
from wheelmill.errors import NetworkError
from wheelmill.installers import package_index
from wheelmill.installers.index_settings import configured_index
from wheelmill.installers.package_index import default_index, sdists_of
from wheelmill.names import project_name

pytestmark = pytest.mark.usefixtures("set_index")

DEMO = project_name("demo")
PAGES = {
    "demo": Answer(
        b"""<!DOCTYPE html><html><body>
        <a href="../../files/demo-1.0.tar.gz">demo-1.0.tar.gz</a>
        <a href="../../files/demo-0.9.tar.gz" data-yanked="broken">demo-0.9.tar.gz</a>
        <a href="../../files/demo-1.1.tar.gz">demo-1.1.tar.gz</a>
        <a href="../../files/demo-1.0-py3-none-any.whl">demo-1.0-py3-none-any.whl</a>
        </body></html>"""
    ),
    "down": Answer(status=500),
    "odd": Answer(b"no index at all", headers={"Content-Type": "text/plain"}),
    "nowhere": Answer(b'<a href="http://[/x-1.0.tar.gz">x-1.0.tar.gz</a>'),
    "broken": Answer(b"{", headers={"Content-Type": JSON}),
    "empty": Answer(b"{}", headers={"Content-Type": JSON}),
    "newer": Answer(b'{"meta": {"api-version": "2.0"}, "name": "newer", "files": []}', headers={"Content-Type": JSON}),
    "unversioned": Answer(b'{"meta": {"api-version": "x"}, "name": "x", "files": []}', headers={"Content-Type": JSON}),
}


@pytest.fixture
def index(server: PageServer, set_index: Callable[[str], None]) -> None:
    """The index that this machine is set to; every project answers in its own way."""
    server.pages = {f"/simple/{project}/": page for project, page in PAGES.items()}
    set_index(f"{server.url}/simple/")


@pytest.fixture
def no_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This machine is set to no index."""
    for folders in ("XDG_CONFIG_HOME", "XDG_CONFIG_DIRS"):
        monkeypatch.setenv(folders, str(tmp_path))
    default_index.cache_clear()
    yield
    default_index.cache_clear()


@pytest.mark.usefixtures("no_setting")
def test_without_a_setting_it_is_the_one_that_uv_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_INDEX", "https://beside.example.org/simple")
    assert configured_index() is None
    assert f"{default_index()}/" == PYPI_SIMPLE_ENDPOINT


@pytest.mark.usefixtures("no_setting")
def test_without_a_setting_and_without_uv_it_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package_index, "find_uv", lambda: None)
    with pytest.raises(NetworkError, check=coded("index-unknown")):
        sdists_of(DEMO)


@pytest.mark.usefixtures("index")
def test_source_distributions_are_listed_with_the_yanked_ones() -> None:
    listed = {file.filename: file.yanked for file in sdists_of(DEMO)}
    assert listed == {"demo-1.0.tar.gz": None, "demo-0.9.tar.gz": "broken", "demo-1.1.tar.gz": None}


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize(
    ("project", "code", "fact"),
    [
        ("down", "server-silent", "500"),
        ("odd", "no-project-page", "text/plain"),
        ("broken", "no-project-page", "JSON"),
        ("empty", "no-project-page", "JSON"),
        ("newer", "no-project-page", "2.0"),
        ("unversioned", "no-project-page", "version x"),
    ],
)
def test_an_index_without_an_answer_is_an_error(project: str, code: str, fact: str) -> None:
    with pytest.raises(NetworkError, check=coded(code, project, fact)):
        sdists_of(project_name(project))


def test_an_index_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    with pytest.raises(NetworkError, check=coded("server-silent")):
        sdists_of(DEMO)


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize("project", ["missing", "nowhere"])
def test_a_project_without_files_that_can_be_had_is_empty(project: str) -> None:
    assert sdists_of(project_name(project)) == ()


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize("project", ["down", "odd"])
def test_an_error_keeps_the_password_of_the_index(project: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", os.environ["PIP_INDEX_URL"].replace("http://", "http://user:secret@"))
    with pytest.raises(NetworkError) as caught:
        sdists_of(project_name(project))
    assert "secret" not in str(caught.value)
