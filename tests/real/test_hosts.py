"""Hosts serve an index by the rules that ship for them; what `wheelmill index serve` answers is the same."""

import gzip
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest

from tests.hosts import HOSTS, HTML, JSON, PIP, RULES, TEXT, WANTED, ask
from tests.programs import find_program
from tests.real.conftest import or_nightly
from tests.releases import manifests_in, store_in
from tests.unit.conformance.conftest import AT_ONCE
from tests.unit.index.conftest import page_of_500
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.conformance.fetch import Politeness
from wheelmill.conformance.survey import check_url
from wheelmill.index.collect import site_of_releases
from wheelmill.index.render import pages_of
from wheelmill.index.write import write_site
from wheelmill.release.publish import publish

pytestmark = pytest.mark.real

WHEEL = "demo-1.0+cu130-py3-none-any.whl"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of one wheel, with the wheel in it."""
    folder = tmp_path_factory.mktemp("hosted")
    wheel = certified_wheel(folder / WHEEL, content=bytes(5000))
    store = store_in(folder / "site" / "releases")
    publish(store, [wheel], now=NOW)
    write_site(pages_of(site_of_releases(manifests_in(store), "releases")), folder / "site")
    return folder / "site"


@pytest.fixture(scope="module", params=or_nightly(HOSTS, *set(HOSTS) - {"Cloudflare Pages"}))
def host(request: pytest.FixtureRequest) -> str:
    """The name of a host."""
    name: str = request.param
    return name


@pytest.fixture(scope="module", params=[name for name in HOSTS if name != "Cloudflare Pages"])
def own(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """The URL of the index on a host of one's own; what Cloudflare has for trying Pages out gives no lengths."""
    with HOSTS[request.param](folder) as url:
        yield url


@pytest.fixture(scope="module")
def url(host: str, folder: Path) -> Iterator[str]:
    """Of the index on a host, with a slash at its end."""
    with HOSTS[host](folder) as url:
        yield url


@pytest.mark.parametrize("path", ["simple/", "simple/demo/", "cu130/simple/demo/"])
@pytest.mark.parametrize(("accept", "expected"), WANTED)
def test_clients_get_the_form_that_they_want(path: str, accept: str | None, expected: str | None, url: str) -> None:
    answer = ask(f"{url}{path}", **({} if accept is None else {"Accept": accept}))
    assert "Accept" in answer.headers["Vary"].split(", ")
    if expected is None:
        assert answer.status == 406
        return
    assert (answer.status, answer.headers["Content-Type"].partition(";")[0]) == (200, expected)
    assert answer.content[:1] == (b"{" if expected == JSON else b"<")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_head_says_what_get_does(method: str, own: str) -> None:
    whole = ask(f"{own}simple/demo/", Accept=PIP)
    answer = ask(f"{own}simple/demo/", method=method, Accept=PIP)
    assert (answer.status, answer.headers["Content-Type"]) == (200, JSON)
    assert answer.headers["Content-Length"] == str(len(whole.content))
    assert answer.content == (whole.content if method == "GET" else b"")


@pytest.mark.parametrize(("form", "kind"), [("json", JSON), ("html", TEXT)])
@pytest.mark.parametrize(
    ("asked", "place"),
    [
        ("simple/v1+{}/", "simple/"),
        ("simple/v1%2B{}/demo/", "simple/demo/"),
        ("cu130/simple/v1+{}/demo/", "cu130/simple/demo/"),
    ],
)
def test_each_form_has_an_address_of_its_own(form: str, kind: str, asked: str, place: str, url: str) -> None:
    answer = ask(f"{url}{asked.format(form)}", Accept="*/*")
    location = urljoin(url, answer.headers["Location"])
    assert answer.status == 302
    assert location in (f"{url}{place}index.{form}", f"{url}{place}" if form == "html" else "")
    page = ask(location)
    assert (page.status, page.headers["Content-Type"].partition(";")[0]) == (200, kind)


@pytest.mark.parametrize("path", ["simple/v1+json/%0d%0aSet-Cookie:x/", "simple/v1+json/../../x/", "simple/v2+json/"])
def test_other_addresses_lead_nowhere(path: str, url: str) -> None:
    answer = ask(f"{url}{path}", Accept=PIP)
    assert answer.status in (400, 404)
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize(
    ("asked", "expected"),
    [("0-9", slice(0, 10)), ("100-", slice(100, None)), ("-50", slice(-50, None)), ("10-999999", slice(10, None))],
)
def test_spans_of_a_wheel_are_served(asked: str, expected: slice, own: str, folder: Path) -> None:
    (wheel,) = folder.glob(f"releases/*/{WHEEL}")
    content = wheel.read_bytes()
    place = f"{own}releases/{wheel.parent.name}/{WHEEL.replace('+', '%2B')}"
    assert ask(place, method="HEAD").headers["Accept-Ranges"] == "bytes"
    answer = ask(place, Range=f"bytes={asked}")
    first, last, _ = expected.indices(len(content))
    assert (answer.status, answer.content) == (206, content[expected])
    assert answer.headers["Content-Range"] == f"bytes {first}-{last - 1}/{len(content)}"
    beyond = ask(place, Range=f"bytes={len(content)}-")
    assert (beyond.status, beyond.headers["Content-Range"]) == (416, f"bytes */{len(content)}")


