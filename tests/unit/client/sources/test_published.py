"""The list of sources is brought up to date from a site; what became of looking is the same cold, warm and offline."""

import hashlib
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.page_server import Answer, PageServer, links_page
from tests.progress import RecordedProgress
from tests.refusals import coded
from tests.unit.client.conftest import TARGET, find
from wheelmill.client.choose.explain import explain, find_offer
from wheelmill.client.choose.resolve import resolve
from wheelmill.client.records import LookupOutcome, Resolution, Search, SourceOutcome, messages_of
from wheelmill.client.sources import sources
from wheelmill.client.sources.pages import cache_folder, open_cache
from wheelmill.client.sources.sources import read_sources
from wheelmill.client.variants.explain import explain_variants
from wheelmill.errors import UsageError
from wheelmill.index.render import pages_of_sources
from wheelmill.names import project_name

NEWER = b"sources:\n  new: {simple: 'https://new.example/simple/', projects: [demo]}\n"
NEWEST = NEWER.replace(b"new:", b"newest:")
SHIPPED = 40

Names = Callable[..., list[str]]


def names_of(search: Search, warnings: list[str]) -> list[str]:
    with open_cache(search) as cache:
        names = [source.name for source in read_sources(search, cache)]
    warnings += cache.warnings
    return names


