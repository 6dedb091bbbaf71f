"""Indexes that others made: what is known against them, and nothing more."""

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.refusals import coded
from tests.releases import manifests_in, store_in
from tests.sigstore_instance import Sigstore
from tests.unit.conformance.conftest import AT_ONCE
from tests.unit.index.conftest import EVERY_KIND, Release
from tests.unit.release.conftest import NOW, certified_wheel
from tests.wheels import write_wheel
from wheelmill.conformance.rule import ConformanceReport
from wheelmill.conformance.survey import check_folder, check_url
from wheelmill.errors import SiteError
from wheelmill.index.collect import site_of_folder, site_of_releases
from wheelmill.index.render import pages_of
from wheelmill.index.serve import serve_folder
from wheelmill.index.write import write_site
from wheelmill.names import project_name
from wheelmill.release.publish import publish

NAMES = ("demo-1.0-py3-none-any.whl", "demo-1.0+cu130-py3-none-any.whl")


def found(report: ConformanceReport) -> dict[str, int]:
    """How many findings each rule has."""
    numbers = [violation.rule.number for violation in report.violations]
    return {number: numbers.count(number) for number in numbers}


@pytest.fixture
def site(release: Release, tmp_path: Path) -> Path:
    """Our own index of two releases, beside them."""
    release(*EVERY_KIND, requires_python=">=3.11,<4")
    write_site(pages_of(site_of_releases(release("later-1.0-py3-none-any.whl"), "../releases")), tmp_path / "site")
    return tmp_path / "site"


def test_our_own_index_has_no_findings_as_a_folder(site: Path) -> None:
    report = check_folder(site)
    assert report.violations == ()
    assert report.projects == 4 + 1 + 1 + 2 + 2 + 2
    assert report.examined == report.files == 6
    assert check_folder(site.parent) == report


def test_a_project_called_simple_is_checked_as_any_other(release: Release, tmp_path: Path) -> None:
    site = site_of_releases(release(EVERY_KIND[0], "simple-1.0-py3-none-any.whl"), "../releases")
    write_site(pages_of(site), tmp_path / "site")
    folder = tmp_path / "site" / "simple"
    reports = check_folder(folder), check_folder(folder, projects=[project_name("demo")])
    assert [report.projects for report in reports] == [2, 1]
    without_page = {"503.2", "503.5"}
    assert not any(without_page & found(report).keys() for report in reports)


def test_our_own_index_has_no_findings_where_wheels_have_provenance(tmp_path: Path) -> None:
    """A wheel that a job attests by itself has an object that the check reads (PEP 740); no other one has a link."""
    sigstore = Sigstore()
    wheels = [certified_wheel(tmp_path / "wheels" / name) for name in EVERY_KIND[:2]]
    own = [{wheel.file.filename: wheel.file.sha256} for wheel in wheels]
    bundles = [(sigstore.attest(own[0]),), (sigstore.attest(own[0] | own[1]),)]
    store = store_in(tmp_path / "releases")
    publish(store, [replace(wheel, bundles=each) for wheel, each in zip(wheels, bundles, strict=True)], now=NOW)
    with serve_folder(tmp_path, negotiate=True) as url:
        site = site_of_releases(manifests_in(store), f"{url}releases")
        write_site(pages_of(site), tmp_path / "site")
        report = check_url(f"{url}site/simple/", everything=True, politeness=AT_ONCE, sleep=time.sleep)
        page = (tmp_path / "site" / "simple" / "demo" / "index.html").read_text()
        assert page.count("data-provenance=") == 1
        (release,) = (tmp_path / "releases").glob("v*")
        (release / f"{EVERY_KIND[0]}.provenance").write_text("{}")
        spoiled = check_url(f"{url}site/simple/", everything=True, politeness=AT_ONCE, sleep=time.sleep)
    assert report.violations == ()
    assert found(spoiled) == {"740.2": 1}


def test_our_own_index_has_no_findings_on_a_server(site: Path) -> None:
    with serve_folder(site.parent) as url:
        report = check_url(f"{url}site/cu130/torch2.11/simple", everything=True, politeness=AT_ONCE, sleep=time.sleep)
    assert report.violations == ()
    assert report.examined == 2


def test_an_index_over_any_folder_has_no_findings(tmp_path: Path) -> None:
    for name in NAMES:
        write_wheel(tmp_path / "site" / "wheels" / name)
    pages = pages_of(site_of_folder(tmp_path / "site" / "wheels", "wheels", warn=lambda _text: None))
    write_site(pages, tmp_path / "site")
    assert check_folder(tmp_path / "site").violations == ()


def test_a_flipped_byte_in_our_own_index_is_found(site: Path) -> None:
    (wheel,) = site.parent.glob("releases/*/unlabelled*.whl")
    content = bytearray(wheel.read_bytes())
    content[len(content) // 2] ^= 1
    wheel.write_bytes(content)
    assert "503.10" in found(check_folder(site))


@pytest.mark.parametrize(
    ("folder", "findings", "projects"),
    [("demo", {"503.4": 1, "503.7": 2, "629.1": 2}, 1), (".", {"503.4": 2, "629.1": 1}, 0)],
    ids=["of folders", "of wheels"],
)
def test_a_listing_has_no_hash_or_version(folder: str, findings: dict[str, int], projects: int, tmp_path: Path) -> None:
    for name in NAMES:
        write_wheel(tmp_path / folder / name)
    with serve_folder(tmp_path) as url:
        report = check_url(url, politeness=AT_ONCE, sleep=time.sleep)
    assert (found(report), report.projects) == (findings, projects)
    entry = f"{folder}/" if projects else NAMES[1]
    assert report.violations[0].message == f"the link {entry!r} leads to {entry.replace('+', '%2B')!r}"


def test_dumb_pypi_links_to_index_html_escapes_no_plus_and_gives_no_version(tmp_path: Path) -> None:
    for name in NAMES:
        write_wheel(tmp_path / "files" / name)
    (tmp_path / "list").write_text("\n".join(NAMES))
    options = ("--package-list", tmp_path / "list", "--output-dir", tmp_path, "--packages-url", "../../files")
    subprocess.run([sys.executable, "-m", "dumb_pypi.main", *map(str, options)], check=True)
    report = check_folder(tmp_path)
    assert found(report) == {"503.4": 1, "503.7": 2, "629.1": 2}
    assert report.violations[0].message == "the link 'demo' leads to 'demo/index.html'"


def test_a_folder_without_an_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SiteError, check=coded("not-a-site")):
        check_folder(tmp_path)


def test_pages_and_files_outside_the_folder_are_not_read(tmp_path: Path) -> None:
    secret = write_wheel(tmp_path / "outside" / NAMES[0])
    page = tmp_path / "site" / "simple" / "demo" / "index.html"
    page.parent.mkdir(parents=True)
    (page.parents[1] / "index.html").write_text('<!DOCTYPE html><a href="demo/">demo</a>')
    (page.parent / "link.whl").symlink_to(secret)
    links = [f"../../../outside/{NAMES[0]}", f"file://{secret}", "link.whl", "%2e%2e/%2e%2e/%2e%2e/outside/x.whl"]
    page.write_text("<!DOCTYPE html>" + "".join(f'<a href="{link}">{NAMES[0]}</a>' for link in links))
    report = check_folder(tmp_path / "site")
    missing = [violation for violation in report.violations if violation.rule.number == "503.9"]
    assert len(missing) == report.files == len(links)