def test_what_is_not_there_is_not_found(url: str) -> None:
    assert ask(f"{url}simple/nothing/", Accept=PIP).status == 404
    assert ask(f"{url}simple/nothing/").status == 404
    assert ask(f"{url}simple/demo").headers["Location"].endswith("/simple/demo/")


def test_the_index_breaks_no_rule_there_and_the_host_does_what_it_should(own: str) -> None:
    report = check_url(f"{own}simple/", everything=True, politeness=Politeness(rate=1e6), sleep=time.sleep)
    assert report.violations == ()
    assert report.examined == 1
    told = [(observation.topic, observation.message) for observation in report.observations]
    sys.stdout.write(f"{told}\n")
    assert ("vary", "gives JSON or HTML as it is asked, and says Vary: Accept") in told
    assert ("ranges", "gives a span of bytes") in told
    assert ("head", "answers 200 OK") in told


@pytest.fixture(scope="module", params=["nginx", "Caddy"])
def shipped(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """The URL of the index on a host that compresses."""
    (folder / "simple" / "large").mkdir(exist_ok=True)
    for name, content in page_of_500().items():
        (folder / "simple" / "large" / name).write_bytes(content)
    with HOSTS[request.param](folder) as url:
        yield url


def test_a_page_of_500_wheels_is_small(shipped: str) -> None:
    """30,000 bytes is what the page may cost, in either form."""
    for accept in (PIP, TEXT, HTML):
        answer = ask(f"{shipped}simple/large/", Accept=accept, Accept_Encoding="gzip, deflate")
        assert answer.headers["Content-Encoding"] == "gzip"
        assert {"Accept", "Accept-Encoding"} == set(answer.headers["Vary"].split(", "))
        assert gzip.decompress(answer.content).count(b"sha256") >= 500
        sys.stdout.write(f"{answer.headers['Content-Type']}: {len(answer.content)} bytes\n")
        assert len(answer.content) < 30_000


def test_pages_are_asked_for_again_and_wheels_are_not(shipped: str, folder: Path) -> None:
    (wheel,) = folder.glob(f"releases/*/{WHEEL}")
    place = f"{shipped}releases/{wheel.parent.name}/{WHEEL}"
    for file in (place, f"{place}.metadata"):
        assert ask(file).headers["Cache-Control"] == "public, max-age=31536000, immutable"
    for page in ("simple/demo/", "wheels.json"):
        answer = ask(f"{shipped}{page}")
        assert answer.headers["Cache-Control"] == "public, max-age=600"
        assert ask(f"{shipped}{page}", If_None_Match=answer.headers["ETag"]).status == 304
    lost = ask(f"{place}.lost.whl")
    assert lost.status == 404
    assert b"Not in this index" in lost.content
    assert "immutable" not in lost.headers.get("Cache-Control", "")


def test_the_function_for_cloudfront_chooses_the_same(tmp_path: Path) -> None:
    """It names the object that is read; what has no address of its own is 406."""
    node = find_program("node", "nodejs")
    asked = [
        {
            "context": {"eventType": "viewer-request"},
            "request": {"uri": "/simple/demo/", "headers": {} if accept is None else {"accept": {"value": accept}}},
        }
        for accept, _ in WANTED
    ]
    (tmp_path / "asked.json").write_text(json.dumps(asked))
    call = 'console.log(JSON.stringify(JSON.parse(require("fs").readFileSync("asked.json")).map(handler)))'
    (tmp_path / "called.cjs").write_text(f"{(RULES / 'cloudfront.js').read_text()}\n{call}\n")
    done = subprocess.run([node, "called.cjs"], cwd=tmp_path, capture_output=True, text=True, check=True)
    objects = {JSON: "/simple/demo/index.json", None: 406}
    assert [answer.get("uri", answer.get("statusCode")) for answer in json.loads(done.stdout)] == [
        objects.get(expected, "/simple/demo/index.html") for _, expected in WANTED
    ]


def test_index_check_finds_nothing(url: str) -> None:
    report = check_url(f"{url}simple/", everything=True, politeness=AT_ONCE, sleep=time.sleep)
    assert report.violations == ()
    assert report.examined == 1


@pytest.mark.parametrize("place", ["simple/", "cu130/simple/v1+json/"])
def test_pip_and_uv_know_upload_times_from_json(place: str, url: str, tmp_path: Path) -> None:
    """pip refuses pages that do not tell them, as those in HTML do not."""
    index = ("--index-url", f"{url}{place}")
    pip = [sys.executable, "-m", "pip", "download", "--isolated", "--no-cache-dir", "--no-deps", *index]
    subprocess.run([*pip, "--uploaded-prior-to", "2026-11-22", "--dest", tmp_path / "pip", "demo"], check=True)
    assert [path.name for path in (tmp_path / "pip").iterdir()] == [WHEEL]
    uv = [sys.executable, "-m", "uv", "pip", "install", "--no-config", "--no-cache", "--python", sys.executable, *index]
    subprocess.run([*uv, "--exclude-newer", "2026-11-22", "--target", tmp_path / "uv", "demo"], check=True)
    assert (tmp_path / "uv" / "demo-1.0+cu130.dist-info").is_dir()
    early = [*uv, "--exclude-newer", "2026-11-20", "--target", str(tmp_path / "early"), "demo"]
    assert subprocess.run(early, check=False, capture_output=True).returncode != 0
