"""Where a project is looked for, and what wheels are taken to be built for."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.page_server import JSON, Answer, PageServer, links_page
from tests.unit.client.conftest import TARGET, chosen, find
from wheelmill.cli import main
from wheelmill.client.choose.explain import explain, find_offer
from wheelmill.client.choose.finder import Finder, ListingPlace, VariantWheel
from wheelmill.client.choose.resolve import read_facts, resolve
from wheelmill.client.records import Search, Source, SourceKind, TargetEnvironment
from wheelmill.client.sources.forms import LinkGroup, group_links
from wheelmill.client.sources.pages import PageCache, Pages
from wheelmill.names import CudaVersion, Platform, TorchVersion, project_name, read_requirement, words_like
from wheelmill.web.pages import JSON_TYPE
from wheelmill.wheel.label import BuiltFor
from wheelmill.wheel.name import VARIANTS_SUFFIX

DEMO = project_name("demo")
PLAIN = "demo-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"
TEMPLATE = "https://index.example/cu{cuda}/torch{torch}/"
OTHERS = [
    replace(TARGET, cuda=CudaVersion(13, 0), torch=TorchVersion(2, 11)),
    replace(TARGET, cuda=None),
    replace(TARGET, torch=None),
]


def finder(source: Source, *targets: TargetEnvironment, folder: Path | None = None) -> Finder:
    return Finder(sources=[source], facts=read_facts(), pages=Pages(PageCache(folder), Search()), targets=targets)


def places(kind: SourceKind, url: str) -> list[ListingPlace]:
    return finder(Source(name="a", kind=kind, url=url), TARGET, TARGET, *OTHERS).places(DEMO)


def test_an_index_is_asked_for_what_each_target_has() -> None:
    found = places(SourceKind.SIMPLE, TEMPLATE)
    assert [place.url for place in found] == [
        "https://index.example/cu128/torch2.8/demo/",
        "https://index.example/cu130/torch2.11/demo/",
    ]
    assert {place.source.url for place in found} == {TEMPLATE}
    assert found[0].filled.url == "https://index.example/cu128/torch2.8/"


@pytest.mark.parametrize(
    ("url", "label"),
    [
        (TEMPLATE, "cu128torch2.8"),
        ("https://index.example/cu{cuda}/", "cu128"),
        ("https://index.example/torch-{torch_release}.html", "torch2.8"),
        ("https://index.example/{torch_packed}", "torch2.8"),
        ("https://index.example/cu{cuda}_torch{torch_digits}/simple/", "cu128torch2.8"),
        ("https://index.example/", ""),
    ],
)
def test_what_is_filled_in_is_so_of_every_wheel_of_the_page(url: str, label: str) -> None:
    assert places(SourceKind.FIND_LINKS, url)[0].built_for == BuiltFor.parse(label)


@pytest.mark.parametrize(
    ("local", "label"),
    [
        ("", "cu128torch2.8"),
        ("cu126", "cu126torch2.8"),
        ("cu12", "cu128torch2.8"),
        ("cu13", "cu13torch2.8"),
        ("torch2.9.0andhigher", "cu128.torch2.9.0andhigher"),
        ("rocm6.4", "rocm6.4.torch2.8"),
        ("cu12torch2.8cxx11abitrue", "cu128torch2.8cxx11abitrue"),
    ],
)
def test_a_name_says_more_than_its_page(local: str, label: str) -> None:
    (place, *_) = places(SourceKind.SIMPLE, TEMPLATE)
    assert place.label_of(LinkGroup(DEMO, local, "py3-none-any")) == BuiltFor.parse(label)


def test_an_index_is_asked_with_the_joined_digits_of_torch() -> None:
    found = places(SourceKind.SIMPLE, "https://index.example/cu{cuda}_torch{torch_digits}/simple/")
    assert [place.url.split("/")[3] for place in found] == ["cu128_torch28", "cu130_torch211"]


@pytest.mark.parametrize(
    ("platforms", "asked"),
    [((), True), (("linux_x86_64", "win_amd64"), True), (("win_amd64",), False), (("macosx_arm64",), False)],
)
def test_a_source_for_other_platforms_is_not_asked(platforms: tuple[str, ...], *, asked: bool) -> None:
    names = tuple(map(Platform.parse, platforms))
    source = Source(name="a", kind=SourceKind.GITHUB, url="https://a.example/", platforms=names)
    assert bool(finder(source, TARGET).places(DEMO)) is asked
    mac = replace(TARGET, platform=Platform.parse("macosx_14_0_arm64"), cuda=None, libc=None)
    assert bool(finder(source, mac).places(DEMO)) is (not platforms or "macosx_arm64" in platforms)


@pytest.mark.parametrize(("local", "torch"), [("cu130.torch213", "2.13"), ("torch210cu121", "2.1")])
def test_joined_digits_are_read_by_what_exists(local: str, torch: str) -> None:
    (place, *_) = places(SourceKind.SIMPLE, "https://index.example/")
    assert str(place.label_of(LinkGroup(DEMO, local, "py3-none-any")).torch) == torch


def test_a_wheel_without_a_label_is_for_the_cuda_of_its_page(server: PageServer) -> None:
    server.pages["/cu128/demo/"] = Answer(links_page(PLAIN))
    resolution = find(f"simple:{server.url}/cu{{cuda}}/")
    assert chosen(resolution) == PLAIN
    (choice,) = resolution.choices.values()
    assert (str(choice.candidate.label), choice.candidate.source.url) == ("CUDA 12.8", f"{server.url}/cu128/")
    assert [path for path, _ in server.asked] == ["/cu128/demo/"]


def test_a_name_with_two_plus_signs_is_told_and_hides_no_other(server: PageServer) -> None:
    double = "demo-2.0+cu12torch2.8.0+cu129cxx11abiTRUE-cp312-cp312-manylinux_2_28_x86_64.whl"
    server.pages["/wheels/"] = Answer(links_page(double, PLAIN))
    resolution = find(f"{server.url}/wheels/")
    assert chosen(resolution) == PLAIN
    assert resolution.warnings == (
        f"{server.url}/wheels/: {double} has a version with two '+', which no installer reads (PEP 440)",
    )


def test_links_with_another_name_than_their_file_are_told_once_and_the_file_counts(server: PageServer) -> None:
    file = "demo-1.0+cu128torch2.8-cp312-cp312-manylinux_2_28_x86_64.whl"
    texts = [file.replace("torch2.8", f"torch2.{minor}") for minor in (8, 9, 10)]
    links = "".join(f'<a href="{file.replace("+", "%2B")}">{text}</a><br>' for text in texts)
    server.pages["/wheels/"] = Answer(links.encode())
    resolution = find(f"{server.url}/wheels/")
    assert chosen(resolution) == file
    told = f"2 links have another name as text than their file, which counts: {texts[1]} is {file}"
    assert resolution.warnings == (f"{server.url}/wheels/: {told}",)


def test_a_text_that_is_the_address_of_its_file_is_no_other_name(server: PageServer) -> None:
    server.pages["/wheels/"] = Answer(f'<a href="{PLAIN}">https://files.example/v1/{PLAIN}</a>'.encode())
    resolution = find(f"{server.url}/wheels/")
    assert (chosen(resolution), resolution.warnings) == (PLAIN, ())


def test_a_source_without_any_wheel_is_warned_of(server: PageServer) -> None:
    server.pages["/wheels/"] = Answer(b"<html>moved to our new home</html>")
    for _ in range(2):  # the second time from the cache
        resolution = find(f"{server.url}/wheels/")
        assert resolution.warnings == (f"{server.url}/wheels/: lists no wheel; an index is named simple:URL",)
    server.pages["/simple/demo/"] = Answer(b"<html></html>")
    assert find(f"simple:{server.url}/simple").warnings == ()


WHEEL = "flash_attn-2.8+cu128torch2.8-cp312-cp312-linux_x86_64.whl"


def advice(name: str, *sources: str, offline: bool = False) -> str | None:
    search = Search(named=sources, offline=offline, inspect=False)
    return resolve([read_requirement(name)], TARGET, search).unresolved[project_name(name)].suggestion


def test_a_slip_is_answered_with_a_name_on_the_pages_that_were_read(server: PageServer) -> None:
    server.pages["/wheels/"] = Answer(links_page(WHEEL))
    page = f"find-links:{server.url}/wheels/"
    assert advice("flash-atn", page) == advice("flash", page) == "did you mean flash-attn?"
    assert advice("flash-atn", page, offline=True) == "did you mean flash-attn?"
    search = Search(named=[page], inspect=False)
    absence = explain(read_requirement("flashattn"), TARGET, search).absence
    assert absence
    assert absence.suggestion == "did you mean flash-attn?"
    offer = find_offer(project_name("flash_attention"), TARGET.platform, TARGET, search)
    assert offer.absence.suggestion == "did you mean flash-attn?"


def test_nothing_is_meant_by_a_name_that_is_like_no_other(server: PageServer) -> None:
    server.pages["/wheels/"] = Answer(links_page(WHEEL))
    page = f"find-links:{server.url}/wheels/"
    assert "did you mean" not in str(advice("numpy", page))
    assert resolve([read_requirement("flash-attn")], TARGET, Search(named=[page], inspect=False)).choices


LISTS = {
    "text/html": b'<a href="flash-attn/">flash_attn</a><a href="../">up</a><a href="\x1b[2J/">x</a>',
    JSON_TYPE: json.dumps({"meta": {"api-version": "1.0"}, "projects": [{"name": "Flash.Attn"}]}).encode(),
}


@pytest.mark.parametrize("content_type", LISTS)
def test_an_index_is_asked_for_its_projects_once_a_name_is_wrong(server: PageServer, content_type: str) -> None:
    server.pages["/simple/"] = Answer(LISTS[content_type], headers={"Content-Type": content_type})
    index = f"simple:{server.url}/simple/"
    assert advice("flash-atn", index) == "did you mean flash-attn?"
    asked = len(server.asked)
    assert advice("flash-atn", index, offline=True) == "did you mean flash-attn?"
    assert len(server.asked) == asked


def test_a_shell_is_offered_what_is_known(
    server: PageServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_WHEELMILL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_CWORD", "2")
    server.pages["/wheels/"] = Answer(links_page(WHEEL, "flash$(touch x)-1.0-py3-none-any.whl"))
    page = f"find-links:{server.url}/wheels/"

    def offered(command: str, typed: str, sources: str = page) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", f"wheelmill {command} {typed}")
        monkeypatch.setenv("WHEELMILL_SOURCES", sources)
        with pytest.raises(SystemExit, match=r"^0$"):
            main()
        return capsys.readouterr().out.split()

    assert offered("resolve", "fl") == []
    advice("other", page)
    asked = len(server.asked)
    for command in ("resolve", "add", "install", "lock", "explain", "available", "doctor"):
        assert offered(command, "fl") == ["flash-attn"]
    assert offered("resolve", "x") == offered("resolve", "fl", "no-such-file.yml") == []
    assert len(server.asked) == asked


@pytest.mark.parametrize("answer", [b"", b"{", b"\xff\xfe", b"[" * 5000])
def test_an_index_that_gives_no_list_says_nothing(server: PageServer, answer: bytes) -> None:
    server.pages["/simple/"] = Answer(answer, headers={"Content-Type": JSON_TYPE})
    assert "did you mean" not in str(advice("flash-atn", f"simple:{server.url}/simple/"))


def test_a_slip_has_few_answers() -> None:
    assert words_like("mamba", ["mamba-ssm", "mamba", "other"]) == ["mamba", "mamba-ssm"]
    assert words_like("sage", ["sageattention", "torch"]) == ["sageattention"]
    assert words_like("archs", ["patches", "arch_variable", "architectures"])[0] == "architectures"
    assert words_like("", ["torch"]) == words_like("xyz", ["torch"]) == []


NAMES = (
    *("demo-1.0-py3-none-any.whl", "demo-1.0-1-py3-none-any.whl", "demo-1.0-py3-none-any-cu130.whl"),
    *("demo-1.0-2-py3-none-any-null.whl", "demo-1.0+torch2.11-py3-none-any-cu130.whl", "demo-1.0-variants.json"),
    "demo-1.0.tar.gz",
)
SHA = "ab" * 32


def read(server: PageServer, answer: Answer, folder: Path | None = None) -> tuple[list[str], list[VariantWheel]]:
    """The plain wheels and the variants of a page."""
    server.pages["/demo/"] = answer
    source = Source(name="a", kind=SourceKind.SIMPLE, url=f"{server.url}/")
    wheels = finder(source, TARGET, folder=folder)
    wheels.read([DEMO])
    assert wheels.pages.warnings == []
    return [each.filename for each in wheels.all_candidates(DEMO)], wheels.variant_wheels(DEMO)


def as_json() -> Answer:
    files = [{"filename": name, "url": name, "hashes": {"sha256": SHA}} for name in NAMES]
    content = {"meta": {"api-version": "1.0"}, "name": "demo", "files": files}
    return Answer(json.dumps(content).encode(), headers={"Content-Type": JSON})


@pytest.mark.parametrize(
    "answer",
    [
        Answer(links_page(*NAMES, sha256=SHA)),
        Answer(b"<script></script>" + links_page(*NAMES, sha256=SHA)),
        Answer(links_page(*reversed(NAMES), sha256=SHA)),
        as_json(),
    ],
    ids=["plain", "with a script", "the other way round", "JSON"],
)
def test_a_page_has_both_each_by_itself(answer: Answer, server: PageServer) -> None:
    plain, variants = read(server, answer)
    assert sorted(plain) == sorted(NAMES[:2])
    assert {it.candidate.filename: it.label for it in variants} == {
        NAMES[2]: "cu130",
        NAMES[3]: "null",
        NAMES[4]: "cu130",
    }
    lists = {str(each.candidate.version): each.listed for each in variants}
    assert lists["1.0+torch2.11"] is None
    assert lists["1.0"] is not None
    assert (lists["1.0"].url, lists["1.0"].sha256) == (f"{server.url}/demo/demo-1.0-variants.json", SHA)


def test_a_build_tag_is_no_part_of_the_tags(server: PageServer) -> None:
    _, variants = read(server, as_json())
    builds = {each.candidate.filename: each.candidate.build for each in variants}
    assert builds[NAMES[3]] == (2, "")
    assert builds[NAMES[2]] == ()


def test_they_come_from_the_cache_too(server: PageServer, tmp_path: Path) -> None:
    assert read(server, as_json(), tmp_path) == read(server, Answer(status=500), tmp_path)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("demo-1.0-py3-none-any-cu130.whl", LinkGroup(DEMO, "", "py3-none-any", "cu130")),
        ("demo-1.0+CU_130-1-py3-none-any-a.b.whl", LinkGroup(DEMO, "cu.130", "py3-none-any", "a.b")),
        ("demo-1.0+torch2.11-variants.json", LinkGroup(DEMO, "torch2.11", "", VARIANTS_SUFFIX)),
        ("demo-1.0-py3-none-any-Label.whl", None),
        ("demo-1.0-1-py3-none-any-x-y.whl", None),
        ("demo-1.0-x-variants.json", None),
    ],
)
def test_what_links_have_in_common_says_the_variant(name: str, group: LinkGroup | None) -> None:
    assert list(group_links([(name, name)])) == ([group] if group else [])
