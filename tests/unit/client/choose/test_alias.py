"""What the client says where an alias is asked for by its name."""

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.page_server import Answer, PageServer, in_pieces, links_page
from tests.unit.client.conftest import TARGET, chosen
from wheelmill.client.choose.resolve import Search, resolve
from wheelmill.client.records import Resolution
from wheelmill.names import project_name
from wheelmill.wheel.alias import AliasWheel

LABELLED = "1.0+cu128torch2.8"


def find(
    server: PageServer, *requires: str, look: bool = True, name: str = "demo-cu12", version: str = LABELLED
) -> Resolution:
    """Ask for an alias, whose wheel requires these."""
    project, _, _ = name.partition("[")
    wheel = AliasWheel(
        project=project_name(project), version=Version(version), summary="an alias", requires_dist=requires
    )
    file = wheel.name.filename
    server.pages |= {"/wheels/": Answer(links_page(file, sha256=None)), f"/wheels/{file}": in_pieces(wheel.content)}
    server.pages[f"/wheels/{file.replace('+', '%2B')}"] = server.pages[f"/wheels/{file}"]
    search = Search(named=(f"find-links:{server.url}/wheels/",), look=look)
    return resolve([Requirement(name)], TARGET, search)


def test_an_alias_is_named_with_the_wheel_to_ask_for(server: PageServer) -> None:
    resolution = find(server, f"demo=={LABELLED}")
    assert resolution.choices == {}
    (absence,) = resolution.unresolved.values()
    assert absence.project == "demo-cu12"
    assert absence.reason.startswith("is an alias of demo: its wheel demo_cu12-1.0+cu128torch2.8-py3-none-any.whl has ")
    assert absence.suggestion == f"name demo, whose wheel is chosen here, or 'demo=={LABELLED}' for that one"


@pytest.mark.parametrize("requires", [(), ("demo==1.0",), (f"demo=={LABELLED}", "numpy"), ("demo>=1.0",)])
def test_a_wheel_that_requires_anything_else_is_none(server: PageServer, requires: tuple[str, ...]) -> None:
    assert chosen(find(server, *requires), "demo-cu12")


def test_what_was_not_looked_into_is_none(server: PageServer) -> None:
    assert chosen(find(server, f"demo=={LABELLED}", look=False), "demo-cu12")


def test_an_alias_with_extras_is_named_with_the_package_to_ask_for(server: PageServer) -> None:
    requires = ['demo-cu13<=1.0,>=1.0; extra == "cuda13"', 'demo-cu12<=1.0,>=1.0; extra == "cuda12"']
    resolution = find(server, *requires, name="demo-gpu[cuda12]", version="1.0+extras.13.12")
    assert resolution.choices == {}
    (absence,) = resolution.unresolved.values()
    file = "demo_gpu-1.0+extras.13.12-py3-none-any.whl"
    assert absence.reason == f"is an alias of demo with an extra for each CUDA: its wheel {file} has no files"
    assert absence.suggestion == "name demo: its wheel for this CUDA is chosen here"


@pytest.mark.parametrize("requires", [(), ("demo-cu13==1.0",), ('one-cu13; extra == "a"', 'two-cu13; extra == "b"')])
def test_a_wheel_with_other_extras_is_none(server: PageServer, requires: tuple[str, ...]) -> None:
    assert chosen(find(server, *requires, name="demo-gpu", version="1.0+extras.13"), "demo-gpu")
