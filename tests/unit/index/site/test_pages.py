"""Pages for people, as their markup says it; browsers read them in tests/real/site."""

import html
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from markupsafe import escape
from msgspec import structs

from tests.commands import ROOT
from tests.refusals import coded
from tests.unit.index.conftest import EVERY_KIND, Release, people, rendered, with_evidence
from tests.unit.plan.examples import CONFIG
from wheelmill.config.model.config import Config
from wheelmill.config.model.files import Listing, Status, StatusEntry, Yanked
from wheelmill.errors import SiteError
from wheelmill.index.collect import site_of_folder, site_of_releases
from wheelmill.index.site.packages import runs_of
from wheelmill.index.site.pages import pages_of_documents, with_sitemap
from wheelmill.index.tree import Catalogue, SiteAddress
from wheelmill.index.write import write_site
from wheelmill.names import ProjectName, TorchVersion, project_name
from wheelmill.plan.matrix import make_plan
from wheelmill.plan.targets import Filters
from wheelmill.wheel.name import WheelName

DEMO = project_name("demo")
SAME = EVERY_KIND[0].replace("-cp311", "-1-cp311", 1)
EQUAL = tuple(SAME.replace("demo-1.0", name) for name in ("demo-1.0.0", "other-1.0.0"))
"""Equal to version 1.0 of another wheel (PEP 440), and written differently."""
OTHER_PYTHONS = tuple(
    f"third-{version}+cu130torch2.11-{tag}-{tag}-manylinux_2_28_x86_64.whl"
    for version, tag in (("1.0", "cp311"), ("1.0.0", "cp312"))
)
"""Equal versions, written differently, of which each has a Python of its own."""
HOSTILE = "</script><script>alert(1)</script>'\"><img src=x onerror=alert(1)>{{ 7 * 7 }}"


def catalogue(config: Config = CONFIG) -> Catalogue:
    return Catalogue(packages=config.packages, plan=make_plan(config, Filters(), {}), drivers={})


def described(name: ProjectName, description: str, licence: str | None) -> Catalogue:
    package = replace(CONFIG.packages[name], description=description, licence=licence)
    return catalogue(replace(CONFIG, packages={**CONFIG.packages, name: package}))


def test_a_hostile_description_stays_text(release: Release) -> None:
    site = site_of_releases(release(*EVERY_KIND), "")
    pages = people(site, described(DEMO, HOSTILE, HOSTILE))
    for path in ("index.html", "packages/demo/index.html"):
        text = pages[path].decode()
        assert HOSTILE in unescape(text)
        assert "<img src=x" not in text
        assert "alert(1)</script>" not in text
        assert re.findall(r"<script(?! (src|id)=)", text) == []


def test_hostile_reasons_and_evidence_stay_text(release: Release) -> None:
    package = replace(CONFIG.packages[DEMO], redistributable=False, licence=HOSTILE)
    site = site_of_releases(with_evidence(release(EVERY_KIND[0]), needed=(HOSTILE,)), "")
    planned = catalogue(replace(CONFIG, packages={DEMO: package}))
    text = people(site, planned)["packages/demo/index.html"].decode()
    assert unescape(text).count(HOSTILE) >= 3
    assert "<img src=x" not in text


def test_attestations_that_a_release_has_are_linked_beside_its_wheels(release: Release) -> None:
    (manifest,) = release(*EVERY_KIND)
    kept = structs.replace(manifest, wheels=tuple(structs.replace(entry, attested=True) for entry in manifest.wheels))
    (first, *_) = site_of_releases([kept], "https://example.org/files").projects[project_name("demo")]
    assert first.attestation == f"https://example.org/files/{manifest.tag}/attestations.jsonl"


