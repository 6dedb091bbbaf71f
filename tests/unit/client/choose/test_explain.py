"""Who has wheels of a project for which CUDA and torch, and how large they are."""

import json

from tests.page_server import JSON, Answer, PageServer, links_page
from tests.unit.client.conftest import TARGET
from wheelmill.client.choose.explain import Combination, find_offer
from wheelmill.client.records import Search
from wheelmill.names import project_name


def wheel(label: str, python: str = "cp312") -> str:
    return f"demo-1.0+{label}-{python}-{python}-manylinux_2_28_x86_64.whl"


def offered(server: PageServer) -> tuple[Combination, ...]:
    search = Search(named=(f"simple:{server.url}/simple/", f"find-links:{server.url}/wheels/"), inspect=False)
    return find_offer(project_name("demo"), TARGET.platform, TARGET, search).combinations


def test_each_combination_names_its_sources_and_sizes(server: PageServer) -> None:
    sizes = {wheel("cu128torch2.8"): 7, wheel("cu128torch2.8", "cp313"): 9, wheel("cu126torch2.8"): None}
    files: list[dict[str, object]] = [
        {"filename": name, "url": name, "hashes": {}, "size": size} for name, size in sizes.items()
    ]
    body = json.dumps({"meta": {"api-version": "1.1"}, "name": "demo", "files": files}).encode()
    server.pages["/simple/demo/"] = Answer(body, headers={"Content-Type": JSON})
    server.pages["/wheels/"] = Answer(links_page(wheel("cu128torch2.8"), wheel("cu130torch2.9")))
    index, page = f"{server.url}/simple/", f"{server.url}/wheels/"
    assert [(each.cuda, each.sources, each.smallest, each.largest) for each in offered(server)] == [
        ("12.6", (index,), None, None),
        ("12.8", (index, page), 7, 9),
        ("13.0", (page,), None, None),
    ]


def test_a_name_with_two_readings_is_listed_with_both(server: PageServer) -> None:
    server.pages["/wheels/"] = Answer(links_page(wheel("cu130.torch213"), wheel("cu12torch210")))
    assert [(each.cuda, each.torch) for each in offered(server)] == [("12.x", "2.1 or 2.10"), ("13.0", "2.13")]


def test_wheels_for_another_accelerator_are_not_offered(server: PageServer) -> None:
    server.pages["/wheels/"] = Answer(links_page(wheel("rocm6.4.torch2.8.0"), wheel("cpu"), wheel("torch2.8")))
    assert [(each.cuda, each.torch) for each in offered(server)] == [("", "2.8")]
