"""What the client's tests share: pages served on this machine, a cache of their own, and a target."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.page_server import Answer, PageServer, links_page
from wheelmill.client.choose.finder import Finder
from wheelmill.client.choose.resolve import read_facts, resolve
from wheelmill.client.records import Candidate, Resolution, Search, Source, SourceKind, TargetEnvironment
from wheelmill.client.sources.forms import group_links
from wheelmill.client.sources.pages import PageCache, Pages
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.names import CudaVersion, Platform, PythonVersion, TorchVersion, project_name
from wheelmill.web.pages import Link
from wheelmill.wheel.platforms import Libc


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("WIN_PD_OVERRIDE_LOCAL_APPDATA", str(tmp_path / "cache"))  # where Windows has the cache
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for name in (
        *("GITHUB_TOKEN", "WHEELMILL_SOURCES", "WHEELMILL_TORCH_INDEX", "WHEELMILL_SITE", "UV_TORCH_BACKEND"),
        *("UV_CUDA_DRIVER_VERSION", "VIRTUAL_ENV", "NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION"),
        "NV_VARIANT_PROVIDER_FORCE_SM_ARCH",
    ):
        monkeypatch.delenv(name, raising=False)


TARGET = TargetEnvironment(
    python=PythonVersion(3, 12),
    python_release="3.12.4",
    interpreter=None,
    platform=Platform.parse("linux_x86_64"),
    libc=Libc("glibc", 2, 34),
    torch=TorchVersion(2, 8),
    cuda=CudaVersion(12, 8),
)

Resolve = Callable[..., Resolution]


def find(*sources: str, target: TargetEnvironment = TARGET, offline: bool = False) -> Resolution:
    """Choose a wheel of demo from sources, without inspecting it."""
    return resolve([Requirement("demo")], target, Search(named=sources, offline=offline, inspect=False))


@pytest.fixture
def resolved(server: PageServer) -> Resolve:
    """Resolve requirements among wheels of these names, all on one page."""

    def resolve_among(names: list[str], *wanted: str, target: TargetEnvironment = TARGET) -> Resolution:
        server.pages["/wheels/"] = Answer(links_page(*names))
        search = Search(named=(f"find-links:{server.url}/wheels/",), refresh=True, inspect=False)
        return resolve([Requirement(text) for text in wanted], target, search)

    return resolve_among


def chosen(resolution: Resolution, project: str = "demo") -> str | None:
    """The file name that was chosen."""
    choice = {str(name): choice for name, choice in resolution.choices.items()}.get(project)
    return choice.candidate.filename if choice else None


def candidates(
    names: Iterable[str], project: str = "demo", source: Source | None = None, *, fitting: bool = False
) -> list[Candidate]:
    """The candidates that a page with links to these names gives."""
    source = source or Source(name="page", kind=SourceKind.FIND_LINKS, url="http://page.test/")
    with PageCache(None) as cache:
        groups = group_links((name, Link(name, name)) for name in names)
        cache.store(source.url, base=source.url, following=None, etag=None, modified=None, lifetime=0, groups=groups)
        finder = Finder(sources=[source], facts=read_facts(), pages=Pages(cache, Search()), targets=[TARGET])
        return (finder.fitting_candidates if fitting else finder.all_candidates)(project_name(project))


@pytest.fixture(scope="session")
def facts() -> Compatibility:
    """What ships."""
    return read_facts()