@pytest.mark.parametrize(
    ("url", "repository"),
    [
        ("https://github.com/me/wheels/attestations/1?a&b", "me/wheels"),
        ("https://github.com/me/wheels/releases/download/v1/attestations.jsonl", "me/wheels"),
        ("https://example.org/attestations/1?a&b", "OWNER/REPO"),
    ],
)
def test_attestations_are_linked_and_in_wheels_json(url: str, repository: str, release: Release) -> None:
    (manifest,) = release(*EVERY_KIND[:2])
    attested, other = manifest.wheels
    wheels = (structs.replace(attested, attestation=url), other)
    site = site_of_releases((structs.replace(manifest, wheels=wheels),), "")
    pages = people(site)
    linked = [path for path, page in pages.items() if f'<a href="{escape(url)}">' in page.decode()]
    assert linked == [f"packages/demo/1.0/{WheelName.parse(attested.filename).label}/index.html"]
    assert f"gh attestation verify WHEEL --repo {repository}<" in pages[linked[0]].decode()
    wheels = json.loads(rendered(site)["wheels.json"])["wheels"]
    assert {it["filename"]: it["attestation"] for it in wheels} == {attested.filename: url, other.filename: None}


def test_the_page_for_wrong_addresses_stands_alone(release: Release) -> None:
    page = rendered(site_of_releases(release(EVERY_KIND[0]), ""))["404.html"].decode()
    assert "<style>" in page
    assert "href=" not in page
    assert "src=" not in page


def test_data_for_the_finder_cannot_end_its_element(release: Release) -> None:
    homes = {project_name("demo"): ["</script>"]}
    known = replace(catalogue(), homes=homes)
    text = people(site_of_releases(release(EVERY_KIND[0]), ""), known)["index.html"].decode()
    (content,) = re.findall(r'<script id="wheels" type="application/json">(.*?)</script>', text)
    assert json.loads(content)["homes"] == homes
    assert "<" not in content


def test_a_version_is_written_as_its_wheels_have_it_whatever_equals_it(release: Release) -> None:
    pages = people(site_of_releases(release(EVERY_KIND[0], *EQUAL), ""))
    for project in ("demo", "other"):
        page = pages[f"packages/{project}/1.0.0/cu130torch2.11/index.html"].decode()
        assert f"{project}==1.0.0+cu130torch2.11" in page
        assert json.loads(pages[f"packages/{project}/badge.json"])["message"] == "1.0.0, torch 2.11"
    assert "packages/demo/1.0/cu130torch2.11/index.html" in pages


@pytest.mark.parametrize("base_url", ["../releases", "files"])
def test_every_link_leads_to_a_page_or_a_file(base_url: str, release: Release, tmp_path: Path) -> None:
    site = site_of_releases(release(*EVERY_KIND, *EQUAL, *OTHER_PYTHONS, store=f"site/{base_url}"), base_url)
    pages = rendered(site) | people(site, catalogue())
    write_site(((path, [page]) for path, page in pages.items()), tmp_path / "site")
    for path in (path for path in pages if path.endswith(".html") and "simple" not in path):
        for link, fragment in re.findall(r'(?:href|src)="([^"#]*)(?:#([^"]*))?"', pages[path].decode()):
            url = urlsplit(urljoin(f"http://127.0.0.1/site/{path}", link))
            target = tmp_path / unquote(url.path).removeprefix("/")
            page = target / "index.html" if url.path.endswith("/") else target
            assert page.is_file(), f"{path}: {link}"
            is_of_finder = "=" in fragment  # its script reads what follows the #
            assert not fragment or is_of_finder or f'id="{fragment}"' in page.read_text(), f"{path}: {link}#{fragment}"


def test_packages_that_have_no_wheels_yet_have_a_page(release: Release) -> None:
    pages = people(site_of_releases(release(EVERY_KIND[0]), ""), catalogue())
    assert "There are no wheels of it here yet." in pages["packages/plain/index.html"].decode()
    assert "packages/plain/" in pages["index.html"].decode()


def test_of_a_package_whose_licence_forbids_it_no_wheels_are_promised(release: Release) -> None:
    package = replace(CONFIG.packages[project_name("plain")], redistributable=False)
    config = replace(CONFIG, packages={package.name: package})
    pages = people(site_of_releases(release(EVERY_KIND[0]), ""), catalogue(config))
    for path in ("packages/plain/index.html", f"packages/plain/{package.versions[0]}/index.html"):
        assert "Its licence does not let others be given wheels of it." in pages[path].decode()
    for path in ("index.html", "packages/plain/index.html"):
        assert not re.search(r"wheels( of \w+)? yet", pages[path].decode())


