"""What we ask GitHub for on the way from wheels to an index, and what our server answers, as GitHub describes it."""

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
from pypi_simple import ProjectPage

from tests.github_server import HEAD, REPOSITORY, TOKEN, Answer, Call, GitHub, serving
from tests.real.conftest import SHORT_PAUSES, Command
from tests.real.github_description import Description
from tests.unit.release.conftest import certified_wheel
from wheelmill.smoke.verdict import certificate_path
from wheelmill.system.records import write_record

pytestmark = pytest.mark.real

NAMES = tuple(f"demo-1.{number}-cp311-cp311-manylinux_2_28_x86_64.whl" for number in range(3))
STORE = f"github:{REPOSITORY}"


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHub]:
    with serving(GitHub()) as server:
        for name, value in (server.environment | SHORT_PAUSES).items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A folder of tested wheels."""
    for name in NAMES:
        wheel = certified_wheel(tmp_path / "wheels" / name)
        write_record(certificate_path(wheel.file.path), wheel.certificate)
    return tmp_path / "wheels"


def test_from_tested_wheels_to_an_index(
    wheelmill: Command, github: GitHub, description: Description, wheels: Path, tmp_path: Path
) -> None:
    first = [wheels / NAMES[2], certificate_path(wheels / NAMES[2])]
    apart = tmp_path / "apart"
    apart.mkdir()
    for path in first:
        path.rename(apart / path.name)

    assert "released as v" in wheelmill("release", wheels, "--store", STORE).stderr
    assert "nothing to release" in wheelmill("release", wheels, "--store", STORE).stderr
    assert "released as v" in wheelmill("release", apart, "--store", STORE).stderr
    published, second = github.releases
    assert second.tag == f"{published.tag}.2"
    for release, names in ((published, NAMES[:2]), (second, NAMES[2:])):
        assert not release.draft
        described = {f"{name}{suffix}" for name in names for suffix in (".metadata", ".cdx.json")}
        assert {asset.name for asset in release.assets} == {*names, *described, "manifest.json"}
        assert all(f"`{name}`" in release.body for name in names)

    site = tmp_path / "site"
    wheelmill("index", "build", "--store", STORE, "--output", site)
    page = (site / "simple" / "demo" / "index.html").read_bytes()
    packages = ProjectPage.from_html("demo", page, base_url="https://index.test/").packages
    assert {package.filename for package in packages} == {*NAMES}
    for package in packages:
        tag = second.tag if package.filename == NAMES[2] else published.tag
        assert unquote(package.url) == f"{github.origin}/{REPOSITORY}/releases/download/{tag}/{package.filename}"
        with zipfile.ZipFile((apart if package.filename == NAMES[2] else wheels) / package.filename) as archive:
            assert archive.testzip() is None

    planned = json.loads(wheelmill("plan", "torch-spline-conv", "--cuda", "13.0", "--store", STORE, "--json").stdout)
    assert planned["counts"]["cells"] > 0

    assert description.all_faults(github) == []
    assert {call.method for call in github.calls} == {"GET", "POST", "PATCH"}


@pytest.fixture(scope="module")
def description() -> Description:
    return Description()


ASKED: list[tuple[str, str, dict[str, Any] | bytes | None, int]] = [
    ("GET", "", None, 200),
    ("GET", "/branches/main", None, 200),
    ("POST", "/git/blobs", {"content": "text"}, 201),
    ("POST", "/git/trees", {"tree": [{"path": "a", "mode": "100644", "type": "blob", "content": "text"}]}, 201),
    ("GET", "/git/trees/{tree}", None, 200),
    ("POST", "/git/trees", {"base_tree": "{tree}", "tree": [{"path": "b", "mode": "100644", "sha": None}]}, 422),
    ("POST", "/git/commits", {"message": "second", "tree": "{tree}", "parents": [HEAD]}, 201),
    ("GET", "/git/commits/{commit}", None, 200),
    ("GET", "/git/commits/0", None, 404),
    ("POST", "/git/refs", {"ref": "refs/heads/ledger", "sha": HEAD}, 201),
    ("POST", "/git/refs", {"ref": "refs/heads/ledger", "sha": HEAD}, 422),
    ("PATCH", "/git/refs/heads/ledger", {"sha": "{commit}"}, 200),
    ("PATCH", "/git/refs/heads/ledger", {"sha": HEAD}, 422),
    ("GET", "/git/ref/heads/ledger", None, 200),
    ("GET", "/git/ref/heads/none", None, 404),
    ("POST", "/git/tags", {"tag": "v1", "message": "first", "object": HEAD, "type": "commit"}, 201),
    ("POST", "/git/refs", {"ref": "refs/tags/v1", "sha": "{tag}"}, 201),
    ("GET", "/git/tags/{tag}", None, 200),
    ("GET", "/git/matching-refs/tags/v", None, 200),
    ("POST", "/releases", {"tag_name": "v1", "name": "1", "body": "first", "draft": True}, 201),
    ("POST", "/releases/{release}/assets?name=a.whl", b"content", 201),
    ("POST", "/releases/{release}/assets?name=a.whl", b"content", 422),
    ("GET", "/releases", None, 200),
    ("GET", "/releases/{release}", None, 200),
    ("GET", "/releases/0", None, 404),
    ("GET", "/releases/{release}/assets", None, 200),
    ("GET", "/releases/tags/v1", None, 404),
    ("PATCH", "/releases/{release}", {"name": "1", "body": "first", "draft": False, "make_latest": "false"}, 200),
    ("GET", "/releases/tags/v1", None, 200),
    ("GET", "/releases/assets/{asset}", None, 200),
    ("POST", "/releases/{release}/assets?name=b.whl", b"content", 422),
    ("DELETE", "/releases/assets/{asset}", None, 422),
    ("DELETE", "/releases/{release}", None, 204),
    ("GET", "/actions/runs/7/artifacts", None, 200),
    ("GET", "/actions/artifacts/1", None, 200),
    ("GET", "/actions/artifacts/1/zip", None, 302),
    ("GET", "/actions/artifacts/2/zip", None, 404),
    ("GET", "/actions/runs/7", None, 200),
    ("GET", "/actions/runs/8", None, 404),
]
"""Every route of our server: below the repository, what is sent and the status. What was made goes by its kind."""


def test_every_answer_of_our_server_is_as_github_describes_it(description: Description) -> None:
    made: dict[str, str] = {}
    with serving(GitHub(runs={"7": "completed"})) as github, httpx.Client() as client:
        github.artifacts.keep(7, "wheels", {"a.whl": b"content"})
        client.headers["Authorization"] = f"token {TOKEN}"
        for method, path, sent, status in ASKED:
            place = github.api(path.format(**made))
            if isinstance(sent, bytes):
                place = place.replace("/api/v3/", "/api/uploads/")
                answer = client.request(
                    method, place, content=sent, headers={"Content-Type": "application/octet-stream"}
                )
            else:
                text = re.sub(r"\{(\w+)\}", lambda found: made[found[1]], json.dumps(sent))
                answer = client.request(method, place, **({"json": json.loads(text)} if sent else {}))
            assert answer.status_code == status, (method, path, answer.text)
            if status == 201:
                kind = path.partition("?")[0].rpartition("/")[2].removesuffix("s")
                made[kind] = str(answer.json().get("sha") or answer.json().get("id"))
        faults = description.all_faults(github)
    assert faults == [], "\n".join(faults)


@pytest.mark.parametrize(
    "call",
    [
        Call("POST", "/repos/o/r/git/refs", {}, "application/json", b'{"ref": "refs/tags/x"}'),
        Call("POST", "/repos/o/r/git/refs", {}, "application/json", b'{"ref": 7, "sha": "5"}'),
        Call("PATCH", "/repos/o/r/releases/1", {}, "application/json", b'{"drafts": false}'),
        Call("POST", "/repos/o/r/releases/1/assets", {}, "application/octet-stream", b"x"),
        Call("GET", "/repos/o/r/releases/tagged/x/y", {}, None, b""),
    ],
    ids=str,
)
def test_the_description_finds_faults(call: Call, description: Description) -> None:
    assert description.faults(call)


@pytest.mark.parametrize(
    "answer",
    [
        (200, {}, {"id": "1"}),
        (200, {}, {"identity": 1}),
        (200, {}, {"assets": [{"state": "lost"}]}),
        (200, {}, {"draft": None}),
        (202, {}, {}),
        (404, {}, {"reason": "lost"}),
    ],
    ids=str,
)
def test_the_description_finds_what_is_strange_in_an_answer(answer: Answer, description: Description) -> None:
    assert description.strange(Call("GET", "/repos/o/r/releases/1", {}, None, b""), answer)
