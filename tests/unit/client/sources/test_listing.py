"""Where a project is looked for, and what wheels are taken to be built for."""

from dataclasses import replace

import pytest
from packaging.requirements import Requirement

from tests.page_server import Answer, PageServer, links_page
from tests.unit.client.conftest import TARGET, chosen
from wheelmill.client.choose.resolve import Search, read_facts, resolve
from wheelmill.client.source_records import Source, SourceKind
from wheelmill.client.sources.links import LinkGroup
from wheelmill.client.sources.listing import Place, places_of
from wheelmill.names import CudaVersion, TorchVersion, project_name
from wheelmill.wheel.label import BuiltFor

DEMO = project_name("demo")
PLAIN = "demo-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"
TEMPLATE = "https://index.example/cu{cuda}/torch{torch}/"
OTHERS = [
    replace(TARGET, cuda=CudaVersion(13, 0), torch=TorchVersion(2, 11)),
    replace(TARGET, cuda=None),
    replace(TARGET, torch=None),
]


def places(kind: SourceKind, url: str) -> list[Place]:
    return places_of(DEMO, [Source(name="a", kind=kind, url=url)], [TARGET, TARGET, *OTHERS], read_facts())


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


def test_a_wheel_without_a_label_is_for_the_cuda_of_its_page(server: PageServer) -> None:
    server.pages["/cu128/demo/"] = Answer(links_page(PLAIN))
    search = Search(named=(f"simple:{server.url}/cu{{cuda}}/",), look=False)
    resolution = resolve([Requirement("demo")], TARGET, search)
    assert chosen(resolution) == PLAIN
    (choice,) = resolution.choices.values()
    assert (str(choice.candidate.label), choice.candidate.source.url) == ("CUDA 12.8", f"{server.url}/cu128/")
    assert [path for path, _ in server.asked] == ["/cu128/demo/"]


def test_a_name_with_two_plus_signs_is_told_and_hides_no_other(server: PageServer) -> None:
    double = "demo-2.0+cu12torch2.8.0+cu129cxx11abiTRUE-cp312-cp312-manylinux_2_28_x86_64.whl"
    server.pages["/wheels/"] = Answer(links_page(double, PLAIN))
    resolution = resolve([Requirement("demo")], TARGET, Search(named=(f"{server.url}/wheels/",), look=False))
    assert chosen(resolution) == PLAIN
    assert resolution.warnings == (
        f"{server.url}/wheels/: {double} has a version with two '+', which no installer reads (PEP 440)",
    )


def test_links_with_another_name_than_their_file_are_told_once_and_the_file_counts(server: PageServer) -> None:
    file = "demo-1.0+cu128torch2.8-cp312-cp312-manylinux_2_28_x86_64.whl"
    texts = [file.replace("torch2.8", f"torch2.{minor}") for minor in (8, 9, 10)]
    links = "".join(f'<a href="{file.replace("+", "%2B")}">{text}</a><br>' for text in texts)
    server.pages["/wheels/"] = Answer(links.encode())
    resolution = resolve([Requirement("demo")], TARGET, Search(named=(f"{server.url}/wheels/",), look=False))
    assert chosen(resolution) == file
    told = f"2 links have another name as text than their file, which counts: {texts[1]} is {file}"
    assert resolution.warnings == (f"{server.url}/wheels/: {told}",)


def test_a_text_that_is_the_address_of_its_file_is_no_other_name(server: PageServer) -> None:
    server.pages["/wheels/"] = Answer(f'<a href="{PLAIN}">https://files.example/v1/{PLAIN}</a>'.encode())
    resolution = resolve([Requirement("demo")], TARGET, Search(named=(f"{server.url}/wheels/",), look=False))
    assert (chosen(resolution), resolution.warnings) == (PLAIN, ())


def test_a_source_without_any_wheel_is_warned_of(server: PageServer) -> None:
    server.pages["/wheels/"] = Answer(b"<html>moved to our new home</html>")
    for _ in range(2):  # the second time from the cache
        resolution = resolve([Requirement("demo")], TARGET, Search(named=(f"{server.url}/wheels/",), look=False))
        assert resolution.warnings == (f"{server.url}/wheels/: lists no wheel",)
    server.pages["/simple/demo/"] = Answer(b"<html></html>")
    search = Search(named=(f"simple:{server.url}/simple",), look=False)
    assert resolve([Requirement("demo")], TARGET, search).warnings == ()