def test_a_yanked_wheel_is_shown_with_its_reason_and_not_found(release: Release) -> None:
    listing = Listing(yanked=Yanked(wheels={EVERY_KIND[0]: HOSTILE}))
    pages = people(site_of_releases(release(*EVERY_KIND[:2]), "", listing))
    page = pages["packages/demo/index.html"].decode()
    assert "torch 2.11" not in page
    version = pages["packages/demo/1.0/index.html"].decode()
    assert f'<a href="cu130torch2.11/">1 of 1.0+cu130torch2.11</a>: {escape(HOSTILE)}' in version
    wheels = pages["packages/demo/1.0/cu130torch2.11/index.html"].decode()
    assert f"Yanked: {html.escape(HOSTILE)}" in wheels
    (content,) = re.findall(r'<script id="wheels" type="application/json">(.*?)</script>', pages["index.html"].decode())
    assert json.loads(content)["torches"] == ["2.10"]


def test_the_status_of_a_project_is_shown(release: Release) -> None:
    listing = Listing(yanked=Yanked(projects={DEMO: StatusEntry(status=Status.ARCHIVED, reason="part of torch now")}))
    pages = people(site_of_releases(release(EVERY_KIND[0]), "", listing))
    assert "This project is archived: part of torch now." in pages["packages/demo/index.html"].decode()


def test_an_empty_index_has_a_first_page() -> None:
    page = people(site_of_releases([], ""))["index.html"].decode()
    assert "There are no wheels here yet." in page
    assert 'id="finder"' not in page


def test_an_index_with_nothing_but_a_plan_fits_a_screen_and_leads_its_owner_on() -> None:
    address = SiteAddress.of("https://me.github.io/wheels/", "../releases")
    site, packages = site_of_releases([], ""), dict(CONFIG.packages)
    private = project_name("plain")
    packages[private] = replace(packages[private], redistributable=False)
    pages = people(site, catalogue(replace(CONFIG, packages=packages)), address=address)
    first = pages["index.html"].decode()
    assert "https://github.com/me/wheels/actions/workflows/wheels.yml" in first
    assert f"{len(packages) - 1} package" in first
    assert re.search(r"By their licence[^<]*<a href=\"packages/plain/\">plain</a>\.", first)
    page = pages["packages/demo/index.html"].decode()
    assert page.index("<summary>What is planned</summary>") < page.index('<table class="grid">')


def test_a_folder_of_wheels_has_pages_without_evidence(release: Release, tmp_path: Path) -> None:
    release(*EVERY_KIND)
    pages = people(site_of_folder(tmp_path / "wheels", "files", warn=lambda _text: None))
    assert "manifest.json" not in pages["packages/demo/index.html"].decode()
    assert "Each was installed" not in pages["index.html"].decode()
    assert "What was not tested" in pages["about/index.html"].decode()
    assert "1.0+cu130torch2.11" in pages["packages/demo/index.html"].decode()


def test_the_same_releases_give_the_same_bytes(release: Release) -> None:
    manifests = release(*EVERY_KIND)
    pages = [list(people(site_of_releases(manifests, ""), catalogue()).items()) for _ in range(2)]
    assert pages[0] == pages[1]


def test_pages_say_that_any_torch_of_a_range_will_do(release: Release) -> None:
    name = "demo-1.0+cu130-cp39-abi3-manylinux_2_28_x86_64.whl"
    pages = people(site_of_releases(release(name, EVERY_KIND[0], requires=("torch>=2.10",)), ""), catalogue())
    shown = pages["packages/demo/index.html"].decode()
    assert "<dd>2.11, any torch from 2.10</dd>" in shown
    assert '<th scope="rowgroup" rowspan="1">any torch from 2.10</th>' in shown
    assert "torch 2.11, any torch from 2.10 · CUDA 13.0" in pages["index.html"].decode()


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("demo/", "Wheels of demo 1.0 for torch 2.10 to 2.11, CUDA 12.8, 13.0."),
        ("demo/1.0/", "3 wheels of demo 1.0 for torch 2.10 to 2.11, CUDA 12.8, 13.0."),
        ("unlabelled/", "Wheels of unlabelled 3.0."),
        ("plain/", "No wheels of plain yet."),
    ],
)
def test_those_who_search_the_web_are_told_what_a_page_has(path: str, said: str, release: Release) -> None:
    page = people(site_of_releases(release(*EVERY_KIND), ""), catalogue())[f"packages/{path}index.html"].decode()
    assert re.findall('<meta (?:name|property)="(?:og:)?description" content="([^"]*)">', page) == [said, said]


