"""Each source that ships, read from a page in its own form, which ``tests/data/sources`` has with where it was seen."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.page_server import Answer, PageServer
from tests.unit.client.conftest import TARGET
from wheelmill.client.choose.finder import Finder
from wheelmill.client.records import Candidate, LookupOutcome, Search, Source, SourceKind, TargetEnvironment
from wheelmill.client.sources.pages import PageCache, Pages
from wheelmill.client.sources.sources import SHIPPED
from wheelmill.client.sources.sources_file import read_sources_file
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.names import CudaVersion, Platform, PythonVersion, TorchVersion, project_name
from wheelmill.wheel.platforms import Libc

DATA = Path(__file__).parents[3] / "data" / "sources"


class Known(NamedTuple):
    """A target, and what the recorded page of a source has for it."""

    project: str
    python: str
    torch: str
    cuda: str
    platform: str
    filename: str
    label: str
    """What the wheel is taken to be built for: CUDA, then torch."""


with (DATA.parent / "shipped_sources.csv").open(newline="") as table:
    KNOWN = {name: Known(*known) for name, *known in [*csv.reader(table)][1:]}


@pytest.fixture
def sources(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> dict[str, Source]:
    """Those that ship, each with the server of the test in the place of its own."""
    monkeypatch.setenv("GITHUB_API_URL", server.url)
    return {source.name: _moved(source, server.url) for source in read_sources_file(SHIPPED).sources}


def _moved(source: Source, url: str) -> Source:
    origin = "://".join(urlsplit(source.url)[:2])
    return replace(source, url=source.url.replace(origin, url, 1))


def target_of(known: Known) -> TargetEnvironment:
    platform = Platform.parse(known.platform)
    return replace(
        TARGET,
        python=PythonVersion.parse(known.python),
        torch=TorchVersion.parse(known.torch),
        cuda=CudaVersion.parse(known.cuda),
        platform=platform,
        libc=Libc("glibc", 2, 39) if platform.is_linux else None,
        cxx11_abi=None,
    )


def find(source: Source, known: Known, server: PageServer, facts: Compatibility) -> list[Candidate]:
    """The wheels of a source's recorded page that fit a target."""
    project = project_name(known.project)
    recorded = next(DATA.glob(f"{source.name}.*"))
    content_type = "text/html" if recorded.suffix == ".html" else "application/json"
    unguarded = replace(source, gpus=())  # which GPUs they are for is another matter
    with PageCache(None) as cache:
        finder = Finder(sources=[unguarded], facts=facts, pages=Pages(cache, Search()), targets=[target_of(known)])
        for place in finder.places(project):
            page = Answer(recorded.read_bytes(), headers={"Content-Type": content_type})
            server.pages[place.url.removeprefix(server.url)] = page
        finder.read([project])
        assert [each.outcome for each in finder.outcomes(project).values()] == [LookupOutcome.FOUND]
        assert finder.pages.warnings == []
        return finder.fitting_candidates(project)


def test_every_source_that_ships_has_a_recorded_page_and_no_other_has() -> None:
    names = {source.name for source in read_sources_file(SHIPPED).sources}
    assert names == set(KNOWN) == {path.stem for path in DATA.iterdir()}
    assert len(names) >= 30
    assert all(b"seen" in path.read_bytes().lower() for path in DATA.iterdir())


@pytest.mark.parametrize("name", KNOWN)
def test_a_source_is_read_in_its_own_form(
    name: str, sources: dict[str, Source], server: PageServer, facts: Compatibility
) -> None:
    (candidate,) = find(sources[name], KNOWN[name], server, facts)
    assert candidate.filename == KNOWN[name].filename
    assert f"{candidate.label}, {candidate.label.torch}" == KNOWN[name].label


def test_no_source_is_shown_a_credential(
    sources: dict[str, Source], server: PageServer, facts: Compatibility, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GitHub's token is for GitHub's API, and Hugging Face's for nobody."""
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("GITHUB_API_URL", "https://api.github.test")
    others = [source for source in sources.values() if source.kind is not SourceKind.GITHUB]
    for source in others:
        find(source, KNOWN[source.name], server, facts)
    assert len(server.asked) == len(others)
    assert set(server.authorizations) == {None}
