"""The words and files that name sources, and those that ship, each read from a page (tests/data/sources)."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.page_server import Answer, PageServer
from tests.refusals import coded
from tests.unit.client.conftest import TARGET
from wheelmill.client.choose.finder import Finder
from wheelmill.client.records import Candidate, LookupOutcome, Search, Source, SourceKind, TargetEnvironment
from wheelmill.client.sources.pages import PageCache, Pages
from wheelmill.client.sources.sources import SHIPPED, read_sources
from wheelmill.client.sources.sources_file import read_sources_file
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.errors import ConfigurationError, UsageError
from wheelmill.names import CudaVersion, Platform, PythonVersion, TorchVersion, project_name
from wheelmill.system import own_installation
from wheelmill.wheel.platforms import Libc

HUB = "https://huggingface.co/api/models"
REGISTRY = """
[[sources]]
package = "flash_attn"
description = 'says "hello"'
type = "github"
repo = "Dao-AILab/flash-attention"
wheel_name = "flash_attn-{version}+cu{cuda}torch{torch}cxx11abi{abi}-{pytag}-{platform}.whl"
cuda_style = "short"
has_abi = true
[[sources]]
package = "grouped-gemm"
type = "find-links"
url_template = "https://wheels.test/cu{cuda}_torch{torch}"
wheel_name = "nv_grouped_gemm-{version}+cu{cuda}-{pytag}-{platform}.whl"
torch_format = "packed"
torch_compat = "~=2.4"
"""


def read(*named: str, extra: tuple[str, ...] = ()) -> tuple[Source, ...]:
    with PageCache(None) as cache:
        return read_sources(Search(named=named, extra=extra), cache)


@pytest.mark.parametrize(
    ("word", "kind", "url"),
    [
        ("https://host.test/cu130/simple/", SourceKind.SIMPLE, "https://host.test/cu130/simple/"),
        ("simple:https://host.test/index", SourceKind.SIMPLE, "https://host.test/index"),
        ("https://host.test/wheels.html", SourceKind.FIND_LINKS, "https://host.test/wheels.html"),
        ("find-links:https://host.test/simple", SourceKind.FIND_LINKS, "https://host.test/simple"),
        ("github:owner/name", SourceKind.GITHUB, "https://api.github.com/repos/owner/name/releases"),
        ("huggingface:owner/name", SourceKind.HUGGINGFACE, f"{HUB}/owner/name/tree/main?recursive=true"),
    ],
)
def test_a_word_is_a_source(word: str, kind: SourceKind, url: str) -> None:
    (source,) = read(word)
    assert (source.kind, source.url) == (kind, url)


@pytest.mark.parametrize(
    "word",
    [
        *("github:owner", "github:a/../b", "huggingface:a", "simple:ftp://host.test/", "ftp://host.test/"),
        *("simple:", "simple:https://host.test/{version}/", "https://host.test/cu{cuda/"),
        *(
            "simple:https://host.test/${SECRET}/",
            "https://host.test/\n--index-url=https://evil.test/",
            "a\u2028b",
            "\udcff",
        ),
    ],
)
def test_what_is_no_source_is_refused(word: str) -> None:
    with pytest.raises(UsageError, check=coded("source-invalid")):
        read(word)


def test_a_file_that_is_not_there_is_told() -> None:
    with pytest.raises(UsageError, check=coded("source-unreadable", "no-such-file")):
        read("no-such-file")


@pytest.mark.parametrize("word", ["simple:https://host.test/?token=secret", "https://host.test/simple/?token=secret"])
def test_a_token_in_the_query_of_an_index_is_refused_and_not_told(word: str) -> None:
    with pytest.raises(UsageError, check=coded("source-invalid")) as raised:
        read(word)
    assert "secret" not in str(raised.value)


def test_a_password_in_a_url_is_not_part_of_the_name() -> None:
    (source,) = read("https://me:secret@host.test/simple/")
    assert source.name == "https://host.test/simple/"


def test_extra_sources_come_first_and_the_variable_replaces_those_that_ship(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(read()) == 40
    assert next(source.name for source in read(extra=("github:a/b",))) == "a/b"
    monkeypatch.setenv("WHEELMILL_SOURCES", "github:c/d https://host.test/simple/")
    assert [source.name for source in read()] == ["c/d", "https://host.test/simple/"]


def test_a_registry_of_gpkg_is_read(tmp_path: Path) -> None:
    (tmp_path / "registry.toml").write_text(REGISTRY)
    flash, gemm = read(str(tmp_path / "registry.toml"))
    assert flash.projects == {"flash-attn"}
    assert flash.description == 'says "hello"'
    assert gemm.distribution == "nv-grouped-gemm"
    assert gemm.url == "https://wheels.test/cu{cuda}_torch{torch_packed}"
    assert str(gemm.torch) == "~=2.4"


@pytest.mark.parametrize(
    "text",
    [
        "sources = 1",
        "[[sources]]",
        '[[sources]]\npackage = "a"\ntype = "ftp"',
        '[[sources]]\npackage = "a"\nrepo = "../x"',
        '[[sources]]\npackage = "a"\nrepo = "a/b"\ntorch_compat = "about 2"',
        "not toml",
    ],
)
def test_a_faulty_registry_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "registry.toml").write_text(text)
    with pytest.raises(ConfigurationError, check=coded("configuration-invalid", "registry.toml")):
        read(str(tmp_path / "registry.toml"))


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ("{}", "sources.a: "),
        ("{github: a/b, simple: 'https://c.test'}", "sources.a: "),
        ("{github: a}", "sources.a.github: "),
        ("{huggingface: a/b/c}", "sources.a.huggingface: "),
        ("{simple: 'https://c.test/{version}/'}", "sources.a.simple: "),
        ("{github: a/b, gpu: ['9.0']}", "'gpus'"),
    ],
)
def test_a_faulty_file_is_named_by_line_and_key(tmp_path: Path, entry: str, fault: str) -> None:
    (tmp_path / "own.yml").write_text(f"sources:\n  a: {entry}\n")
    with pytest.raises(ConfigurationError) as raised:
        read(str(tmp_path / "own.yml"))
    assert str(raised.value).startswith("own.yml:2:")
    assert fault in str(raised.value)


def test_a_file_from_the_cache_says_the_same(tmp_path: Path) -> None:
    path = str(own_installation.CONFIG / "sources.yml")
    with PageCache(tmp_path) as cache:
        first = read_sources(Search(named=(path,)), cache)
    with PageCache(tmp_path) as cache:
        assert read_sources(Search(named=(path,)), cache) == first


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
def test_each_form_is_read(name: str, sources: dict[str, Source], server: PageServer, facts: Compatibility) -> None:
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