def test_the_index_of_wheels_without_a_label_is_said_to_have_all_wheels(release: Release) -> None:
    pages = people(site_of_releases(release(*EVERY_KIND), ""))
    labelled, unlabelled = (pages[f"packages/{name}/index.html"].decode() for name in ("demo", "unlabelled"))
    assert "for CUDA 13.0 and torch 2.11" in labelled
    assert "of all wheels<noscript>" in unlabelled
    assert "have indexes of their own, which their pages name. For uv, write" in labelled
    assert "</noscript>. For uv, write" in unlabelled
    assert "have indexes of their own" not in unlabelled


@pytest.mark.parametrize(
    ("torches", "words"),
    [
        ("2.8", "2.8"),
        ("2.9 2.10 2.11", "2.9 to 2.11"),
        ("2.6 2.8 2.9 2.11", "2.6, 2.8 to 2.9, 2.11"),
        ("2.15 2.16rc1 3.0", "2.15, 2.16rc1, 3.0"),
    ],
)
def test_torches_without_wheels_are_not_in_a_run(torches: str, words: str) -> None:
    assert runs_of([*map(TorchVersion.parse, torches.split())]) == words


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
    with pytest.raises(
        SiteError, check=coded("documents-incomplete", missing, f"sphinx-build docs {rendered_documents}")
    ):
        list(pages_of_documents(rendered_documents))


def test_every_page_leads_to_the_documents_where_there_are_some(release: Release, rendered_documents: Path) -> None:
    site = site_of_releases(release(*EVERY_KIND), "")
    with_them = people(site, documents=rendered_documents)
    assert b'<a href="./docs/">Docs</a>' in with_them["index.html"]
    assert b'<a href="../../docs/">Docs</a>' in with_them["packages/demo/index.html"]
    assert with_them["docs/index.html"] == b"index.html"
    assert [path for path, content in people(site).items() if b"docs/" in content or path.startswith("docs/")] == []


LOC = "{http://www.sitemaps.org/schemas/sitemap/0.9}loc"


def listed(pages: dict[str, bytes]) -> list[str]:
    return [str(each.text) for each in ET.fromstring(pages["sitemap.xml"]).iter(LOC)]  # noqa: S314 - ours


def test_it_lists_every_page_for_people(release: Release) -> None:
    address = SiteAddress(url="https://example.org/wheels/")
    found = people(site_of_releases(release(*EVERY_KIND), ""), address=address)
    addresses = listed(found)
    assert addresses[0] == "https://example.org/wheels/"
    assert "https://example.org/wheels/packages/demo/" in addresses
    assert len(addresses) == sum(path.rpartition("/")[2] == "index.html" for path in found)


def test_who_lacks_a_package_is_led_to_the_form_of_who_makes_the_site(release: Release) -> None:
    form = ROOT / ".github" / "ISSUE_TEMPLATE" / "package-request.yml"
    assert form.exists()
    link = f'<a href="https://github.com/me/wheels/issues/new?template={form.name}">'.encode()
    for repository in ("https://github.com/me/wheels", ""):
        address = SiteAddress(repository=repository)
        pages = people(site_of_releases(release(EVERY_KIND[0]), ""), address=address)
        assert (link in pages["index.html"]) == bool(repository)
        assert "sitemap.xml" not in pages


@pytest.mark.parametrize("most", [50, pytest.param(50_000, marks=pytest.mark.nightly)])
def test_it_has_no_more_addresses_than_it_may(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wheelmill.index.site.pages._MOST", most)
    pages = ((f"packages/p{number}/index.html", [b""]) for number in range(most + 1))
    found = {path: b"".join(content) for path, content in with_sitemap(pages, "https://example.org/?a&b/")}
    assert len(listed(found)) == most
    assert len(found) == most + 2
    assert len(found["sitemap.xml"]) < 50 << 20