@pytest.fixture
def publish(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Put a list on the site, as `index build` does."""
    monkeypatch.setenv("WHEELMILL_SITE", server.url)

    def put(content: bytes) -> None:
        for path, pieces in pages_of_sources(content):
            server.pages[f"/{path}"] = Answer(b"".join(pieces))

    return put


@pytest.fixture
def published(publish: Callable[[bytes], None]) -> None:
    publish(NEWER)


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def names(warnings: list[str]) -> Names:
    """The names of the sources that are looked in."""

    def of(*, offline: bool = False, refresh: bool = False, use_cache: bool = True) -> list[str]:
        search = Search(offline=offline, refresh=refresh, use_cache=use_cache)
        return names_of(search, warnings)

    return of


def test_a_published_list_replaces_ours(publish: Callable[[bytes], None], names: Names, server: PageServer) -> None:
    publish(NEWER)
    assert names() == names() == names(offline=True) == ["new"]
    assert [path for path, _ in server.asked] == ["/sources.yml.sha256", "/sources.yml"]


def test_after_a_day_the_hash_is_asked_for(publish: Callable[[bytes], None], names: Names, server: PageServer) -> None:
    publish(NEWER)
    names()
    for content, name, asked in ((NEWER, "new", 1), (NEWEST, "newest", 2)):
        publish(content)
        (kept,) = cache_folder().glob("sources-*.yml")
        os.utime(kept, (0, time.time() - 25 * 60 * 60))
        server.asked.clear()
        assert names() == names() == [name]
        assert len(server.asked) == asked
    server.asked.clear()
    assert names(refresh=True) == ["newest"]
    assert len(server.asked) == 1


def test_offline_and_without_a_cache_it_is_the_one_that_ships(
    publish: Callable[[bytes], None], names: Names, server: PageServer, warnings: list[str]
) -> None:
    publish(NEWER)
    assert len(names(offline=True)) == len(names(use_cache=False)) == SHIPPED
    assert server.asked == []
    assert warnings == []


def test_an_empty_variable_turns_it_off(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHEELMILL_SITE", "")
    assert len(names()) == SHIPPED


def changed(server: PageServer) -> None:
    server.pages["/sources.yml"] = Answer(NEWEST)


def gone(server: PageServer) -> None:
    server.pages.clear()


def unreadable(server: PageServer) -> None:
    content = b"sources: {new: {ftp: 'ftp://new.example'}}\n"
    server.pages["/sources.yml"] = Answer(content)
    server.pages["/sources.yml.sha256"] = Answer(hashlib.sha256(content).hexdigest().encode())


@pytest.mark.parametrize(("fault", "said"), [(changed, "has sha256"), (gone, "404"), (unreadable, "ftp")])
@pytest.mark.usefixtures("published")
def test_a_list_that_cannot_be_trusted_or_read_changes_nothing(
    fault: Callable[[PageServer], None], said: str, names: Names, server: PageServer, warnings: list[str]
) -> None:
    fault(server)
    assert len(names()) == SHIPPED
    assert said in warnings[0]
    assert "the list of sources that ships" in warnings[0]


def test_the_last_list_stays_in_use(
    publish: Callable[[bytes], None], names: Names, server: PageServer, warnings: list[str]
) -> None:
    publish(NEWER)
    names()
    gone(server)
    assert names(refresh=True) == ["new"]
    assert "the last list" in warnings[0]


def test_a_silent_site_is_a_warning(names: Names, warnings: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHEELMILL_SITE", "http://127.0.0.1:9/")
    monkeypatch.setattr(time, "sleep", lambda _: None)
    assert len(names()) == SHIPPED
    assert len(warnings) == 1


@pytest.mark.parametrize("site", ["no url", "ftp://host.test", "http://[", "https:///path"])
def test_a_site_that_is_no_url_is_refused(site: str, names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHEELMILL_SITE", site)
    with pytest.raises(UsageError, check=coded("source-invalid", "WHEELMILL_SITE")):
        names()


def test_the_list_that_ships_may_name_the_site(
    publish: Callable[[bytes], None], server: PageServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own.yml"
    own.write_bytes(b"site: " + server.url.encode() + b"\n" + NEWER)
    publish(NEWEST)
    monkeypatch.delenv("WHEELMILL_SITE")
    monkeypatch.setattr(sources, "SHIPPED", own)
    for named, found in (((), "newest"), ((str(own),), "new")):  # a list that is named is not replaced by another one
        assert names_of(Search(named=named), []) == [found]


WHEEL = "demo-1.0.0+cu128torch2.8-cp312-cp312-manylinux_2_28_x86_64.whl"
MISFIT = "demo-1.0.0+cu118torch2.1-cp39-cp39-win_amd64.whl"
HTML = {"Content-Type": "text/html"}


def outcomes_of(resolution: Resolution) -> list[LookupOutcome]:
    return [each.outcome for each in resolution.sources]


ANSWERS = {
    "found": (Answer(links_page(WHEEL)), LookupOutcome.FOUND),
    "found but nothing fits": (Answer(links_page(MISFIT)), LookupOutcome.FOUND),
    "has none": (Answer(links_page("other-1.0-py3-none-any.whl")), LookupOutcome.HAS_NONE),
    "absent": (Answer(status=404), LookupOutcome.ABSENT),
    "gone": (Answer(status=410), LookupOutcome.ABSENT),
    "unauthorized": (Answer(status=401), LookupOutcome.REFUSED),
    "forbidden": (Answer(status=403), LookupOutcome.REFUSED),
    "GitHub's limit": (Answer(status=403, headers={"X-RateLimit-Remaining": "0"}), LookupOutcome.LIMITED),
    "come back in an hour": (Answer(status=429, headers={"Retry-After": "3600"}), LookupOutcome.LIMITED),
    "a picture": (Answer(b"GIF89a", headers={"Content-Type": "image/gif"}), LookupOutcome.NOT_AN_INDEX),
    "a way to nowhere": (Answer(status=302, headers={"Location": "ftp://host.test/"}), LookupOutcome.UNREACHABLE),
    "a page to sign in": (
        Answer(b'<form><input type="password"></form><a href="/">home</a>'),
        LookupOutcome.NOT_AN_INDEX,
    ),
    "a list of wheels below a form": (Answer(b"<FORM></FORM>" + links_page(WHEEL)), LookupOutcome.FOUND),
    "a list of nothing": (Answer(links_page()), LookupOutcome.HAS_NONE),
    "another status": (Answer(status=418), LookupOutcome.UNREACHABLE),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_every_answer_of_a_source_is_an_outcome(server: PageServer, case: str) -> None:
    server.pages["/wheels/"], expected = ANSWERS[case]
    assert outcomes_of(find(f"find-links:{server.url}/wheels/")) == [expected]


@pytest.mark.parametrize("case", ["found", "has none", "absent"])
def test_an_outcome_is_the_same_from_the_cache(server: PageServer, case: str) -> None:
    server.pages["/wheels/"], expected = ANSWERS[case]
    source = f"find-links:{server.url}/wheels/"
    cold, warm, offline = find(source), find(source), find(source, offline=True)
    assert outcomes_of(cold) == outcomes_of(warm) == outcomes_of(offline) == [expected]
    assert cold.warnings == warm.warnings == offline.warnings
    assert [each.cached for found in (cold, warm, offline) for each in found.sources] == [False, case == "found", True]
    assert len(server.asked) == (1 if case == "found" else 2)


DEMO = Requirement("demo")
COMMANDS: dict[str, Callable[[Search], object]] = {
    "resolve": lambda search: resolve([DEMO], TARGET, search).choices,
    "explain": lambda search: [each for each in explain(DEMO, TARGET, search).verdicts if not each.against],
    "variants": lambda search: [each for each in explain_variants(DEMO, TARGET, search).verdicts if not each.against],
    "available": lambda search: find_offer(project_name("demo"), TARGET.platform, TARGET, search).combinations,
}


@pytest.mark.parametrize("first", [Answer(status=404), Answer(links_page(MISFIT)), Answer(links_page())])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_wheel_published_after_a_miss_is_found_next_time(server: PageServer, command: str, first: Answer) -> None:
    server.pages["/wheels/"] = first
    find_any = partial(COMMANDS[command], Search(named=(f"find-links:{server.url}/wheels/",), inspect=False))
    assert not find_any()
    server.pages["/wheels/"] = Answer(links_page(WHEEL))
    assert not COMMANDS[command](Search(named=(f"find-links:{server.url}/wheels/",), inspect=False, offline=True))
    assert find_any()
    asked = len(server.asked)
    assert find_any()  # by now from the cache
    assert len(server.asked) == asked == 2


def test_a_users_own_index_that_was_absent_is_asked_again_beside_one_that_has_the_wheel(server: PageServer) -> None:
    own, other = f"{server.url}/simple/", f"find-links:{server.url}/wheels/"
    server.pages["/wheels/"] = Answer(links_page(WHEEL))

    def source_of_choice(*, offline: bool = False) -> str:
        (choice,) = find(own, other, offline=offline).choices.values()
        return choice.candidate.source.url

    assert source_of_choice() == f"{server.url}/wheels/"
    server.pages["/simple/demo/"] = Answer(links_page(WHEEL))
    assert source_of_choice(offline=True) == f"{server.url}/wheels/"
    assert source_of_choice() == own


def test_what_only_the_cache_lacks_is_unknown_where_its_server_does_not_answer(server: PageServer) -> None:
    source = f"find-links:{server.url}/wheels/"
    find(source)
    server.pages["/wheels/"] = Answer(status=418)
    assert outcomes_of(find(source)) == [LookupOutcome.UNREACHABLE]
    assert outcomes_of(find(source, offline=True)) == [LookupOutcome.ABSENT]


def test_sources_that_are_silent_for_one_reason_are_one_message() -> None:
    def outcome(url: str, detail: str) -> SourceOutcome:
        kind = LookupOutcome.UNREACHABLE
        return SourceOutcome(
            project=project_name("demo"), source=url, outcome=kind, url=url, detail=detail, cached=False
        )

    of_three = [outcome("https://a.test/", "no route"), outcome("https://b.test/", "no route")]
    other = outcome("https://c.test/", "refused")
    first, second = messages_of([*of_three, other])
    assert ("2 pages" in first, "no route" in first, second) == (True, True, other.message)
    assert messages_of(of_three[:1] * 2) == [of_three[0].message]


def test_the_cache_does_not_make_an_answer_of_a_server_that_gave_none(server: PageServer) -> None:
    server.pages["/wheels/"] = Answer(links_page(MISFIT), headers=HTML | {"Cache-Control": "no-cache"})
    source = f"find-links:{server.url}/wheels/"
    find(source)
    server.pages["/wheels/"] = Answer(status=418)
    (outcome,) = find(source).sources
    assert (outcome.outcome, outcome.outcome.is_open) == (LookupOutcome.UNREACHABLE, True)
    assert outcome.detail.endswith("using what the cache has")


def test_what_was_never_read_is_not_asked_for_offline(server: PageServer) -> None:
    (outcome,) = find(f"{server.url}/simple/", offline=True).sources
    assert (outcome.outcome, outcome.outcome.is_open) == (LookupOutcome.NOT_ASKED, False)


def test_a_page_of_several_that_fails_outweighs_the_others(server: PageServer) -> None:
    link = HTML | {"Link": f'<{server.url}/second>; rel="next"'}
    server.pages |= {"/wheels/": Answer(links_page(WHEEL), headers=link), "/second": Answer(status=403)}
    resolution = find(f"find-links:{server.url}/wheels/")
    assert outcomes_of(resolution) == [LookupOutcome.REFUSED]
    assert resolution.choices.keys() == {"demo"}


def test_each_source_has_one_outcome_for_each_project(server: PageServer) -> None:
    server.pages["/wheels/"] = Answer(links_page(WHEEL))
    sources = (f"find-links:{server.url}/wheels/", f"{server.url}/simple/")
    wanted = [Requirement("demo"), Requirement("other")]
    resolution = resolve(wanted, TARGET, Search(named=sources, inspect=False))
    assert [(each.project, each.outcome) for each in resolution.sources] == [
        ("demo", LookupOutcome.FOUND),
        ("demo", LookupOutcome.ABSENT),
        ("other", LookupOutcome.HAS_NONE),
        ("other", LookupOutcome.ABSENT),
    ]


def test_a_missing_link_page_warns_and_a_missing_project_does_not(server: PageServer) -> None:
    resolution = find(f"find-links:{server.url}/wheels/", f"{server.url}/simple/")
    assert resolution.warnings == (f"{server.url}/wheels/: there is no such page (404)",)


def test_whoever_waits_is_told_for_which_servers(server: PageServer) -> None:
    progress = RecordedProgress()
    server.pages["/wheels/"] = Answer(links_page(WHEEL))
    search = Search(named=(f"find-links:{server.url}/wheels/",), inspect=False, progress=progress)
    for _ in range(2):  # the second time the cache has it
        resolve([Requirement("demo")], TARGET, search)
    assert progress.lines == [f"0 of 1 page read; waiting for {server.url.removeprefix('http://')}", ""]
